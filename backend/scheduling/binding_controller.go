package scheduling

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
)

// staleRetry is the pause after a write that came too late: the cache needs a
// moment to hear of the other one.
const staleRetry = 50 * time.Millisecond

// BindingReconciler schedules ResourceBindings and ClusterResourceBindings:
//
//	changed ──► Needed? ──no──► status, if it differs
//	              │yes
//	            Decide ──► spec.clusters and applied-placement, if they differ ──► status, if it differs
//	              │                                                                   │
//	              └─────────────── again later, if time may cure a failure ◄──────────┘
//
// The answer to the write of the spec tells its generation, hence one write of
// the status suffices.
type BindingReconciler struct {
	scheduler *Scheduler
	hub       client.Client
	live      client.Reader
	clock     clock.PassiveClock
	events    announcer
	backoff   workqueue.TypedRateLimiter[reconcile.Request]
	written   *ownWrites
}

// Reconcile implements reconcile.Reconciler.
func (r *BindingReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	b := newBinding(request)
	if err := r.hub.Get(ctx, request.NamespacedName, b); err != nil {
		r.backoff.Forget(request)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if b.GetDeletionTimestamp() != nil || !r.scheduler.owns(b) {
		r.scheduler.placed.Delete(request.NamespacedName)
		r.backoff.Forget(request)
		return ctrl.Result{}, nil
	}
	if _, placed := r.scheduler.placed.LoadAndDelete(request.NamespacedName); placed && meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.Scheduled) != nil {
		r.events.announce(b, nil, true)
	}
	began := r.clock.Now()
	snapshot := r.scheduler.Snapshot()
	_, revisited := r.scheduler.revisits.LoadAndDelete(b.GetUID())
	why, fresh, needed := Needed(b, snapshot)
	result := outcome{affinity: b.BindingStatus().SchedulerObservedAffinityName}
	if needed {
		in := Input{Spec: b.BindingSpec(), Status: b.BindingStatus(), Fresh: fresh, KeepEmpty: r.scheduler.keepEmpty}
		decision, undo := r.scheduler.resolve(ctx, b, in)
		placed, moved, err := r.place(ctx, b, &decision)
		if placed == b || err != nil { // the decision was not written
			undo()
		}
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: staleRetry}, nil
		}
		if err != nil {
			count(why, false, r.clock.Since(began))
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		b = placed
		result = outcome{failure: decision.Failure, affinity: decision.AffinityName, renewed: true, fresh: fresh, moved: moved, revisited: revisited}
	}
	if err := r.report(ctx, b, &result); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if needed {
		count(why, result.failure == nil, r.clock.Since(began))
	}
	if result.failure != nil && result.failure.Retry {
		incoming.WithLabelValues(eventAttemptFailure).Inc()
		return ctrl.Result{RequeueAfter: r.backoff.When(request)}, nil
	}
	r.backoff.Forget(request)
	return ctrl.Result{}, nil
}

func newBinding(request ctrl.Request) workv1alpha2.Binding {
	if request.Namespace == "" {
		return &workv1alpha2.ClusterResourceBinding{}
	}
	return &workv1alpha2.ResourceBinding{}
}

// place writes the decision into the spec, where it differs, and returns the
// binding as it then is. No fit empties the clusters; other failures leave them
// as they are. A refusal of the write, by a quota for example, becomes the
// decision's failure.
func (r *BindingReconciler) place(ctx context.Context, b workv1alpha2.Binding, decision *Decision) (placed workv1alpha2.Binding, moved bool, err error) {
	if decision.Failure != nil && decision.Failure.Reason != workv1alpha2.ReasonNoClusterFit {
		return b, false, nil
	}
	wanted, ok := b.DeepCopyObject().(workv1alpha2.Binding)
	if !ok {
		return nil, false, fmt.Errorf("copy %T", b)
	}
	if moved = !sameTargets(b.BindingSpec().Clusters, decision.Clusters); moved {
		wanted.BindingSpec().Clusters = decision.Clusters
		r.written.expect(b.GetUID(), b.GetGeneration()+1)
	}
	r.scheduler.markApplied(wanted)
	err = kube.Patch(ctx, r.hub, b, wanted)
	if err == nil {
		return wanted, moved, nil
	}
	r.written.drop(b.GetUID())
	if refused := Refused(err); refused != nil {
		decision.Failure = refused
		return b, false, nil
	}
	return nil, false, fmt.Errorf("place binding %s/%s: %w", b.GetNamespace(), b.GetName(), err)
}

// Refused is the failure where the API refused a placement for what it says; nil for
// other errors.
func Refused(err error) *Failure {
	reason := ""
	switch {
	case apierrors.ReasonForError(err) == workv1alpha2.ReasonQuotaExceeded:
		reason = workv1alpha2.ReasonQuotaExceeded
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		reason = workv1alpha2.ReasonSchedulerError
	default:
		return nil
	}
	return &Failure{Reason: reason, Message: "the placement was refused: " + err.Error(), Retry: true}
}

// report writes the outcome into the status, where it differs. Others write the
// status too: a stale binding is read again, unless its spec has changed, for
// then it comes back by itself.
func (r *BindingReconciler) report(ctx context.Context, b workv1alpha2.Binding, result *outcome) error {
	uid, generation := b.GetUID(), b.GetGeneration()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if b.GetUID() != uid || b.GetGeneration() != generation {
			return nil
		}
		wanted, ok := b.DeepCopyObject().(workv1alpha2.Binding)
		if !ok {
			return fmt.Errorf("copy %T", b)
		}
		result.report(wanted, r.clock.Now())
		if equality.Semantic.DeepEqual(b.BindingStatus(), wanted.BindingStatus()) {
			return nil
		}
		before := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.Scheduled)
		err := kube.PatchStatus(ctx, r.hub, b, wanted)
		switch {
		case err == nil:
			r.events.announce(wanted, before, result.moved)
		case apierrors.IsConflict(err):
			key := client.ObjectKeyFromObject(b)
			b = newBinding(ctrl.Request{NamespacedName: key})
			if readErr := r.live.Get(ctx, key, b); readErr != nil {
				return readErr
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write status of binding %s/%s: %w", b.GetNamespace(), b.GetName(), err)
	}
	return nil
}

// sameTargets says whether two results are the same, in whatever order.
func sameTargets(a, b []workv1alpha2.TargetCluster) bool {
	if len(a) != len(b) {
		return false
	}
	if slices.EqualFunc(a, b, func(x, y workv1alpha2.TargetCluster) bool { return sameTarget(&x, &y) }) {
		return true
	}
	targets := make(map[string]*workv1alpha2.TargetCluster, len(a))
	for i := range a {
		targets[a[i].Name] = &a[i]
	}
	for i := range b {
		if was := targets[b[i].Name]; was == nil || !sameTarget(was, &b[i]) {
			return false
		}
	}
	return len(targets) == len(b)
}

func sameTarget(a, b *workv1alpha2.TargetCluster) bool {
	return a.Name == b.Name && a.Replicas == b.Replicas && slices.Equal(a.Components, b.Components)
}

// count tells the metrics how an attempt went.
func count(why string, ok bool, took time.Duration) {
	kind := typeReconcile
	if why == whyReplicas {
		kind = typeScale
	}
	attempts.WithLabelValues(resultOf(ok), kind).Inc()
	endToEnd.WithLabelValues(resultOf(ok), kind).Observe(took.Seconds())
}
