package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/liveness"
	"muster.dev/muster/backend/registration"
)

// Topic carries the live rows of clusters; viewers may read it.
const Topic = "clusters"

// kindCluster is what the audit calls our noun.
const kindCluster = "Cluster"

// Auditor records an intent, runs fn and records what came of it.
type Auditor interface {
	Do(ctx context.Context, action audit.Action, fn func(ctx context.Context) error) error
}

// Cache reads Clusters and Works from memory and tells of their changes; the
// manager's cache is one.
type Cache interface {
	client.Reader
	GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error)
}

// ServiceOptions are what a Service works with.
type ServiceOptions struct {
	// Cache is shared by all readers; whoever may view may see all of it.
	Cache Cache
	// Hub acts as the hub itself. It is used for what no user asked for at that
	// moment: going on with a removal, cleaning up after a crash.
	Hub client.Client
	// Clients gives the hub API as the actor sees it.
	Clients       func(actor access.Actor) (client.Client, error)
	Audit         Auditor
	Live          registration.Publisher
	Registrations *registration.Records
	// Link tells the link of a cluster's agent; liveness.Agents does.
	Link func(cluster string) (liveness.LinkState, bool)
	// ForceAfter is how long a forced removal lets the orderly one try; 0: 5 s.
	ForceAfter time.Duration
}

// Service is what the dashboard and REST do with clusters, on behalf of whoever
// acts in ctx.
type Service struct {
	ServiceOptions

	tasks joining.Tasks

	mu      sync.Mutex
	leaving map[types.UID]chan struct{} // closed when that Cluster is gone
	rows    map[string]*Cluster         // by name, as of their resourceVersion
}

// NewService returns a Service; Start lets it follow the clusters.
func NewService(options ServiceOptions) *Service {
	if options.ForceAfter == 0 {
		options.ForceAfter = forceAfter
	}
	if options.Link == nil {
		options.Link = func(string) (liveness.LinkState, bool) { return liveness.LinkState{}, false }
	}
	s := &Service{
		ServiceOptions: options, leaving: map[types.UID]chan struct{}{}, rows: map[string]*Cluster{},
	}
	return s
}

// Start publishes the changes of clusters and goes on with what a stop of the
// hub interrupted, until ctx ends; then it waits for running removals.
func (s *Service) Start(ctx context.Context) error {
	informer, err := s.Cache.GetInformer(ctx, &clusterv1alpha1.Cluster{})
	if err != nil && ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return fmt.Errorf("follow clusters: %w", err)
	}
	s.tasks.Open(ctx)
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { s.changed(nil, object) }, UpdateFunc: s.changed, DeleteFunc: s.deleted,
	})
	if err != nil {
		return fmt.Errorf("follow clusters: %w", err)
	}
	if err := s.followWorks(ctx); err != nil {
		return err
	}
	select {
	case <-s.Registrations.Loaded():
		if toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			s.recover(ctx)
		}
	case <-ctx.Done():
	}
	<-ctx.Done()
	s.tasks.Close()
	if err := informer.RemoveEventHandler(handler); err != nil {
		slog.Debug("cluster events could not be left", "error", err)
	}
	return nil
}

// Ready says whether removals can begin.
func (s *Service) Ready() error {
	select {
	case <-s.Registrations.Loaded():
	default:
		return fault.Unavailable("the registrations are not loaded yet")
	}
	if s.tasks.Ended() {
		return fault.Unavailable("the clusters are not followed yet")
	}
	return nil
}

func (s *Service) changed(old, object any) {
	cluster, ok := object.(*clusterv1alpha1.Cluster)
	if !ok {
		return
	}
	if before, ok := old.(*clusterv1alpha1.Cluster); ok && before.ResourceVersion == cluster.ResourceVersion {
		return // a resync
	}
	s.Live.Publish(Topic, live.Event{Op: live.OpUpsert, Key: cluster.Name, Row: s.row(cluster)})
	s.Registrations.ClusterChanged(cluster)
}

func (s *Service) deleted(object any) {
	if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	cluster, ok := object.(*clusterv1alpha1.Cluster)
	if !ok {
		return
	}
	s.mu.Lock()
	delete(s.rows, cluster.Name)
	if gone := s.leaving[cluster.UID]; gone != nil {
		close(gone)
		delete(s.leaving, cluster.UID)
	}
	s.mu.Unlock()
	s.Live.Publish(Topic, live.Event{Op: live.OpDelete, Key: cluster.Name})
}

// LinkChanged publishes a cluster whose link opened or broke. It does not block
// for long: it reads from memory.
func (s *Service) LinkChanged(name string) {
	var cluster clusterv1alpha1.Cluster
	if err := s.Cache.Get(context.Background(), client.ObjectKey{Name: name}, &cluster); err != nil {
		return // it has gone, or is not there yet; its event will come
	}
	s.Live.Publish(Topic, live.Event{Op: live.OpUpsert, Key: name, Row: s.row(&cluster)})
}

// row is a Cluster as it is shown, with its link.
func (s *Service) row(object *clusterv1alpha1.Cluster) Cluster {
	return s.linked(*s.unlinked(object))
}

// unlinked is a row that only depends on the object; it is made once for each
// of its versions and must not be changed.
func (s *Service) unlinked(object *clusterv1alpha1.Cluster) *Cluster {
	s.mu.Lock()
	known := s.rows[object.Name]
	s.mu.Unlock()
	if known != nil && known.ResourceVersion == object.ResourceVersion {
		return known
	}
	made := fromObject(object)
	s.mu.Lock()
	s.rows[object.Name] = &made
	s.mu.Unlock()
	return &made
}

func (s *Service) linked(row Cluster) Cluster {
	if row.Agent != registration.AgentMuster {
		return row
	}
	if link, ok := s.Link(row.Name); ok {
		row.Link = &link
	}
	return row
}

// List returns a page of clusters. Everybody who is signed in may.
func (s *Service) List(ctx context.Context, query Query) (Listing, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return Listing{}, err
	}
	if err := query.prepare(); err != nil {
		return Listing{}, err
	}
	var clusters clusterv1alpha1.ClusterList
	if err := s.Cache.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return Listing{}, cacheFault("list clusters", err)
	}
	rows := make([]*Cluster, 0, len(clusters.Items))
	for i := range clusters.Items {
		rows = append(rows, s.unlinked(&clusters.Items[i]))
	}
	listing := query.apply(rows)
	for i := range listing.Rows {
		listing.Rows[i] = s.linked(listing.Rows[i])
	}
	return listing, nil
}

// find reads a Cluster from memory. It fails with fault.NotFound.
func (s *Service) find(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error) {
	var cluster clusterv1alpha1.Cluster
	err := s.Cache.Get(ctx, client.ObjectKey{Name: name}, &cluster)
	if err = kube.Fault(err); fault.Is(err, fault.KindNotFound) {
		return nil, fault.NotFound("there is no cluster %s", name)
	}
	if err != nil {
		return nil, cacheFault("read cluster "+name, err)
	}
	return &cluster, nil
}

// cacheFault is an error of the cache, which a starting hub has not filled yet.
func cacheFault(doing string, err error) error {
	var early *cache.ErrCacheNotStarted
	if errors.As(err, &early) {
		return fault.Unavailable("the hub is starting").WithFix("try again in a moment").Wrap(err)
	}
	return fmt.Errorf("%s: %w", doing, kube.Fault(err))
}

// Get returns one cluster in detail. Everybody who is signed in may.
func (s *Service) Get(ctx context.Context, name string) (Detail, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return Detail{}, err
	}
	cluster, err := s.find(ctx, name)
	if err != nil {
		return Detail{}, err
	}
	detail := Detail{Cluster: s.row(cluster), APIEnablements: enablementsOf(cluster)}
	var works workv1alpha1.WorkList
	if err := s.Cache.List(ctx, &works, client.InNamespace(apis.ExecutionSpace(name)), client.UnsafeDisableDeepCopy); err != nil {
		return Detail{}, cacheFault("list works of "+name, err)
	}
	for i := range works.Items {
		detail.Works.count(&works.Items[i])
	}
	return detail, nil
}

// as is the hub API as the actor of ctx, who must have a role.
func (s *Service) as(ctx context.Context, least access.Role) (client.Client, error) {
	if err := access.Require(ctx, least); err != nil {
		return nil, err
	}
	actor, _ := access.ActorFrom(ctx)
	hub, err := s.Clients(actor)
	if err != nil {
		return nil, fmt.Errorf("act as %s: %w", actor.Name, err)
	}
	return hub, nil
}
