package scheduling

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Reasons to schedule a binding, as Needed tells them.
const (
	whyPlacement   = "the placement changed"
	whyReplicas    = "the number of replicas changed"
	whyRequested   = "rescheduling was asked for"
	whyEvery       = "every change of the clusters or the template counts"
	whyTerminating = "a target cluster is being removed"
	whyFirst       = "it was never scheduled"
)

// Needed says whether a binding must be scheduled now, for which reason, and
// whether afresh (contract section 9.1). It is scheduled afresh whenever that was
// asked for, whatever else changed: the request counts as answered afterwards.
func Needed(b workv1alpha2.Binding, s *Snapshot) (why string, fresh, needed bool) {
	spec, status := b.BindingSpec(), b.BindingStatus()
	requested := workv1alpha2.RescheduleRequested(b)
	switch {
	case placementChanged(b):
		return whyPlacement, requested, true
	case replicasChanged(spec):
		return whyReplicas, requested, true
	case requested:
		return whyRequested, requested, true
	case !isWorkload(spec) || !isDivided(spec.Placement):
		return whyEvery, requested, true
	case slices.ContainsFunc(spec.Clusters, func(t workv1alpha2.TargetCluster) bool {
		cluster := s.Get(t.Name)
		return cluster == nil || cluster.DeletionTimestamp != nil
	}):
		return whyTerminating, requested, true
	case status.LastScheduledTime == nil && meta.FindStatusCondition(status.Conditions, workv1alpha2.Scheduled) == nil:
		return whyFirst, false, true
	}
	return "", false, false
}

// AppliedPlacement is the value of the annotation policy.karmada.io/applied-placement.
func AppliedPlacement(p *policyv1alpha1.Placement) string {
	if p == nil {
		p = &policyv1alpha1.Placement{}
	}
	raw, err := json.Marshal(p)
	if err != nil {
		panic("a placement has no JSON: " + err.Error()) // it holds nothing that could have none
	}
	return string(raw)
}

// placementChanged says whether the placement is another one than was last
// scheduled. Of clusterAffinities only the term in use counts; workloadAffinity
// does not.
func placementChanged(b workv1alpha2.Binding) bool {
	spec := b.BindingSpec()
	text, ok := b.GetAnnotations()[policyv1alpha1.AppliedPlacementAnnotation]
	if !ok {
		return true
	}
	if text == AppliedPlacement(spec.Placement) {
		return false
	}
	var applied, wanted policyv1alpha1.Placement
	if json.Unmarshal([]byte(text), &applied) != nil {
		return true
	}
	if spec.Placement != nil {
		wanted = *spec.Placement
	}
	applied.WorkloadAffinity, wanted.WorkloadAffinity = nil, nil
	if used := b.BindingStatus().SchedulerObservedAffinityName; used != "" {
		before, after := termNamed(applied.ClusterAffinities, used), termNamed(wanted.ClusterAffinities, used)
		if before == nil || after == nil || !equality.Semantic.DeepEqual(before, after) {
			return true
		}
		applied.ClusterAffinities, wanted.ClusterAffinities = nil, nil
	}
	return !equality.Semantic.DeepEqual(applied, wanted)
}

func termNamed(terms []policyv1alpha1.ClusterAffinityTerm, name string) *policyv1alpha1.ClusterAffinityTerm {
	at := slices.IndexFunc(terms, func(t policyv1alpha1.ClusterAffinityTerm) bool { return t.AffinityName == name })
	if at < 0 {
		return nil
	}
	return &terms[at]
}

func replicasChanged(spec *workv1alpha2.ResourceBindingSpec) bool {
	if spec.Placement == nil || spec.Placement.ReplicaScheduling == nil {
		return false
	}
	if !isDivided(spec.Placement) {
		return slices.ContainsFunc(spec.Clusters, func(t workv1alpha2.TargetCluster) bool { return t.Replicas != spec.Replicas })
	}
	sum := int64(0)
	for _, target := range spec.Clusters {
		sum += int64(target.Replicas)
	}
	return sum != int64(spec.Replicas)
}
