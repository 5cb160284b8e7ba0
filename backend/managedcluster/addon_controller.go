package managedcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/kube"
)

// Values of feature labels (contract section 1.1).
const (
	featureAvailable   = "available"
	featureUnhealthy   = "unhealthy"
	featureUnreachable = "unreachable"
)

// AddonReconciler has the add-ons of a silent cluster be Unknown too, and shows
// the health of add-ons in the labels of their cluster.
type AddonReconciler struct{ hub client.Client }

// NewAddonReconciler returns the reconciler.
func NewAddonReconciler(hub client.Client) *AddonReconciler { return &AddonReconciler{hub} }

// SetupWithManager starts the reconciler with the manager.
func (r *AddonReconciler) SetupWithManager(m ctrl.Manager) error {
	bySpace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, addon client.Object) []reconcile.Request {
		return requestFor(addon.GetNamespace())
	})
	return ctrl.NewControllerManagedBy(m).Named("managed-addons").
		For(&ocmv1.ManagedCluster{}).
		Watches(&ocmaddonv1alpha1.ManagedClusterAddOn{}, bySpace).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *AddonReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := new(ocmv1.ManagedCluster)
	if err := r.hub.Get(ctx, request.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var addons ocmaddonv1alpha1.ManagedClusterAddOnList
	if err := r.hub.List(ctx, &addons, client.InNamespace(cluster.Name)); err != nil {
		return ctrl.Result{}, fmt.Errorf("list add-ons of managed cluster %s: %w", cluster.Name, err)
	}
	var errs []error
	available := meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionAvailable)
	if available != nil && available.Status == metav1.ConditionUnknown {
		for i := range addons.Items {
			errs = append(errs, r.unknown(ctx, &addons.Items[i], available.Message))
		}
	}
	return ctrl.Result{}, errors.Join(append(errs, r.label(ctx, cluster, addons.Items))...)
}

// unknown says of an add-on that nobody knows how it is.
func (r *AddonReconciler) unknown(ctx context.Context, addon *ocmaddonv1alpha1.ManagedClusterAddOn, why string) error {
	before := addon.DeepCopy()
	known := meta.FindStatusCondition(addon.Status.Conditions, ocmaddonv1alpha1.ConditionAvailable)
	if known != nil && known.Status == metav1.ConditionUnknown {
		return nil
	}
	meta.SetStatusCondition(&addon.Status.Conditions, metav1.Condition{
		Type: ocmaddonv1alpha1.ConditionAvailable, Status: metav1.ConditionUnknown, Reason: ocmv1.ReasonLeaseUpdateStopped, Message: why,
	})
	err := kube.PatchStatus(ctx, r.hub, before, addon)
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("write availability of add-on %s/%s: %w", addon.Namespace, addon.Name, err)
}

// label puts the health of its add-ons on a cluster.
func (r *AddonReconciler) label(ctx context.Context, cluster *ocmv1.ManagedCluster, addons []ocmaddonv1alpha1.ManagedClusterAddOn) error {
	if cluster.DeletionTimestamp != nil {
		return nil
	}
	wanted := cluster.DeepCopy()
	wanted.Labels = withFeatures(cluster.Labels, addons)
	err := kube.Patch(ctx, r.hub, cluster, wanted)
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("label managed cluster %s: %w", cluster.Name, err)
}

// withFeatures returns labels with those that tell of add-ons, and none of add-ons
// that are gone.
func withFeatures(labels map[string]string, addons []ocmaddonv1alpha1.ManagedClusterAddOn) map[string]string {
	wanted := map[string]string{}
	maps.Copy(wanted, labels)
	maps.DeleteFunc(wanted, func(key, _ string) bool { return strings.HasPrefix(key, ocmv1.AddonFeatureLabelPrefix) })
	for i := range addons {
		key := ocmv1.AddonFeatureLabelPrefix + addons[i].Name
		if len(validation.IsQualifiedName(key)) > 0 {
			continue // its name is too long for a label
		}
		wanted[key] = featureUnreachable
		if available := meta.FindStatusCondition(addons[i].Status.Conditions, ocmaddonv1alpha1.ConditionAvailable); available != nil {
			switch available.Status {
			case metav1.ConditionTrue:
				wanted[key] = featureAvailable
			case metav1.ConditionFalse:
				wanted[key] = featureUnhealthy
			}
		}
	}
	return wanted
}
