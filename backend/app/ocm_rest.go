package app

import (
	"context"

	"golang.org/x/sync/errgroup"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/managedcluster"
	"muster.dev/muster/backend/manifestwork"
	"muster.dev/muster/backend/operator"
	"muster.dev/muster/backend/placement"
	"muster.dev/muster/backend/token"
	"muster.dev/muster/backend/waiting"
)

// managedTopics are the live topics of the Open Cluster Management dialect, and
// who may follow them.
var managedTopics = map[string]access.Role{
	waiting.Topic: access.RoleViewer, waiting.RuleTopic: access.RoleViewer, managedcluster.Topic: access.RoleViewer, managedcluster.DetailTopics: access.RoleViewer, manifestwork.Topics: access.RoleViewer,
	placement.Topic: access.RoleViewer, placement.SetsTopic: access.RoleViewer, operator.Topic: access.RoleViewer,
}

// managedREST is what the dashboard does with members of Open Cluster
// Management, on either plane.
type managedREST struct {
	audit      *audit.Service
	book       *waiting.Book
	waiting    *waiting.Service
	clusters   *managedcluster.Service
	works      *manifestwork.Service
	placements *placement.Service
	operators  *operator.Service
}

func (a *App) newManagedREST(manager ctrl.Manager, clients func(access.Actor) (client.Client, error), book *waiting.Book) *managedREST {
	cache := manager.GetCache()
	return &managedREST{
		audit: a.audit, book: book,
		waiting: waiting.NewService(waiting.ServiceOptions{
			Cache: cache, Clients: clients, Audit: a.audit, Live: a.live, Hub: token.Hub{Address: a.address(), CA: a.plane.CA()},
		}),
		clusters:   managedcluster.NewService(managedcluster.ServiceOptions{Cache: cache, Clients: clients, Audit: a.audit, Live: a.live}),
		works:      manifestwork.NewService(manifestwork.ServiceOptions{Cache: cache, Clients: clients, Audit: a.audit, Live: a.live}),
		placements: placement.NewService(placement.ServiceOptions{Cache: cache, Clients: clients, Audit: a.audit, Live: a.live}),
		operators:  operator.NewService(operator.ServiceOptions{Cache: cache, Live: a.live}),
	}
}

// Start follows what is shown until ctx ends.
func (m *managedREST) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range []part{m.book, m.waiting, m.clusters, m.works, m.placements, m.operators} {
		group.Go(func() error { return part.Start(ctx) })
	}
	return group.Wait()
}
