package reach_test

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"testing"

	"muster.dev/muster/backend/joining/joiningtest"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
)

func TestAddressPolicy(t *testing.T) {
	loopback := reach.AddressPolicy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, OwnPorts: []uint16{6443}}
	tests := []struct {
		policy  reach.AddressPolicy
		address string
		allowed bool
	}{
		{reach.AddressPolicy{}, "192.0.2.7:6443", true},
		{reach.AddressPolicy{}, "10.1.2.3:6443", true},
		{reach.AddressPolicy{}, "[2001:db8::1]:6443", true},
		{reach.AddressPolicy{}, "127.0.0.1:6443", false},
		{reach.AddressPolicy{}, "127.9.9.9:1", false},
		{reach.AddressPolicy{}, "0.0.0.0:6443", false},
		{reach.AddressPolicy{}, "0.1.2.3:6443", false},
		{reach.AddressPolicy{}, "169.254.169.254:443", false},
		{reach.AddressPolicy{}, "100.100.100.200:443", false},
		{reach.AddressPolicy{}, "224.0.0.1:443", false},
		{reach.AddressPolicy{}, "255.255.255.255:443", false},
		{reach.AddressPolicy{}, "[::1]:443", false},
		{reach.AddressPolicy{}, "[::]:443", false},
		{reach.AddressPolicy{}, "[::ffff:127.0.0.1]:443", false},
		{reach.AddressPolicy{}, "[::127.0.0.1]:443", false},
		{reach.AddressPolicy{}, "[64:ff9b::7f00:1]:443", false},
		{reach.AddressPolicy{}, "[64:ff9b::a9fe:a9fe]:443", false},
		{reach.AddressPolicy{}, "[2002:7f00:1::]:443", false},
		{reach.AddressPolicy{}, "[64:ff9b::c000:207]:443", true},
		{reach.AddressPolicy{}, "[fe80::1]:443", false},
		{reach.AddressPolicy{}, "[fe80::1%1]:443", false},
		{reach.AddressPolicy{}, "[fd00:ec2::254]:443", false},
		{reach.AddressPolicy{}, "[ff02::1]:443", false},
		{loopback, "127.0.0.1:7443", true},
		{loopback, "[::ffff:127.0.0.1]:7443", true},
		{loopback, "127.0.0.1:6443", false},
		{loopback, "[::1]:7443", false},
		{loopback, "192.0.2.7:6443", true},
		{reach.AddressPolicy{Unrestricted: true, OwnPorts: []uint16{6443}}, "127.0.0.1:6443", true},
	}
	for _, test := range tests {
		err := test.policy.Check(netip.MustParseAddrPort(test.address))
		if (err == nil) != test.allowed || err != nil && joiningtest.CodeOf(err) != registration.CodeAddress {
			t.Errorf("%s: got %v, want allowed: %v", test.address, err, test.allowed)
		}
	}
}

func TestDialerResolvesOnce(t *testing.T) {
	good, bad := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("127.0.0.1")
	resolver := &joiningtest.Resolver{Answers: [][]netip.Addr{{good}, {bad}}}
	dialer := reach.NewDialer(reach.AddressPolicy{})
	dialer.Resolver = resolver
	for range 3 {
		addresses, err := dialer.Check(context.Background(), "rebinding.example", 6443)
		if err != nil || len(addresses) != 1 || addresses[0].Addr() != good {
			t.Fatalf("got %v, %v", addresses, err)
		}
	}
	if resolver.Asked != 1 {
		t.Errorf("the resolver was asked %d times", resolver.Asked)
	}
}

func TestDialerRefusesMixedAnswers(t *testing.T) {
	dialer := reach.NewDialer(reach.AddressPolicy{})
	dialer.Resolver = &joiningtest.Resolver{Answers: [][]netip.Addr{{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("::ffff:169.254.169.254")}}}
	if _, err := dialer.DialContext(context.Background(), "tcp", "mixed.example:443"); joiningtest.CodeOf(err) != registration.CodeAddress {
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
	dialer := reach.NewDialer(reach.AddressPolicy{Unrestricted: true})
	dialer.Resolver = &joiningtest.Resolver{}
	for address, want := range map[string]string{
		"127.0.0.1:" + strconv.Itoa(closed): registration.CodeTCP,
		"gone.example:443":                  registration.CodeDNS,
		"no port":                           registration.CodeAddress,
	} {
		if _, err := dialer.DialContext(context.Background(), "tcp", address); joiningtest.CodeOf(err) != want {
			t.Errorf("%s: got %v, want code %s", address, err, want)
		}
	}
}
