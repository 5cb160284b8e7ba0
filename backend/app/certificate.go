package app

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

const certificateCheck = 10 * time.Second

// certificate is a key pair on disk that may be replaced while we serve.
type certificate struct {
	certFile, keyFile string

	mu       sync.Mutex
	current  *tls.Certificate
	modified time.Time
	checked  time.Time
}

func loadCertificate(certFile, keyFile string) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *certificate) load() error {
	info, err := os.Stat(c.certFile)
	if err != nil {
		return fmt.Errorf("read the dashboard's certificate: %w", err)
	}
	if info.ModTime().Equal(c.modified) {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read the dashboard's certificate: %w", err)
	}
	c.current, c.modified = &pair, info.ModTime()
	return nil
}

// get returns the newest pair; a broken replacement leaves the old one serving.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) > certificateCheck {
		c.checked = time.Now()
		if err := c.load(); err != nil {
			slog.Warn("dashboard certificate not replaced", "error", err)
		}
	}
	return c.current, nil
}
