package controlplane

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

	"muster.dev/muster/backend/fault"
)

const (
	// webhookPatience is how long one answer may take; the configurations give
	// the API ten seconds to wait (contract ocm.md section 3.1).
	webhookPatience = 10 * time.Second
	webhookStop     = 5 * time.Second
	webhookHeader   = 10 * time.Second
	webhookIdle     = 2 * time.Minute
)

// WebhookOptions say how an existing API asks the hub for admission.
type WebhookOptions struct {
	// Listen is the host:port to serve at.
	Listen string
	// CertFile and KeyFile are PEM files to serve with, read again when they
	// change; empty: the certificate is made by the plane.
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

// hosts are what the certificate has to cover.
func (o WebhookOptions) hosts(namespace string) ([]string, error) {
	addresses := []string{o.Listen}
	if o.URL != "" {
		addresses = append(addresses, hostPort(o.URL))
	}
	hosts, err := servingHosts(addresses...)
	if err != nil {
		return nil, err
	}
	if o.ServiceName != "" {
		within := o.ServiceName + "." + namespace
		hosts = append(hosts, o.ServiceName, within, within+".svc", within+".svc.cluster.local")
	}
	return hosts, nil
}

func (o WebhookOptions) check() error {
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

// webhookServer is the listener that an existing API calls.
type webhookServer struct {
	options   WebhookOptions
	authority *servingAuthority
	listener  net.Listener
	server    *http.Server
}

// newWebhookServer takes the port; ready is what the probe shows.
func newWebhookServer(options WebhookOptions, authority *servingAuthority, ready func() error) (*webhookServer, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	configurations, err := readWebhooks(options.Configurations)
	if err != nil {
		return nil, err
	}
	s := &webhookServer{options: options, authority: authority}
	tlsConfig, err := s.tlsConfig()
	if err != nil {
		return nil, err
	}
	if s.listener, err = net.Listen("tcp", options.Listen); err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	s.server = &http.Server{
		Handler: s.routes(configurations, ready), TLSConfig: tlsConfig,
		ReadHeaderTimeout: webhookHeader, ReadTimeout: 3 * webhookPatience, WriteTimeout: 3 * webhookPatience, IdleTimeout: webhookIdle,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	return s, nil
}

func (s *webhookServer) tlsConfig() (*tls.Config, error) {
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
		pair, err := LoadKeyPair(s.options.CertFile, s.options.KeyFile)
		if err != nil {
			return nil, err
		}
		config.GetCertificate = pair.Get
		return config, nil
	}
	hosts, err := s.options.hosts(s.authority.namespace)
	if err != nil {
		return nil, err
	}
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.authority.certificate(hosts) }
	return config, nil
}

// bundle is what the API verifies the server with.
func (s *webhookServer) bundle() ([]byte, error) {
	if s.options.CertFile == "" {
		return s.authority.bundle(), nil
	}
	data, err := os.ReadFile(s.options.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the webhooks' CA: %w", err)
	}
	return data, nil
}

func (s *webhookServer) routes(configurations []*webhookConfiguration, ready func() error) http.Handler {
	mux := http.NewServeMux()
	for _, configuration := range configurations {
		review := reviewer{steps: s.options.Admission, scheme: s.options.Scheme, mutating: configuration.mutating()}
		for _, path := range configuration.paths() {
			mux.Handle("POST "+path, http.TimeoutHandler(review, webhookPatience, "admission took too long"))
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

// start serves until ctx ends, then lets running requests finish.
func (s *webhookServer) start(ctx context.Context) error {
	s.server.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	done := make(chan error, 1)
	go func() { done <- s.server.ServeTLS(s.listener, "", "") }()
	select {
	case err := <-done:
		return fmt.Errorf("serve webhooks: %w", err)
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), webhookStop)
	defer cancel()
	if err := s.server.Shutdown(limit); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop webhooks: %w", err)
	}
	return s.server.Close()
}

// close gives the port back without having served.
func (s *webhookServer) close() error { return s.listener.Close() }
