package scheduling

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/estimator"
)

// assumptionTTL is how long a workload is assumed at most: its health may never come.
const assumptionTTL = 5 * time.Minute

// assumptions are what bindings were given in clusters and is not known to run there
// (gate SchedulingOvercommitProtection): neither what a cluster reports nor what its
// estimator knows reckons with it. Of what grows only the growth is assumed.
//
//	               decided, before it is written
//	┌─────────┐ ────────────────────────────────► ┌─────────┐
//	│ unknown │                                   │ assumed │ ↺ grows
//	└─────────┘ ◄──────────────────────────────── └─────────┘
//	     the write failed · healthy there · taken away · the binding is gone · assumptionTTL
//
// They are kept in memory. When the hub starts, those of bindings that were scheduled
// shortly before are assumed again. A nil one assumes nothing.
type assumptions struct {
	clock clock.PassiveClock
	// turn is for those whose decision depends on room, from asking for it to
	// assuming what was decided: two at a time would be given the same room.
	turn sync.Mutex

	mu        sync.Mutex
	byAge     list.List // of *assumption, those that end first in front
	byBinding map[types.NamespacedName]*assumedBinding
}

// assumedBinding is what is assumed of a binding, by cluster; a decision replaces it.
type assumedBinding struct {
	uid types.UID
	// version is the binding's when that was decided: what it said by then about its
	// health was before.
	version  string
	clusters map[string]*list.Element
}

// assumption is what a binding was given in one cluster. It is not changed, except
// for unwell.
type assumption struct {
	binding  types.NamespacedName
	cluster  string
	workload estimator.Workload
	until    time.Time
	// unwell is set once it was not healthy there: when it is, it runs. One that grew
	// may be told healthy for what ran before.
	unwell bool
}

func newAssumptions(c clock.PassiveClock) *assumptions {
	return &assumptions{clock: c, byBinding: map[types.NamespacedName]*assumedBinding{}}
}

// told are the assumed workloads of each cluster, the latest last.
func (a *assumptions) told() map[string][]estimator.Workload {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep()
	all := map[string][]estimator.Workload{}
	for at := a.byAge.Front(); at != nil; at = at.Next() {
		one := assumed(at)
		all[one.cluster] = append(all[one.cluster], one.workload)
	}
	return all
}

// reserve assumes what a binding is about to be given. giveBack is for when that could
// not be written.
func (a *assumptions) reserve(b workv1alpha2.Binding, targets []workv1alpha2.TargetCluster) (giveBack func()) {
	if a == nil || !consumes(b.BindingSpec()) {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep()
	key, before := keyOf(b), map[string]*assumption{}
	was := a.byBinding[key]
	if was != nil && was.uid == b.GetUID() {
		for cluster, at := range was.clusters {
			before[cluster] = assumed(at)
		}
	}
	a.drop(key)
	now := a.enter(b)
	for i := range targets {
		if next := a.next(b, &targets[i], before[targets[i].Name]); next != nil {
			a.put(now, next)
		}
	}
	a.tidy(key)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		nothing := a.byBinding[key] == nil && len(now.clusters) == 0 // was reserved, or is left of it
		if a.byBinding[key] != now && !nothing {
			return // it was decided again, or is gone
		}
		a.drop(key)
		if len(before) > 0 {
			again := a.enter(b)
			again.version = was.version
			for _, one := range before {
				a.put(again, one)
			}
			a.sweep()
		}
	}
}

// next is what is assumed of a target once it is written; nil if nothing is.
func (a *assumptions) next(b workv1alpha2.Binding, target *workv1alpha2.TargetCluster, before *assumption) *assumption {
	spec, open, grew := b.BindingSpec(), []workv1alpha2.Component(nil), false
	at := slices.IndexFunc(spec.Clusters, func(t workv1alpha2.TargetCluster) bool { return t.Name == target.Name })
	for _, part := range given(spec, target) {
		had, unseen := int32(0), int32(0)
		if at >= 0 {
			had = ran(spec, &spec.Clusters[at], &part)
		}
		if before != nil {
			unseen = replicasIn(before.workload.Parts, part.Name)
		}
		seen := max(had-unseen, 0)
		if part.Replicas -= seen; part.Replicas > 0 {
			open, grew = append(open, part), grew || part.Replicas > unseen
		}
	}
	if len(open) == 0 {
		return nil
	}
	next := &assumption{binding: keyOf(b), cluster: target.Name, workload: estimator.Workload{Namespace: spec.Resource.Namespace, Parts: open}}
	if before != nil && !grew {
		next.until, next.unwell = before.until, before.unwell
	} else {
		next.until, next.unwell = a.clock.Now().Add(assumptionTTL), !healthyIn(b, target.Name)
	}
	return next
}

// recall assumes what a binding was given before the hub started.
func (a *assumptions) recall(b workv1alpha2.Binding) {
	status := b.BindingStatus()
	if a == nil || status.LastScheduledTime == nil || !consumes(b.BindingSpec()) {
		return
	}
	until := status.LastScheduledTime.Add(assumptionTTL)
	a.mu.Lock()
	defer a.mu.Unlock()
	key := keyOf(b)
	if a.byBinding[key] != nil || !a.clock.Now().Before(until) {
		return
	}
	now, targets := a.enter(b), b.BindingSpec().Clusters
	for i := range targets {
		parts := slices.DeleteFunc(given(b.BindingSpec(), &targets[i]), func(c workv1alpha2.Component) bool { return c.Replicas <= 0 })
		if len(parts) > 0 && !healthyIn(b, targets[i].Name) {
			workload := estimator.Workload{Namespace: b.BindingSpec().Resource.Namespace, Parts: parts}
			a.put(now, &assumption{binding: key, cluster: targets[i].Name, workload: workload, until: until, unwell: true})
		}
	}
	a.tidy(key)
}

// observe ends what is assumed of clusters where a binding turns out to be healthy.
func (a *assumptions) observe(b workv1alpha2.Binding) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep()
	key := keyOf(b)
	now := a.byBinding[key]
	if now == nil {
		return
	}
	if now.uid != b.GetUID() {
		a.drop(key)
		return
	}
	if order, err := resourceversion.CompareResourceVersion(b.GetResourceVersion(), now.version); err == nil && order <= 0 {
		return
	}
	for cluster, at := range now.clusters {
		switch one := assumed(at); {
		case !healthyIn(b, cluster):
			one.unwell = true
		case one.unwell:
			a.end(at)
		}
	}
}

// forget ends what is assumed of a binding that is gone.
func (a *assumptions) forget(b workv1alpha2.Binding) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep()
	if now := a.byBinding[keyOf(b)]; now != nil && now.uid == b.GetUID() {
		a.drop(keyOf(b))
	}
}

// What follows is called with the lock held.

// sweep ends what was assumed for too long.
func (a *assumptions) sweep() {
	for at := a.byAge.Front(); at != nil && !a.clock.Now().Before(assumed(at).until); at = a.byAge.Front() {
		a.end(at)
	}
}

// enter makes room for what is assumed of a binding.
func (a *assumptions) enter(b workv1alpha2.Binding) *assumedBinding {
	now := &assumedBinding{uid: b.GetUID(), version: b.GetResourceVersion(), clusters: map[string]*list.Element{}}
	a.byBinding[keyOf(b)] = now
	return now
}

func (a *assumptions) put(now *assumedBinding, one *assumption) {
	after := a.byAge.Back()
	for after != nil && assumed(after).until.After(one.until) {
		after = after.Prev()
	}
	if after == nil {
		now.clusters[one.cluster] = a.byAge.PushFront(one)
		return
	}
	now.clusters[one.cluster] = a.byAge.InsertAfter(one, after)
}

func (a *assumptions) end(at *list.Element) {
	one := assumed(at)
	a.byAge.Remove(at)
	delete(a.byBinding[one.binding].clusters, one.cluster)
	a.tidy(one.binding)
}

func (a *assumptions) drop(key types.NamespacedName) {
	if now := a.byBinding[key]; now != nil {
		for _, at := range now.clusters {
			a.byAge.Remove(at)
		}
		delete(a.byBinding, key)
	}
}

// tidy forgets a binding of which nothing is assumed.
func (a *assumptions) tidy(key types.NamespacedName) {
	if now := a.byBinding[key]; now != nil && len(now.clusters) == 0 {
		delete(a.byBinding, key)
	}
}

func assumed(at *list.Element) *assumption {
	one, ok := at.Value.(*assumption)
	if !ok {
		panic("the list holds something else than assumptions")
	}
	return one
}

// consumes says whether a template takes room in clusters.
func consumes(spec *workv1alpha2.ResourceBindingSpec) bool {
	return isWorkload(spec) || len(spec.Components) > 0
}

// given is what a cluster is to run of a template: all replicas of its parts, or its
// share of the replicas as the one part. It is the caller's to keep.
func given(spec *workv1alpha2.ResourceBindingSpec, target *workv1alpha2.TargetCluster) []workv1alpha2.Component {
	if len(spec.Components) == 0 {
		return []workv1alpha2.Component{{Name: spec.Resource.Name, Replicas: target.Replicas, ReplicaRequirements: spec.ReplicaRequirements.DeepCopy()}}
	}
	parts := make([]workv1alpha2.Component, 0, len(spec.Components))
	for i := range spec.Components {
		parts = append(parts, *spec.Components[i].DeepCopy())
	}
	return parts
}

// ran is how many replicas of a part a cluster was to run so far. Where a target does
// not tell of parts, it was all of them.
func ran(spec *workv1alpha2.ResourceBindingSpec, target *workv1alpha2.TargetCluster, part *workv1alpha2.Component) int32 {
	switch at := slices.IndexFunc(target.Components, func(c workv1alpha2.TargetComponent) bool { return c.Name == part.Name }); {
	case len(spec.Components) == 0:
		return target.Replicas
	case len(target.Components) == 0:
		return part.Replicas
	case at < 0:
		return 0
	default:
		return target.Components[at].Replicas
	}
}

func replicasIn(parts []workv1alpha2.Component, name string) int32 {
	for i := range parts {
		if parts[i].Name == name {
			return parts[i].Replicas
		}
	}
	return 0
}

func healthyIn(b workv1alpha2.Binding, cluster string) bool {
	return slices.ContainsFunc(b.BindingStatus().AggregatedStatus, func(item workv1alpha2.AggregatedStatusItem) bool {
		return item.ClusterName == cluster && item.Health == workv1alpha2.ResourceHealthy
	})
}
