package propagation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/backend/apis"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// report is what the clusters of a binding tell, put together.
type report struct {
	items []workv1alpha2.AggregatedStatusItem // by cluster
	// applied is nil where there is nothing to say yet: no cluster was ever chosen.
	applied *metav1.Condition
	// any says that some target has told of what it is to have now, complete that
	// every one has from which an answer can be expected.
	any, complete bool
}

// summarize puts together what the Works of a binding tell (contract section
// 11.6). Works of clusters that are no targets do not count. unserved are targets
// that cannot be sent what they are to have now, and why: one with a Work still has
// what that says, which is not all it should. away tells of clusters that do not
// answer.
func summarize(b workv1alpha2.Binding, works []workv1alpha1.Work, unserved map[string]string, away func(cluster string) bool) report {
	targets := Targets(b.BindingSpec())
	byCluster := make(map[string]*workv1alpha1.Work, len(works))
	for i := range works {
		if cluster, ok := apis.ClusterOfExecutionSpace(works[i].Namespace); ok && works[i].DeletionTimestamp == nil {
			byCluster[cluster] = &works[i]
		}
	}
	result := report{complete: true}
	var missing []string
	for _, target := range targets {
		work := byCluster[target.Cluster]
		why, stuck := unserved[target.Cluster]
		if work == nil {
			missing = append(missing, because(target.Cluster, why))
			result.complete = result.complete && (stuck || away(target.Cluster))
			continue
		}
		item := itemOf(target.Cluster, work)
		result.items = append(result.items, item)
		switch {
		case stuck:
			missing = append(missing, because(target.Cluster, why))
		case !item.Applied:
			missing = append(missing, because(target.Cluster, item.AppliedMessage))
		}
		answered := told(work)
		result.any = result.any || answered
		result.complete = result.complete && (answered || stuck || away(target.Cluster))
	}
	result.applied = fullyApplied(b, len(targets), missing)
	return result
}

func because(cluster, why string) string {
	if why == "" {
		return cluster
	}
	return cluster + " (" + why + ")"
}

// itemOf is what one cluster tells.
func itemOf(cluster string, work *workv1alpha1.Work) workv1alpha2.AggregatedStatusItem {
	item := workv1alpha2.AggregatedStatusItem{ClusterName: cluster, Health: workv1alpha2.ResourceUnknown}
	if len(work.Status.ManifestStatuses) > 0 {
		item.Status = work.Status.ManifestStatuses[0].Status
	}
	applied := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied)
	if applied != nil && applied.Status == metav1.ConditionTrue {
		item.Applied = true
		if len(work.Status.ManifestStatuses) > 0 {
			item.Health = workv1alpha2.ResourceHealth(work.Status.ManifestStatuses[0].Health)
		}
		return item
	}
	if held := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkDispatching); held != nil && held.Status == metav1.ConditionFalse {
		item.AppliedMessage = held.Message
	}
	if applied != nil {
		item.AppliedMessage = applied.Message
	}
	return item
}

// told says whether a member has answered to what its Work says now. Agents of
// the field do not say which generation they speak of.
func told(work *workv1alpha1.Work) bool {
	for _, kind := range []string{workv1alpha1.WorkApplied, workv1alpha1.WorkDispatching} {
		c := meta.FindStatusCondition(work.Status.Conditions, kind)
		if c == nil || c.ObservedGeneration != 0 && c.ObservedGeneration != work.Generation {
			continue
		}
		if kind == workv1alpha1.WorkApplied || c.Status == metav1.ConditionFalse {
			return true
		}
	}
	return false
}

// fullyApplied is the condition of that name, without a time.
func fullyApplied(b workv1alpha2.Binding, targets int, missing []string) *metav1.Condition {
	no := metav1.Condition{Type: workv1alpha2.FullyApplied, Status: metav1.ConditionFalse, Reason: workv1alpha2.ReasonFullyAppliedFailed}
	switch {
	case targets == 0 && meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.FullyApplied) == nil:
		return nil
	case targets == 0:
		no.Message = messageNoClusterChosen
		return &no
	case len(missing) > 0:
		no.Message = missingSentence(targets, missing)
		return &no
	}
	return &metav1.Condition{Type: workv1alpha2.FullyApplied, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonFullyAppliedSuccess, Message: messageFullyApplied}
}

// missingSentence bounds what goes into the condition: the rest is in aggregatedStatus.
func missingSentence(targets int, missing []string) string {
	const most, length = 5, 1024
	text := fmt.Sprintf("%d of %d clusters have it; missing: %s", targets-len(missing), targets, strings.Join(missing[:min(most, len(missing))], ", "))
	if len(missing) > most {
		text += fmt.Sprintf(" and %d more", len(missing)-most)
	}
	if len(text) > length {
		return text[:length] + "…"
	}
	return text
}

// apply writes a report into a copy of a status, and nothing that is the same. It
// is nil if nothing differs.
func (r *report) apply(status *workv1alpha2.ResourceBindingStatus) *workv1alpha2.ResourceBindingStatus {
	wanted := status.DeepCopy()
	changed := false
	if !slices.EqualFunc(wanted.AggregatedStatus, r.items, sameItem) {
		wanted.AggregatedStatus, changed = r.items, true
	}
	if r.applied != nil {
		changed = meta.SetStatusCondition(&wanted.Conditions, *r.applied) || changed
	}
	if !changed {
		return nil
	}
	return wanted
}

func sameItem(a, b workv1alpha2.AggregatedStatusItem) bool {
	return a.ClusterName == b.ClusterName && a.Applied == b.Applied && a.AppliedMessage == b.AppliedMessage && a.Health == b.Health && sameRaw(a.Status, b.Status)
}

// sameRaw compares what two JSON values mean: servers may write them anew.
func sameRaw(a, b *runtime.RawExtension) bool {
	if a == nil || b == nil {
		return a == b
	}
	if string(a.Raw) == string(b.Raw) {
		return true
	}
	return sameJSON(a.Raw, b.Raw)
}

func sameJSON(a, b []byte) bool {
	var first, second any
	if json.Unmarshal(a, &first) != nil || json.Unmarshal(b, &second) != nil {
		return false
	}
	one, err := json.Marshal(first)
	other, errOther := json.Marshal(second)
	return err == nil && errOther == nil && string(one) == string(other)
}
