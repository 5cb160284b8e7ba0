package placement

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	"muster.dev/muster/backend/kube"
)

// Reconciler decides about placements and keeps their decisions.
type Reconciler struct {
	hub   client.Client
	clock clock.PassiveClock

	mu   sync.Mutex
	seen map[types.NamespacedName]seen
}

// seen is the spec that a placement was last decided by. A restart forgets it;
// then scores may change decisions once out of turn.
type seen struct {
	uid        types.UID
	generation int64
}

// scope is one look at a placement. placement is what is being changed, stored
// what the hub holds, out the decision, names those of the PlacementDecisions by
// group; Reconcile sets the first three, ensureDecisions the last.
type scope struct {
	placement, stored *ocmv1beta1.Placement
	out               Outcome
	names             [][]string
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s := &scope{stored: new(ocmv1beta1.Placement)}
	if err := r.hub.Get(ctx, request.NamespacedName, s.stored); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.NamespacedName)
			return ctrl.Result{}, nil // its decisions go with it: they are owned
		}
		return ctrl.Result{}, fmt.Errorf("read placement %s: %w", request, err)
	}
	if s.stored.DeletionTimestamp != nil || s.stored.Annotations[ocmv1beta1.DisableAnnotation] == "true" {
		return ctrl.Result{}, nil
	}
	s.placement = s.stored.DeepCopy()
	if err := r.decide(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	meta.SetStatusCondition(&s.placement.Status.Conditions, misconfiguredCondition(s.out.Misconfigured))
	if s.out.Misconfigured == "" {
		if err := r.ensureDecisions(ctx, s); err != nil {
			return kube.RetryStale(err)
		}
		showOutcome(s)
	}
	if err := kube.PatchStatus(ctx, r.hub, s.stored, s.placement); err != nil {
		return kube.RetryStale(fmt.Errorf("update status of placement %s: %w", request, err))
	}
	r.remember(s.stored)
	return r.wait(s.out), nil
}

// wait is when to look again though nothing happens.
func (r *Reconciler) wait(out Outcome) ctrl.Result {
	if out.Again.IsZero() {
		return ctrl.Result{}
	}
	// A moment later, so that what ends then has ended.
	return ctrl.Result{RequeueAfter: max(out.Again.Sub(r.clock.Now()), 0) + time.Millisecond}
}

// decide decides. Where nothing but scores would change the decision, it stays
// until the placement lets scores change it again.
func (r *Reconciler) decide(ctx context.Context, s *scope) error {
	now := r.clock.Now()
	in, err := Gather(ctx, r.hub, s.stored, now)
	if err != nil {
		return err
	}
	s.out = Decide(in)
	if s.out.Misconfigured != "" || len(in.Current) == 0 || !r.sawSpec(s.stored) {
		return nil
	}
	current := slices.Sorted(slices.Values(in.Current))
	if slices.Equal(current, s.out.Names()) {
		return nil
	}
	in.KeepCurrent = true
	kept := Decide(in)
	if !slices.Equal(current, kept.Names()) {
		return nil // it changes whatever the scores
	}
	if last := s.stored.Status.LastScoreUpdateTime; last != nil {
		if next := last.Add(rateLimit(s.stored.Spec.ScoreRateLimit)); next.After(now) {
			s.out = kept
			if s.out.Again.IsZero() || next.Before(s.out.Again) {
				s.out.Again = next
			}
			return nil
		}
	}
	s.placement.Status.LastScoreUpdateTime = &metav1.Time{Time: now}
	return nil
}

// rateLimit is how often scores may change decisions.
func rateLimit(text string) time.Duration {
	limit, err := time.ParseDuration(text)
	if err != nil || limit < 0 {
		return time.Minute
	}
	return limit
}

// showOutcome puts the decision into the status.
func showOutcome(s *scope) {
	status := &s.placement.Status
	meta.SetStatusCondition(&status.Conditions, satisfiedCondition(s.out.Satisfied))
	status.NumberOfSelectedClusters = int32(len(s.out.Chosen))
	status.DecisionGroups = nil
	for i, group := range s.out.Groups {
		status.DecisionGroups = append(status.DecisionGroups, ocmv1beta1.DecisionGroupStatus{
			DecisionGroupIndex: int32(group.Index), DecisionGroupName: group.Name, Decisions: s.names[i], ClustersCount: int32(len(group.Chosen)),
		})
	}
}

func (r *Reconciler) sawSpec(p *ocmv1beta1.Placement) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[client.ObjectKeyFromObject(p)] == seen{p.UID, p.Generation}
}

func (r *Reconciler) remember(p *ocmv1beta1.Placement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[types.NamespacedName]seen{}
	}
	r.seen[client.ObjectKeyFromObject(p)] = seen{p.UID, p.Generation}
}

func (r *Reconciler) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, key)
}
