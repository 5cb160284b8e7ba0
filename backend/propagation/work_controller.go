package propagation

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// Reasons of Events about a Work (contract section 3.8).
const (
	eventSyncSucceed = "SyncSucceed"
	eventSyncFailed  = "SyncFailed"
)

// removeRetry is how often a Work that is going is tried again whose member
// cannot be reached; the removal of a Cluster does not wait for that.
const removeRetry = 10 * time.Second

// WorkReconciler executes the Works of push members, with the code that an agent
// executes its own with (contract section 11.4). It applies on every change of
// the Work and of its objects in the member, and once a member becomes Ready.
type WorkReconciler struct {
	hub       client.Client
	live      client.Reader
	events    events.EventRecorder
	executors *executors
}

// NewWorkReconciler returns the reconciler. live reads from the hub's API itself.
func NewWorkReconciler(hub client.Client, live client.Reader, members *kube.Members, recorder events.EventRecorder) *WorkReconciler {
	return &WorkReconciler{hub: hub, live: live, events: recorder, executors: newExecutors(members)}
}

// SetupWithManager starts the reconciler with the manager.
func (r *WorkReconciler) SetupWithManager(m ctrl.Manager) error {
	if err := m.Add(r.executors); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).Named("work").
		For(&workv1alpha1.Work{}, builder.WithPredicates(taskChanged)).
		Watches(&clusterv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.worksOf), builder.WithPredicates(readinessChanged)).
		WatchesRawSource(r.executors.source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16}).
		Complete(r)
}

// taskChanged drops the updates that only tell the status we wrote.
var taskChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
		(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
}}

// readinessChanged keeps the events after which a member's Works can go on.
var readinessChanged = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false }, // the Works' own events come too
	DeleteFunc: func(event.DeleteEvent) bool { return true },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
		after, okAfter := e.ObjectNew.(*clusterv1alpha1.Cluster)
		return ok && okAfter && (ready(before) != ready(after) || before.Spec.SyncMode != after.Spec.SyncMode || before.Spec.APIEndpoint != after.Spec.APIEndpoint)
	},
}

func ready(c *clusterv1alpha1.Cluster) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
}

func (r *WorkReconciler) worksOf(ctx context.Context, cluster client.Object) []reconcile.Request {
	var works workv1alpha1.WorkList
	if err := r.hub.List(ctx, &works, client.InNamespace(apis.ExecutionSpace(cluster.GetName()))); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, 0, len(works.Items))
	for i := range works.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&works.Items[i])})
	}
	if len(requests) == 0 {
		// Nothing is left to execute; the look ends the executor of a Cluster that left.
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: apis.ExecutionSpace(cluster.GetName())}})
	}
	return requests
}

// Reconcile implements reconcile.Reconciler.
func (r *WorkReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	name, ok := apis.ClusterOfExecutionSpace(request.Namespace)
	if !ok {
		return ctrl.Result{}, nil
	}
	var cluster clusterv1alpha1.Cluster
	err := r.hub.Get(ctx, types.NamespacedName{Name: name}, &cluster)
	if apierrors.IsNotFound(err) || err == nil && cluster.Spec.SyncMode != clusterv1alpha1.Push {
		r.executors.end(name)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read cluster %s: %w", name, err)
	}
	var work workv1alpha1.Work
	if err := r.hub.Get(ctx, request.NamespacedName, &work); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !ready(&cluster) {
		return ctrl.Result{}, nil // becoming ready brings it back; a removal does not wait
	}
	member, err := r.executors.of(ctx, &cluster)
	if err != nil {
		return ctrl.Result{}, err
	}
	if work.DeletionTimestamp != nil {
		return r.remove(ctx, member, &cluster, &work)
	}
	return ctrl.Result{}, r.apply(ctx, member, &work)
}

// apply brings the member to what the Work says and tells the result.
func (r *WorkReconciler) apply(ctx context.Context, member executor, work *workv1alpha1.Work) error {
	if !slices.Contains(work.Finalizers, workv1alpha1.ExecutionControllerFinalizer) {
		held := work.DeepCopy()
		held.Finalizers = append(held.Finalizers, workv1alpha1.ExecutionControllerFinalizer)
		if err := kube.Patch(ctx, r.hub, work, held); err != nil {
			return skipStale(fmt.Errorf("hold work %s/%s: %w", work.Namespace, work.Name, err))
		}
		work = held
	}
	status, applyErr := member.Apply(ctx, work)
	if err := r.writeStatus(ctx, work, status); err != nil {
		return skipStale(err)
	}
	if applyErr != nil {
		return fmt.Errorf("apply work %s/%s: %w", work.Namespace, work.Name, applyErr)
	}
	return nil
}

func (r *WorkReconciler) writeStatus(ctx context.Context, work *workv1alpha1.Work, status workv1alpha1.WorkStatus) error {
	if equality.Semantic.DeepEqual(work.Status, status) {
		return nil
	}
	// The cache may not know yet what was written a moment ago.
	var stored workv1alpha1.Work
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(work), &stored); err != nil {
		return fmt.Errorf("read work %s/%s: %w", work.Namespace, work.Name, err)
	}
	if stored.UID != work.UID || stored.Generation != work.Generation {
		return nil // its event is on its way
	}
	wanted := stored.DeepCopy()
	wanted.Status.ManifestStatuses = status.ManifestStatuses
	for _, condition := range status.Conditions {
		meta.SetStatusCondition(&wanted.Status.Conditions, condition)
	}
	before := meta.FindStatusCondition(stored.Status.Conditions, workv1alpha1.WorkApplied)
	if err := kube.PatchStatus(ctx, r.hub, &stored, wanted); err != nil {
		return fmt.Errorf("write status of work %s/%s: %w", work.Namespace, work.Name, err)
	}
	after := meta.FindStatusCondition(wanted.Status.Conditions, workv1alpha1.WorkApplied)
	switch {
	case after == nil || before != nil && before.Status == after.Status:
	case after.Status == "True":
		r.events.Eventf(work, nil, corev1.EventTypeNormal, eventSyncSucceed, "Sync", "the member holds what the Work says")
	default:
		r.events.Eventf(work, nil, corev1.EventTypeWarning, eventSyncFailed, "Sync", "%s", after.Message)
	}
	return nil
}

// remove takes the Work's objects out of the member and lets the Work go. What
// the member itself still holds back is the member's affair.
func (r *WorkReconciler) remove(ctx context.Context, member executor, cluster *clusterv1alpha1.Cluster, work *workv1alpha1.Work) (ctrl.Result, error) {
	if !slices.Contains(work.Finalizers, workv1alpha1.ExecutionControllerFinalizer) {
		return ctrl.Result{}, nil
	}
	if _, err := member.Remove(ctx, work); err != nil {
		if cluster.DeletionTimestamp != nil {
			return ctrl.Result{}, fmt.Errorf("remove work %s/%s: %w", work.Namespace, work.Name, err)
		}
		r.events.Eventf(work, nil, corev1.EventTypeWarning, eventSyncFailed, "Remove", "the objects could not be taken out of the member")
		return ctrl.Result{RequeueAfter: removeRetry}, nil
	}
	released := work.DeepCopy()
	released.Finalizers = slices.DeleteFunc(released.Finalizers, func(f string) bool { return f == workv1alpha1.ExecutionControllerFinalizer })
	if err := kube.Patch(ctx, r.hub, work, released); err != nil {
		return ctrl.Result{}, skipStale(fmt.Errorf("release work %s/%s: %w", work.Namespace, work.Name, err))
	}
	return ctrl.Result{}, nil
}

// skipStale drops the errors of a write that came too late: what changed comes
// back as an event.
func skipStale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
