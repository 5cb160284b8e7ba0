package execution

import (
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/backend/apis"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// Reasons of Events about a Work and its template (contract section 3.8).
const (
	eventSyncSucceed = "SyncSucceed"
	eventSyncFailed  = "SyncFailed"
)

// tell makes an event of a turn for the worse or back for the better. The first
// success is no event: there would be one for every object in every member.
func (e *execution) tell(before, after []metav1.Condition) {
	now := meta.FindStatusCondition(after, workv1alpha1.WorkApplied)
	last := meta.FindStatusCondition(before, workv1alpha1.WorkApplied)
	switch {
	case now == nil || last != nil && last.Status == now.Status:
	case now.Status != metav1.ConditionTrue:
		e.warn("Sync", now.Message)
	case last != nil:
		e.event(corev1.EventTypeNormal, eventSyncSucceed, "Sync", "the member holds what the Work says again")
	}
}

func (e *execution) warn(action, message string) {
	e.event(corev1.EventTypeWarning, eventSyncFailed, action, message)
}

func (e *execution) event(kind, reason, action, message string) {
	e.events.Eventf(e.work, nil, kind, reason, action, "%s", message)
	about := aboutManifest(e.work)
	uid := about.Annotations[apis.TemplateUIDAnnotation]
	if uid == "" {
		return // of no template
	}
	template := &metav1.PartialObjectMetadata{TypeMeta: about.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: about.Namespace, Name: about.Name, UID: types.UID(uid)}}
	e.events.Eventf(template, nil, kind, reason, action, "cluster %s: %s", e.cluster.Name, message)
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
