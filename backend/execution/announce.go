package execution

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// The field's own test suite compares these two texts word by word.
const (
	messageDispatching = "Work is being dispatched to member clusters."
	messageSuspended   = "Work dispatching is in a suspended state."
)

// announcer tells, by Events on Works and their templates, what became of Works,
// whether the hub executed them or an agent of ours. The unmodified agent does
// so itself.
type announcer struct {
	cache  cache.Cache
	events *kube.Announcer
}

// Start follows the Works until ctx ends.
func (a *announcer) Start(ctx context.Context) error {
	informer, err := a.cache.GetInformer(ctx, &workv1alpha1.Work{})
	if err != nil && ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return fmt.Errorf("follow works: %w", err)
	}
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(old, object any) {
		before, ok := old.(*workv1alpha1.Work)
		after, okAfter := object.(*workv1alpha1.Work)
		if ok && okAfter && before.ResourceVersion != after.ResourceVersion && a.ours(ctx, after) {
			a.tell(before, after)
		}
	}})
	if err != nil {
		return fmt.Errorf("follow works: %w", err)
	}
	<-ctx.Done()
	_ = informer.RemoveEventHandler(handler) // the informer ends, too
	return nil
}

// ours says whether nobody else makes Events about a Work.
func (a *announcer) ours(ctx context.Context, work *workv1alpha1.Work) bool {
	name, ok := apis.ClusterOfExecutionSpace(work.Namespace)
	if !ok {
		return false
	}
	var c clusterv1alpha1.Cluster
	if err := a.cache.Get(ctx, types.NamespacedName{Name: name}, &c); err != nil {
		return false
	}
	return c.Spec.SyncMode == clusterv1alpha1.Push || registration.HasOwnAgent(&c)
}

// tell makes Events of the turns between two states of a Work.
func (a *announcer) tell(before, after *workv1alpha1.Work) {
	was, is := turn(before, after, workv1alpha1.WorkDispatching)
	switch {
	case is == was:
	case is == metav1.ConditionFalse:
		a.events.Eventf(after, nil, corev1.EventTypeNormal, eventDispatching, "Dispatch", messageSuspended)
	case is == metav1.ConditionTrue:
		a.events.Routine(after, nil, eventDispatching, "Dispatch", messageDispatching)
	}
	was, is = turn(before, after, workv1alpha1.WorkApplied)
	switch {
	case is == was:
	case is == metav1.ConditionFalse:
		message := meta.FindStatusCondition(after.Status.Conditions, workv1alpha1.WorkApplied).Message
		a.both(after, func(about runtime.Object, message string) {
			kube.Tell(a.events, about, corev1.EventTypeWarning, eventSyncFailed, "Sync", message)
		}, message)
	case is == metav1.ConditionTrue && was == "":
		a.both(after, func(about runtime.Object, message string) {
			a.events.Routine(about, nil, eventSyncSucceed, "Sync", "%s", message)
		}, "the member holds what the Work says")
	case is == metav1.ConditionTrue:
		a.both(after, func(about runtime.Object, message string) {
			a.events.Eventf(about, nil, corev1.EventTypeNormal, eventSyncSucceed, "Sync", "%s", message)
		}, "the member holds what the Work says again")
	}
	// What could not be interpreted has the Event's reason as its own.
	was, is = turn(before, after, workv1alpha1.WorkDegraded)
	if of := meta.FindStatusCondition(after.Status.Conditions, workv1alpha1.WorkDegraded); is == metav1.ConditionTrue && (was != is ||
		of.Reason != meta.FindStatusCondition(before.Status.Conditions, workv1alpha1.WorkDegraded).Reason) {
		kube.Tell(a.events, after, corev1.EventTypeWarning, of.Reason, "Interpret", of.Message)
	}
	if len(before.Status.ManifestStatuses) == 0 && len(after.Status.ManifestStatuses) > 0 {
		a.events.Routine(after, nil, eventReflect, "Reflect", "the member's status is known")
		a.events.Routine(after, nil, eventHealth, "InterpretHealth", "the health in the member is %s", after.Status.ManifestStatuses[0].Health)
	}
}

// turn is a condition's status before and after; "" where there is none.
func turn(before, after *workv1alpha1.Work, condition string) (was, is metav1.ConditionStatus) {
	if c := meta.FindStatusCondition(before.Status.Conditions, condition); c != nil {
		was = c.Status
	}
	if c := meta.FindStatusCondition(after.Status.Conditions, condition); c != nil {
		is = c.Status
	}
	return was, is
}

// both tells about a Work and about its template, which names the cluster.
func (a *announcer) both(work *workv1alpha1.Work, tell func(about runtime.Object, message string), message string) {
	tell(work, message)
	if template := templateOf(work); template != nil {
		name, _ := apis.ClusterOfExecutionSpace(work.Namespace)
		tell(template, "cluster "+name+": "+message)
	}
}

// templateOf is the hub object that a Work was made from; nil if there is none.
func templateOf(work *workv1alpha1.Work) *metav1.PartialObjectMetadata {
	about := aboutManifest(work)
	uid := about.Annotations[apis.TemplateUIDAnnotation]
	if uid == "" {
		return nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: about.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: about.Namespace, Name: about.Name, UID: types.UID(uid)}}
}
