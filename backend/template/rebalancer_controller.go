package template

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appsv1alpha1 "muster.dev/muster/backend/apis/apps/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
)

// rebalancer has workloads placed afresh, once, as a WorkloadRebalancer asks for
// (contract section 9.8): it stamps their bindings and the scheduler does the
// rest. It owns the status of WorkloadRebalancers.
type rebalancer struct {
	hub   client.Client
	clock clock.Clock
}

func (r *rebalancer) setupWithManager(m ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(m).Named("workload-rebalancer").
		For(&appsv1alpha1.WorkloadRebalancer{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up controller workload-rebalancer: %w", err)
	}
	return nil
}

// Reconcile implements reconcile.Reconciler.
func (r *rebalancer) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var asked appsv1alpha1.WorkloadRebalancer
	if err := r.hub.Get(ctx, request.NamespacedName, &asked); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if asked.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	before := asked.DeepCopy()
	failed := r.rebalance(ctx, &asked)
	if failed == nil && asked.Status.FinishTime == nil {
		now := metav1.NewTime(r.clock.Now()).Rfc3339Copy()
		asked.Status.FinishTime = &now
	}
	asked.Status.ObservedGeneration = asked.Generation
	if !equality.Semantic.DeepEqual(before.Status, asked.Status) {
		if err := r.hub.Status().Patch(ctx, &asked, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if apierrors.IsConflict(failed) {
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	}
	if failed != nil {
		return ctrl.Result{}, failed
	}
	return r.expire(ctx, &asked)
}

// rebalance stamps the bindings that were not stamped yet and notes what came of
// each workload, in order of kind and name, as clients expect. What was stamped
// for a workload that is not asked for any more stays noted. An error means that
// some have to be tried again.
func (r *rebalancer) rebalance(ctx context.Context, asked *appsv1alpha1.WorkloadRebalancer) error {
	var failed error
	observed := make([]appsv1alpha1.ObservedWorkload, 0, len(asked.Spec.Workloads))
	for _, workload := range asked.Spec.Workloads {
		at := slices.IndexFunc(asked.Status.ObservedWorkloads, func(o appsv1alpha1.ObservedWorkload) bool { return o.Workload == workload })
		if at >= 0 && asked.Status.ObservedWorkloads[at].Result != "" {
			observed = append(observed, asked.Status.ObservedWorkloads[at])
			continue
		}
		asked.Status.FinishTime = nil
		entry := appsv1alpha1.ObservedWorkload{Workload: workload}
		err := r.stamp(ctx, workload, asked.CreationTimestamp)
		switch {
		case err == nil:
			entry.Result = appsv1alpha1.RebalanceSuccessful
		case apierrors.IsNotFound(err):
			entry.Result, entry.Reason = appsv1alpha1.RebalanceFailed, appsv1alpha1.RebalanceObjectNotFound
		default:
			failed = fmt.Errorf("rebalance %s %s: %w", workload.Kind, workload.Name, err)
		}
		observed = append(observed, entry)
	}
	for _, o := range asked.Status.ObservedWorkloads {
		if o.Result == appsv1alpha1.RebalanceSuccessful && !slices.Contains(asked.Spec.Workloads, o.Workload) {
			observed = append(observed, o)
		}
	}
	slices.SortFunc(observed, func(a, b appsv1alpha1.ObservedWorkload) int {
		return cmp.Or(cmp.Compare(a.Workload.APIVersion, b.Workload.APIVersion), cmp.Compare(a.Workload.Kind, b.Workload.Kind),
			cmp.Compare(a.Workload.Namespace, b.Workload.Namespace), cmp.Compare(a.Workload.Name, b.Workload.Name))
	})
	asked.Status.ObservedWorkloads = observed
	return failed
}

// stamp asks for a workload to be scheduled afresh. What the binding says of its
// last scheduling must hold when the stamp is written, see stampAt.
func (r *rebalancer) stamp(ctx context.Context, workload appsv1alpha1.ObjectReference, created metav1.Time) error {
	b := newBindingObject(workload.Namespace)
	key := client.ObjectKey{Namespace: workload.Namespace, Name: BindingName(workload.Name, workload.Kind)}
	if err := r.hub.Get(ctx, key, b); err != nil {
		return err
	}
	at := stampAt(b, created)
	if at == nil {
		return nil
	}
	wanted := b.DeepCopyObject().(workv1alpha2.Binding)
	wanted.BindingSpec().RescheduleTriggeredAt = at
	return kube.Patch(ctx, r.hub, b, wanted)
}

// stampAt is the stamp of a rebalancer that was created then (contract section
// 9.8), or the last scheduling if that was later, since the scheduler heeds none that
// is older; nil where one as late still waits for the scheduler.
func stampAt(b workv1alpha2.Binding, created metav1.Time) *metav1.Time {
	if workv1alpha2.RescheduleRequested(b) && !b.BindingSpec().RescheduleTriggeredAt.Before(&created) {
		return nil
	}
	if scheduled := b.BindingStatus().LastScheduledTime; created.Before(scheduled) {
		created = *scheduled
	}
	return &created
}

// expire deletes a rebalancer that is finished when its time is over.
func (r *rebalancer) expire(ctx context.Context, asked *appsv1alpha1.WorkloadRebalancer) (ctrl.Result, error) {
	if asked.Spec.TTLSecondsAfterFinished == nil || asked.Status.FinishTime == nil {
		return ctrl.Result{}, nil
	}
	end := asked.Status.FinishTime.Add(time.Duration(*asked.Spec.TTLSecondsAfterFinished) * time.Second)
	if left := end.Sub(r.clock.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	uid := asked.UID
	if err := r.hub.Delete(ctx, asked, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return ctrl.Result{}, fmt.Errorf("delete workload rebalancer %s: %w", asked.Name, err)
	}
	return ctrl.Result{}, nil
}
