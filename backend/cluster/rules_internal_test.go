package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"muster.dev/muster/backend/agentapi"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

func TestReadinessTaints(t *testing.T) {
	now, earlier := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(500, 0))
	old := corev1.Taint{Key: clusterv1alpha1.TaintClusterNotReady, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &earlier}
	notReady := corev1.Taint{Key: clusterv1alpha1.TaintClusterNotReady, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &now}
	unreachable := corev1.Taint{Key: clusterv1alpha1.TaintClusterUnreachable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &now}
	cordon := corev1.Taint{Key: clusterv1alpha1.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	evicting := corev1.Taint{Key: clusterv1alpha1.TaintClusterNotReady, Effect: corev1.TaintEffectNoExecute} // a user's
	ready := func(status metav1.ConditionStatus) *metav1.Condition { return &metav1.Condition{Status: status} }
	tests := map[string]struct {
		current []corev1.Taint
		ready   *metav1.Condition
		want    []corev1.Taint
	}{
		"new":                       {nil, nil, []corev1.Taint{notReady}},
		"not ready":                 {nil, ready(metav1.ConditionFalse), []corev1.Taint{notReady}},
		"unknown":                   {[]corev1.Taint{notReady}, ready(metav1.ConditionUnknown), []corev1.Taint{unreachable}},
		"ready":                     {[]corev1.Taint{unreachable}, ready(metav1.ConditionTrue), nil},
		"one that stays":            {[]corev1.Taint{old}, ready(metav1.ConditionFalse), []corev1.Taint{old}},
		"both":                      {[]corev1.Taint{unreachable, notReady}, ready(metav1.ConditionTrue), nil},
		"twice":                     {[]corev1.Taint{notReady, notReady}, nil, []corev1.Taint{notReady}},
		"users' taints stay":        {[]corev1.Taint{cordon, notReady, evicting}, ready(metav1.ConditionTrue), []corev1.Taint{cordon, evicting}},
		"the order stays":           {[]corev1.Taint{notReady, cordon}, nil, []corev1.Taint{notReady, cordon}},
		"a user's does not replace": {[]corev1.Taint{evicting}, nil, []corev1.Taint{evicting, notReady}},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, readinessTaints(test.current, test.ready, now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSilence(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	l := NewLiveness(nil, LivenessDeps{Clock: clock})
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

func TestOwnsSecret(t *testing.T) {
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", UID: "u1"}}
	secret := func(name string, label bool, owner string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if label {
			s.Labels = map[string]string{"karmada.io/system": "true"}
		}
		if owner != "" {
			s.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", UID: types.UID(owner)}}
		}
		return s
	}
	tests := map[string]struct {
		secret *corev1.Secret
		want   bool
	}{
		"its own, by any name":            {secret("any", false, "u1"), true},
		"another cluster's":               {secret("m1", true, "u2"), false},
		"made by a join":                  {secret("m1", true, ""), true},
		"its impersonator":                {secret("m1-impersonator", true, ""), true},
		"merely named by the spec":        {secret("bootstrap-token-abcdef", true, ""), false},
		"of the right name, not by tools": {secret("m1", false, ""), false},
	}
	for name, test := range tests {
		if got := ownsSecret(c, test.secret); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
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
