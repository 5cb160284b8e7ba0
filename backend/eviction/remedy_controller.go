package eviction

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	remedyv1alpha1 "muster.dev/muster/backend/apis/remedy/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// RemedyReconciler writes on each cluster which actions Remedies ask for; it is
// the one writer of status.remedyActions. Whoever directs traffic reads them.
type RemedyReconciler struct {
	hub client.Client
}

// NewRemedyReconciler returns the reconciler.
func NewRemedyReconciler(hub client.Client) *RemedyReconciler { return &RemedyReconciler{hub: hub} }

// SetupWithManager starts the reconciler with the manager.
func (r *RemedyReconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("remedy").
		For(&clusterv1alpha1.Cluster{}, builder.WithPredicates(predicate.Or(conditionsChanged, actionsChanged))).
		Watches(&remedyv1alpha1.Remedy{}, handler.EnqueueRequestsFromMapFunc(r.clustersOf)).
		Complete(r)
}

// actionsChanged sees somebody else's hand on the actions.
var actionsChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
	after, okAfter := e.ObjectNew.(*clusterv1alpha1.Cluster)
	return ok && okAfter && !slices.Equal(before.Status.RemedyActions, after.Status.RemedyActions)
}}

// clustersOf is asked for a remedy as it was and as it is, so that a cluster
// which is not named any more is looked at as well.
func (r *RemedyReconciler) clustersOf(ctx context.Context, object client.Object) []reconcile.Request {
	remedy, ok := object.(*remedyv1alpha1.Remedy)
	if !ok {
		return nil
	}
	if remedy.Spec.ClusterAffinity == nil {
		return everyCluster(ctx, r.hub)
	}
	requests := make([]reconcile.Request, 0, len(remedy.Spec.ClusterAffinity.ClusterNames))
	for _, name := range remedy.Spec.ClusterAffinity.ClusterNames {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
	return requests
}

// everyCluster asks for a look at all clusters.
func everyCluster(ctx context.Context, hub client.Client) []reconcile.Request {
	var clusters clusterv1alpha1.ClusterList
	if err := hub.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, 0, len(clusters.Items))
	for i := range clusters.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&clusters.Items[i])})
	}
	return requests
}

// Reconcile implements reconcile.Reconciler.
func (r *RemedyReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var stored clusterv1alpha1.Cluster
	if err := r.hub.Get(ctx, request.NamespacedName, &stored); err != nil || stored.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var remedies remedyv1alpha1.RemedyList
	if err := r.hub.List(ctx, &remedies, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list remedies: %w", err)
	}
	wanted := stored.DeepCopy()
	wanted.Status.RemedyActions = RemedyActions(remedies.Items, &stored)
	if err := kube.PatchStatus(ctx, r.hub, &stored, wanted); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return kube.RetryStale(err)
		}
		return ctrl.Result{}, fmt.Errorf("write remedy actions of cluster %s: %w", stored.Name, err)
	}
	return ctrl.Result{}, nil
}
