package manifestwork

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	ocmworkv1alpha1 "muster.dev/muster/backend/apis/ocm/work/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// ReplicaSetReconciler makes the ManifestWorks of replica sets and tells how they
// are.
type ReplicaSetReconciler struct {
	hub   client.Client
	clock clock.PassiveClock
}

// replicaSets is how many replica sets are worked on at a time, writes how many
// works of each.
const (
	replicaSets = 4
	writes      = 8
)

// SetupWithManager starts the reconciler with the manager.
func (r *ReplicaSetReconciler) SetupWithManager(m ctrl.Manager) error {
	byPlacement := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, placement client.Object) []reconcile.Request {
		return r.setsOf(ctx, placement.GetNamespace(), placement.GetName())
	})
	byDecision := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, decision client.Object) []reconcile.Request {
		return r.setsOf(ctx, decision.GetNamespace(), decision.GetLabels()[ocmv1beta1.PlacementLabel])
	})
	return ctrl.NewControllerManagedBy(m).Named("manifestworkreplicaset").
		For(&ocmworkv1alpha1.ManifestWorkReplicaSet{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&ocmv1beta1.Placement{}, byPlacement).
		Watches(&ocmv1beta1.PlacementDecision{}, byDecision).
		Watches(&ocmworkv1.ManifestWork{}, handler.EnqueueRequestsFromMapFunc(setOfWork), builder.WithPredicates(conditionsOrSpec)).
		WithOptions(controller.Options{MaxConcurrentReconciles: replicaSets}).
		Complete(r)
}

// setsOf leads from a placement to the replica sets that name it.
func (r *ReplicaSetReconciler) setsOf(ctx context.Context, namespace, placement string) []reconcile.Request {
	var sets ocmworkv1alpha1.ManifestWorkReplicaSetList
	if err := r.hub.List(ctx, &sets, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil // a cache that was filled does not fail
	}
	var requests []reconcile.Request
	for i := range sets.Items {
		for _, ref := range sets.Items[i].Spec.PlacementRefs {
			if ref.Name == placement {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sets.Items[i])})
				break
			}
		}
	}
	return requests
}

// setOfWork leads from a work to its replica set.
func setOfWork(_ context.Context, work client.Object) []reconcile.Request {
	namespace, name, ok := strings.Cut(work.GetLabels()[ocmworkv1alpha1.ReplicaSetLabel], ".")
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// ownerOf is the value of the label of a replica set's works.
func ownerOf(set *ocmworkv1alpha1.ManifestWorkReplicaSet) string {
	return set.Namespace + "." + set.Name
}

// conditionsOrSpec drops what agents report of single manifests, which is most
// of what they write.
var conditionsOrSpec = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*ocmworkv1.ManifestWork)
	after, isWork := e.ObjectNew.(*ocmworkv1.ManifestWork)
	if !ok || !isWork {
		return true
	}
	return before.Generation != after.Generation || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
		!equality.Semantic.DeepEqual(before.Labels, after.Labels) || !equality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions)
}}

// scope is one look at a replica set. set is what is being changed, stored what
// the hub holds, works its works by cluster; Reconcile sets them. target sets the
// rest: what each placement wants, which say nothing, and when to look again.
type scope struct {
	set, stored    *ocmworkv1alpha1.ManifestWorkReplicaSet
	works          map[string]*ocmworkv1.ManifestWork
	placements     []*target
	missing, empty []string
	again          time.Time
}

// target is one placement of a replica set.
type target struct {
	ref     ocmworkv1alpha1.LocalPlacementReference
	batches []Batch
	step    Step
}

// Reconcile implements reconcile.Reconciler.
func (r *ReplicaSetReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s := &scope{stored: new(ocmworkv1alpha1.ManifestWorkReplicaSet)}
	if err := r.hub.Get(ctx, request.NamespacedName, s.stored); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read replica set %s: %w", request, err)
	}
	s.set = s.stored.DeepCopy()
	if err := r.readWorks(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if s.stored.DeletionTimestamp != nil {
		return kube.RetryStale(r.remove(ctx, s))
	}
	if controllerutil.AddFinalizer(s.set, ocmworkv1alpha1.ReplicaSetFinalizer) {
		if err := kube.Patch(ctx, r.hub, s.stored, s.set); err != nil {
			return kube.RetryStale(fmt.Errorf("hold replica set %s: %w", request, err))
		}
		s.stored = s.set.DeepCopy()
	}
	problem := r.target(ctx, s)
	if problem == nil {
		problem = r.apply(ctx, s)
	}
	if apierrors.IsConflict(problem) {
		return kube.RetryStale(problem) // nothing to tell anybody
	}
	showStatus(s, problem)
	if err := kube.PatchStatus(ctx, r.hub, s.stored, s.set); err != nil {
		return kube.RetryStale(fmt.Errorf("update status of replica set %s: %w", request, err))
	}
	if problem != nil {
		return kube.RetryStale(problem)
	}
	return r.wait(s), nil
}

func (r *ReplicaSetReconciler) wait(s *scope) ctrl.Result {
	if s.again.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(s.again.Sub(r.clock.Now()), 0) + time.Millisecond}
}

// readWorks finds the works of the replica set.
func (r *ReplicaSetReconciler) readWorks(ctx context.Context, s *scope) error {
	var works ocmworkv1.ManifestWorkList
	if err := r.hub.List(ctx, &works, client.MatchingFields{indexReplicaSet: ownerOf(s.stored)}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list works of replica set %s/%s: %w", s.stored.Namespace, s.stored.Name, err)
	}
	s.works = map[string]*ocmworkv1.ManifestWork{}
	for i := range works.Items {
		if works.Items[i].Name == s.stored.Name {
			s.works[works.Items[i].Namespace] = &works.Items[i]
		}
	}
	return nil
}

// remove deletes the works and lets the replica set go: at once, or when they are
// gone.
func (r *ReplicaSetReconciler) remove(ctx context.Context, s *scope) error {
	if !controllerutil.ContainsFinalizer(s.set, ocmworkv1alpha1.ReplicaSetFinalizer) {
		return nil
	}
	for _, work := range s.works {
		if err := r.delete(ctx, work); err != nil {
			return err
		}
	}
	if len(s.works) > 0 && s.stored.Spec.CascadeDeletionPolicy == ocmworkv1alpha1.CascadeForeground {
		return nil // the works that go bring us back
	}
	controllerutil.RemoveFinalizer(s.set, ocmworkv1alpha1.ReplicaSetFinalizer)
	if err := kube.Patch(ctx, r.hub, s.stored, s.set); err != nil {
		return fmt.Errorf("release replica set %s/%s: %w", s.stored.Namespace, s.stored.Name, err)
	}
	return nil
}

func (r *ReplicaSetReconciler) delete(ctx context.Context, work *ocmworkv1.ManifestWork) error {
	if work.DeletionTimestamp != nil {
		return nil
	}
	if err := r.hub.Delete(ctx, work, client.Preconditions{UID: &work.UID}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete work %s/%s: %w", work.Namespace, work.Name, err)
	}
	return nil
}
