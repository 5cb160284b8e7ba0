package app

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"

	apidocs "muster.dev/muster/api-docs"
	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/frontend"
)

// externalLimits are limits of the routes that a hub of one dialect has.
var externalLimits = map[string]int{"POST /api/v1/live/ticket": 120, "POST /api/v1/onboarding/ocm": 30}

// absent are the first parts of routes that need the Karmada dialect, whose
// typed groups an existing API does not serve.
var absent = []string{"/clusters", "/tokens", "/registrations", "/preflight", "/policies", "/workloads"}

// newExternalServer builds the web server of a hub on an existing API.
func (a *App) newExternalServer(h *externalHub) (*httpapi.Server, error) {
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
	users, records := access.NewHandler(a.access, a.origins), audit.NewHandler(a.audit)
	changes := live.NewHandler(a.live, a.peer, a.origins)
	info := cluster.NewHandler(nil, nil, about)
	return httpapi.New(httpapi.Options{
		Listen:       a.config.DashboardListen,
		Certificate:  certificate,
		SPA:          dashboard,
		Swagger:      apidocs.Swagger,
		Metrics:      prometheus.Gatherers{kube.Metrics(), legacyregistry.DefaultGatherer},
		Ready:        a.plane.Ready,
		Authenticate: users.Authenticate(),
		Limits:       externalLimits,
		User: func(ctx context.Context) string {
			actor, _ := access.ActorFrom(ctx)
			return actor.Name
		},
		Public: func(r *gin.RouterGroup) {
			users.Public(r)
			changes.Public(r)
			info.Public(r.Group("", users.Identify))
		},
		Private: func(r *gin.RouterGroup) {
			users.Routes(r)
			h.managed.Routes(r)
			records.Routes(r)
			changes.Routes(r)
			sayAbsent(r)
		},
	})
}

// sayAbsent answers for what this hub does not carry.
func sayAbsent(r *gin.RouterGroup) {
	for _, path := range absent {
		answer := httpapi.Wrap(func(*gin.Context) error {
			return fault.NotFound("this hub runs on an existing Kubernetes API and carries Open Cluster Management only: it has no %s", path[1:]).
				WithCode("dialect-not-carried").WithFix("look at managed-clusters, or run a hub with a control plane of its own")
		})
		r.Any(path, answer)
		r.Any(path+"/*rest", answer)
	}
}
