package app

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"

	apidocs "muster.dev/muster/api-docs"
	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/enrolment"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/managedcluster"
	"muster.dev/muster/backend/manifestwork"
	"muster.dev/muster/backend/operator"
	"muster.dev/muster/backend/placement"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/token"
	"muster.dev/muster/backend/waiting"
	"muster.dev/muster/backend/workload"
	"muster.dev/muster/frontend"
)

// limits are how often a minute one user may ask what costs much: it mints a
// secret, dials out, or opens a socket.
var limits = map[string]int{
	"POST /api/v1/tokens": 30, "POST /api/v1/preflight": 30, "POST /api/v1/registrations": 60, "POST /api/v1/onboarding/ocm": 30, "POST /api/v1/live/ticket": 120,
}

// desk is what the dashboard's web server has whatever the hub carries: sessions,
// the audit, the socket of changes, and what REST says about the hub.
type desk struct {
	options httpapi.Options
	about   cluster.About
	users   *access.Handler
	records *audit.Handler
	changes *live.Handler
}

func (a *App) newDesk() (*desk, error) {
	certificate, err := a.certificate()
	if err != nil {
		return nil, err
	}
	dashboard, err := fs.Sub(frontend.FS, "dist")
	if err != nil {
		return nil, fmt.Errorf("open the built dashboard: %w", err)
	}
	about, err := a.about()
	if err != nil {
		return nil, err
	}
	users := access.NewHandler(a.access, a.origins)
	return &desk{about: about, users: users, records: audit.NewHandler(a.audit), changes: live.NewHandler(a.live, a.peer, a.origins), options: httpapi.Options{
		Listener:     a.dashboard,
		Certificate:  certificate,
		SPA:          dashboard,
		Swagger:      apidocs.Swagger,
		Ready:        a.plane.Ready,
		Authenticate: users.Authenticate(),
		User: func(ctx context.Context) string {
			actor, _ := access.ActorFrom(ctx)
			return actor.Name
		},
	}}, nil
}

// serve builds the server. info says what the hub is, also to strangers.
func (d *desk) serve(info *cluster.Handler, private func(r *gin.RouterGroup)) (*httpapi.Server, error) {
	d.options.Public = func(r *gin.RouterGroup) {
		d.users.Public(r)
		d.changes.Public(r)
		info.Public(r.Group("", d.users.Identify))
	}
	d.options.Private = func(r *gin.RouterGroup) {
		d.users.Routes(r)
		d.records.Routes(r)
		d.changes.Routes(r)
		private(r)
	}
	return httpapi.New(d.options)
}

// newServer builds the dashboard's web server with the routes of every domain.
func (a *App) newServer(h *hub) (*httpapi.Server, error) {
	desk, err := a.newDesk()
	if err != nil {
		return nil, err
	}
	figures := prometheus.NewRegistry()
	if err := figures.Register(cluster.NewMetrics(h.manager.GetCache())); err != nil {
		return nil, fmt.Errorf("register the clusters' metrics: %w", err)
	}
	if err := figures.Register(buildMetric(a.config.Version)); err != nil {
		return nil, fmt.Errorf("register build: %w", err)
	}
	desk.options.Metrics = prometheus.Gatherers{kube.Metrics(), figures, legacyregistry.DefaultGatherer}
	desk.options.Limits = limits
	clusters := cluster.NewHandler(h.clusters, a.audit, desk.about)
	return desk.serve(clusters, func(r *gin.RouterGroup) {
		token.NewHandler(h.tokenService, a.live).Routes(r)
		clusters.Routes(r)
		enrolment.NewHandler(h.enrolment).Routes(r)
		policy.NewHandler(h.policies).Routes(r)
		workload.NewHandler(h.workloads).Routes(r)
		h.managed.Routes(r)
	})
}

// about is what REST says about this hub.
func (a *App) about() (cluster.About, error) {
	var pins []string
	if ca := a.plane.CA(); len(ca) > 0 || a.external == nil { // an existing API may have a certificate of a public authority
		var err error
		if pins, err = token.CAPins(ca); err != nil {
			return cluster.About{}, err
		}
	}
	return cluster.About{
		Version: a.config.Version, HubAddress: a.address(), CAPins: pins, AgentImage: a.config.AgentImage, Dialects: a.dialects(),
		FirstRun: func(ctx context.Context) bool {
			first, err := a.access.FirstRun(ctx)
			return err == nil && first
		},
	}, nil
}

// origins are the exact origins that browsers may open the dashboard under.
func (a *App) origins() []string {
	_, port, err := net.SplitHostPort(a.dashboardURL()[len("https://"):])
	if err != nil {
		return a.config.Origins
	}
	origins := append([]string{a.dashboardURL()}, a.config.Origins...)
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if host, _, err := net.SplitHostPort(a.config.Advertise); err == nil {
		hosts = append(hosts, host)
	}
	for _, host := range hosts {
		origins = append(origins, "https://"+net.JoinHostPort(host, port))
	}
	return origins
}

// peer is who asks for a live ticket.
func (a *App) peer(c *gin.Context) live.Peer {
	current, _ := access.SessionFrom(c.Request.Context())
	return peer{service: a.access, id: current.Session.ID, role: current.User.Role}
}

type peer struct {
	service *access.Service
	id      string
	role    access.Role
}

// Allowed implements live.Peer.
func (p peer) Allowed(role string) bool { return p.role.Includes(access.Role(role)) }

// Valid implements live.Peer.
func (p peer) Valid(ctx context.Context) bool { return p.service.SessionValid(ctx, p.id) }

// Ended implements live.Peer.
func (p peer) Ended() <-chan struct{} { return p.service.Ended(p.id) }

// firstRun makes the first administrator and the first join token. Both secrets
// are kept in memory for Welcome, and nowhere else.
func (a *App) firstRun(ctx context.Context, h *hub) error {
	password, created, err := a.access.EnsureFirstAdmin(ctx)
	if err != nil {
		return fmt.Errorf("make the first administrator: %w", err)
	}
	if !created {
		return nil
	}
	a.first.password = password
	id, secret := token.Generate()
	spec := token.Spec{Description: "made at the first start", TTL: token.DefaultTTL, MaxClusters: 1}
	if err := h.manager.GetClient().Create(ctx, spec.Secret(id, secret, time.Now())); err != nil {
		return fmt.Errorf("make the first join token: %w", err)
	}
	pins, err := token.CAPins(a.plane.CA())
	if err != nil {
		return err
	}
	a.first.register = token.RegisterCommand(a.config.Advertise, id+"."+secret, pins)
	return nil
}

// Routes adds the routes of the Open Cluster Management dialect.
func (m *managedREST) Routes(r *gin.RouterGroup) {
	waiting.NewHandler(m.waiting, m.book).Routes(r)
	managedcluster.NewHandler(m.clusters, m.audit).Routes(r)
	manifestwork.NewHandler(m.works).Routes(r)
	placement.NewHandler(m.placements).Routes(r)
	operator.NewHandler(m.operators).Routes(r)
}
