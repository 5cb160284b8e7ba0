// Package manifest holds what hub and agents must agree on about the manifests of a Work: what is removed from an object before it is
// sent to another cluster, and which keys on it are ours (contract sections 11.2 and 11.3). The hub applies it when a Work is written; an
// agent compares the object in the member with the manifest after the same removal.
package manifest

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/backend/apis"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// Mark puts the permanent id of its Work on an object and records which of its labels and annotations are ours, so that an agent can
// later tell a key that we removed from one that the member added. It changes the object; marking twice is marking once.
func Mark(object *unstructured.Unstructured, workID string) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[workv1alpha1.WorkPermanentIDLabel] = workID
	object.SetLabels(labels)

	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[apis.ManagedLabelsAnnotation] = keys(labels)
	annotations[apis.ManagedAnnotationsAnnotation] = "" // the lists contain themselves
	annotations[apis.ManagedAnnotationsAnnotation] = keys(annotations)
	object.SetAnnotations(annotations)
}

func keys(m map[string]string) string { return strings.Join(slices.Sorted(maps.Keys(m)), ",") }
