package scheduling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/registration"
)

// Words for the filters whose reason does not depend on the cluster.
const (
	reasonTerminating = "the cluster is being removed"
	reasonAffinity    = "not meant by the cluster affinity"
	reasonEviction    = "the workload is being evicted from it"
	reasonNoProvider  = "no provider is set to spread by"
	reasonNoRegion    = "no region is set to spread by"
	reasonNoZone      = "no zone is set to spread by"
)

// reasonsTold bounds the reasons in a message; taints can make very many.
const reasonsTold = 12

// filterStep is a filter: it says why a cluster is out, or nothing.
type filterStep struct {
	name string
	out  func(*row) string
}

// filter drops the clusters that cannot take the template (contract section
// 9.2). A cluster fails one filter at most; those that tell a reader most about
// what he wrote come first.
func (a *attempt) filter() {
	for i := range a.rows {
		r := &a.rows[i]
		if r.cluster.DeletionTimestamp != nil {
			r.filter, r.reason = FilterTerminating, reasonTerminating
			continue
		}
		a.fit = append(a.fit, r)
	}
	kinds := newKindLookup(a.Spec.Resource.APIVersion, a.Spec.Resource.Kind)
	missing := "the API " + a.Spec.Resource.APIVersion + " " + a.Spec.Resource.Kind + " is missing"
	for _, step := range []filterStep{
		{FilterClusterAffinity, a.affinityOut},
		{FilterAPIEnablement, func(r *row) string {
			// An OCM member does not tell what it serves; its taint keeps out who does not mean it.
			if r.target || registration.Mirrored(r.cluster) || kinds.in(r.apis) {
				return ""
			}
			return missing
		}},
		{FilterTaintToleration, a.taintOut},
		{FilterSpreadConstraint, a.spreadOut},
		{FilterClusterEviction, evictionOut},
		{FilterWorkloadAffinity, a.company.togetherOut},
		{FilterWorkloadAntiAffinity, a.company.apartOut},
	} {
		began := time.Now()
		left := a.fit[:0]
		for _, r := range a.fit {
			if reason := step.out(r); reason != "" {
				r.filter, r.reason = step.name, reason
				continue
			}
			left = append(left, r)
		}
		a.fit = left
		a.watch.plugin(step.name, began)
	}
}

func (a *attempt) affinityOut(r *row) string {
	tier, ok := a.term.tier(r.cluster)
	if !ok {
		return reasonAffinity
	}
	r.tier = tier
	return ""
}

func (a *attempt) taintOut(r *row) string {
	if r.target || len(r.taints) == 0 {
		return ""
	}
	for i := range r.taints {
		if !a.tolerates(r.taints[i].taint) {
			return r.taints[i].reason
		}
	}
	return ""
}

func (a *attempt) tolerates(taint *corev1.Taint) bool {
	if a.Spec.Placement == nil {
		return false
	}
	for i := range a.Spec.Placement.ClusterTolerations {
		t := &a.Spec.Placement.ClusterTolerations[i]
		if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
			continue
		}
		if t.Operator == corev1.TolerationOpExists || (t.Operator == corev1.TolerationOpEqual || t.Operator == "") && t.Value == taint.Value {
			return true
		}
	}
	return false
}

func (a *attempt) spreadOut(r *row) string {
	if a.Spec.Placement == nil {
		return ""
	}
	for i := range a.Spec.Placement.SpreadConstraints {
		switch a.Spec.Placement.SpreadConstraints[i].SpreadByField {
		case policyv1alpha1.SpreadByFieldProvider:
			if r.cluster.Spec.Provider == "" {
				return reasonNoProvider
			}
		case policyv1alpha1.SpreadByFieldRegion:
			if r.cluster.Spec.Region == "" {
				return reasonNoRegion
			}
		case policyv1alpha1.SpreadByFieldZone:
			if len(r.cluster.Spec.Zones) == 0 {
				return reasonNoZone
			}
		}
	}
	return ""
}

func evictionOut(r *row) string {
	if r.evicting {
		return reasonEviction
	}
	return ""
}

// noFit tells, in the shape that Kubernetes' own scheduler made known, why no
// cluster is left.
func (a *attempt) noFit() *Failure {
	failure := &Failure{Reason: workv1alpha2.ReasonNoClusterFit}
	if len(a.rows) == 0 {
		failure.Message = "0/0 clusters are available: no cluster is registered."
		return failure
	}
	type count struct {
		reason string
		n      int
	}
	var counts []count
	for i := range a.rows {
		at := slices.IndexFunc(counts, func(c count) bool { return c.reason == a.rows[i].reason })
		if at < 0 {
			counts = append(counts, count{reason: a.rows[i].reason, n: 1})
			continue
		}
		counts[at].n++
	}
	slices.SortFunc(counts, func(a, b count) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.reason, b.reason))
	})
	parts := make([]string, 0, len(counts))
	for i, c := range counts {
		if i == reasonsTold {
			rest := 0
			for _, c := range counts[i:] {
				rest += c.n
			}
			parts = append(parts, fmt.Sprintf("%d for other reasons", rest))
			break
		}
		parts = append(parts, fmt.Sprintf("%d %s", c.n, c.reason))
	}
	failure.Message = fmt.Sprintf("0/%d clusters are available: %s.", len(a.rows), strings.Join(parts, ", "))
	return failure
}

// estimate fills in the room of the clusters that fit: the least that is said of it.
func (a *attempt) estimate() {
	var free func(*room) int32
	switch {
	case isWorkload(a.Spec):
		needs := needsOf(a.Spec.ReplicaRequirements)
		free = func(r *room) int32 { return r.replicas(needs) }
	case isSet(a.Spec):
		s := setOf(a.Spec.Components)
		free = func(r *room) int32 { return r.sets(&s) }
	default:
		return
	}
	for _, r := range a.fit {
		left := &r.room
		if assumed := a.Assumed[r.cluster.Name]; len(assumed) > 0 {
			rest := left.without(assumed)
			left = &rest
		}
		r.free = free(left)
		if told, known := a.Estimates[r.cluster.Name]; known {
			r.free = min(r.free, told)
		}
	}
}

// order puts the best cluster first (contract section 9.3).
func order(rows []*row) {
	slices.SortFunc(rows, func(a, b *row) int {
		if a.tier != b.tier {
			return cmp.Compare(a.tier, b.tier)
		}
		if a.target != b.target {
			return cmp.Compare(b.score(), a.score())
		}
		if a.available() != b.available() {
			return cmp.Compare(b.available(), a.available())
		}
		return cmp.Compare(a.at, b.at)
	})
}
