package scheduling

import (
	"maps"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/estimator"
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

// without is the room that is left beside workloads.
func (r *room) without(workloads []estimator.Workload) room {
	left := room{pods: r.pods, free: maps.Clone(r.free), grades: r.grades}
	for i := range workloads {
		for _, p := range setOf(workloads[i].Parts).parts {
			left.pods = max(left.pods-p.replicas, 0)
			for _, n := range p.needs {
				if free, known := left.free[n.name]; known {
					left.free[n.name] = max(free-n.amount*p.replicas, 0)
				}
			}
			if left.anyGraded(p.needs) {
				left.grades = occupy(left.grades, p)
			}
		}
	}
	return left
}

// occupy puts the replicas of a part on the first nodes that have room for them.
func occupy(grades []grade, p part) []grade {
	left := make([]grade, 0, len(grades)+2)
	for _, g := range grades {
		each := min(g.fits(p.needs), p.replicas)
		if each <= 0 {
			left = append(left, g)
			continue
		}
		full := min(p.replicas/each, g.nodes)
		p.replicas -= full * each
		left = append(left, g.with(p.needs, each, full))
		if g.nodes -= full; g.nodes > 0 && p.replicas > 0 {
			left = append(left, g.with(p.needs, p.replicas, 1))
			g.nodes, p.replicas = g.nodes-1, 0
		}
		if g.nodes > 0 {
			left = append(left, g)
		}
	}
	return left
}

// with is a number of the nodes once each of them runs replicas.
func (g *grade) with(needs []need, replicas, nodes int64) grade {
	next := grade{nodes: nodes, floor: maps.Clone(g.floor)}
	for _, n := range needs {
		if floor, known := next.floor[n.name]; known {
			next.floor[n.name] = floor - n.amount*replicas
		}
	}
	return next
}

// fits is how many replicas one of the nodes has room for.
func (g *grade) fits(needs []need) int64 {
	each := int64(math.MaxInt32)
	for _, n := range needs {
		if floor, known := g.floor[n.name]; known {
			each = min(each, floor/n.amount)
		}
	}
	return each
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
		total += min(r.grades[i].fits(needs)*r.grades[i].nodes, math.MaxInt32)
	}
	return total
}
