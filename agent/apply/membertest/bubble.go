package membertest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// NewInBubble starts a server that is reached through pipes in memory instead of
// sockets, so that it and its clients can live in a bubble of testing/synctest,
// where time passes only while everybody waits for it.
func NewInBubble(t testing.TB) *Server {
	s := newServer()
	wire := NewPipes()
	transport := &http.Transport{DialContext: wire.Dial}
	s.config, s.cut = &rest.Config{Host: "http://member", Transport: transport}, wire.Cut
	server := &http.Server{Handler: s} //nolint:gosec // no time is to pass for it
	served := make(chan error, 1)
	go func() { served <- server.Serve(wire) }()
	t.Cleanup(func() {
		_ = server.Close() // pipes close without fail
		transport.CloseIdleConnections()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s
}

// Pipes are connections in memory, as the listener of a server. Unlike those of
// grpc's bufconn they hold to deadlines that are set and taken back, as HTTP's server
// does between two requests; there, an overtaken deadline ends a request now and then.
type Pipes struct {
	accept chan net.Conn
	once   sync.Once
	closed chan struct{}

	mu   sync.Mutex
	open []net.Conn
}

// NewPipes returns a listener without connections.
func NewPipes() *Pipes { return &Pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

// Dial is for http.Transport and rest.Config; wherever it is told to, it leads to the
// listener.
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.accept <- far:
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = append(p.open, near)
	return near, nil
}

// Cut breaks all connections that are open.
func (p *Pipes) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range slices.Backward(p.open) {
		_ = conn.Close() // a pipe closes without fail
	}
	p.open = nil
}

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accept:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "member", Net: "pipe"} }
