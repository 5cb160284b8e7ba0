package scheduling

import (
	"context"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/estimator"
)

// Estimator asks members how many more replicas they can run (contract section
// 9.5), beside the workloads that are assumed of each. What is not known in time is
// not in the answer.
type Estimator interface {
	Estimate(ctx context.Context, clusters []*clusterv1alpha1.Cluster, need *workv1alpha2.ReplicaRequirements, assumed map[string][]estimator.Workload) map[string]int32
	// EstimateSets asks for whole sets of parts.
	EstimateSets(ctx context.Context, clusters []*clusterv1alpha1.Cluster, set estimator.Workload, assumed map[string][]estimator.Workload) map[string]int32
	// Forget is told of clusters that are gone.
	Forget(cluster string)
}

// Inquire fills in what is known of the room of clusters beyond the clusters
// themselves, where the decision depends on it: what is assumed of them, and what their
// estimators say, if there are any to ask. It takes their timeout at most and changes
// nothing.
func (s *Scheduler) Inquire(ctx context.Context, in Input) Input {
	if !reckons(in.Spec) {
		return in
	}
	in.Assumed = s.assumed.told()
	if s.estimator == nil {
		return in
	}
	candidates := candidates(in, s.Snapshot())
	switch {
	case len(candidates) == 0:
	case isSet(in.Spec):
		in.Estimates = s.estimator.EstimateSets(ctx, candidates, estimator.Workload{Namespace: in.Spec.Resource.Namespace, Parts: in.Spec.Components}, in.Assumed)
	default:
		in.Estimates = s.estimator.Estimate(ctx, candidates, in.Spec.ReplicaRequirements, in.Assumed)
	}
	return in
}

// reckons says whether the room of clusters has a say in where a binding goes: where
// replicas follow it, or the clusters themselves are chosen by it.
func reckons(spec *workv1alpha2.ResourceBindingSpec) bool {
	if isSet(spec) {
		return true
	}
	if !isWorkload(spec) || spec.Placement == nil || isStatic(spec.Placement) {
		return false
	}
	return isDivided(spec.Placement) || len(spec.Placement.SpreadConstraints) > 0
}

// resolve asks and decides about a binding. What it decides is assumed from then on;
// undo is for when it could not be written. With assumptions, those for which room
// counts take turns.
func (s *Scheduler) resolve(ctx context.Context, b workv1alpha2.Binding, in Input) (decision Decision, undo func()) {
	if s.assumed != nil && reckons(in.Spec) {
		s.assumed.turn.Lock()
		defer s.assumed.turn.Unlock()
	}
	decision, unsettle := s.settle(b, s.Inquire(ctx, in))
	if decision.Failure != nil && decision.Failure.Reason != workv1alpha2.ReasonNoClusterFit {
		return decision, unsettle
	}
	giveBack := s.assumed.reserve(b, decision.Clusters)
	return decision, func() { unsettle(); giveBack() }
}

// candidates are the clusters that pass the filters for any term of affinity.
func candidates(in Input, s *Snapshot) []*clusterv1alpha1.Cluster {
	passes := make([]bool, len(s.members))
	for _, t := range termsFrom(in) {
		a := attempt{Input: in, term: t}
		a.enter(s)
		a.filter()
		for _, r := range a.fit {
			passes[r.at] = true
		}
	}
	var found []*clusterv1alpha1.Cluster
	for at, cluster := range s.clusters {
		if passes[at] {
			found = append(found, cluster)
		}
	}
	return found
}
