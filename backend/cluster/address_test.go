package cluster_test

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"testing"

	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/registration"
)

func TestAddressPolicy(t *testing.T) {
	loopback := cluster.AddressPolicy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, OwnPorts: []uint16{6443}}
	tests := []struct {
		policy  cluster.AddressPolicy
		address string
		allowed bool
	}{
		{cluster.AddressPolicy{}, "192.0.2.7:6443", true},
		{cluster.AddressPolicy{}, "10.1.2.3:6443", true},
		{cluster.AddressPolicy{}, "[2001:db8::1]:6443", true},
		{cluster.AddressPolicy{}, "127.0.0.1:6443", false},
		{cluster.AddressPolicy{}, "127.9.9.9:1", false},
		{cluster.AddressPolicy{}, "0.0.0.0:6443", false},
		{cluster.AddressPolicy{}, "0.1.2.3:6443", false},
		{cluster.AddressPolicy{}, "169.254.169.254:443", false},
		{cluster.AddressPolicy{}, "100.100.100.200:443", false},
		{cluster.AddressPolicy{}, "224.0.0.1:443", false},
		{cluster.AddressPolicy{}, "255.255.255.255:443", false},
		{cluster.AddressPolicy{}, "[::1]:443", false},
		{cluster.AddressPolicy{}, "[::]:443", false},
		{cluster.AddressPolicy{}, "[::ffff:127.0.0.1]:443", false},
		{cluster.AddressPolicy{}, "[::127.0.0.1]:443", false},
		{cluster.AddressPolicy{}, "[64:ff9b::7f00:1]:443", false},
		{cluster.AddressPolicy{}, "[64:ff9b::a9fe:a9fe]:443", false},
		{cluster.AddressPolicy{}, "[2002:7f00:1::]:443", false},
		{cluster.AddressPolicy{}, "[64:ff9b::c000:207]:443", true},
		{cluster.AddressPolicy{}, "[fe80::1]:443", false},
		{cluster.AddressPolicy{}, "[fe80::1%1]:443", false},
		{cluster.AddressPolicy{}, "[fd00:ec2::254]:443", false},
		{cluster.AddressPolicy{}, "[ff02::1]:443", false},
		{loopback, "127.0.0.1:7443", true},
		{loopback, "[::ffff:127.0.0.1]:7443", true},
		{loopback, "127.0.0.1:6443", false},
		{loopback, "[::1]:7443", false},
		{loopback, "192.0.2.7:6443", true},
		{cluster.AddressPolicy{Unrestricted: true, OwnPorts: []uint16{6443}}, "127.0.0.1:6443", true},
	}
	for _, test := range tests {
		err := test.policy.Check(netip.MustParseAddrPort(test.address))
		if (err == nil) != test.allowed || err != nil && codeOf(err) != registration.CodeAddress {
			t.Errorf("%s: got %v, want allowed: %v", test.address, err, test.allowed)
		}
	}
}

// flipping answers each lookup with the next list of addresses.
type flipping struct {
	answers [][]netip.Addr
	asked   int
}

func (f *flipping) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	f.asked++
	if f.asked > len(f.answers) {
		return nil, &net.DNSError{IsNotFound: true}
	}
	return f.answers[f.asked-1], nil
}

func TestDialerResolvesOnce(t *testing.T) {
	good, bad := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("127.0.0.1")
	resolver := &flipping{answers: [][]netip.Addr{{good}, {bad}}}
	dialer := cluster.NewDialer(cluster.AddressPolicy{})
	dialer.Resolver = resolver
	for range 3 {
		addresses, err := dialer.Check(context.Background(), "rebinding.example", 6443)
		if err != nil || len(addresses) != 1 || addresses[0].Addr() != good {
			t.Fatalf("got %v, %v", addresses, err)
		}
	}
	if resolver.asked != 1 {
		t.Errorf("the resolver was asked %d times", resolver.asked)
	}
}

func TestDialerRefusesMixedAnswers(t *testing.T) {
	dialer := cluster.NewDialer(cluster.AddressPolicy{})
	dialer.Resolver = &flipping{answers: [][]netip.Addr{{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("::ffff:169.254.169.254")}}}
	if _, err := dialer.DialContext(context.Background(), "tcp", "mixed.example:443"); codeOf(err) != registration.CodeAddress {
		t.Errorf("got %v, want code %s", err, registration.CodeAddress)
	}
}

func TestDialerCodes(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	dialer := cluster.NewDialer(cluster.AddressPolicy{Unrestricted: true})
	dialer.Resolver = &flipping{}
	for address, want := range map[string]string{
		"127.0.0.1:" + strconv.Itoa(closed): registration.CodeTCP,
		"gone.example:443":                  registration.CodeDNS,
		"no port":                           registration.CodeAddress,
	} {
		if _, err := dialer.DialContext(context.Background(), "tcp", address); codeOf(err) != want {
			t.Errorf("%s: got %v, want code %s", address, err, want)
		}
	}
}
