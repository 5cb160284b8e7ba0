package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AddOnPlacementScore holds scores that an add-on gives to the cluster whose namespace it is in. Placements may prefer clusters by them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type AddOnPlacementScore struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Status holds the scores.
	// +optional
	Status AddOnPlacementScoreStatus `json:"status,omitempty"`
}

// AddOnPlacementScoreList is a list of scores.
//
// +kubebuilder:object:root=true
type AddOnPlacementScoreList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the scores.
	Items []AddOnPlacementScore `json:"items"`
}

// AddOnPlacementScoreStatus holds scores.
type AddOnPlacementScoreStatus struct {
	// Conditions are the add-on's own.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Scores by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Scores []AddOnPlacementScoreItem `json:"scores,omitempty"`

	// ValidUntil is when the scores stop counting. Without it they count for ever.
	// +optional
	ValidUntil *metav1.Time `json:"validUntil,omitempty"`
}

// AddOnPlacementScoreItem is one score.
type AddOnPlacementScoreItem struct {
	// Name of the score.
	Name string `json:"name"`

	// Value is -100 to 100; more is better.
	// +kubebuilder:validation:Minimum=-100
	// +kubebuilder:validation:Maximum=100
	Value int32 `json:"value"`
}
