package managedcluster

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// NamespaceReconciler tells agents which namespaces the sets of their cluster ask
// for (contract sections 1.3 and 2.5). What becomes of them is the agents' word:
// the conditions of an entry stay as they are. A mirror has no agent that would
// make any, so none is asked for there.
type NamespaceReconciler struct{ hub client.Client }

// NewNamespaceReconciler returns the reconciler.
func NewNamespaceReconciler(hub client.Client) *NamespaceReconciler { return &NamespaceReconciler{hub} }

// SetupWithManager starts the reconciler with the manager.
func (r *NamespaceReconciler) SetupWithManager(m ctrl.Manager) error {
	concerns := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*ocmv1.ManagedCluster)
		after, isCluster := e.ObjectNew.(*ocmv1.ManagedCluster)
		return ok && isCluster && (!maps.Equal(before.Labels, after.Labels) || !sameNamespaces(before.Status.ManagedNamespaces, after.Status.ManagedNamespaces) ||
			registration.Mirrored(before) != registration.Mirrored(after))
	}}
	return ctrl.NewControllerManagedBy(m).Named("managed-namespaces").
		For(&ocmv1.ManagedCluster{}, builder.WithPredicates(concerns)).
		Watches(&ocmv1beta2.ManagedClusterSet{}, handler.EnqueueRequestsFromMapFunc(r.clustersOf), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

// clustersOf leads from a set to its clusters, and to those that it had. A change
// of a set comes as two sets, before and after.
func (r *NamespaceReconciler) clustersOf(ctx context.Context, object client.Object) []reconcile.Request {
	set, ok := object.(*ocmv1beta2.ManagedClusterSet)
	if !ok {
		return nil
	}
	members, err := set.Members()
	if err != nil || len(set.Spec.ManagedNamespaces) == 0 {
		members = labels.Nothing()
	}
	var clusters ocmv1.ManagedClusterList
	if err := r.hub.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return nil // a cache that was filled does not fail
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		if members.Matches(labels.Set(cluster.Labels)) || slices.ContainsFunc(cluster.Status.ManagedNamespaces, func(e ocmv1.ClusterSetManagedNamespace) bool { return e.ClusterSet == set.Name }) {
			requests = append(requests, requestFor(cluster.Name)...)
		}
	}
	return requests
}

// Reconcile implements reconcile.Reconciler.
func (r *NamespaceReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := new(ocmv1.ManagedCluster)
	if err := r.hub.Get(ctx, request.NamespacedName, cluster); err != nil || cluster.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var sets ocmv1beta2.ManagedClusterSetList
	if !registration.Mirrored(cluster) {
		if err := r.hub.List(ctx, &sets, client.UnsafeDisableDeepCopy); err != nil {
			return ctrl.Result{}, fmt.Errorf("list cluster sets: %w", err)
		}
	}
	wanted := cluster.DeepCopy()
	wanted.Status.ManagedNamespaces = managedNamespaces(cluster, sets.Items)
	if sameNamespaces(cluster.Status.ManagedNamespaces, wanted.Status.ManagedNamespaces) {
		return ctrl.Result{}, nil
	}
	result, err := kube.RetryStale(kube.PatchStatus(ctx, r.hub, cluster, wanted))
	if err != nil {
		return result, fmt.Errorf("write managed namespaces of managed cluster %s: %w", cluster.Name, err)
	}
	return result, nil
}
