package scheduling

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// enrolled is a binding with groups as the roster knows it: as its last event told,
// or, until the event of that has come, as the scheduler decided.
type enrolled struct {
	uid        types.UID
	generation int64
	priority   int
	// spec holds resource, groups and clusters.
	spec *workv1alpha2.ResourceBindingSpec
}

// roster are the bindings with groups. With the gate WorkloadAffinity off it stays
// empty, and so do the snapshot's groups. The scheduler's lock guards it.
type roster map[types.NamespacedName]*enrolled

func keyOf(b workv1alpha2.Binding) types.NamespacedName {
	return types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}
}

// grouped says whether other bindings matter to this one.
func (s *Scheduler) grouped(b workv1alpha2.Binding) bool {
	return s.gates.WorkloadAffinity && len(groupsOf(b.BindingSpec())) > 0
}

func (s *Scheduler) entry(b workv1alpha2.Binding) *enrolled {
	spec := b.BindingSpec()
	return &enrolled{uid: b.GetUID(), generation: b.GetGeneration(), priority: s.priority(b), spec: &workv1alpha2.ResourceBindingSpec{
		Resource: spec.Resource, WorkloadAffinityGroups: spec.WorkloadAffinityGroups, Clusters: spec.Clusters,
	}}
}

// revise replaces the snapshot by what change makes of it.
func (s *Scheduler) revise(change func(*Snapshot) *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot.Store(change(s.Snapshot()))
}

// enrol takes over what an event tells of a binding, unless the scheduler has
// decided about it since.
func (s *Scheduler) enrol(b workv1alpha2.Binding) {
	if !s.gates.WorkloadAffinity {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.roster[keyOf(b)]
	if before == nil || before.uid != b.GetUID() || before.generation <= b.GetGeneration() {
		s.put(keyOf(b), s.entry(b))
	}
}

// strike forgets a binding that is gone.
func (s *Scheduler) strike(b workv1alpha2.Binding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.roster[keyOf(b)]; before != nil && before.uid == b.GetUID() {
		s.put(keyOf(b), nil)
	}
}

// put is called with the lock held.
func (s *Scheduler) put(key types.NamespacedName, now *enrolled) {
	snapshot := s.Snapshot()
	if before := s.roster[key]; before != nil {
		snapshot = snapshot.WithoutWorkload(before.spec)
		delete(s.roster, key)
	}
	if now != nil && len(groupsOf(now.spec)) > 0 {
		snapshot = snapshot.WithWorkload(now.spec)
		s.roster[key] = now
	}
	s.snapshot.Store(snapshot)
}

// settle decides about a binding. Those with groups are decided one after the
// other, and the next one reckons with the decision before its write has been seen;
// undo is for when it could not be written.
func (s *Scheduler) settle(b workv1alpha2.Binding, in Input) (decision Decision, undo func()) {
	if !s.grouped(b) {
		return decide(in, s.Snapshot(), false, &stopwatch{}), func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	decision = decide(in, s.Snapshot(), false, &stopwatch{})
	if decision.Failure != nil && decision.Failure.Reason != workv1alpha2.ReasonNoClusterFit || sameTargets(b.BindingSpec().Clusters, decision.Clusters) {
		return decision, func() {}
	}
	key, decided := keyOf(b), s.entry(b)
	decided.generation++
	decided.spec.Clusters = decision.Clusters
	s.put(key, decided)
	return decision, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.roster[key] == decided {
			s.put(key, s.entry(b))
		}
	}
}

// waiting are the bindings that share a group with one of these and are nowhere:
// where the groups' others are may have been why.
func (s *Scheduler) waiting(bindings ...workv1alpha2.Binding) map[types.NamespacedName]int {
	if !s.gates.WorkloadAffinity {
		return nil
	}
	var keys []groupKey
	for _, b := range bindings {
		keys = append(keys, groupsOf(b.BindingSpec())...)
	}
	found := map[types.NamespacedName]int{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, other := range s.roster {
		if len(other.spec.Clusters) == 0 && slices.ContainsFunc(groupsOf(other.spec), func(k groupKey) bool { return slices.Contains(keys, k) }) {
			found[key] = other.priority
		}
	}
	return found
}
