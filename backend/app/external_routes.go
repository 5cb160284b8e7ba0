package app

import (
	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"

	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/kube"
)

// externalLimits are limits of the routes that a hub of one dialect has.
var externalLimits = map[string]int{"POST /api/v1/live/ticket": 120, "POST /api/v1/onboarding/ocm": 30}

// absent are the first parts of routes that need the Karmada dialect, whose
// typed groups an existing API does not serve.
var absent = []string{"/clusters", "/tokens", "/registrations", "/preflight", "/policies", "/workloads"}

// newExternalServer builds the web server of a hub on an existing API.
func (a *App) newExternalServer(h *externalHub) (*httpapi.Server, error) {
	desk, err := a.newDesk()
	if err != nil {
		return nil, err
	}
	desk.options.Metrics = prometheus.Gatherers{kube.Metrics(), legacyregistry.DefaultGatherer}
	desk.options.Limits = externalLimits
	return desk.serve(cluster.NewHandler(nil, nil, desk.about), func(r *gin.RouterGroup) {
		h.managed.Routes(r)
		sayAbsent(r)
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
