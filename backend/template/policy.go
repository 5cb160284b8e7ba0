package template

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// PolicyObject is a PropagationPolicy or a ClusterPropagationPolicy.
type PolicyObject interface{ client.Object }

// SpecOf returns the spec of a policy, not a copy. It is nil for other objects.
func SpecOf(policy PolicyObject) *policyv1alpha1.PropagationSpec {
	switch p := policy.(type) {
	case *policyv1alpha1.PropagationPolicy:
		return &p.Spec
	case *policyv1alpha1.ClusterPropagationPolicy:
		return &p.Spec
	}
	return nil
}

// ClaimOf is the claim that a policy puts on its templates.
func ClaimOf(policy PolicyObject) Claim {
	if _, cluster := policy.(*policyv1alpha1.ClusterPropagationPolicy); cluster {
		return Claim{
			Kind: policyv1alpha1.ResourceKindClusterPropagationPolicy, Name: policy.GetName(),
			ID: policy.GetLabels()[policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel],
		}
	}
	return Claim{
		Kind: policyv1alpha1.ResourceKindPropagationPolicy, Namespace: policy.GetNamespace(), Name: policy.GetName(),
		ID: policy.GetLabels()[policyv1alpha1.PropagationPolicyPermanentIDLabel],
	}
}

// priority is 0 unless the policy says otherwise.
func priority(policy PolicyObject) int32 {
	if p := SpecOf(policy).Priority; p != nil {
		return *p
	}
	return 0
}
