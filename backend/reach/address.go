package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/registration"
)

// AddressPolicy says which addresses the hub dials for a member. What comes in
// through REST and the browser must not turn the hub into a way to its own ports
// or its machine's neighbours (reliability.md S2); the command line, run by
// whoever owns the hub or an admin kubeconfig, is free.
type AddressPolicy struct {
	// Unrestricted allows every address.
	Unrestricted bool
	// Allow are ranges an administrator opened although they would be refused.
	Allow []netip.Prefix
	// OwnPorts are the ports the hub itself listens on. On an address of this
	// machine they are refused even within Allow.
	OwnPorts []uint16
}

// refusedRange is a range that REST may not dial, and its name in messages.
type refusedRange struct {
	prefix netip.Prefix
	what   string
}

var refusedRanges = []refusedRange{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("100.100.100.200/32"), "cloud metadata"},
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud metadata"},
	{netip.MustParsePrefix("192.0.0.192/32"), "cloud metadata"},
	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "site-local"},
	{netip.MustParsePrefix("fc00::/7"), "unique local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// embedding ranges carry an IPv4 address, at this byte, that decides as well.
var embeddings = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// Check says whether the hub may dial the address: nil, or a fault with code
// MU-203 that names the kind of address and how to open it.
func (p AddressPolicy) Check(address netip.AddrPort) error {
	if p.Unrestricted {
		return nil
	}
	ip := address.Addr().Unmap().WithZone("")
	if slices.Contains(p.OwnPorts, address.Port()) && ownAddress(ip) {
		return refusedAddress("%s is a port of the hub itself", netip.AddrPortFrom(ip, address.Port()))
	}
	if slices.ContainsFunc(p.Allow, func(allowed netip.Prefix) bool { return allowed.Contains(ip) }) {
		return nil
	}
	for _, candidate := range withEmbedded(ip) {
		for _, refused := range refusedRanges {
			if refused.prefix.Contains(candidate) {
				return refusedAddress("%s is a %s address", ip, refused.what)
			}
		}
	}
	return nil
}

func refusedAddress(format string, arguments ...any) error {
	return fault.Invalid("the hub does not dial this address: %s", fmt.Sprintf(format, arguments...)).WithCode(registration.CodeAddress).WithFix(registration.Advise(registration.CodeAddress).Fix)
}

func withEmbedded(ip netip.Addr) []netip.Addr {
	list := []netip.Addr{ip}
	if ip.Is6() {
		bytes := ip.As16()
		for _, embedding := range embeddings {
			if embedding.prefix.Contains(ip) {
				list = append(list, netip.AddrFrom4([4]byte(bytes[embedding.at:embedding.at+4])))
			}
		}
	}
	return list
}

// ownAddress says whether the address is one of this machine. If the machine's
// addresses cannot be read, it is taken for one.
func ownAddress(ip netip.Addr) bool {
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(addresses, func(address net.Addr) bool {
		network, ok := address.(*net.IPNet)
		if !ok {
			return false
		}
		own, ok := netip.AddrFromSlice(network.IP)
		return ok && own.Unmap() == ip
	})
}

// Resolver finds the addresses of a host name; net.DefaultResolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// dialTimeout bounds the connection to one address.
const dialTimeout = 5 * time.Second

// Dialer dials members under a policy. It resolves a name once and dials the
// addresses it checked, so that a name that changes its mind between check and
// use (DNS rebinding) gains nothing. One Dialer serves one join.
type Dialer struct {
	Policy   AddressPolicy
	Resolver Resolver

	mu       sync.Mutex
	resolved map[string][]netip.Addr
}

// NewDialer returns a Dialer that asks the system's resolver.
func NewDialer(policy AddressPolicy) *Dialer {
	return &Dialer{Policy: policy, Resolver: net.DefaultResolver}
}

// Resolve returns the addresses of host, at its first call as the resolver says
// and from then on the same. It fails with a fault of code MU-204.
func (d *Dialer) Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.resolved[host]; ok {
		return known, nil
	}
	addresses, err := d.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(addresses) == 0 {
		return nil, fault.Invalid("the name %s does not resolve: %s", host, lookupReason(err)).WithCode(registration.CodeDNS).
			WithFix(registration.Advise(registration.CodeDNS).Fix)
	}
	for i := range addresses {
		addresses[i] = addresses[i].Unmap()
	}
	if d.resolved == nil {
		d.resolved = map[string][]netip.Addr{}
	}
	d.resolved[host] = addresses
	return addresses, nil
}

func lookupReason(err error) string {
	var lookup *net.DNSError
	switch {
	case err == nil:
		return "it has no address"
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "no such host"
	case errors.As(err, &lookup) && lookup.IsTimeout, errors.Is(err, context.DeadlineExceeded):
		return "the name servers did not answer in time"
	}
	return "the name servers did not answer"
}

// Check resolves host and judges each of its addresses. One that is refused
// refuses all: a name that mixes them is not to be trusted.
func (d *Dialer) Check(ctx context.Context, host string, port uint16) ([]netip.AddrPort, error) {
	addresses, err := d.Resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	targets := make([]netip.AddrPort, 0, len(addresses))
	for _, address := range addresses {
		target := netip.AddrPortFrom(address, port)
		if err := d.Policy.Check(target); err != nil {
			return nil, err
		}
		targets = append(targets, target)
	}
	return targets, nil
}

// DialContext implements the dial function of rest.Config and http.Transport. It
// tries the host's addresses in order and fails with a fault of code MU-203,
// MU-204 or MU-205.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := splitHostPort(address)
	if err != nil {
		return nil, err
	}
	targets, err := d.Check(ctx, host, port)
	if err != nil {
		return nil, err
	}
	var last error
	for _, target := range targets {
		dialer := net.Dialer{Timeout: dialTimeout}
		connection, err := dialer.DialContext(ctx, network, target.String())
		if err == nil {
			return connection, nil
		}
		last = err
	}
	return nil, fault.Unavailable("%s cannot be reached: %s", net.JoinHostPort(host, fmt.Sprint(port)), DialReason(last)).WithCode(registration.CodeTCP).
		WithFix(registration.Advise(registration.CodeTCP).Fix).Wrap(last)
}

// HostPort is the host and port of an https URL.
func HostPort(server *url.URL) (host string, port uint16, err error) {
	number := server.Port()
	if number == "" {
		number = map[string]string{"http": "80", "socks5": "1080"}[server.Scheme]
	}
	if number == "" {
		number = "443"
	}
	return splitHostPort(net.JoinHostPort(server.Hostname(), number))
}

func splitHostPort(address string) (string, uint16, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fault.Invalid("%q is not host:port", address).WithCode(registration.CodeAddress)
	}
	port, err := net.LookupPort("tcp", text)
	if err != nil || port == 0 {
		return "", 0, fault.Invalid("%q has no usable port", address).WithCode(registration.CodeAddress)
	}
	return host, uint16(port), nil
}

// CheckLiteral judges a host that is written as an address; a name passes.
func (d *Dialer) CheckLiteral(host string, port uint16) error {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	return d.Policy.Check(netip.AddrPortFrom(ip, port))
}
