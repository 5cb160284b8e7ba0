package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PlacementDecision holds up to a hundred clusters that a placement chose.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:subresource:status
type PlacementDecision struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Status holds the clusters.
	// +optional
	Status PlacementDecisionStatus `json:"status,omitempty"`
}

// PlacementDecisionList is a list of decisions.
//
// +kubebuilder:object:root=true
type PlacementDecisionList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the decisions.
	Items []PlacementDecision `json:"items"`
}

// PlacementDecisionStatus holds chosen clusters.
type PlacementDecisionStatus struct {
	// Decisions are the clusters.
	// +listType=atomic
	Decisions []ClusterDecision `json:"decisions"`
}

// ClusterDecision is one chosen cluster.
type ClusterDecision struct {
	// ClusterName is the name of the ManagedCluster.
	ClusterName string `json:"clusterName"`

	// Reason says why; the hub leaves it empty.
	Reason string `json:"reason"`

	// Score is the sum that the prioritizers gave.
	// +optional
	Score *int64 `json:"score,omitempty"`
}
