package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// healthServer tells over HTTPS, with a certificate of its own making, that the
// process lives and how the agent does. An agent that waits for its hub is healthy:
// starting it anew would help nobody.
type healthServer struct {
	log *slog.Logger

	mu      sync.Mutex
	state   func() (serving bool, problem string)
	problem string
}

// watch lets an agent tell how it does.
func (h *healthServer) watch(state func() (bool, string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state, h.problem = state, ""
}

// note keeps what is in the way before there is an agent.
func (h *healthServer) note(problem string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problem = problem
}

// start listens until ctx ends.
func (h *healthServer) start(ctx context.Context, address string) error {
	if address == "" && os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		address = "0.0.0.0:8443"
	}
	if address == "" {
		return nil
	}
	certificate, err := ownCertificate()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for health checks: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		defer stop()
		_ = server.Serve(tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}))
	}()
	return nil
}

// ServeHTTP implements http.Handler.
func (h *healthServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz", "/livez", "/readyz":
	default:
		http.NotFound(w, r)
		return
	}
	h.mu.Lock()
	state, problem := h.state, h.problem
	h.mu.Unlock()
	serving := false
	if state != nil && problem == "" {
		serving, problem = state()
	}
	if serving {
		fmt.Fprintln(w, "ok")
		return
	}
	fmt.Fprintln(w, "ok, waiting:", problem)
}

func ownCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "muster-agent"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
