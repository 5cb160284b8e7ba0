package template

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
)

// policyController brings changes of policies to their templates. It writes
// nothing to templates itself: the detector does, a template at a time, so that a
// policy with a thousand of them holds up no other.
type policyController struct {
	*detector
}

// Reconcile implements reconcile.Reconciler.
func (c *policyController) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	p := c.policies.get(request.NamespacedName)
	if p == nil {
		return ctrl.Result{}, nil
	}
	refs := c.claimedBy(ClaimOf(p).ID)
	if p.GetDeletionTimestamp() == nil {
		refs = append(refs, c.meant(p)...)
	}
	c.enqueue(change{mark: markPolicy}, refs...)
	if p.GetDeletionTimestamp() == nil || len(refs) > 0 {
		return ctrl.Result{}, nil // the last template that is released brings it back
	}
	err := c.letGo(ctx, p)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// letGo ends a policy that no template belongs to any more.
func (c *policyController) letGo(ctx context.Context, p PolicyObject) error {
	claim := ClaimOf(p)
	if claim.ID != "" {
		left, err := c.bindingsOf(ctx, claim)
		if err != nil {
			return err
		}
		for _, b := range left {
			b = c.written.newer(keyOfBinding(b), b)
			if carried, _ := ClaimIn(b); carried.ID != claim.ID {
				continue
			}
			if err := c.unclaim(ctx, b); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	released := p.DeepCopyObject().(PolicyObject)
	released.SetFinalizers(slices.DeleteFunc(slices.Clone(p.GetFinalizers()), func(f string) bool {
		return f == policyv1alpha1.PropagationPolicyFinalizer || f == policyv1alpha1.ClusterPropagationPolicyFinalizer
	}))
	if err := kube.Patch(ctx, c.hub, p, released); err != nil {
		return fmt.Errorf("release %s: %w", claim, err)
	}
	return nil
}

// bindingsOf are the bindings that carry a policy's claim.
func (c *policyController) bindingsOf(ctx context.Context, claim Claim) ([]workv1alpha2.Binding, error) {
	var found []workv1alpha2.Binding
	var namespaced workv1alpha2.ResourceBindingList
	if err := c.hub.List(ctx, &namespaced, client.InNamespace(claim.Namespace), client.MatchingLabels(claim.labels())); err != nil {
		return nil, fmt.Errorf("list bindings of %s: %w", claim, err)
	}
	for i := range namespaced.Items {
		found = append(found, &namespaced.Items[i])
	}
	if claim.Namespace != "" {
		return found, nil
	}
	var global workv1alpha2.ClusterResourceBindingList
	if err := c.hub.List(ctx, &global, client.MatchingLabels(claim.labels())); err != nil {
		return nil, fmt.Errorf("list bindings of %s: %w", claim, err)
	}
	for i := range global.Items {
		found = append(found, &global.Items[i])
	}
	return found, nil
}
