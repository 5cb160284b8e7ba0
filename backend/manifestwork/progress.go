package manifestwork

import (
	"encoding/json"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// annotationToldAt is on the works of replica sets: when the current template was
// written. Conditions that stay True over a change do not tell since when.
const annotationToldAt = "muster.dev/told-at"

// progressOf is how far a cluster is with a template, by its work; nil: it has
// none.
func progressOf(cluster string, work *ocmworkv1.ManifestWork, template *ocmworkv1.ManifestWorkSpec) Member {
	m := Member{Cluster: cluster, Progress: ToApply}
	if work == nil {
		return m
	}
	m.Since = toldAt(work)
	if work.DeletionTimestamp != nil {
		m.Progress = Progressing // a new one can be made once this one is gone
		return m
	}
	if !sameSpec(&work.Spec, template) {
		return m
	}
	m.Progress = Progressing
	applied := work.CurrentCondition(ocmworkv1.ConditionApplied)
	if applied == nil {
		return m
	}
	if degraded := work.CurrentCondition(ocmworkv1.ConditionDegraded); degraded != nil && degraded.Status == metav1.ConditionTrue {
		m.Progress, m.Since = Failed, degraded.LastTransitionTime.Time
		return m
	}
	available, moving := work.CurrentCondition(ocmworkv1.ConditionAvailable), work.CurrentCondition(ocmworkv1.ConditionProgressing)
	switch {
	case applied.Status != metav1.ConditionTrue, available == nil, available.Status != metav1.ConditionTrue:
		return m
	case moving == nil && meta.FindStatusCondition(work.Status.Conditions, ocmworkv1.ConditionProgressing) != nil:
		return m // the rule has not looked at the current template yet
	case moving != nil && moving.Status == metav1.ConditionTrue:
		return m
	}
	m.Progress = Succeeded
	for _, condition := range []*metav1.Condition{applied, available, moving} {
		if condition != nil && condition.LastTransitionTime.After(m.Since) {
			m.Since = condition.LastTransitionTime.Time
		}
	}
	return m
}

func toldAt(work *ocmworkv1.ManifestWork) time.Time {
	if at, err := time.Parse(time.RFC3339, work.Annotations[annotationToldAt]); err == nil {
		return at
	}
	return work.CreationTimestamp.Time
}

// sameSpec compares specs as the API stores them: the order of keys in a manifest
// says nothing.
func sameSpec(a, b *ocmworkv1.ManifestWorkSpec) bool {
	if equality.Semantic.DeepEqual(a, b) {
		return true
	}
	var plain [2]any
	for i, spec := range []*ocmworkv1.ManifestWorkSpec{a, b} {
		data, err := json.Marshal(spec)
		if err != nil || json.Unmarshal(data, &plain[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(plain[0], plain[1])
}
