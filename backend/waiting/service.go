package waiting

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	certificatesv1 "k8s.io/api/certificates/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

// Topic carries the live rows of the waiting room, by cluster name; viewers may
// read it.
const Topic = "waiting"

// leaveEvery is how often rows whose time has come leave.
const leaveEvery = time.Minute

// ServiceOptions are what a Service works with.
type ServiceOptions struct {
	Cache kube.Cache
	// Clients gives the hub API as the actor sees it, not from a cache: the hub's
	// roles judge a consent in the dashboard as they judge one by kubectl.
	Clients func(actor access.Actor) (client.Client, error)
	Audit   consent.Auditor
	Live    Publisher
	// Hub is where agents reach the hub.
	Hub token.Hub
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Service is the waiting room: who asks for a consent, and how it is given, on
// behalf of whoever acts in ctx.
type Service struct {
	ServiceOptions

	mu       sync.RWMutex
	clusters map[string]*ocmv1.ManagedCluster // of the cache, never changed
	requests map[string]map[string]Request    // by cluster and name
	asking   map[string]string                // cluster by request
	rows     map[string]composed              // who is shown
}

// NewService returns a Service; Start lets it follow the hub's objects.
func NewService(options ServiceOptions) *Service {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Service{
		ServiceOptions: options, clusters: map[string]*ocmv1.ManagedCluster{}, requests: map[string]map[string]Request{},
		asking: map[string]string{}, rows: map[string]composed{},
	}
}

// Start follows clusters and requests until ctx ends.
func (s *Service) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return kube.Follow(ctx, s.Cache, &ocmv1.ManagedCluster{}, s.clusterChanged) })
	group.Go(func() error {
		return kube.Follow(ctx, s.Cache, &certificatesv1.CertificateSigningRequest{}, s.requestChanged)
	})
	group.Go(func() error {
		ticker := time.NewTicker(leaveEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				s.leave()
			case <-ctx.Done():
				return nil
			}
		}
	})
	return group.Wait()
}

func (s *Service) clusterChanged(before, after client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// What is leaving asks for no consent any more, and the mirror of a member of
	// the other dialect never did.
	cluster, ok := after.(*ocmv1.ManagedCluster)
	if ok && cluster.DeletionTimestamp.IsZero() && !registration.Mirrored(cluster) {
		s.clusters[cluster.Name] = cluster
		s.show(cluster.Name)
		return
	}
	for _, gone := range []client.Object{before, after} {
		if gone != nil {
			delete(s.clusters, gone.GetName())
			s.show(gone.GetName())
			return
		}
	}
}

func (s *Service) requestChanged(before, after client.Object) {
	row, shown := Request{}, false
	if csr, ok := after.(*certificatesv1.CertificateSigningRequest); ok {
		row, shown = requestRow(csr)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before != nil {
		cluster, known := s.asking[before.GetName()]
		if known && (!shown || cluster != row.Cluster) { // its label may have changed
			delete(s.asking, before.GetName())
			if delete(s.requests[cluster], before.GetName()); len(s.requests[cluster]) == 0 {
				delete(s.requests, cluster)
			}
			s.show(cluster)
		}
	}
	if !shown {
		return
	}
	if s.requests[row.Cluster] == nil {
		s.requests[row.Cluster] = map[string]Request{}
	}
	s.requests[row.Cluster][row.Name], s.asking[row.Name] = row, row.Cluster
	s.show(row.Cluster)
}

// show brings the row of a cluster up to date, and publishes it if it differs.
// The lock is held.
func (s *Service) show(name string) {
	cluster, requests := s.clusters[name], s.requests[name]
	before, shown := s.rows[name]
	if cluster == nil && len(requests) == 0 {
		s.hide(name, shown)
		return
	}
	made := compose(name, cluster, slices.Collect(maps.Values(requests)))
	if !made.until.IsZero() && !made.until.After(s.Now()) {
		s.hide(name, shown)
		return
	}
	s.rows[name] = made
	if !shown || !reflect.DeepEqual(before.row, made.row) {
		s.Live.Publish(Topic, live.Event{Op: live.OpUpsert, Key: name, Row: made.row})
	}
}

func (s *Service) hide(name string, shown bool) {
	if shown {
		delete(s.rows, name)
		s.Live.Publish(Topic, live.Event{Op: live.OpDelete, Key: name})
	}
}

// leave takes out the rows that were decided long enough ago.
func (s *Service) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	for name, made := range s.rows {
		if !made.until.IsZero() && !made.until.After(now) {
			s.hide(name, true)
		}
	}
}
