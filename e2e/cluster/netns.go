package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// netns is a network namespace kept alive by an open file and by nothing else:
// it has no name under /run/netns that could be left behind.
type netns struct{ file *os.File }

// newNetns makes an empty network namespace.
func newNetns() (*netns, error) {
	var ns netns
	err := onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare network: %w", err)
		}
		var err error
		ns.file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return &ns, err
}

// do runs fn on a thread that is inside the namespace. Sockets that fn opens
// stay in the namespace wherever they are used later, and so do the processes
// it starts. fn must not hand work to other goroutines.
func (n *netns) do(fn func() error) error {
	return onOwnThread(func() error {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		return fn()
	})
}

// onOwnThread runs fn on an OS thread that ends with it. The thread is locked
// and never unlocked, so the runtime does not reuse it: whatever fn did to its
// namespaces cannot leak into another goroutine.
func onOwnThread(fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		done <- fn()
	}()
	return <-done
}

// dial opens a TCP connection from inside the namespace. The address must be
// numeric: a name would be looked up on another thread.
func (n *netns) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = n.do(func() error {
		dialer := net.Dialer{Timeout: 10 * time.Second}
		conn, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

func (n *netns) listen(address string) (ln net.Listener, err error) {
	err = n.do(func() error {
		ln, err = net.Listen("tcp", address)
		return err
	})
	return ln, err
}

// ip runs iproute2 commands, one a line, inside the namespace.
func (n *netns) ip(script string) error {
	return n.do(func() error { return ipBatch(script) })
}

func ipBatch(script string) error {
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip -batch: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// forwarder copies connections from one listener to one target until closed.
type forwarder struct {
	listener net.Listener
	mu       sync.Mutex
	conns    map[net.Conn]bool
	closed   bool
}

// forward starts one. dial opens the far end of each accepted connection.
func forward(ln net.Listener, dial func() (net.Conn, error)) *forwarder {
	f := &forwarder{listener: ln, conns: map[net.Conn]bool{}}
	go func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return // closed
			}
			go f.serve(near, dial)
		}
	}()
	return f
}

func (f *forwarder) serve(near net.Conn, dial func() (net.Conn, error)) {
	defer near.Close()
	far, err := dial()
	if err != nil {
		return // the caller sees its connection closed, as from a dead server
	}
	defer far.Close()
	if !f.keep(near, far) {
		return
	}
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{far, near}, {near, far}} {
		both.Go(func() {
			io.Copy(pair[0], pair[1])
			pair[0].(*net.TCPConn).CloseWrite() // pass a half-close on: exec and port-forward need it
		})
	}
	both.Wait()
	f.mu.Lock()
	delete(f.conns, near)
	delete(f.conns, far)
	f.mu.Unlock()
}

func (f *forwarder) keep(conns ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		f.conns[c] = true
	}
	return !f.closed
}

// Close stops listening and cuts the connections that are open.
func (f *forwarder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for c := range f.conns {
		c.Close()
	}
	return f.listener.Close()
}
