package policy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Demand is what a binding asks for where it is scheduled, over all clusters. Each
// cluster of a template with several components runs all of them, unless its
// target says otherwise.
func Demand(spec *workv1alpha2.ResourceBindingSpec) corev1.ResourceList {
	demand := corev1.ResourceList{}
	for i := range spec.Clusters {
		target := &spec.Clusters[i]
		switch {
		case len(spec.Components) == 0 && spec.ReplicaRequirements != nil:
			Add(demand, spec.ReplicaRequirements.ResourceRequest, target.Replicas)
		case len(spec.Components) > 0:
			addComponents(demand, spec.Components, target.Components)
		}
	}
	return demand
}

// addComponents adds what the components in one cluster ask for.
func addComponents(demand corev1.ResourceList, components []workv1alpha2.Component, placed []workv1alpha2.TargetComponent) {
	for i := range components {
		replicas := components[i].Replicas
		if at := slices.IndexFunc(placed, func(c workv1alpha2.TargetComponent) bool { return c.Name == components[i].Name }); at >= 0 {
			replicas = placed[at].Replicas
		}
		if need := components[i].ReplicaRequirements; need != nil {
			Add(demand, need.ResourceRequest, replicas)
		}
	}
}

// Add adds a number of times one list to a sum of them.
func Add(sum, more corev1.ResourceList, times int32) {
	for name, quantity := range more {
		total, share := sum[name], quantity.DeepCopy()
		share.Mul(int64(times))
		total.Add(share)
		sum[name] = total
	}
}
