package manifestwork

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	ocmworkv1alpha1 "muster.dev/muster/backend/apis/ocm/work/v1alpha1"
)

// CleanUpReconciler deletes works that are done, so long after as they say.
type CleanUpReconciler struct {
	hub   client.Client
	clock clock.PassiveClock
}

// SetupWithManager starts the reconciler with the manager.
func (r *CleanUpReconciler) SetupWithManager(m ctrl.Manager) error {
	ends := predicate.NewPredicateFuncs(func(object client.Object) bool {
		work, ok := object.(*ocmworkv1.ManifestWork)
		if !ok {
			return false
		}
		_, ends := endOf(work)
		return ends
	})
	return ctrl.NewControllerManagedBy(m).Named("manifestwork-clean-up").For(&ocmworkv1.ManifestWork{}, builder.WithPredicates(ends)).Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *CleanUpReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	work := new(ocmworkv1.ManifestWork)
	if err := r.hub.Get(ctx, request.NamespacedName, work); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read work %s: %w", request, err)
	}
	end, ends := endOf(work)
	if !ends {
		return ctrl.Result{}, nil
	}
	if wait := end.Sub(r.clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	err := r.hub.Delete(ctx, work, client.Preconditions{UID: &work.UID, ResourceVersion: &work.ResourceVersion})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return ctrl.Result{}, nil // what changed comes back as an event
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("delete completed work %s: %w", request, err)
	}
	log.FromContext(ctx).Info("completed work deleted", "cluster", request.Namespace, "name", request.Name)
	return ctrl.Result{}, nil
}

// endOf is when a work is to be deleted for being done; false: not at all. A work
// of a replica set would come back at once.
func endOf(work *ocmworkv1.ManifestWork) (time.Time, bool) {
	option := work.Spec.DeleteOption
	if option == nil || option.TTLSecondsAfterFinished == nil || work.DeletionTimestamp != nil || work.Labels[ocmworkv1alpha1.ReplicaSetLabel] != "" {
		return time.Time{}, false
	}
	complete := work.CurrentCondition(ocmworkv1.ConditionComplete)
	if complete == nil || complete.Status != metav1.ConditionTrue {
		return time.Time{}, false
	}
	return complete.LastTransitionTime.Add(time.Duration(max(*option.TTLSecondsAfterFinished, 0)) * time.Second), true
}
