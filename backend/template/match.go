package template

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
)

// Choose says which policy a template without a claim belongs to: the best
// PropagationPolicy of its namespace, else the best ClusterPropagationPolicy,
// whatever their priorities (contract section 8.2).
func Choose(o *unstructured.Unstructured, pps []*policyv1alpha1.PropagationPolicy, cpps []*policyv1alpha1.ClusterPropagationPolicy) (claim Claim, found bool) {
	if namespace := o.GetNamespace(); namespace != "" {
		var best contest
		for _, p := range pps {
			if p.Namespace == namespace {
				best.enter(o, p)
			}
		}
		if best.policy != nil {
			return ClaimOf(best.policy), true
		}
	}
	var best contest
	for _, p := range cpps {
		best.enter(o, p)
	}
	if best.policy == nil {
		return Claim{}, false
	}
	return ClaimOf(best.policy), true
}

// contest keeps the best policy so far: the highest priority, then the closest
// match, then the first name.
type contest struct {
	policy   PolicyObject
	strength policy.Strength
}

func (c *contest) enter(o *unstructured.Unstructured, candidate PolicyObject) {
	if candidate.GetDeletionTimestamp() != nil {
		return
	}
	strength := policy.MatchAny(SpecOf(candidate).ResourceSelectors, o)
	if strength == policy.MatchNone || c.policy != nil && !c.beaten(candidate, strength) {
		return
	}
	c.policy, c.strength = candidate, strength
}

func (c *contest) beaten(by PolicyObject, strength policy.Strength) bool {
	if mine, other := priority(c.policy), priority(by); mine != other {
		return other > mine
	}
	if c.strength != strength {
		return strength > c.strength
	}
	return by.GetName() < c.policy.GetName()
}

// Preempts says whether a policy takes a template from the policy that holds it
// (contract section 8.2, behind a gate): it asks for that, means the template,
// and is a PropagationPolicy where the holder is a cluster's, or of the same kind
// and of higher priority.
func Preempts(challenger, holder PolicyObject, o *unstructured.Unstructured) bool {
	spec := SpecOf(challenger)
	if spec.Preemption != policyv1alpha1.PreemptAlways || challenger.GetDeletionTimestamp() != nil || policy.MatchAny(spec.ResourceSelectors, o) == policy.MatchNone {
		return false
	}
	mine, theirs := ClaimOf(challenger), ClaimOf(holder)
	if mine.Kind != theirs.Kind {
		return mine.Kind == policyv1alpha1.ResourceKindPropagationPolicy
	}
	return mine.ID != theirs.ID && priority(challenger) > priority(holder)
}

// strongest is the policy that takes a template from its holder, nil if none
// does. A PropagationPolicy goes before a cluster's.
func strongest(o *unstructured.Unstructured, holder PolicyObject, pps []*policyv1alpha1.PropagationPolicy, cpps []*policyv1alpha1.ClusterPropagationPolicy) PolicyObject {
	var own, cluster contest
	for _, p := range pps {
		if Preempts(p, holder, o) {
			own.enter(o, p)
		}
	}
	for _, p := range cpps {
		if Preempts(p, holder, o) {
			cluster.enter(o, p)
		}
	}
	if own.policy != nil {
		return own.policy
	}
	return cluster.policy
}
