package consent

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// SharedRoleReconciler keeps the roles that the agents of all clusters share,
// while there is any ManagedCluster.
type SharedRoleReconciler struct{ roles }

// SetupWithManager starts the reconciler with the manager.
func (r *SharedRoleReconciler) SetupWithManager(m ctrl.Manager) error {
	once := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return requestFor(sharedWorkRole) })
	comesOrGoes := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
	shared := predicate.NewPredicateFuncs(func(role client.Object) bool {
		return role.GetName() == sharedRegistrationRole || role.GetName() == sharedWorkRole
	})
	return ctrl.NewControllerManagedBy(m).Named("shared-roles").
		Watches(&ocmv1.ManagedCluster{}, once, builder.WithPredicates(comesOrGoes)).
		Watches(&rbacv1.ClusterRole{}, once, builder.WithPredicates(shared)).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *SharedRoleReconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var clusters ocmv1.ManagedClusterList
	if err := r.hub.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list managed clusters: %w", err)
	}
	for _, role := range sharedRoles() {
		change := r.ensure
		if len(clusters.Items) == 0 {
			change = r.remove
		}
		if err := change(ctx, role); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}
