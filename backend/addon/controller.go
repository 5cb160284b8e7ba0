package addon

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// Reconciler keeps add-ons readable in both versions.
type Reconciler struct{ hub client.Client }

// SetupWithManager adds the controller to a manager of either plane.
func SetupWithManager(m ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(m).Named("addon-versions").For(&ocmaddonv1alpha1.ManagedClusterAddOn{}).Complete(&Reconciler{m.GetClient()})
	if err != nil {
		return fmt.Errorf("set up controller of add-on versions: %w", err)
	}
	return nil
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	stored := new(ocmaddonv1alpha1.ManagedClusterAddOn)
	if err := r.hub.Get(ctx, request.NamespacedName, stored); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if stored.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	wanted := stored.DeepCopy()
	complete(wanted)
	status := wanted.Status
	// Of the two writes each has the other's part as it is stored.
	plain := wanted.DeepCopy()
	plain.Status = stored.Status
	if err := kube.Patch(ctx, r.hub, stored, plain); err != nil {
		return kube.RetryStale(fmt.Errorf("complete add-on %s: %w", request, err))
	}
	shown := plain.DeepCopy()
	shown.Status = status
	if err := kube.PatchStatus(ctx, r.hub, plain, shown); err != nil {
		return kube.RetryStale(fmt.Errorf("complete status of add-on %s: %w", request, err))
	}
	return ctrl.Result{}, nil
}
