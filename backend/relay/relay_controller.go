package relay

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// Reconciler keeps a ManifestWork for each Work of a mirrored Cluster, and the
// Work's status by what comes of it.
type Reconciler struct {
	hub    client.Client
	live   client.Reader
	mapper meta.RESTMapper
}

// SetupWithManager adds the Reconciler to the manager of a plane that serves both
// dialects.
func SetupWithManager(m ctrl.Manager) error {
	r := &Reconciler{hub: m.GetClient(), live: m.GetAPIReader(), mapper: m.GetRESTMapper()}
	return ctrl.NewControllerManagedBy(m).Named("relay").
		For(&workv1alpha1.Work{}).
		Watches(&ocmworkv1.ManifestWork{}, handler.EnqueueRequestsFromMapFunc(workOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

// workOf leads from a ManifestWork that carries a Work back to it.
func workOf(_ context.Context, carrier client.Object) []reconcile.Request {
	if carrier.GetLabels()[LabelRelayed] != apis.LabelTrue {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: apis.ExecutionSpace(carrier.GetNamespace()), Name: carrier.GetName()}}}
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster, ok := apis.ClusterOfExecutionSpace(request.Namespace)
	if !ok {
		return ctrl.Result{}, nil
	}
	var work workv1alpha1.Work
	err := r.hub.Get(ctx, request.NamespacedName, &work)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.sweep(ctx, cluster, request.Name)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read work %s: %w", request.NamespacedName, err)
	}
	var mirror clusterv1alpha1.Cluster
	err = r.hub.Get(ctx, client.ObjectKey{Name: cluster}, &mirror, client.UnsafeDisableDeepCopy)
	if err != nil || !registration.Mirrored(&mirror) {
		return ctrl.Result{}, client.IgnoreNotFound(err) // somebody else's
	}
	carrier := &ocmworkv1.ManifestWork{}
	err = r.hub.Get(ctx, client.ObjectKey{Namespace: cluster, Name: work.Name}, carrier)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("read manifest work %s/%s: %w", cluster, work.Name, err)
	}
	if err != nil {
		carrier = nil
	}
	if work.DeletionTimestamp != nil {
		return ctrl.Result{}, unlessOvertaken(r.withdraw(ctx, &work, carrier))
	}
	return ctrl.Result{}, unlessOvertaken(r.carry(ctx, cluster, &work, carrier))
}

// unlessOvertaken drops the error of a write that somebody else's got before: what
// did comes back as an event.
func unlessOvertaken(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// errForeign tells of a ManifestWork that somebody else made.
var errForeign = errors.New("a ManifestWork of this name exists that was not made for this Work")

// carry brings a Work into its ManifestWork, and back what came of it.
func (r *Reconciler) carry(ctx context.Context, cluster string, work *workv1alpha1.Work, carrier *ocmworkv1.ManifestWork) error {
	if carrier != nil && carrier.Labels[LabelRelayed] != apis.LabelTrue {
		return r.write(ctx, work, refusedStatus(work, errForeign.Error()))
	}
	if work.Spec.SuspendDispatching != nil && *work.Spec.SuspendDispatching {
		return r.write(ctx, work, suspendedStatus(work)) // what was sent before stays as it is
	}
	a, err := aboutWork(work, r.mapper)
	if err != nil {
		return r.write(ctx, work, refusedStatus(work, err.Error()))
	}
	wanted, err := outgoing(cluster, work, a)
	if err != nil {
		return err
	}
	if why := tooLarge(wanted); why != "" {
		return r.write(ctx, work, refusedStatus(work, why))
	}
	switch {
	case carrier == nil:
		err = r.hub.Create(ctx, wanted)
		carrier = wanted
	case carrier.DeletionTimestamp != nil:
		return nil // it has to go before there can be another; its event leads on
	case carrier.Annotations[annotationDigest] != wanted.Annotations[annotationDigest]:
		before := carrier.DeepCopy()
		carrier.Spec = wanted.Spec
		metav1.SetMetaDataAnnotation(&carrier.ObjectMeta, annotationDigest, wanted.Annotations[annotationDigest])
		err = r.hub.Patch(ctx, carrier, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return r.write(ctx, work, refusedStatus(work, err.Error()))
	}
	if err != nil {
		return err
	}
	return r.write(ctx, work, incoming(work, carrier, a))
}

func (r *Reconciler) write(ctx context.Context, work *workv1alpha1.Work, status workv1alpha1.WorkStatus) error {
	if equality.Semantic.DeepEqual(work.Status, status) {
		return nil
	}
	written := work.DeepCopy()
	written.Status = status
	return kube.PatchStatus(ctx, r.hub, work, written)
}

// withdraw takes a Work's ManifestWork away, and lets the Work go once the member
// has cleaned up.
func (r *Reconciler) withdraw(ctx context.Context, work *workv1alpha1.Work, carrier *ocmworkv1.ManifestWork) error {
	if carrier != nil && carrier.Labels[LabelRelayed] == apis.LabelTrue {
		if carrier.DeletionTimestamp != nil {
			return nil // its event leads on
		}
		uid := carrier.UID
		return r.hub.Delete(ctx, carrier, client.Preconditions{UID: &uid})
	}
	released := work.DeepCopy()
	if !controllerutil.RemoveFinalizer(released, workv1alpha1.ExecutionControllerFinalizer) {
		return nil
	}
	return r.hub.Patch(ctx, released, client.MergeFromWithOptions(work, client.MergeFromWithOptimisticLock{}))
}

// sweep deletes a ManifestWork whose Work has gone without waiting for it.
func (r *Reconciler) sweep(ctx context.Context, cluster, name string) error {
	var carrier ocmworkv1.ManifestWork
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: cluster, Name: name}, &carrier)
	if err != nil || carrier.Labels[LabelRelayed] != apis.LabelTrue || carrier.DeletionTimestamp != nil {
		return client.IgnoreNotFound(err)
	}
	err = r.live.Get(ctx, client.ObjectKey{Namespace: apis.ExecutionSpace(cluster), Name: name}, &workv1alpha1.Work{})
	if !apierrors.IsNotFound(err) {
		return err // the cache is behind
	}
	return client.IgnoreNotFound(r.hub.Delete(ctx, &carrier))
}
