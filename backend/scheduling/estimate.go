package scheduling

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// amount is a quantity in the unit that resources are compared in: thousandths
// of a core for cpu, whole units for everything else.
func amount(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// need is what one replica asks for of one resource.
type need struct {
	name   corev1.ResourceName
	amount int64
}

// needsOf are the resources that a replica asks for. Those of which it asks for
// nothing bound nothing.
func needsOf(requirements *workv1alpha2.ReplicaRequirements) []need {
	if requirements == nil {
		return nil
	}
	needs := make([]need, 0, len(requirements.ResourceRequest))
	for name, quantity := range requirements.ResourceRequest {
		if wanted := amount(name, quantity); wanted > 0 && name != corev1.ResourcePods {
			needs = append(needs, need{name: name, amount: wanted})
		}
	}
	return needs
}

// room is the free capacity of a member as it reports it (contract section 9.5).
type room struct {
	pods int64
	free map[corev1.ResourceName]int64
	// grades are the nodes by size, where the member counts them.
	grades []grade
}

// grade is the nodes of one size: how many there are, and what each of them has
// free at least.
type grade struct {
	nodes int64
	floor map[corev1.ResourceName]int64
}

func newRoom(cluster *clusterv1alpha1.Cluster) room {
	summary := cluster.Status.ResourceSummary
	if summary == nil {
		return room{}
	}
	r := room{free: make(map[corev1.ResourceName]int64, len(summary.Allocatable))}
	for name, quantity := range summary.Allocatable {
		left := amount(name, quantity) - amount(name, summary.Allocated[name]) - amount(name, summary.Allocating[name])
		r.free[name] = max(left, 0)
	}
	r.pods = r.free[corev1.ResourcePods]
	counts := make(map[uint]int, len(summary.AllocatableModelings))
	for _, modeling := range summary.AllocatableModelings {
		counts[modeling.Grade] = modeling.Count
	}
	for i := range cluster.Spec.ResourceModels {
		model := &cluster.Spec.ResourceModels[i]
		if counts[model.Grade] <= 0 {
			continue
		}
		g := grade{nodes: int64(counts[model.Grade]), floor: make(map[corev1.ResourceName]int64, len(model.Ranges))}
		for _, bounds := range model.Ranges {
			g.floor[bounds.Name] = amount(bounds.Name, bounds.Min)
		}
		r.grades = append(r.grades, g)
	}
	return r
}

// replicas is how many more replicas the member can run. The number of pods is
// a bound in any case; where nodes are counted by size, they say how many
// replicas fit onto them, and the sums bound what sizes do not tell.
func (r *room) replicas(needs []need) int32 {
	most := r.pods
	if most <= 0 {
		return 0
	}
	graded := false
	for _, n := range needs {
		if r.isGraded(n.name) {
			graded = true
			continue
		}
		most = min(most, r.free[n.name]/n.amount)
	}
	if graded {
		most = min(most, r.onGrades(needs))
	}
	return int32(min(most, math.MaxInt32))
}

func (r *room) isGraded(name corev1.ResourceName) bool {
	if len(r.grades) == 0 {
		return false
	}
	_, known := r.grades[0].floor[name]
	return known
}

func (r *room) onGrades(needs []need) int64 {
	total := int64(0)
	for i := range r.grades {
		each := int64(math.MaxInt32)
		for _, n := range needs {
			if floor, known := r.grades[i].floor[n.name]; known {
				each = min(each, floor/n.amount)
			}
		}
		total += min(each*r.grades[i].nodes, math.MaxInt32)
	}
	return total
}
