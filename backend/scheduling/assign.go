package scheduling

import (
	"cmp"
	"math"
	"slices"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// maxReplicas is the largest number of replicas that can be told.
const maxReplicas = math.MaxInt32

// assign divides the replicas over the selected clusters (contract section 9.5).
func (a *attempt) assign() *Failure {
	if !isWorkload(a.Spec) {
		return nil
	}
	var failure *Failure
	switch {
	case !isDivided(a.Spec.Placement):
		for _, r := range a.selected {
			r.replicas = a.Spec.Replicas
		}
	case isStatic(a.Spec.Placement):
		a.divideByWeight()
	default:
		failure = a.divideByRoom()
	}
	if failure != nil {
		return failure
	}
	for _, r := range a.selected {
		if r.replicas == 0 && r.filter == "" && !a.KeepEmpty {
			r.filter, r.reason = FilterReplicas, reasonNoReplica
		}
	}
	return nil
}

// divideByWeight divides by the static weights. What runs where now does not count.
func (a *attempt) divideByWeight() {
	rules := weightRules(a.Spec.Placement)
	shares := make([]share, 0, len(a.selected))
	for _, r := range a.selected {
		weight := int64(0)
		for i := range rules {
			if rules[i].weight > weight && rules[i].matches(r.cluster) {
				weight = rules[i].weight
			}
		}
		shares = append(shares, share{row: r, weight: weight})
	}
	if !slices.ContainsFunc(shares, func(s share) bool { return s.weight > 0 }) {
		for i := range shares {
			shares[i].weight = 1
		}
	}
	for i := range shares {
		if shares[i].weight == 0 {
			shares[i].row.filter, shares[i].row.reason = FilterReplicas, reasonNoWeight
		}
	}
	a.apportion(a.Spec.Replicas, shares)
}

// weightRule is an entry of a staticWeightList, made ready for many clusters.
type weightRule struct {
	affinity
	weight int64
}

func weightRules(p *policyv1alpha1.Placement) []weightRule {
	if p.ReplicaScheduling.WeightPreference == nil {
		return nil
	}
	list := p.ReplicaScheduling.WeightPreference.StaticWeightList
	rules := make([]weightRule, 0, len(list))
	for i := range list {
		rules = append(rules, weightRule{affinity: compile(&list[i].TargetCluster), weight: list[i].Weight})
	}
	return rules
}

// apportion adds an apportioned number of replicas to the clusters.
func (a *attempt) apportion(total int32, shares []share) {
	apportion(total, shares, tiesDescend(string(a.Spec.Resource.UID)))
	for i := range shares {
		shares[i].row.replicas += shares[i].seats
	}
}

// divideByRoom divides by what the clusters have room for: for Aggregated and
// for dynamic weights. Unless it starts afresh, what runs stays where it is, and
// only the difference is divided.
func (a *attempt) divideByRoom() *Failure {
	want, assigned := int64(a.Spec.Replicas), int64(0)
	for _, r := range a.selected {
		assigned += int64(r.assigned)
	}
	var weight func(*row) int64
	switch {
	case a.Fresh:
		weight = (*row).available
	case assigned > want:
		weight = func(r *row) int64 { return int64(r.assigned) }
	default:
		want -= assigned
		weight = func(r *row) int64 { return int64(r.free) }
		for _, r := range a.selected {
			r.replicas = r.assigned
		}
	}
	left := want
	for tier := 0; tier < len(a.term.tiers) && left > 0; tier++ {
		left = a.fill(tier, left, weight)
	}
	if left > 0 {
		return a.short(int64(a.Spec.Replicas) - left)
	}
	return nil
}

// fill divides up to want replicas over the clusters of a tier and returns what
// they have no room for.
func (a *attempt) fill(tier int, want int64, weight func(*row) int64) (left int64) {
	shares := make([]share, 0, len(a.selected))
	room := int64(0)
	for _, r := range a.selected {
		if r.tier == tier {
			shares = append(shares, share{row: r, weight: weight(r)})
			room += weight(r)
		}
	}
	part := min(want, room)
	if part <= 0 {
		return want
	}
	if a.Spec.Placement.ReplicaScheduling.ReplicaDivisionPreference == policyv1alpha1.ReplicaDivisionPreferenceAggregated {
		shares = a.gather(shares, part)
	}
	a.apportion(int32(part), shares)
	return want - part
}

// gather keeps the fewest clusters that have room for the replicas: those that
// run some already come first, then those with the most room.
func (a *attempt) gather(shares []share, want int64) []share {
	slices.SortStableFunc(shares, func(x, y share) int {
		return cmp.Or(cmp.Compare(a.usage(y.row), a.usage(x.row)), cmp.Compare(y.weight, x.weight))
	})
	for i := range shares {
		if want -= shares[i].weight; want <= 0 {
			for _, s := range shares[i+1:] {
				if s.row.replicas == 0 {
					s.row.filter, s.row.reason = FilterReplicas, reasonOthersSuffice
				}
			}
			return shares[:i+1]
		}
	}
	return shares
}

// usage is 1 for a cluster that runs replicas which stay.
func (a *attempt) usage(r *row) int {
	if r.assigned > 0 && !a.Fresh {
		return 1
	}
	return 0
}
