package cluster

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// A removal that waits says what for: not at once, not twice, and not each time that
// the words differ.
func TestWaitingRemovalIsToldOf(t *testing.T) {
	t.Parallel()
	stored := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push}}
	hub := fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(stored).WithStatusSubresource(stored).Build()
	recorder, clock := events.NewFakeRecorder(9), testingclock.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
	r := NewReconciler(hub, recorder, ReconcilerDeps{Live: hub})
	r.clock = clock
	kept := &memory{}
	for _, round := range []struct {
		when         string
		after        time.Duration
		message      string
		told, reason string
	}{
		{"at once", 0, "2 works", "", ""},
		{"too early", tactfulAfter - time.Millisecond, "2 works", "", ""},
		{"in time", time.Millisecond, "2 works", "Warning RemoveExecutionSpaceFailed 2 works", ReasonWaitingForWorks},
		{"the same", time.Minute, "2 works", "", ReasonWaitingForWorks},
		{"less", 0, "1 work", "Warning RemoveExecutionSpaceFailed 1 work", ReasonWaitingForWorks},
		{"soon less again", repeatAfter - time.Millisecond, "no work", "", ReasonWaitingForWorks},
	} {
		clock.SetTime(clock.Now().Add(round.after))
		current := &clusterv1alpha1.Cluster{}
		if err := hub.Get(t.Context(), client.ObjectKeyFromObject(stored), current); err != nil {
			t.Fatal(err)
		}
		s := &scope{stored: current, cluster: current.DeepCopy(), memory: kept}
		if err := r.explain(t.Context(), s, waiting{ReasonWaitingForWorks, round.message}); err != nil {
			t.Fatal(err)
		}
		told := ""
		select {
		case told = <-recorder.Events:
		default:
		}
		if told != round.told {
			t.Errorf("%s: told %q, want %q", round.when, told, round.told)
		}
		if err := hub.Get(t.Context(), client.ObjectKeyFromObject(stored), current); err != nil {
			t.Fatal(err)
		}
		reason := ""
		for _, c := range current.Status.Conditions {
			if c.Type == ConditionRemoving {
				reason = c.Reason
			}
		}
		if reason != round.reason {
			t.Errorf("%s: the condition has the reason %q, want %q", round.when, reason, round.reason)
		}
	}
	if left := strings.TrimSpace(strings.Join(drained(recorder), "\n")); left != "" {
		t.Errorf("told besides: %s", left)
	}
}

func drained(recorder *events.FakeRecorder) (all []string) {
	close(recorder.Events)
	for event := range recorder.Events {
		all = append(all, event)
	}
	return all
}
