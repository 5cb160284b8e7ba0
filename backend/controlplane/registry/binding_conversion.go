package registry

import (
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// addBindingConversions makes scheme say bindings of either version in the words of
// the other, and lists of them, which are read only, in those of v1alpha1.
func addBindingConversions(scheme *runtime.Scheme) {
	converts(scheme, firstResourceBinding)
	converts(scheme, secondResourceBinding)
	converts(scheme, firstClusterResourceBinding)
	converts(scheme, secondClusterResourceBinding)
	converts(scheme, func(from *workv1alpha2.ResourceBindingList, to *workv1alpha1.ResourceBindingList) {
		to.ListMeta, to.Items = from.ListMeta, each(from.Items, firstResourceBinding)
	})
	converts(scheme, func(from *workv1alpha2.ClusterResourceBindingList, to *workv1alpha1.ClusterResourceBindingList) {
		to.ListMeta, to.Items = from.ListMeta, each(from.Items, firstClusterResourceBinding)
	})
}

func converts[From, To any](scheme *runtime.Scheme, convert func(*From, *To)) {
	utilruntime.Must(scheme.AddConversionFunc((*From)(nil), (*To)(nil), func(from, to any, _ conversion.Scope) error {
		convert(from.(*From), to.(*To))
		return nil
	}))
}

func each[From, To any](from []From, convert func(*From, *To)) []To {
	to := make([]To, len(from))
	for i := range from {
		convert(&from[i], &to[i])
	}
	return to
}

func firstResourceBinding(from *workv1alpha2.ResourceBinding, to *workv1alpha1.ResourceBinding) {
	to.ObjectMeta, to.Spec, to.Status = from.ObjectMeta, firstSpec(&from.Spec), firstStatus(&from.Status)
}

func secondResourceBinding(from *workv1alpha1.ResourceBinding, to *workv1alpha2.ResourceBinding) {
	to.ObjectMeta, to.Spec, to.Status = from.ObjectMeta, secondSpec(&from.Spec), secondStatus(&from.Status)
}

func firstClusterResourceBinding(from *workv1alpha2.ClusterResourceBinding, to *workv1alpha1.ClusterResourceBinding) {
	to.ObjectMeta, to.Spec, to.Status = from.ObjectMeta, firstSpec(&from.Spec), firstStatus(&from.Status)
}

func secondClusterResourceBinding(from *workv1alpha1.ClusterResourceBinding, to *workv1alpha2.ClusterResourceBinding) {
	to.ObjectMeta, to.Spec, to.Status = from.ObjectMeta, secondSpec(&from.Spec), secondStatus(&from.Status)
}

// firstSpec says a spec in the words of v1alpha1. Both share what they point to.
func firstSpec(spec *workv1alpha2.ResourceBindingSpec) workv1alpha1.ResourceBindingSpec {
	said := workv1alpha1.ResourceBindingSpec{Resource: workv1alpha1.ObjectReference{
		APIVersion: spec.Resource.APIVersion, Kind: spec.Resource.Kind, Namespace: spec.Resource.Namespace, Name: spec.Resource.Name,
		ResourceVersion: spec.Resource.ResourceVersion, Replicas: spec.Replicas,
	}}
	if spec.ReplicaRequirements != nil {
		said.Resource.ResourcePerReplicas = spec.ReplicaRequirements.ResourceRequest
	}
	for _, cluster := range spec.Clusters {
		said.Clusters = append(said.Clusters, workv1alpha1.TargetCluster{Name: cluster.Name, Replicas: cluster.Replicas})
	}
	return said
}

// secondSpec says a spec of v1alpha1 in the words of v1alpha2, whose defaults it
// has where v1alpha1 has no words.
func secondSpec(said *workv1alpha1.ResourceBindingSpec) workv1alpha2.ResourceBindingSpec {
	spec := workv1alpha2.ResourceBindingSpec{
		Resource: workv1alpha2.ObjectReference{
			APIVersion: said.Resource.APIVersion, Kind: said.Resource.Kind, Namespace: said.Resource.Namespace, Name: said.Resource.Name,
			ResourceVersion: said.Resource.ResourceVersion,
		},
		Replicas: said.Resource.Replicas,
	}
	if said.Resource.ResourcePerReplicas != nil {
		spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: said.Resource.ResourcePerReplicas}
	}
	for _, cluster := range said.Clusters {
		spec.Clusters = append(spec.Clusters, workv1alpha2.TargetCluster{Name: cluster.Name, Replicas: cluster.Replicas})
	}
	defaultBindingSpec(&spec)
	return spec
}

func firstStatus(status *workv1alpha2.ResourceBindingStatus) workv1alpha1.ResourceBindingStatus {
	said := workv1alpha1.ResourceBindingStatus{Conditions: status.Conditions}
	for _, item := range status.AggregatedStatus {
		said.AggregatedStatus = append(said.AggregatedStatus, workv1alpha1.AggregatedStatusItem{
			ClusterName: item.ClusterName, Status: item.Status, Applied: item.Applied, AppliedMessage: item.AppliedMessage,
		})
	}
	return said
}

func secondStatus(said *workv1alpha1.ResourceBindingStatus) workv1alpha2.ResourceBindingStatus {
	status := workv1alpha2.ResourceBindingStatus{Conditions: said.Conditions}
	for _, item := range said.AggregatedStatus {
		status.AggregatedStatus = append(status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{
			ClusterName: item.ClusterName, Status: item.Status, Applied: item.Applied, AppliedMessage: item.AppliedMessage,
		})
	}
	return status
}
