package scheduling

import (
	"fmt"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Words for clusters that fit and are left out all the same.
const (
	reasonSpreadFull    = "fits, but the spread constraints take no more clusters"
	reasonOtherRegion   = "fits, but its region was not chosen"
	reasonNoWeight      = "fits, but no weight is given to it"
	reasonNoReplica     = "fits, but no replica falls to it"
	reasonOthersSuffice = "fits, but fewer clusters have room for all replicas"
)

// groups is how many groups of one field are wanted.
type groups struct{ least, most int }

// spread selects clusters from those that fit (contract section 9.4).
func (a *attempt) spread() *Failure {
	placement := a.Spec.Placement
	if placement == nil || len(placement.SpreadConstraints) == 0 || isStatic(placement) {
		a.selected = a.fit
		return nil
	}
	var failure *Failure
	clusters, byCluster := constraint(placement, policyv1alpha1.SpreadByFieldCluster)
	regions, byRegion := constraint(placement, policyv1alpha1.SpreadByFieldRegion)
	switch {
	case byRegion:
		failure = a.spreadByRegion(regions, clusters)
	case byCluster:
		failure = a.spreadByCluster(clusters)
	default:
		return broken("the spread constraints name neither cluster nor region: spreading by zone, provider or label alone is not supported, add a constraint for cluster")
	}
	if failure != nil {
		return failure
	}
	if len(a.selected) == 0 {
		return broken("the spread constraints select no cluster: set maxGroups to at least 1")
	}
	a.leaveOut()
	return nil
}

func constraint(p *policyv1alpha1.Placement, field policyv1alpha1.SpreadFieldValue) (groups, bool) {
	for i := range p.SpreadConstraints {
		if c := &p.SpreadConstraints[i]; c.SpreadByField == field {
			return groups{least: c.MinGroups, most: c.MaxGroups}, true
		}
	}
	return groups{}, false
}

func broken(format string, args ...any) *Failure {
	return &Failure{Reason: workv1alpha2.ReasonSchedulerError, Message: fmt.Sprintf(format, args...), Retry: true}
}

// leaveOut gives a reason to the clusters that fit and were not selected.
func (a *attempt) leaveOut() {
	chosen := make(map[*row]struct{}, len(a.selected))
	for _, r := range a.selected {
		chosen[r] = struct{}{}
	}
	for _, r := range a.fit {
		if _, ok := chosen[r]; !ok && r.filter == "" {
			r.filter, r.reason = FilterSelection, reasonSpreadFull
		}
	}
}

// spreadByCluster takes the best clusters, and where replicas are divided puts
// those with more room in the place of the last ones until there is enough.
func (a *attempt) spreadByCluster(wanted groups) *Failure {
	if len(a.fit) < wanted.least {
		return broken("%d clusters fit, but the spread constraint for cluster wants at least %d", len(a.fit), wanted.least)
	}
	n := max(min(len(a.fit), wanted.most), 0)
	a.selected = append(make([]*row, 0, n), a.fit[:n]...)
	if n == 0 || !a.counts() {
		return nil
	}
	rest := append(make([]*row, 0, len(a.fit)-n), a.fit[n:]...)
	total := int64(0)
	for _, r := range a.selected {
		total += r.available()
	}
	for at := n - 1; at >= 0 && total < int64(a.wanted()); at-- {
		richest := -1
		for i, r := range rest {
			if r.available() > a.selected[at].available() && (richest < 0 || r.available() > rest[richest].available()) {
				richest = i
			}
		}
		if richest < 0 {
			continue
		}
		total += rest[richest].available() - a.selected[at].available()
		a.selected[at], rest[richest] = rest[richest], a.selected[at]
	}
	if total < int64(a.wanted()) {
		return a.tooFew(total)
	}
	return nil
}

// tooFew is the failure of clusters that are chosen by their room and have too little
// together. Its reason is another one than that of replicas that find no room in the
// clusters chosen, and clients know it by its first words.
func (a *attempt) tooFew(available int64) *Failure {
	failure := a.short(available)
	failure.Reason, failure.Message = workv1alpha2.ReasonSchedulerError, "no enough resource: "+failure.Message
	return failure
}

// short is the failure of clusters that have too little room.
func (a *attempt) short(available int64) *Failure {
	message := fmt.Sprintf("%d replicas are wanted, but the clusters that can be used have room for %d", a.Spec.Replicas, available)
	if isSet(a.Spec) {
		message = fmt.Sprintf("%d parts have to run in one cluster, but none of those that can be used has room for all", len(a.Spec.Components))
	}
	return &Failure{Reason: workv1alpha2.ReasonUnschedulable, Message: message, Retry: true, Short: true}
}
