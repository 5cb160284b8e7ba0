// Package httpapi is the web server: gin, what every request passes through,
// and the shapes that all routes share. It knows no domain; app hands it the
// routes.
package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"muster.dev/muster/backend/fault"
)

const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second // of a whole request; a WebSocket has its own
	writeTimeout  = 3 * time.Minute  // a push preflight dials and waits
	idleTimeout   = 2 * time.Minute
	stopLimit     = 5 * time.Second
	headerLimit   = 32 << 10 // bytes
)

// Options say what a Server serves.
type Options struct {
	// Listener is where to serve.
	Listener net.Listener
	// Certificate returns the serving certificate for each handshake.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// SPA is the built dashboard.
	SPA fs.FS
	// Swagger is the OpenAPI document that /api/docs renders.
	Swagger []byte
	// Metrics is what /metrics shows.
	Metrics prometheus.Gatherer
	// Ready says why the hub is not ready, or nil.
	Ready func() error
	// Public registers the routes under /api/v1 that need no session.
	Public func(*gin.RouterGroup)
	// Authenticate guards all other routes under /api/v1.
	Authenticate gin.HandlerFunc
	// Private registers the routes behind Authenticate.
	Private func(*gin.RouterGroup)
	// Limits say how often a minute one user, and all users of one address
	// together, may ask a private route that costs much: "POST /api/v1/tokens".
	Limits map[string]int
	// User names who asks, for Limits; nil: only the address counts.
	User func(context.Context) string
}

// Server is the dashboard's web server.
type Server struct {
	engine   *gin.Engine
	listener net.Listener
	server   *http.Server
}

// New builds the routes; Start serves.
func New(options Options) (*Server, error) {
	engine, err := NewEngine(options)
	if err != nil {
		return nil, err
	}
	return &Server{engine: engine, listener: options.Listener, server: &http.Server{
		Handler:           engine,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerLimit,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: options.Certificate},
	}}, nil
}

// NewEngine builds the routes alone.
func NewEngine(options Options) (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false // another path is another path: 404
	if err := engine.SetTrustedProxies(nil); err != nil {
		return nil, fmt.Errorf("trust no proxies: %w", err)
	}
	engine.Use(identify, logAccess, protect, recoverPanic, limitBody)
	engine.GET("/healthz", func(c *gin.Context) { c.String(http.StatusOK, "ok") })
	engine.GET("/readyz", readiness(options.Ready))
	if options.Metrics != nil {
		engine.GET("/metrics", gin.WrapH(promhttp.HandlerFor(options.Metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})))
	}
	if options.Swagger != nil {
		page, err := newReference(options.Swagger)
		if err != nil {
			return nil, err
		}
		engine.GET("/api/docs", page.serve)
		engine.GET("/api/docs/swagger.json", page.document)
	}
	api := engine.Group("/api/v1", noStore)
	if options.Public != nil {
		options.Public(api)
	}
	if options.Private != nil {
		options.Private(api.Group("", options.Authenticate, limitRoutes(options)))
	}
	dashboard := newSPA(options.SPA)
	engine.NoRoute(func(c *gin.Context) {
		if strings.HasPrefix(c.Request.URL.Path, "/api/") || c.Request.URL.Path == "/api" {
			Abort(c, fault.NotFound("there is nothing at %s", c.Request.URL.Path).WithFix("see /api/docs"))
			return
		}
		dashboard.serve(c)
	})
	engine.NoMethod(func(c *gin.Context) { answer(c, methodNotAllowed(c)) })
	for route := range options.Limits {
		if !slices.ContainsFunc(engine.Routes(), func(known gin.RouteInfo) bool { return known.Method+" "+known.Path == route }) {
			return nil, fmt.Errorf("limit %s: there is no such route", route)
		}
	}
	return engine, nil
}

// Start serves until ctx ends, then lets running requests finish for 5 s.
func (s *Server) Start(ctx context.Context) error {
	s.server.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	done := make(chan error, 1)
	go func() { done <- s.server.ServeTLS(s.listener, "", "") }()
	select {
	case err := <-done:
		return fmt.Errorf("serve the dashboard: %w", err)
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if err := s.server.Shutdown(limit); err != nil {
		return errors.Join(s.server.Close(), ignoreDeadline(err))
	}
	return nil
}

func ignoreDeadline(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func noStore(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	c.Next()
}

// readiness says why not only if that is meant to be read by anybody.
func readiness(ready func() error) gin.HandlerFunc {
	return func(c *gin.Context) {
		err := error(nil)
		if ready != nil {
			err = ready()
		}
		known, _ := fault.As(err)
		switch {
		case err == nil:
			c.String(http.StatusOK, "ok")
		case known != nil:
			c.String(http.StatusServiceUnavailable, known.Message)
		default:
			slog.Debug("hub is not ready", "error", err)
			c.String(http.StatusServiceUnavailable, "the hub is not ready")
		}
	}
}
