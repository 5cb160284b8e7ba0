package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDamper(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	seen := func(s metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: "Ready", Status: s, Reason: reason}
	}
	type step struct {
		after  time.Duration // since start
		seen   metav1.Condition
		status metav1.ConditionStatus
		reason string
		since  time.Duration // of the last transition
	}
	up, down := seen("True", "Up"), seen("False", "Down")
	for name, steps := range map[string][]step{
		"the first is taken as it is": {{0, down, "False", "Down", 0}},
		"a blip is not shown":         {{0, up, "True", "Up", 0}, {10 * time.Second, down, "True", "Up", 0}, {12 * time.Second, up, "True", "Up", 0}},
		"what lasts is shown":         {{0, up, "True", "Up", 0}, {10 * time.Second, down, "True", "Up", 0}, {18 * time.Second, down, "True", "Up", 0}, {20 * time.Second, down, "False", "Down", 20 * time.Second}},
		"an interruption begins anew": {{0, up, "True", "Up", 0}, {5 * time.Second, down, "True", "Up", 0}, {10 * time.Second, up, "True", "Up", 0}, {16 * time.Second, down, "True", "Up", 0}, {20 * time.Second, down, "True", "Up", 0}},
		"recovery is held back too":   {{0, down, "False", "Down", 0}, {10 * time.Second, up, "False", "Down", 0}, {20 * time.Second, up, "True", "Up", 20 * time.Second}},
		"a new reason shows at once":  {{0, down, "False", "Down", 0}, {10 * time.Second, seen("False", "Worse"), "False", "Worse", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			d := damper{lasting: 10 * time.Second}
			for i, s := range steps {
				got := d.observe(start.Add(s.after), s.seen)
				if got.Status != s.status || got.Reason != s.reason || !got.LastTransitionTime.Time.Equal(start.Add(s.since)) {
					t.Errorf("step %d: got %s/%s since %s", i, got.Status, got.Reason, got.LastTransitionTime.Sub(start))
				}
			}
		})
	}
}

func TestTrim(t *testing.T) {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", UID: "u", ResourceVersion: "7", Labels: map[string]string{"app": "x"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec: corev1.PodSpec{NodeName: "n", Overhead: corev1.ResourceList{"cpu": resource.MustParse("1")}, Containers: []corev1.Container{
			{Image: "i", Env: []corev1.EnvVar{{Name: "SECRET", Value: "s"}}, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Message: "m"},
	}
	once, err := trim(p)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", UID: "u", ResourceVersion: "7"},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("3")}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if diff := cmp.Diff(want, once); diff != "" {
		t.Error(diff)
	}
	twice, err := trim(once)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(once, twice); diff != "" {
		t.Errorf("trimming twice differs:\n%s", diff)
	}
}

func TestCounts(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{}}}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
		if change != nil {
			change(p)
		}
		return p
	}
	for name, c := range map[string]struct {
		after any
		want  bool
	}{
		"only the version":  {pod(func(p *corev1.Pod) { p.ResourceVersion = "9" }), false},
		"pending, running":  {pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), false},
		"ended":             {pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), true},
		"bound":             {pod(func(p *corev1.Pod) { p.Spec.NodeName = "m" }), true},
		"another of a name": {pod(func(p *corev1.Pod) { p.UID = "u2" }), true},
		"resized": {pod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
		}), true},
	} {
		if got := counts(pod(nil), c.after); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
