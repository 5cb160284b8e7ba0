package controlplanetest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// ForwardProxy is a proxy that clients reach the rest of the world by. It knows
// CONNECT and nothing else.
type ForwardProxy struct {
	// URL is what a kubeconfig names as proxy-url.
	URL string

	mu    sync.Mutex
	asked map[string]int
	open  []net.Conn
	shut  bool
}

// StartForwardProxy starts a proxy that ends with the test, and its connections with
// it.
func StartForwardProxy(t testing.TB) *ForwardProxy {
	t.Helper()
	p := &ForwardProxy{asked: map[string]int{}}
	server := httptest.NewServer(p)
	p.URL = server.URL
	t.Cleanup(func() {
		server.Close()
		p.Shut()
	})
	return p
}

// Shut ends the connections that there are, and has the proxy make no new ones until
// Open.
func (p *ForwardProxy) Shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	for _, connection := range p.open {
		_ = connection.Close()
	}
	p.open = nil
}

// Open ends what Shut began.
func (p *ForwardProxy) Open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = false
}

func (p *ForwardProxy) isShut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shut
}

// keep notes a connection, with both its ends, unless the proxy is shut.
func (p *ForwardProxy) keep(host string, ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return false
	}
	p.asked[host]++
	p.open = append(p.open, ends...)
	return true
}

// Asked is how often the proxy was asked for a connection to host:port.
func (p *ForwardProxy) Asked(address string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[address]
}

// ServeHTTP implements http.Handler.
func (p *ForwardProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "CONNECT alone is known", http.StatusMethodNotAllowed)
		return
	}
	if p.isShut() {
		http.Error(w, "shut", http.StatusServiceUnavailable)
		return
	}
	far, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = far.Close()
		return
	}
	if !p.keep(r.Host, near, far) {
		_, _ = near.Close(), far.Close()
		return
	}
	_, _ = io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n")
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}
	go pipe(far, near)
	go pipe(near, far)
}
