package placement

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
)

// SetupWithManager starts the reconciler with the manager. The decisions of
// other placements make none look again: they count when it does, or one
// placement would chase the other.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	every := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		return r.placements(ctx, "", nil)
	})
	inNamespace := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, binding client.Object) []reconcile.Request {
		return r.placements(ctx, binding.GetNamespace(), nil)
	})
	thatScore := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		return r.placements(ctx, "", readsScores)
	})
	return ctrl.NewControllerManagedBy(m).Named("placement").
		For(&ocmv1beta1.Placement{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&ocmv1beta1.PlacementDecision{}).
		Watches(&ocmv1beta2.ManagedClusterSetBinding{}, inNamespace, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&ocmv1beta2.ManagedClusterSet{}, every, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&ocmv1.ManagedCluster{}, every, builder.WithPredicates(matters)).
		Watches(&ocmv1alpha1.AddOnPlacementScore{}, thatScore).
		Complete(r)
}

// placements are those of a namespace, or of all, whose spec is of a kind.
func (r *Reconciler) placements(ctx context.Context, namespace string, kind func(*ocmv1beta1.PlacementSpec) bool) []reconcile.Request {
	var list ocmv1beta1.PlacementList
	if err := r.hub.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil // a cache that was filled does not fail
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if kind == nil || kind(&list.Items[i].Spec) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// matters drops the changes of clusters that no decision depends on: times and
// messages of conditions, which every heartbeat may touch.
var matters = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*ocmv1.ManagedCluster)
	after, isCluster := e.ObjectNew.(*ocmv1.ManagedCluster)
	if !ok || !isCluster {
		return true
	}
	return !equality.Semantic.DeepEqual(essence(before), essence(after))
}}

// essence is a cluster as far as decisions may depend on it.
func essence(cluster *ocmv1.ManagedCluster) *ocmv1.ManagedCluster {
	bare := *cluster
	bare.ObjectMeta = metav1.ObjectMeta{
		Labels: cluster.Labels, Annotations: cluster.Annotations, DeletionTimestamp: cluster.DeletionTimestamp, Generation: cluster.Generation,
	}
	bare.Status.Conditions = make([]metav1.Condition, len(cluster.Status.Conditions))
	for i, condition := range cluster.Status.Conditions {
		bare.Status.Conditions[i] = metav1.Condition{Type: condition.Type, Status: condition.Status, Reason: condition.Reason}
	}
	return &bare
}
