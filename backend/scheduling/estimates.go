package scheduling

import (
	"context"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Estimator asks members how many more replicas they can run (contract section
// 9.5). What is not known in time is not in the answer.
type Estimator interface {
	Estimate(ctx context.Context, clusters []*clusterv1alpha1.Cluster, need *workv1alpha2.ReplicaRequirements) map[string]int32
	// EstimateSets asks for whole sets of parts, in a namespace.
	EstimateSets(ctx context.Context, clusters []*clusterv1alpha1.Cluster, namespace string, parts []workv1alpha2.Component) map[string]int32
	// Forget is told of clusters that are gone.
	Forget(cluster string)
}

// Estimates asks the estimators of the clusters that may take a binding, if there
// are any to ask and the decision depends on it. It takes their timeout at most.
func (s *Scheduler) Estimates(ctx context.Context, in Input) map[string]int32 {
	if !s.estimates(in.Spec) {
		return nil
	}
	candidates := candidates(in, s.Snapshot())
	if len(candidates) == 0 {
		return nil
	}
	if isSet(in.Spec) {
		return s.estimator.EstimateSets(ctx, candidates, in.Spec.Resource.Namespace, in.Spec.Components)
	}
	return s.estimator.Estimate(ctx, candidates, in.Spec.ReplicaRequirements)
}

// estimates says whether estimators have a say in where a binding goes: where
// replicas follow the room of clusters, or the clusters themselves are chosen by it.
func (s *Scheduler) estimates(spec *workv1alpha2.ResourceBindingSpec) bool {
	if s.estimator != nil && isSet(spec) {
		return true
	}
	if s.estimator == nil || !isWorkload(spec) || spec.Placement == nil || isStatic(spec.Placement) {
		return false
	}
	return isDivided(spec.Placement) || len(spec.Placement.SpreadConstraints) > 0
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
