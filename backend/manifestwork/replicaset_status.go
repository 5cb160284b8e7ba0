package manifestwork

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	ocmworkv1alpha1 "muster.dev/muster/backend/apis/ocm/work/v1alpha1"
)

// showStatus sums up the works as they were found, before what was written now.
func showStatus(s *scope, problem error) {
	status := &s.set.Status
	done, total := len(s.missing) == 0 && problem == nil, ocmworkv1alpha1.ManifestWorkReplicaSetSummary{}
	var stopped []string
	status.PlacementsSummary = nil
	for _, t := range s.placements {
		summary := t.summarize(s.works)
		status.PlacementsSummary = append(status.PlacementsSummary, summary)
		add(&total, summary.Summary)
		done = done && t.step.Done
		if t.step.Stopped != "" {
			stopped = append(stopped, fmt.Sprintf("placement %s: %s", t.ref.Name, t.step.Stopped))
		}
	}
	status.Summary = total
	meta.SetStatusCondition(&status.Conditions, verifiedCondition(s.missing, s.empty))
	meta.SetStatusCondition(&status.Conditions, rolledOutCondition(done, stopped))
	meta.SetStatusCondition(&status.Conditions, appliedCondition(total, len(s.missing) == 0, problem))
}

// summarize counts the works of one placement.
func (t *target) summarize(works map[string]*ocmworkv1.ManifestWork) ocmworkv1alpha1.PlacementSummary {
	summary := ocmworkv1alpha1.PlacementSummary{Name: t.ref.Name}
	groups, within := 0, 0
	for _, batch := range t.batches {
		applied := 0
		for _, member := range batch.Members {
			work := works[member.Cluster]
			if work == nil {
				continue
			}
			summary.Summary.Total++
			count(&summary.Summary, work, member.Progress)
			if member.Progress != ToApply && isTrue(work, ocmworkv1.ConditionApplied) {
				applied++
			}
		}
		if len(batch.Members) > 0 && applied == len(batch.Members) {
			groups++
		}
		within += applied
	}
	summary.Summary.DesiredTotal = len(together(t.batches))
	summary.AvailableDecisionGroups = fmt.Sprintf("%d (%d / %d clusters applied)", groups, within, summary.Summary.DesiredTotal)
	return summary
}

// count adds one work. What it says of an older template does not count as
// applied.
func count(summary *ocmworkv1alpha1.ManifestWorkReplicaSetSummary, work *ocmworkv1.ManifestWork, progress Progress) {
	if progress != ToApply && work.DeletionTimestamp == nil {
		summary.Updated++
	}
	if progress != ToApply && isTrue(work, ocmworkv1.ConditionApplied) {
		summary.Applied++
	}
	if isTrue(work, ocmworkv1.ConditionAvailable) {
		summary.Available++
	}
	if isTrue(work, ocmworkv1.ConditionProgressing) {
		summary.Progressing++
	}
	if isTrue(work, ocmworkv1.ConditionDegraded) {
		summary.Degraded++
	}
}

func isTrue(work *ocmworkv1.ManifestWork, kind string) bool {
	condition := work.CurrentCondition(kind)
	return condition != nil && condition.Status == metav1.ConditionTrue
}

func add(to *ocmworkv1alpha1.ManifestWorkReplicaSetSummary, more ocmworkv1alpha1.ManifestWorkReplicaSetSummary) {
	to.Total += more.Total
	to.DesiredTotal += more.DesiredTotal
	to.Updated += more.Updated
	to.Available += more.Available
	to.Progressing += more.Progressing
	to.Degraded += more.Degraded
	to.Applied += more.Applied
}
