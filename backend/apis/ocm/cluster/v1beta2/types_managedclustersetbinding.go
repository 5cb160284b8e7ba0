package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ManagedClusterSetBinding lets the placements of its namespace choose clusters of a set. It is named like the set.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName={mclsetbinding,mclsetbindings}
// +kubebuilder:subresource:status
type ManagedClusterSetBinding struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec names the set.
	// +optional
	Spec ManagedClusterSetBindingSpec `json:"spec,omitempty"`

	// Status says whether the set is there.
	// +optional
	Status ManagedClusterSetBindingStatus `json:"status,omitempty"`
}

// ManagedClusterSetBindingList is a list of bindings.
//
// +kubebuilder:object:root=true
type ManagedClusterSetBindingList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the bindings.
	Items []ManagedClusterSetBinding `json:"items"`
}

// ManagedClusterSetBindingSpec names a set.
type ManagedClusterSetBindingSpec struct {
	// ClusterSet is the name of the set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	ClusterSet string `json:"clusterSet,omitempty"`
}

// ManagedClusterSetBindingStatus says whether a set is bound.
type ManagedClusterSetBindingStatus struct {
	// Conditions holds Bound.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
