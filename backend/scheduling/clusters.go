package scheduling

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
)

// clusterFeed keeps the scheduler's snapshot in step with the hub's cache and
// enqueues the bindings that a change of a cluster concerns (contract section
// 9.1). Changes that come while bindings are looked through are looked at
// together afterwards: a storm of clusters costs few looks.
type clusterFeed struct {
	scheduler    *Scheduler
	cache        cache.Cache
	registration toolscache.ResourceEventHandlerRegistration

	mu      sync.Mutex
	pending []clusterChange
	wake    chan struct{}
}

var _ source.SyncingSource = (*clusterFeed)(nil)

func newClusterFeed(s *Scheduler, c cache.Cache) *clusterFeed {
	return &clusterFeed{scheduler: s, cache: c, wake: make(chan struct{}, 1)}
}

// Start implements source.Source.
func (f *clusterFeed) Start(ctx context.Context, q queue) error {
	informer, err := f.cache.GetInformer(ctx, &clusterv1alpha1.Cluster{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch clusters: %w", err)
	}
	f.registration, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { f.changed(nil, object) },
		UpdateFunc: f.changed,
		DeleteFunc: f.removed,
	})
	if err != nil {
		return fmt.Errorf("watch clusters: %w", err)
	}
	go f.run(ctx, q)
	return nil
}

// WaitForSync implements source.SyncingSource.
func (f *clusterFeed) WaitForSync(ctx context.Context) error {
	if !toolscache.WaitForCacheSync(ctx.Done(), f.registration.HasSynced) {
		return fmt.Errorf("read clusters: %w", ctx.Err())
	}
	f.scheduler.filled.Store(true)
	return nil
}

// changed is called for one cluster after the other.
func (f *clusterFeed) changed(before, after any) {
	now, ok := after.(*clusterv1alpha1.Cluster)
	if !ok {
		return
	}
	f.scheduler.revise(func(s *Snapshot) *Snapshot { return s.With(now) })
	was, ok := before.(*clusterv1alpha1.Cluster)
	if !ok {
		return // new clusters get workloads when they turn out to be ready
	}
	if change := compare(was, now); change.matters() {
		f.look(change)
	}
}

func (f *clusterFeed) removed(object any) {
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if was, ok := object.(*clusterv1alpha1.Cluster); ok {
		f.scheduler.revise(func(s *Snapshot) *Snapshot { return s.Without(was.Name) })
		if f.scheduler.estimator != nil {
			f.scheduler.estimator.Forget(was.Name)
		}
		f.look(clusterChange{before: was, after: was, leaving: true})
	}
}

// look has the bindings looked through for those that the change concerns.
func (f *clusterFeed) look(change clusterChange) {
	f.mu.Lock()
	f.pending = append(f.pending, change)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *clusterFeed) run(ctx context.Context, q queue) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		f.mu.Lock()
		changes := f.pending
		f.pending = nil
		f.mu.Unlock()
		if err := f.enqueueConcerned(ctx, q, changes); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "look for bindings of changed clusters")
		}
	}
}

func (f *clusterFeed) enqueueConcerned(ctx context.Context, q queue, changes []clusterChange) error {
	visit := func(b workv1alpha2.Binding) {
		concerned := func(c clusterChange) bool { return c.concerns(b) }
		if f.scheduler.owns(b) && slices.ContainsFunc(changes, concerned) {
			if slices.ContainsFunc(changes, func(c clusterChange) bool { return c.relabelled && concerned(c) }) {
				f.scheduler.revisits.Store(b.GetUID(), nil)
			}
			enqueue(q, keyOf(b), f.scheduler.priority(b), eventClusterChanged)
		}
	}
	var bindings workv1alpha2.ResourceBindingList
	if err := f.cache.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list bindings: %w", err)
	}
	for i := range bindings.Items {
		visit(&bindings.Items[i])
	}
	var clusterBindings workv1alpha2.ClusterResourceBindingList
	if err := f.cache.List(ctx, &clusterBindings, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list cluster bindings: %w", err)
	}
	for i := range clusterBindings.Items {
		visit(&clusterBindings.Items[i])
	}
	return nil
}

// clusterChange is what became different about a cluster.
type clusterChange struct {
	before, after *clusterv1alpha1.Cluster
	// described: its labels or its spec changed. leaving: it is being removed, or
	// gone. served: it serves other APIs. relabelled: its labels changed, after
	// which clients expect to see when it was scheduled again, to whatever end.
	described, leaving, served, relabelled bool
}

func compare(before, after *clusterv1alpha1.Cluster) clusterChange {
	return clusterChange{
		before: before, after: after,
		described: before.UID != after.UID || before.Generation != after.Generation || !maps.Equal(before.Labels, after.Labels),
		leaving:   before.DeletionTimestamp == nil && after.DeletionTimestamp != nil,
		served:    !sameAPIs(before, after),

		relabelled: !maps.Equal(before.Labels, after.Labels),
	}
}

func (c *clusterChange) matters() bool { return c.described || c.leaving || c.served }

// concerns says whether the binding may be placed otherwise after the change.
func (c *clusterChange) concerns(b workv1alpha2.Binding) bool {
	spec := b.BindingSpec()
	target := slices.ContainsFunc(spec.Clusters, func(t workv1alpha2.TargetCluster) bool { return t.Name == c.after.Name })
	if target && (c.leaving || c.described) {
		return true
	}
	// A cluster may have been left out for want of an API that it serves now.
	if !c.described && (target || !c.served) {
		return false
	}
	return means(spec.Placement, c.after) || c.described && means(spec.Placement, c.before)
}

// means says whether any part of the placement's affinity admits the cluster.
func means(p *policyv1alpha1.Placement, cluster *clusterv1alpha1.Cluster) bool {
	if len(p.ClusterAffinities) == 0 {
		return policy.MatchesCluster(p.ClusterAffinity, cluster)
	}
	for i := range p.ClusterAffinities {
		if policy.MatchesCluster(&p.ClusterAffinities[i].ClusterAffinity, cluster) {
			return true
		}
		for j := range p.ClusterAffinities[i].OverflowAffinities {
			if policy.MatchesCluster(&p.ClusterAffinities[i].OverflowAffinities[j].ClusterAffinity, cluster) {
				return true
			}
		}
	}
	return false
}
