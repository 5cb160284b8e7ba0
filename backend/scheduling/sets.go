package scheduling

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// isSet says whether a template of several parts is placed as one whole (gate
// MultiplePodTemplatesScheduling): it has parts, and its placement asks for one
// cluster and no more. Its parts then need room in the same cluster. Only a spread
// constraint tells that, an affinity may mean any number of clusters.
func isSet(spec *workv1alpha2.ResourceBindingSpec) bool {
	if len(spec.Components) == 0 || isWorkload(spec) || spec.Placement == nil {
		return false
	}
	wanted, ok := constraint(spec.Placement, policyv1alpha1.SpreadByFieldCluster)
	return ok && wanted.least == 1 && wanted.most == 1
}

// wanted is how many replicas have to find room; a set counts as one.
func (a *attempt) wanted() int32 {
	if isSet(a.Spec) {
		return 1
	}
	return a.Spec.Replicas
}

// counts says whether the room of clusters bounds what they are given.
func (a *attempt) counts() bool {
	return isDivided(a.Spec.Placement) && (isWorkload(a.Spec) || isSet(a.Spec))
}

// set is what the parts of a template ask for.
type set struct {
	pods  int64
	sum   []need
	parts []part
}

// part is one of them: how many replicas, and what each asks for.
type part struct {
	replicas int64
	needs    []need
}

func setOf(components []workv1alpha2.Component) set {
	s := set{parts: make([]part, 0, len(components))}
	sum := map[corev1.ResourceName]int64{}
	for i := range components {
		p := part{replicas: int64(components[i].Replicas), needs: needsOf(components[i].ReplicaRequirements)}
		if p.replicas <= 0 {
			continue
		}
		s.pods += p.replicas
		for _, n := range p.needs {
			sum[n.name] += n.amount * p.replicas
		}
		s.parts = append(s.parts, p)
	}
	for name, wanted := range sum {
		s.sum = append(s.sum, need{name: name, amount: wanted})
	}
	return s
}

// sets is how many more whole sets the member can run: as many as its sums have
// room for, and, where nodes are counted by size, as each part alone finds nodes for.
func (r *room) sets(s *set) int32 {
	if r.pods <= 0 {
		return 0
	}
	most := r.pods / max(s.pods, 1)
	for _, n := range s.sum {
		most = min(most, r.free[n.name]/n.amount)
	}
	for i := range s.parts {
		if r.anyGraded(s.parts[i].needs) {
			most = min(most, r.onGrades(s.parts[i].needs)/s.parts[i].replicas)
		}
	}
	return int32(min(most, math.MaxInt32))
}

func (r *room) anyGraded(needs []need) bool {
	for _, n := range needs {
		if r.isGraded(n.name) {
			return true
		}
	}
	return false
}

// partsOf is what a cluster runs of a set, nil of a template of one part.
func partsOf(spec *workv1alpha2.ResourceBindingSpec) []workv1alpha2.TargetComponent {
	if !isSet(spec) || len(spec.Components) < 2 {
		return nil
	}
	parts := make([]workv1alpha2.TargetComponent, 0, len(spec.Components))
	for i := range spec.Components {
		parts = append(parts, workv1alpha2.TargetComponent{Name: spec.Components[i].Name, Replicas: spec.Components[i].Replicas})
	}
	return parts
}
