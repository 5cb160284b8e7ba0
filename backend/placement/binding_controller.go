package placement

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	"muster.dev/muster/backend/kube"
)

// BindingReconciler tells of every binding whether its set exists.
type BindingReconciler struct{ hub client.Client }

// SetupWithManager starts the reconciler with the manager.
func (r *BindingReconciler) SetupWithManager(m ctrl.Manager) error {
	comesOrGoes := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
	return ctrl.NewControllerManagedBy(m).Named("managedclustersetbinding").
		For(&ocmv1beta2.ManagedClusterSetBinding{}).
		Watches(&ocmv1beta2.ManagedClusterSet{}, handler.EnqueueRequestsFromMapFunc(r.bindingsOf), builder.WithPredicates(comesOrGoes)).
		Complete(r)
}

// bindingsOf leads from a set to its bindings.
func (r *BindingReconciler) bindingsOf(ctx context.Context, set client.Object) []reconcile.Request {
	var bindings ocmv1beta2.ManagedClusterSetBindingList
	if err := r.hub.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err != nil {
		return nil // a cache that was filled does not fail
	}
	var requests []reconcile.Request
	for i := range bindings.Items {
		if bindings.Items[i].Spec.ClusterSet == set.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&bindings.Items[i])})
		}
	}
	return requests
}

// Reconcile implements reconcile.Reconciler.
func (r *BindingReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	stored := new(ocmv1beta2.ManagedClusterSetBinding)
	if err := r.hub.Get(ctx, request.NamespacedName, stored); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read cluster set binding %s: %w", request, err)
	}
	if stored.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	err := r.hub.Get(ctx, client.ObjectKey{Name: stored.Spec.ClusterSet}, new(ocmv1beta2.ManagedClusterSet))
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("read cluster set %s: %w", stored.Spec.ClusterSet, err)
	}
	binding := stored.DeepCopy()
	meta.SetStatusCondition(&binding.Status.Conditions, boundCondition(err == nil))
	err = kube.PatchStatus(ctx, r.hub, stored, binding)
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("update status of cluster set binding %s: %w", request, err)
	}
	return ctrl.Result{}, nil
}
