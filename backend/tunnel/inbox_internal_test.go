package tunnel

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/backend/agentapi"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// Drift does not turn: its time is that of the last one, and it goes with a new
// generation of the Work.
func TestMergeDrift(t *testing.T) {
	drift := func(generation int64, message string) metav1.Condition {
		return metav1.Condition{Type: workv1alpha1.WorkDrifted, Status: metav1.ConditionFalse, Reason: workv1alpha1.ReasonDriftRepaired, ObservedGeneration: generation, Message: message}
	}
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	at := func(second int64) metav1.Time { return metav1.NewTime(time.Unix(second, 0)) }
	for _, step := range []struct {
		told     []metav1.Condition
		now      int64
		expected int64 // when drift was last found; 0: there is none
	}{
		{nil, 1, 0},
		{[]metav1.Condition{drift(1, "first")}, 2, 2},
		{[]metav1.Condition{drift(1, "first")}, 3, 2},
		{[]metav1.Condition{drift(1, "second")}, 4, 4},
		{nil, 5, 4}, // an agent that started anew does not know
	} {
		work.Status = mergeStatus(work, &agentapi.Ack{Conditions: step.told}, at(step.now))
		got := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkDrifted)
		if (got != nil) != (step.expected > 0) || got != nil && got.LastTransitionTime.Unix() != step.expected {
			t.Errorf("at %d: %+v", step.now, got)
		}
	}
	work.Generation = 2
	if work.Status = mergeStatus(work, &agentapi.Ack{}, at(6)); len(work.Status.Conditions) != 0 {
		t.Errorf("of what the Work was before: %+v", work.Status.Conditions)
	}
}
