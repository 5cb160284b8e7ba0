package execution

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/kube"
)

func TestWhatCannotBeInterpretedIsTold(t *testing.T) {
	t.Parallel()
	work := func(status metav1.ConditionStatus, reason string) *workv1alpha1.Work {
		w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-m1", Name: "w"}}
		if reason != "" {
			meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{Type: workv1alpha1.WorkDegraded, Status: status, Reason: reason, Message: "script s: no"})
		}
		return w
	}
	healthy := work("", "")
	status, health := work(metav1.ConditionTrue, workv1alpha1.ReasonReflectStatusFailed), work(metav1.ConditionTrue, workv1alpha1.ReasonInterpretHealthFailed)
	for _, test := range []struct {
		name          string
		before, after *workv1alpha1.Work
		want          string
	}{
		{"no trouble", healthy, healthy, ""},
		{"its status", healthy, status, "Warning ReflectStatusFailed script s: no"},
		{"the same again", status, status, ""},
		{"now its health", status, health, "Warning InterpretHealthFailed script s: no"},
		{"its end", health, work(metav1.ConditionFalse, workv1alpha1.ReasonInterpreted), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			told := events.NewFakeRecorder(5)
			a := &announcer{events: kube.NewAnnouncer(told)}
			a.tell(test.before, test.after)
			close(told.Events)
			if got := <-told.Events; got != test.want {
				t.Errorf("told %q, want %q", got, test.want)
			}
		})
	}
}
