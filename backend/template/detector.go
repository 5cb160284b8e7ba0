package template

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/policy"
)

// conflictRetry is how long a write that met another one waits for the cache.
const conflictRetry = 20 * time.Millisecond

// detector gives each template its policy and its binding (contract section 8.2).
// Templates are handled side by side, each by one worker at a time.
//
//	           ┌───────────────── policy deleted, or its selectors changed ◄─┐
//	           ▼                                                             │
//	no claim ──► policy chosen ──► claim written ──► binding written ──► kept up
//	           ◄── none matches                                             with both
type detector struct {
	cache       *Cache
	hub         client.Client
	live        client.Reader
	metadata    metadata.Interface
	interpreter Interpreter
	scheduler   Placer
	gates       policy.Gates
	policies    *policies
	troubles    *troubles
	written     written
	templates   feed[Ref]
	// policyChanges feeds the controller of policies.
	policyChanges feed[ctrl.Request]

	mu      sync.Mutex
	changes map[Ref]change
	claimed map[string]map[Ref]struct{} // by the policy's permanent id
	// blocked are templates that wait for an override policy.
	blocked map[types.NamespacedName]map[Ref]struct{}
}

// change is what happened to a template since it was last handled.
type change struct {
	mark mark
	// version is that of the template when its content last changed.
	version string
}

func (c change) and(later change) change {
	if later.version == "" {
		later.version = c.version
	}
	later.mark |= c.mark
	return later
}

// detection is one look at a template.
type detection struct {
	// set by Reconcile
	ref    Ref
	object *unstructured.Unstructured
	change change
	// set by choose
	claim   Claim // that the template carries
	claimed bool
	policy  PolicyObject // nil: none means the template
	// preempted is the policy that loses the template to a stronger one.
	preempted PolicyObject
	// version is that of the template as the binding is to name it; set by Reconcile, and by hold if that writes before.
	version string
	// waits is set where another event is needed to go on, frozen where template and
	// binding stay meanwhile as they are.
	waits, frozen bool
}

// Reconcile implements reconcile.TypedReconciler.
func (d *detector) Reconcile(ctx context.Context, ref Ref) (ctrl.Result, error) {
	happened := d.take(ref)
	object, ok := d.cache.Get(ref)
	if !ok {
		if err := d.abandon(ctx, ref); err != nil {
			return ctrl.Result{}, fmt.Errorf("let go of %s: %w", ref, err)
		}
		return ctrl.Result{}, nil
	}
	if d.leavesAlone(object) {
		d.troubles.Forget(ref) // whatever it was, it is none of ours now
		return ctrl.Result{}, nil
	}
	s := &detection{ref: ref, object: object, change: happened, version: object.GetResourceVersion()}
	if happened.version != "" {
		s.version = happened.version
	}
	for _, step := range []func(context.Context, *detection) error{d.choose, d.awaitOverrides, d.release, d.occupy} {
		if err := step(ctx, s); err != nil {
			d.giveBack(ref, happened)
			if overtaken(err) {
				return ctrl.Result{}, nil // what overtook us comes as an event
			}
			if apierrors.IsConflict(err) {
				return ctrl.Result{RequeueAfter: conflictRetry}, nil
			}
			d.troubles.tell(object, ref, reasonOf(err, eventApplyFailed), err.Error())
			return ctrl.Result{}, fmt.Errorf("propagate %s: %w", ref, err)
		}
	}
	if s.waits {
		d.giveBack(ref, happened)
		return ctrl.Result{}, nil
	}
	d.troubles.over(object, ref, eventApplied, "what kept the object from being propagated is over")
	return ctrl.Result{}, nil
}

// leavesAlone says whether a template is none of ours: it is going, another
// component propagates it, or its namespace belongs to a cluster of Open Cluster
// Management.
func (d *detector) leavesAlone(o *unstructured.Unstructured) bool {
	if o.GetDeletionTimestamp() != nil || o.GetLabels()[apis.ClaimedByLabel] != "" {
		return true
	}
	namespace := o
	if name := o.GetNamespace(); name != "" {
		namespace, _ = d.cache.Get(Ref{APIVersion: "v1", Kind: "Namespace", Name: name})
	}
	return namespace != nil && namespace.GetKind() == "Namespace" && namespace.GetLabels()[ocmClusterLabel] != ""
}

// choose finds the policy of the template. It keeps the one that has claimed it
// while that is there; whether that still means the template is asked only when
// the policy has changed.
func (d *detector) choose(_ context.Context, s *detection) error {
	pps, cpps := d.policies.candidates(s.object)
	s.claim, s.claimed = ClaimIn(s.object)
	if holder := d.policies.holder(s.claim); s.claimed && holder != nil && keeps(holder, s) {
		s.policy = holder
		if !d.gates.PropagationPolicyPreemption {
			return nil
		}
		if stronger := strongest(s.object, holder, pps, cpps); stronger != nil {
			s.policy, s.preempted = stronger, holder
		}
		return nil
	}
	began := time.Now()
	claim, found := Choose(s.object, pps, cpps)
	matching.Observe(time.Since(began))
	if found {
		s.policy = d.policies.holder(claim) // nil if it went this moment
	}
	return nil
}

func keeps(holder PolicyObject, s *detection) bool {
	if holder.GetDeletionTimestamp() != nil {
		return false
	}
	return !s.change.mark.has(markPolicy) || policy.MatchAny(SpecOf(holder).ResourceSelectors, s.object) != policy.MatchNone
}

// awaitOverrides leaves a template alone whose policy names override policies
// that do not exist: it would go out without them. What has gone out already stays
// as it is.
func (d *detector) awaitOverrides(ctx context.Context, s *detection) error {
	for s.policy != nil {
		missing, err := d.missingOverride(ctx, s)
		if missing == "" || err != nil {
			return err
		}
		d.troubles.tell(s.object, s.ref, eventApplyFailed, missing)
		s.waits = true
		if s.claimed && s.claim == ClaimOf(s.policy) {
			s.frozen = true
			return nil
		}
		s.policy, s.preempted = s.preempted, nil
	}
	return nil
}

// missingOverride words which override policy the chosen policy waits for, if any.
func (d *detector) missingOverride(ctx context.Context, s *detection) (string, error) {
	for _, name := range SpecOf(s.policy).DependentOverrides {
		key := types.NamespacedName{Namespace: s.policy.GetNamespace(), Name: name}
		var override client.Object = &policyv1alpha1.OverridePolicy{}
		if key.Namespace == "" {
			override = &policyv1alpha1.ClusterOverridePolicy{}
		}
		d.block(key, s.ref) // first: it may come while we look
		err := d.hub.Get(ctx, key, override)
		if apierrors.IsNotFound(err) {
			return missingOverride(ClaimOf(s.policy), name), nil
		}
		if err != nil {
			return "", fmt.Errorf("read override policy %s: %w", key, err)
		}
		d.unblock(key, s.ref)
	}
	return "", nil
}

// release takes the claim of a policy away that no longer has the template, first
// from the binding, then from the template. What runs in the members stays.
func (d *detector) release(ctx context.Context, s *detection) error {
	if s.policy != nil {
		return nil
	}
	b, err := d.binding(ctx, bindingOf(s.ref))
	if err != nil {
		return err
	}
	if b != nil && b.GetDeletionTimestamp() == nil && belongsTo(b, s.object) {
		if err := d.unclaim(ctx, b); err != nil {
			return err
		}
	}
	return d.writeClaim(ctx, s, Claim{})
}

// occupy writes the claim and the binding, side by side where both are new: each
// is a write that the delivery would wait for, and Works carry the claim that
// their binding names. Where objects have generations the claim may raise it, and
// Works name that too: there it comes first, and where it was refused before.
func (d *detector) occupy(ctx context.Context, s *detection) error {
	if s.policy == nil || s.frozen {
		return nil
	}
	began := time.Now()
	err := d.apply(ctx, s)
	applying.Observe(time.Since(began), kube.Outcome(err))
	attempts.Add(1, kube.Outcome(err))
	return err
}

func (d *detector) apply(ctx context.Context, s *detection) error {
	b, err := d.binding(ctx, bindingOf(s.ref))
	if err != nil {
		return err
	}
	if b != nil || s.claimed || s.object.GetGeneration() > 0 || d.troubles.has(s.ref) {
		if err := d.hold(ctx, s); err != nil {
			return err
		}
		return d.bind(ctx, s)
	}
	held, claiming := make(chan error, 1), *s // bind may not see what hold sets
	go func() { held <- d.hold(ctx, &claiming) }()
	bindErr := d.bind(ctx, s)
	if err := <-held; err != nil {
		if refused(err) {
			return errors.Join(err, d.retreat(ctx, s))
		}
		return err
	}
	return bindErr
}

// retreat takes back the binding of a template that may not be claimed.
func (d *detector) retreat(ctx context.Context, s *detection) error {
	b, err := d.binding(ctx, bindingOf(s.ref))
	if err != nil || b == nil {
		return err
	}
	return d.removeBinding(ctx, b)
}

// hold writes the claim of the chosen policy on the template.
func (d *detector) hold(ctx context.Context, s *detection) error {
	err := d.writeClaim(ctx, s, ClaimOf(s.policy))
	if s.preempted != nil {
		preemptions.Add(1, kube.Outcome(err))
	}
	if err != nil {
		if s.preempted != nil {
			return &failed{eventPreemptFailed, err}
		}
		return err
	}
	if s.preempted != nil {
		d.troubles.preempted(s.object, ClaimOf(s.policy), ClaimOf(s.preempted))
	}
	return nil
}
