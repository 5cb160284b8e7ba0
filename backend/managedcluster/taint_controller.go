package managedcluster

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/kube"
)

// TaintReconciler keeps placements off clusters that do not answer (contract
// section 2.7).
type TaintReconciler struct{ hub client.Client }

// NewTaintReconciler returns the reconciler.
func NewTaintReconciler(hub client.Client) *TaintReconciler { return &TaintReconciler{hub} }

// SetupWithManager starts the reconciler with the manager.
func (r *TaintReconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("managed-taints").
		For(&ocmv1.ManagedCluster{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *TaintReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := new(ocmv1.ManagedCluster)
	if err := r.hub.Get(ctx, request.NamespacedName, cluster); err != nil || cluster.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !controllerutil.ContainsFinalizer(cluster, ocmv1.ResourceCleanupFinalizer) {
		return ctrl.Result{}, nil // CleanupReconciler writes the first taint, and that comes back as an event
	}
	wanted := cluster.DeepCopy()
	wanted.Spec.Taints = withSystemTaint(cluster.Spec.Taints, systemTaint(cluster.Status.Conditions))
	err := kube.Patch(ctx, r.hub, cluster, wanted)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil // the change that got in between comes back as an event
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("taint managed cluster %s: %w", cluster.Name, err)
	}
	return ctrl.Result{}, nil
}

// systemTaint is the key of the taint that follows from a cluster's conditions,
// empty for a cluster that is available.
func systemTaint(conditions []metav1.Condition) string {
	available := meta.FindStatusCondition(conditions, ocmv1.ConditionAvailable)
	switch {
	case available == nil || available.Status == metav1.ConditionUnknown:
		return ocmv1.UnreachableTaint
	case available.Status == metav1.ConditionFalse:
		return ocmv1.UnavailableTaint
	}
	return ""
}

// withSystemTaint returns taints with the one of the two system taints that has
// the key, and no other of them. When it came is set by admission.
func withSystemTaint(taints []ocmv1.Taint, key string) []ocmv1.Taint {
	there := false
	kept := slices.DeleteFunc(slices.Clone(taints), func(taint ocmv1.Taint) bool {
		if taint.Key != ocmv1.UnreachableTaint && taint.Key != ocmv1.UnavailableTaint {
			return false
		}
		if taint.Key == key && taint.Effect == ocmv1.TaintEffectNoSelect && taint.Value == "" && !there {
			there = true
			return false
		}
		return true
	})
	if key != "" && !there {
		kept = append(kept, ocmv1.Taint{Key: key, Effect: ocmv1.TaintEffectNoSelect})
	}
	return kept
}
