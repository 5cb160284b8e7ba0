// Package keypair serves with a certificate from files that may be replaced.
package keypair

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// checkPeriod is how often certificate files are looked at.
const checkPeriod = 10 * time.Second

// Pair is a certificate and its key on disk, which may be replaced while we
// serve.
type Pair struct {
	certFile, keyFile string

	mu       sync.Mutex
	current  *tls.Certificate
	modified time.Time
	checked  time.Time
}

// Load reads a pair of PEM files.
func Load(certFile, keyFile string) (*Pair, error) {
	p := &Pair{certFile: certFile, keyFile: keyFile}
	if err := p.load(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Pair) load() error {
	info, err := os.Stat(p.certFile)
	if err != nil {
		return fmt.Errorf("read serving certificate: %w", err)
	}
	if info.ModTime().Equal(p.modified) {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(p.certFile, p.keyFile)
	if err != nil {
		return fmt.Errorf("read serving certificate: %w", err)
	}
	p.current, p.modified = &pair, info.ModTime()
	return nil
}

// Get returns the newest pair; a broken replacement leaves the old one serving.
func (p *Pair) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.checked) > checkPeriod {
		p.checked = time.Now()
		if err := p.load(); err != nil {
			slog.Warn("serving certificate not replaced", "error", err)
		}
	}
	return p.current, nil
}
