package preview

import (
	"context"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/scheduling"
	"muster.dev/muster/backend/workload/fact"
)

// place asks the scheduler, describes what would be stored and returns where that
// would be.
func (i *Item) place(ctx context.Context, next workv1alpha2.Binding, before []workv1alpha2.TargetCluster, p *placing) []workv1alpha2.TargetCluster {
	spec := next.BindingSpec()
	_, fresh, needed := scheduling.Needed(next, p.snapshot)
	in := scheduling.Input{Spec: spec, Status: next.BindingStatus(), Fresh: fresh, KeepEmpty: p.service.KeepEmpty}
	decision := scheduling.Decide(p.service.Scheduler.Inquire(ctx, in), p.snapshot)
	if needed && decision.Failure == nil {
		decision.Failure = p.refused(ctx, next, decision.Clusters)
	}
	after := decision.Clusters
	switch {
	case !needed:
		after, decision.Failure = before, nil // the scheduler would leave it as it is
	case decision.Failure == nil:
	case decision.Failure.Reason != workv1alpha2.ReasonNoClusterFit:
		after = before // only what fits nowhere is taken away (contract section 9.7)
	default:
		after = nil
	}
	if decision.Failure != nil {
		i.Failure = &Failure{Reason: decision.Failure.Reason, Message: decision.Failure.Message}
		if decision.Failure.Short {
			var sum int64
			for _, n := range decision.Available {
				sum += int64(n)
			}
			i.Failure.Available = &sum
		}
	}
	i.describe(before, after, fact.Counted(spec))
	chosen := make(map[string]bool, len(after))
	for at := range after {
		chosen[after[at].Name] = true
	}
	for _, out := range decision.Excluded {
		if !chosen[out.Cluster] {
			i.Excluded = append(i.Excluded, Exclusion{Name: out.Cluster, Filter: out.Filter, Reason: out.Reason})
		}
	}
	return after
}

// describe compares where an object is with where it would be.
func (i *Item) describe(before, after []workv1alpha2.TargetCluster, counted bool) {
	now := make(map[string]int32, len(before))
	for at := range before {
		now[before[at].Name] = before[at].Replicas
	}
	for at := range after {
		target := &after[at]
		have, had := now[target.Name]
		delete(now, target.Name)
		cluster := Cluster{Name: target.Name, Change: ChangedNew}
		switch {
		case !had:
		case !counted || have == target.Replicas:
			cluster.Change = ChangedKept
		case have < target.Replicas:
			cluster.Change = ChangedMore
		default:
			cluster.Change = ChangedFewer
		}
		if counted {
			wanted := target.Replicas
			cluster.Replicas = &wanted
			if had {
				cluster.Now = &have
			}
		}
		i.Chosen = append(i.Chosen, cluster)
	}
	for at := range before {
		if have, leaves := now[before[at].Name]; leaves {
			leave := Leave{Name: before[at].Name}
			if counted {
				leave.Replicas = &have
			}
			i.Leaves = append(i.Leaves, leave)
		}
	}
}
