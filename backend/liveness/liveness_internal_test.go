package liveness

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"muster.dev/muster/backend/agentapi"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

func TestSilence(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	l := NewAgents(nil, AgentsDeps{Clock: clock})
	l.agents["m1"] = &agentState{heard: clock.Now()}
	clock.Step(10 * time.Second)
	l.agents["m2"] = &agentState{heard: clock.Now()}
	if got := l.nextDeadline(); got != 5*time.Second {
		t.Errorf("next deadline in %s", got)
	}
	clock.Step(5*time.Second - time.Nanosecond)
	if got := l.findSilent(); len(got) > 0 {
		t.Errorf("silent a nanosecond too soon: %v", got)
	}
	clock.Step(time.Nanosecond)
	if got := l.findSilent(); len(got) != 1 || got[0] != "m1" {
		t.Errorf("silent: %v", got)
	}
	if got := l.findSilent(); len(got) > 0 {
		t.Errorf("told twice: %v", got)
	}
	if got := l.nextDeadline(); got != 10*time.Second {
		t.Errorf("next deadline in %s", got)
	}
	l.Beat("m2")
	l.Beat("m1") // it is back
	l.Beat("nobody")
	if got := l.nextDeadline(); got != agentapi.Deadline {
		t.Errorf("next deadline in %s", got)
	}
	if got, stop := l.queue.Get(); got != "m1" || stop {
		t.Errorf("to be written: %q", got)
	}
}

func TestMergeReport(t *testing.T) {
	then, now := metav1.NewTime(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)), time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	status := clusterv1alpha1.ClusterStatus{
		KubernetesVersion: "v1", RemedyActions: []string{"TrafficControl"},
		Conditions: []metav1.Condition{
			{Type: "ServiceDomainNameResolutionReady", Status: metav1.ConditionTrue, LastTransitionTime: then},
			{Type: "Ready", Status: metav1.ConditionTrue, Reason: "ClusterReady", LastTransitionTime: then},
		},
	}
	reported := &clusterv1alpha1.ClusterStatus{KubernetesVersion: "v2", Conditions: []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionTrue, Reason: "ClusterReady", Message: "fine", LastTransitionTime: metav1.NewTime(now.Add(time.Hour))}, // the agent's clock
	}}
	same := *status.DeepCopy()
	mergeReport(&same, reported, false, now)
	want := *status.DeepCopy()
	want.KubernetesVersion, want.Conditions[1].Message = "v2", "fine"
	if diff := cmp.Diff(want, same); diff != "" {
		t.Errorf("a report: %s", diff)
	}
	silent := *status.DeepCopy()
	mergeReport(&silent, reported, true, now)
	if got := silent.Conditions[1]; got.Status != metav1.ConditionUnknown || got.Reason != clusterv1alpha1.ReasonClusterStatusUnknown || !got.LastTransitionTime.Time.Equal(now) {
		t.Errorf("silent: %+v", got)
	}
	var never clusterv1alpha1.ClusterStatus
	mergeReport(&never, nil, true, now)
	if got := never.Conditions[0]; got.Status != metav1.ConditionUnknown || got.Reason != clusterv1alpha1.ReasonClusterStatusNeverUpdated {
		t.Errorf("never heard: %+v", got)
	}
}

func TestGraceLeft(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	ready := &metav1.Condition{Status: metav1.ConditionTrue}
	if got := graceLeft(now.Add(-39*time.Second), ready, time.Time{}, now); got != time.Second {
		t.Errorf("after 39 s: %s left", got)
	}
	if got := graceLeft(now, nil, now.Add(-59*time.Second), now); got != time.Second {
		t.Errorf("59 s after its creation: %s left", got)
	}
}
