package handshake

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
)

// TestRootCause: the same trouble by two tries is told once, another one again.
func TestRootCause(t *testing.T) {
	refused := func(port int) error {
		local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
		dial := &net.OpError{Op: "read", Net: "tcp", Source: local, Err: os.NewSyscallError("read", syscall.ECONNRESET)}
		return fmt.Errorf("renew the lease of east: %w", &url.Error{Op: "Get", URL: "https://hub", Err: dial})
	}
	if first, second := rootCause(refused(40001)), rootCause(refused(40002)); first != second {
		t.Errorf("two tries of one trouble are told as %q and %q", first, second)
	}
	if other := rootCause(errors.New("certificate signed by unknown authority")); other == rootCause(refused(40001)) {
		t.Errorf("another trouble is told as %q, too", other)
	}
}
