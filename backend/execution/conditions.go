package execution

import (
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// Reasons of Events about a Work and its template (contract section 3.8).
const (
	eventSyncSucceed = "SyncSucceed"
	eventSyncFailed  = "SyncFailed"
	eventDispatching = "WorkDispatching"
	eventReflect     = "ReflectStatusSucceed"
	eventHealth      = "InterpretHealthSucceed"
)

// warn tells of trouble that is no condition of the Work, on it and on its template.
func (e *execution) warn(action, message string) {
	e.events.Eventf(e.work, nil, corev1.EventTypeWarning, eventSyncFailed, action, "%s", message)
	if template := templateOf(e.work); template != nil {
		kube.Tell(e.events, template, corev1.EventTypeWarning, eventSyncFailed, action, "cluster "+e.cluster.Name+": "+message)
	}
}

// aboutManifest is the metadata of the object that a Work carries; it is empty if
// there is none.
func aboutManifest(work *workv1alpha1.Work) metav1.PartialObjectMetadata {
	var about metav1.PartialObjectMetadata
	if len(work.Spec.Workload.Manifests) > 0 {
		_ = json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &about) // what is no object has no metadata
	}
	return about
}

// flatten returns the errors that errors.Join put together.
func flatten(err error) []error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []error{err}
	}
	return joined.Unwrap()
}

func asStatus(err error, status *apierrors.APIStatus) bool { return errors.As(err, status) }
