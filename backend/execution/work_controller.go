package execution

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/kube"
)

const (
	// staleRetry is when a Work is looked at again whose status was written by
	// somebody else, or by us a moment ago: the cache will know by then.
	staleRetry = 20 * time.Millisecond
	// patience is how many failures in a row may pass in silence that cure
	// themselves: a namespace arrives with a Work of its own.
	patience = 5
)

// WorkReconciler executes the Works of push members (contract section 11.4).
type WorkReconciler struct {
	hub       client.Client
	events    events.EventRecorder
	executors *executors
	lanes     *lanes
	metrics   *metrics
	written   *ownWrites
}

// NewWorkReconciler returns the reconciler.
func NewWorkReconciler(hub client.Client, members *kube.Members, interpreter *interpret.Interpreter, recorder events.EventRecorder) *WorkReconciler {
	r := &WorkReconciler{hub: hub, events: recorder, metrics: shared, written: newOwnWrites()}
	r.lanes = newLanes(r.execute)
	r.executors = newExecutors(members, interpreter, func(namespace, name string) {
		r.lanes.add(types.NamespacedName{Namespace: namespace, Name: name})
	})
	return r
}

// SetupWithManager starts the reconciler with the manager.
func (r *WorkReconciler) SetupWithManager(m ctrl.Manager) error {
	if err := m.Add(r.executors); err != nil {
		return err
	}
	if err := m.Add(r.lanes); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).Named("work").
		For(&workv1alpha1.Work{}, builder.WithPredicates(taskChanged)).
		Watches(&clusterv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.worksOf), builder.WithPredicates(readinessChanged)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler: it only finds the lane of a Work.
func (r *WorkReconciler) Reconcile(_ context.Context, request ctrl.Request) (ctrl.Result, error) {
	if _, ok := apis.ClusterOfExecutionSpace(request.Namespace); ok {
		r.lanes.add(request.NamespacedName)
	}
	return ctrl.Result{}, nil
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
	if err := r.hub.List(ctx, &works, client.InNamespace(apis.ExecutionSpace(cluster.GetName())), client.UnsafeDisableDeepCopy); err != nil {
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

// execute brings one Work to its member.
func (r *WorkReconciler) execute(ctx context.Context, key types.NamespacedName, failures int) (time.Duration, error) {
	name, _ := apis.ClusterOfExecutionSpace(key.Namespace)
	var cluster clusterv1alpha1.Cluster
	err := r.hub.Get(ctx, types.NamespacedName{Name: name}, &cluster, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || err == nil && cluster.Spec.SyncMode != clusterv1alpha1.Push {
		r.executors.end(name)
		r.metrics.forget(name)
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read cluster %s: %w", name, err)
	}
	var work workv1alpha1.Work
	if err := r.hub.Get(ctx, key, &work, client.UnsafeDisableDeepCopy); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	if !ready(&cluster) {
		return 0, nil // becoming ready brings it back; a removal does not wait
	}
	member, err := r.executors.of(ctx, &cluster)
	if err != nil {
		return 0, err
	}
	e := execution{WorkReconciler: r, member: member, cluster: &cluster, work: &work, failures: failures}
	if work.DeletionTimestamp != nil {
		return 0, e.remove(ctx)
	}
	return e.apply(ctx)
}

// execution is one Work on its way into the member. The objects are the cache's.
type execution struct {
	*WorkReconciler
	member   executor
	cluster  *clusterv1alpha1.Cluster
	work     *workv1alpha1.Work
	failures int
}

// apply brings the member to what the Work says and tells the result in one write.
func (e *execution) apply(ctx context.Context) (time.Duration, error) {
	if !slices.Contains(e.work.Finalizers, workv1alpha1.ExecutionControllerFinalizer) {
		if err := e.setFinalizers(ctx, append(slices.Clone(e.work.Finalizers), workv1alpha1.ExecutionControllerFinalizer)); err != nil {
			return retryStale(fmt.Errorf("hold work %s: %w", e.title(), err))
		}
	}
	// It goes on from what was told last, drift that was set back among it: the cache may not know yet.
	_, e.work.Status = e.written.newest(e.work) // the struct is ours
	counted, made := withCalls(ctx)
	began := e.lanes.clock.Now()
	status, applyErr := e.member.Apply(counted, e.work)
	e.count(made, began, applyErr)
	if applyErr != nil && passes(applyErr) && e.failures < patience {
		return 0, fmt.Errorf("apply work %s: %w", e.title(), applyErr)
	}
	if applyErr != nil && len(status.ManifestStatuses) == 0 {
		status.ManifestStatuses = e.work.Status.ManifestStatuses // the last that is known
	}
	if err := e.writeStatus(ctx, status); err != nil {
		if applyErr == nil {
			return retryStale(err)
		}
		return 0, err
	}
	if applyErr != nil {
		return 0, fmt.Errorf("apply work %s: %w", e.title(), applyErr)
	}
	return 0, nil
}

// passes says whether an error is one that a Work under way will cure: the
// object's namespace is not there yet.
func passes(err error) bool {
	var refusal apierrors.APIStatus
	for _, one := range flatten(err) {
		if !asStatus(one, &refusal) || refusal.Status().Reason != metav1.StatusReasonNotFound ||
			refusal.Status().Details == nil || refusal.Status().Details.Kind != "namespaces" {
			return false
		}
	}
	return true
}

func (e *execution) title() string { return e.work.Namespace + "/" + e.work.Name }

func (e *execution) count(made *calls, began time.Time, err error) {
	if made.none() {
		e.metrics.executed(e.cluster.Name, "", "", false, made, e.lanes.clock.Since(began), err)
		return
	}
	about := aboutManifest(e.work)
	applied := meta.IsStatusConditionTrue(e.work.Status.Conditions, workv1alpha1.WorkApplied)
	e.metrics.executed(e.cluster.Name, about.APIVersion, about.Kind, applied, made, e.lanes.clock.Since(began), err)
}

// writeStatus writes nothing if nothing changed. It goes by what the cache knows,
// or by what was written since; if somebody else wrote meanwhile the API refuses,
// and the next look knows more.
func (e *execution) writeStatus(ctx context.Context, status workv1alpha1.WorkStatus) error {
	version, stored := e.written.newest(e.work)
	if equality.Semantic.DeepEqual(stored, status) {
		return nil
	}
	before := &workv1alpha1.Work{ObjectMeta: e.identity(), Status: stored}
	after := &workv1alpha1.Work{ObjectMeta: e.identity(), Status: status}
	before.ResourceVersion, after.ResourceVersion = version, version
	if err := kube.PatchStatus(ctx, e.hub, before, after); err != nil {
		e.written.forget(e.work)
		return fmt.Errorf("write status of work %s: %w", e.title(), err)
	}
	e.written.note(e.work, after)
	return nil
}

// identity is what a patch has to say of the Work besides what it changes.
func (e *execution) identity() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: e.work.Namespace, Name: e.work.Name, UID: e.work.UID, ResourceVersion: e.work.ResourceVersion}
}

func (e *execution) setFinalizers(ctx context.Context, finalizers []string) error {
	before, after := &workv1alpha1.Work{ObjectMeta: e.identity()}, &workv1alpha1.Work{ObjectMeta: e.identity()}
	before.Finalizers, after.Finalizers = e.work.Finalizers, finalizers
	if err := kube.Patch(ctx, e.hub, before, after); err != nil {
		return err
	}
	e.work.ResourceVersion, e.work.Finalizers = after.ResourceVersion, after.Finalizers // the struct is ours, what it points to is the cache's
	return nil
}

// remove takes the Work's objects out of the member and lets the Work go. What
// the member itself still holds back is the member's affair.
func (e *execution) remove(ctx context.Context) error {
	at := slices.Index(e.work.Finalizers, workv1alpha1.ExecutionControllerFinalizer)
	if at < 0 {
		return nil
	}
	counted, made := withCalls(ctx)
	began := e.lanes.clock.Now()
	_, err := e.member.Remove(counted, e.work)
	e.count(made, began, err)
	if err != nil {
		if e.failures == 0 {
			e.warn("Remove", "the objects could not be taken out of the member")
		}
		return fmt.Errorf("remove work %s: %w", e.title(), err)
	}
	if err := e.setFinalizers(ctx, slices.Delete(slices.Clone(e.work.Finalizers), at, at+1)); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("release work %s: %w", e.title(), err)
	}
	return nil
}

// retryStale turns the errors of a write that came too late into another look.
func retryStale(err error) (time.Duration, error) {
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil
	case apierrors.IsConflict(err):
		return staleRetry, nil
	}
	return 0, err
}
