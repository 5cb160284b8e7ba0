package template

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Scale is what an interpreter says of a template's replicas.
type Scale struct {
	Replicas   int32
	Need       *workv1alpha2.ReplicaRequirements
	Components []workv1alpha2.Component
}

// Extras are what a binding needs to know beyond its template and policy.
type Extras struct {
	// Priority is the value of the priority class that the policy names, nil if it names none.
	Priority *int32
	// AffinityGroups has the binding carry the groups of the placement's workload affinity.
	AffinityGroups bool
}

// NewBinding is the binding of a template that a policy claims, as the detector
// would create it, before it is scheduled. It is a ClusterResourceBinding if the
// template has no namespace. Neither argument is changed or kept.
func NewBinding(o *unstructured.Unstructured, policy PolicyObject, scale Scale, extras Extras) workv1alpha2.Binding {
	return nil
}
