package interpret

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Question is one question about one object.
type Question struct {
	Operation Operation
	// Object is the template, or the member's object where only that one matters.
	Object *unstructured.Unstructured
	// Observed is the member's object, for Retain.
	Observed *unstructured.Unstructured
	// Replicas are to be set, for ReviseReplica.
	Replicas int32
	// Items are the members' status, for AggregateStatus.
	Items []workv1alpha2.AggregatedStatusItem
}

// Answer holds what the operation of the question is about; the rest is empty.
type Answer struct {
	Replicas   int32
	Need       *workv1alpha2.ReplicaRequirements
	Components []workv1alpha2.Component
	// Object is the revised or retained one, or the template with its new status.
	Object       *unstructured.Unstructured
	Status       *runtime.RawExtension
	Healthy      bool
	Dependencies []configv1alpha1.DependentObjectReference
	// Printed is what a script has printed.
	Printed string
}

// rule answers one operation for some kinds in place of the native rules. Its
// errors are of type *Error, or those of ctx. Neither question nor what it points
// to is changed.
type rule interface {
	ask(ctx context.Context, q *Question) (*Answer, error)
}
