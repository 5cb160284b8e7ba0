package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ResourceBinding ties a namespaced template to the clusters it is placed in, in the words of the group's first version. It is a view:
// what is stored, and what only work.karmada.io/v1alpha2 has words for, is the binding of that version.
//
// +kubebuilder:object:root=true
type ResourceBinding struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what is placed where.
	Spec ResourceBindingSpec `json:"spec"`

	// Status says what came of it.
	// +optional
	Status ResourceBindingStatus `json:"status,omitempty"`
}

// ResourceBindingList is a list of resource bindings.
//
// +kubebuilder:object:root=true
type ResourceBindingList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the bindings.
	Items []ResourceBinding `json:"items"`
}

// ClusterResourceBinding ties a cluster-scoped template to the clusters it is placed in; like ResourceBinding, it is a view.
//
// +kubebuilder:object:root=true
type ClusterResourceBinding struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what is placed where.
	Spec ResourceBindingSpec `json:"spec"`

	// Status says what came of it.
	// +optional
	Status ResourceBindingStatus `json:"status,omitempty"`
}

// ClusterResourceBindingList is a list of cluster resource bindings.
//
// +kubebuilder:object:root=true
type ClusterResourceBindingList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the bindings.
	Items []ClusterResourceBinding `json:"items"`
}

// ResourceBindingSpec says what is placed where.
type ResourceBindingSpec struct {
	// Resource is the template, with what its replicas ask for.
	Resource ObjectReference `json:"resource"`

	// Clusters is the schedule result.
	// +optional
	Clusters []TargetCluster `json:"clusters,omitempty"`
}

// ObjectReference names a template and tells of its replicas.
type ObjectReference struct {
	// APIVersion of the template.
	APIVersion string `json:"apiVersion"`
	// Kind of the template.
	Kind string `json:"kind"`
	// Namespace of the template; empty for cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the template.
	Name string `json:"name"`
	// ResourceVersion of the template that the binding was last made from.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// ResourcePerReplicas is what one replica asks for.
	// +optional
	ResourcePerReplicas corev1.ResourceList `json:"resourcePerReplicas,omitempty"`
	// Replicas is the desired number over all clusters.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
}

// TargetCluster is one line of the schedule result.
type TargetCluster struct {
	// Name of the cluster.
	Name string `json:"name"`
	// Replicas that the cluster runs.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
}

// ResourceBindingStatus is what came of a binding.
type ResourceBindingStatus struct {
	// Conditions holds Scheduled and FullyApplied.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// AggregatedStatus is what each cluster reports, sorted by name.
	// +optional
	AggregatedStatus []AggregatedStatusItem `json:"aggregatedStatus,omitempty"`
}

// AggregatedStatusItem is what one cluster reports.
type AggregatedStatusItem struct {
	// ClusterName is the cluster.
	ClusterName string `json:"clusterName"`

	// Status is the collected part of the member object's status.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Status *runtime.RawExtension `json:"status,omitempty"`

	// Applied says whether the object was applied.
	// +optional
	Applied bool `json:"applied,omitempty"`

	// AppliedMessage says why it was not.
	// +optional
	AppliedMessage string `json:"appliedMessage,omitempty"`
}
