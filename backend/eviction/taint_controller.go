package eviction

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/policy"
)

// TaintReconciler gives clusters the taints that ClusterTaintPolicies ask for.
type TaintReconciler struct {
	hub   client.Client
	clock clock.PassiveClock
}

// NewTaintReconciler returns the reconciler.
func NewTaintReconciler(hub client.Client, clock clock.PassiveClock) *TaintReconciler {
	return &TaintReconciler{hub: hub, clock: clock}
}

// SetupWithManager starts the reconciler with the manager.
func (r *TaintReconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("cluster-taint-policy").
		For(&clusterv1alpha1.Cluster{}, builder.WithPredicates(conditionsChanged)).
		Watches(&policyv1alpha1.ClusterTaintPolicy{}, handler.EnqueueRequestsFromMapFunc(r.allClusters)).
		Complete(r)
}

// conditionsChanged drops the heartbeats.
var conditionsChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
	after, okAfter := e.ObjectNew.(*clusterv1alpha1.Cluster)
	return ok && okAfter && (before.Generation != after.Generation || !equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
		!equality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions))
}}

func (r *TaintReconciler) allClusters(ctx context.Context, _ client.Object) []reconcile.Request {
	return everyCluster(ctx, r.hub)
}

// Reconcile implements reconcile.Reconciler.
func (r *TaintReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var policies policyv1alpha1.ClusterTaintPolicyList
	if err := r.hub.List(ctx, &policies); err != nil {
		return ctrl.Result{}, fmt.Errorf("list cluster taint policies: %w", err)
	}
	var stored clusterv1alpha1.Cluster
	if err := r.hub.Get(ctx, request.NamespacedName, &stored); err != nil || len(policies.Items) == 0 || stored.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	slices.SortFunc(policies.Items, func(a, b policyv1alpha1.ClusterTaintPolicy) int { return cmp.Compare(a.Name, b.Name) })
	wanted := stored.DeepCopy()
	for i := range policies.Items {
		spec := &policies.Items[i].Spec
		if policy.MatchesCluster(spec.TargetClusters, wanted) {
			wanted.Spec.Taints = Taints(spec, wanted, r.clock.Now())
		}
	}
	if err := kube.Patch(ctx, r.hub, &stored, wanted); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return ctrl.Result{RequeueAfter: retryAfter}, nil
		}
		return ctrl.Result{}, fmt.Errorf("taint cluster %s: %w", stored.Name, err)
	}
	return ctrl.Result{}, nil
}
