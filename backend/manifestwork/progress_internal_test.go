package manifestwork

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

func specOf(raw string) ocmworkv1.ManifestWorkSpec {
	return ocmworkv1.ManifestWorkSpec{Workload: ocmworkv1.ManifestsTemplate{Manifests: []ocmworkv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}}}}
}

func TestProgressOf(t *testing.T) {
	t.Parallel()
	told := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	at := func(kind string, status metav1.ConditionStatus, generation int64, after time.Duration) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(told.Add(after))}
	}
	template := specOf(`{"kind":"ConfigMap","apiVersion":"v1"}`)
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	for name, c := range map[string]struct {
		spec       string
		conditions []metav1.Condition
		deleting   bool
		want       Progress
		since      time.Duration
	}{
		"older template":         {spec: `{"kind":"Secret","apiVersion":"v1"}`, conditions: []metav1.Condition{at("Applied", yes, 2, 0)}, want: ToApply},
		"keys in another order":  {spec: `{"apiVersion":"v1","kind":"ConfigMap"}`, want: Progressing},
		"told":                   {want: Progressing},
		"applied the one before": {conditions: []metav1.Condition{at("Applied", yes, 1, time.Second), at("Available", yes, 1, time.Second)}, want: Progressing},
		"not applied":            {conditions: []metav1.Condition{at("Applied", no, 2, time.Second)}, want: Progressing},
		"applied":                {conditions: []metav1.Condition{at("Applied", yes, 2, time.Second)}, want: Progressing},
		"available":              {conditions: []metav1.Condition{at("Applied", yes, 2, time.Second), at("Available", yes, 2, 3*time.Second)}, want: Succeeded, since: 3 * time.Second},
		"available since before": {conditions: []metav1.Condition{at("Applied", yes, 2, -time.Hour), at("Available", yes, 2, -time.Hour)}, want: Succeeded},
		"not available":          {conditions: []metav1.Condition{at("Applied", yes, 2, time.Second), at("Available", no, 2, 3*time.Second)}, want: Progressing},
		"progressing":            {conditions: []metav1.Condition{at("Applied", yes, 2, 0), at("Available", yes, 2, 0), at("Progressing", yes, 2, time.Second)}, want: Progressing},
		"progressed":             {conditions: []metav1.Condition{at("Applied", yes, 2, 0), at("Available", yes, 2, 0), at("Progressing", no, 2, 4*time.Second)}, want: Succeeded, since: 4 * time.Second},
		"progressed before":      {conditions: []metav1.Condition{at("Applied", yes, 2, 0), at("Available", yes, 2, 0), at("Progressing", no, 1, 0)}, want: Progressing},
		"degraded":               {conditions: []metav1.Condition{at("Applied", yes, 2, 0), at("Available", yes, 2, 0), at("Degraded", yes, 2, 5*time.Second)}, want: Failed, since: 5 * time.Second},
		"degraded by the last":   {conditions: []metav1.Condition{at("Applied", yes, 2, 0), at("Available", yes, 2, 0), at("Degraded", yes, 1, time.Second)}, want: Succeeded},
		"an older one that goes": {spec: `{"kind":"Secret","apiVersion":"v1"}`, deleting: true, want: Progressing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 2, Annotations: map[string]string{annotationToldAt: told.Format(time.RFC3339)}}, Spec: template}
			if c.spec != "" {
				work.Spec = specOf(c.spec)
			}
			if c.deleting {
				work.DeletionTimestamp = ptr.To(metav1.NewTime(told))
			}
			work.Status.Conditions = c.conditions
			got := progressOf("c", work, &template)
			if got.Progress != c.want || !got.Since.Equal(told.Add(c.since)) {
				t.Errorf("got %s since %s, want %s since %s", got.Progress, got.Since.Sub(told), c.want, c.since)
			}
		})
	}
	if got := progressOf("c", nil, &template); got.Progress != ToApply {
		t.Errorf("without a work it is %s", got.Progress)
	}
}

func TestEndOf(t *testing.T) {
	t.Parallel()
	done := metav1.NewTime(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))
	for name, c := range map[string]struct {
		change func(*ocmworkv1.ManifestWork)
		ends   bool
	}{
		"complete":      {func(*ocmworkv1.ManifestWork) {}, true},
		"not complete":  {func(w *ocmworkv1.ManifestWork) { w.Status.Conditions[0].Status = metav1.ConditionFalse }, false},
		"changed since": {func(w *ocmworkv1.ManifestWork) { w.Generation = 2 }, false},
		"no ttl":        {func(w *ocmworkv1.ManifestWork) { w.Spec.DeleteOption.TTLSecondsAfterFinished = nil }, false},
		"no option":     {func(w *ocmworkv1.ManifestWork) { w.Spec.DeleteOption = nil }, false},
		"going":         {func(w *ocmworkv1.ManifestWork) { w.DeletionTimestamp = &done }, false},
		"of a replica set": {func(w *ocmworkv1.ManifestWork) {
			w.Labels = map[string]string{"work.open-cluster-management.io/manifestworkreplicaset": "a.b"}
		}, false},
	} {
		work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		work.Spec.DeleteOption = &ocmworkv1.DeleteOption{TTLSecondsAfterFinished: ptr.To[int64](30)}
		work.Status.Conditions = []metav1.Condition{{Type: "Complete", Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: done}}
		c.change(work)
		end, ends := endOf(work)
		if ends != c.ends || ends && !end.Equal(done.Add(30*time.Second)) {
			t.Errorf("%s: ends %t at %s", name, ends, end)
		}
	}
}
