// Package webhook serves admission to an API server that runs elsewhere: the steps
// that the embedded plane runs in process answer AdmissionReviews here. It also
// writes the configurations by which that API server asks.
package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"muster.dev/muster/backend/controlplane/keypair"
	"muster.dev/muster/backend/fault"
)

const (
	// patience is how long one answer may take; the configurations give
	// the API ten seconds to wait (contract ocm.md section 3.1).
	patience    = 10 * time.Second
	stopLimit   = 5 * time.Second
	headerLimit = 10 * time.Second
	idleLimit   = 2 * time.Minute
)

// Admission is one step of admission.
type Admission interface {
	// Admit may change the object of the request.
	Admit(ctx context.Context, a admission.Attributes) error
	// Validate judges the final object.
	Validate(ctx context.Context, a admission.Attributes) error
}

// Options say how an existing API asks the hub for admission.
type Options struct {
	// Listen is the host:port to serve at.
	Listen string
	// CertFile and KeyFile are PEM files to serve with, read again when they
	// change; empty: the certificate is Authority's.
	CertFile, KeyFile string
	// CAFile verifies CertFile; needed with it if Configure is set.
	CAFile string
	// ServiceName is the Service in the hub's namespace that leads to Listen;
	// empty: the API calls URL.
	ServiceName string
	// ServicePort is the port of that Service.
	ServicePort int32
	// URL is https://host:port under which the API reaches Listen.
	URL string
	// Configurations holds the webhook configurations at its root, YAML without
	// any client configuration but its path.
	Configurations fs.FS
	// Configure is false when somebody else, an operator, writes the
	// configurations.
	Configure bool
	// Scheme knows the kinds whose requests are judged as Go types, Kubernetes'
	// own; others are judged as they are written, like custom resources in an
	// API server. Nil: none.
	Scheme *runtime.Scheme
	// Admission are the steps asked, in order.
	Admission []Admission
	// Handlers are further exact paths of this listener, such as a receiver of
	// audit events. They authenticate their callers themselves.
	Handlers map[string]http.Handler
	// ClientCAFile verifies client certificates, which Handlers may ask for;
	// empty: none are asked for.
	ClientCAFile string
}

func (o Options) check() error {
	switch {
	case (o.CertFile == "") != (o.KeyFile == ""):
		return fault.Invalid("the webhooks' certificate and key go together").WithFix("give both files, or neither for a certificate of the hub's own")
	case o.Configure && o.CertFile != "" && o.CAFile == "":
		return fault.Invalid("the webhooks' certificate comes without the CA that the API shall verify it with").
			WithFix("give the CA file too, or let somebody else write the webhook configurations")
	case o.Configure && o.ServiceName == "" && o.URL == "":
		return fault.Invalid("the API is not told where the webhooks are").WithFix("give the Service that leads to them, or their URL")
	}
	return nil
}

// Authority makes the server's certificate where none is given.
type Authority struct {
	// Certificate is asked at each handshake.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Bundle is what verifies it, in PEM.
	Bundle func() []byte
}

// Server is the listener that an existing API calls.
type Server struct {
	options   Options
	authority Authority
	listener  net.Listener
	server    *http.Server
}

// NewServer takes the port; ready is what the probe shows.
func NewServer(options Options, authority Authority, ready func() error) (*Server, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	configurations, err := read(options.Configurations)
	if err != nil {
		return nil, err
	}
	s := &Server{options: options, authority: authority}
	tlsConfig, err := s.tlsConfig()
	if err != nil {
		return nil, err
	}
	if s.listener, err = net.Listen("tcp", options.Listen); err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	s.server = &http.Server{
		Handler: s.routes(configurations, ready), TLSConfig: tlsConfig,
		ReadHeaderTimeout: headerLimit, ReadTimeout: 3 * patience, WriteTimeout: 3 * patience, IdleTimeout: idleLimit,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	return s, nil
}

func (s *Server) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.options.ClientCAFile != "" {
		data, err := os.ReadFile(s.options.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("read CA of clients: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !config.ClientCAs.AppendCertsFromPEM(data) {
			return nil, fault.Invalid("%s holds no certificate", s.options.ClientCAFile)
		}
	}
	if s.options.CertFile != "" {
		pair, err := keypair.Load(s.options.CertFile, s.options.KeyFile)
		if err != nil {
			return nil, err
		}
		config.GetCertificate = pair.Get
		return config, nil
	}
	config.GetCertificate = s.authority.Certificate
	return config, nil
}

// bundle is what the API verifies the server with.
func (s *Server) bundle() ([]byte, error) {
	if s.options.CertFile == "" {
		return s.authority.Bundle(), nil
	}
	data, err := os.ReadFile(s.options.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the webhooks' CA: %w", err)
	}
	return data, nil
}

func (s *Server) routes(configurations []*configuration, ready func() error) http.Handler {
	mux := http.NewServeMux()
	for _, one := range configurations {
		review := reviewer{steps: s.options.Admission, scheme: s.options.Scheme, mutating: one.mutating()}
		for _, path := range one.paths() {
			mux.Handle("POST "+path, http.TimeoutHandler(review, patience, "admission took too long"))
		}
	}
	for path, handler := range s.options.Handlers {
		mux.Handle(path, handler)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, "the hub is not ready", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok"))
	})
	return mux
}

// Start serves until ctx ends, then lets running requests finish.
func (s *Server) Start(ctx context.Context) error {
	s.server.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	done := make(chan error, 1)
	go func() { done <- s.server.ServeTLS(s.listener, "", "") }()
	select {
	case err := <-done:
		return fmt.Errorf("serve webhooks: %w", err)
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if err := s.server.Shutdown(limit); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop webhooks: %w", err)
	}
	return s.server.Close()
}

// Close gives the port back without having served.
func (s *Server) Close() error { return s.listener.Close() }
