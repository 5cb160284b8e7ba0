package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ManagedClusterSet is a set of clusters, by exclusive membership or by labels.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName={mclset,mclsets}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Empty",type=string,JSONPath=`.status.conditions[?(@.type=="ClusterSetEmpty")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ManagedClusterSet struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec chooses the clusters.
	// +optional
	// +kubebuilder:default={clusterSelector:{selectorType:ExclusiveClusterSetLabel}}
	Spec ManagedClusterSetSpec `json:"spec,omitempty"`

	// Status says whether there are any.
	// +optional
	Status ManagedClusterSetStatus `json:"status,omitempty"`
}

// ManagedClusterSetList is a list of sets.
//
// +kubebuilder:object:root=true
type ManagedClusterSetList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the sets.
	Items []ManagedClusterSet `json:"items"`
}

// ManagedClusterSetSpec chooses clusters.
type ManagedClusterSetSpec struct {
	// ClusterSelector chooses the clusters.
	// +optional
	// +kubebuilder:default={selectorType:ExclusiveClusterSetLabel}
	ClusterSelector ManagedClusterSelector `json:"clusterSelector,omitempty"`

	// ManagedNamespaces are made in every cluster of the set.
	// +optional
	// +listType=map
	// +listMapKey=name
	ManagedNamespaces []ManagedNamespace `json:"managedNamespaces,omitempty"`
}

// SelectorType is how a set chooses clusters.
type SelectorType string

// Ways to choose clusters.
const (
	// ExclusiveClusterSetLabel chooses the clusters whose set label names the set; a cluster is in one such set only.
	ExclusiveClusterSetLabel SelectorType = "ExclusiveClusterSetLabel"
	// LabelSelector chooses clusters by any labels; they may be in other sets too.
	LabelSelector SelectorType = "LabelSelector"
)

// ManagedClusterSelector chooses clusters.
type ManagedClusterSelector struct {
	// SelectorType says how.
	// +kubebuilder:validation:Enum=ExclusiveClusterSetLabel;LabelSelector
	// +kubebuilder:default=ExclusiveClusterSetLabel
	// +required
	SelectorType SelectorType `json:"selectorType,omitempty"`

	// LabelSelector goes with the type LabelSelector; an empty one chooses every cluster.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// ManagedNamespace is a namespace in the clusters of a set.
type ManagedNamespace struct {
	// Name of the namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// ManagedClusterSetStatus says whether a set has clusters.
type ManagedClusterSetStatus struct {
	// Conditions holds ClusterSetEmpty.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
