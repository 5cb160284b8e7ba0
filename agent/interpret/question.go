package interpret

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// question is one question about one object; nothing of it may be changed.
type question struct {
	operation Operation
	object    *unstructured.Unstructured // desired, or observed where only that one matters
	observed  *unstructured.Unstructured // for Retain
	replicas  int32                      // for ReviseReplica
	items     []workv1alpha2.AggregatedStatusItem
}

// answer holds what the operation of the question is about; the rest is empty.
type answer struct {
	replicas     int32
	need         *workv1alpha2.ReplicaRequirements
	components   []workv1alpha2.Component
	object       *unstructured.Unstructured // revised, retained or with its new status
	status       *runtime.RawExtension
	healthy      bool
	dependencies []configv1alpha1.DependentObjectReference
}

// rule answers one operation for some kinds in place of the native rules. Its
// errors are of type *Error.
type rule interface {
	ask(ctx context.Context, q *question) (*answer, error)
}
