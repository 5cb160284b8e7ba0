package v1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CurrentCondition is the condition of a kind if it is about the work as it is now; nil if nobody has said one, or only about a spec before.
func (w *ManifestWork) CurrentCondition(kind string) *metav1.Condition {
	condition := meta.FindStatusCondition(w.Status.Conditions, kind)
	if condition == nil || condition.ObservedGeneration != 0 && condition.ObservedGeneration < w.Generation {
		return nil
	}
	return condition
}
