package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutType is how a change goes over the clusters of a placement.
type RolloutType string

// Types of rollout.
const (
	// RolloutAll changes all clusters at once.
	RolloutAll RolloutType = "All"
	// RolloutProgressive changes a number of clusters at a time.
	RolloutProgressive RolloutType = "Progressive"
	// RolloutProgressivePerGroup changes one decision group after the other.
	RolloutProgressivePerGroup RolloutType = "ProgressivePerGroup"
)

// RolloutStrategy says how a change goes over the clusters of a placement.
type RolloutStrategy struct {
	// Type chooses one of the three below.
	// +optional
	// +kubebuilder:validation:Enum=All;Progressive;ProgressivePerGroup
	// +kubebuilder:default=All
	Type RolloutType `json:"type,omitempty"`

	// All goes with the type All.
	// +optional
	All *RolloutAllStrategy `json:"all,omitempty"`

	// Progressive goes with the type Progressive.
	// +optional
	Progressive *RolloutProgressiveStrategy `json:"progressive,omitempty"`

	// ProgressivePerGroup goes with the type ProgressivePerGroup.
	// +optional
	ProgressivePerGroup *RolloutProgressivePerGroupStrategy `json:"progressivePerGroup,omitempty"`
}

// RolloutConfig says when a cluster counts as done, and how many may fail.
type RolloutConfig struct {
	// MinSuccessTime is how long a cluster must be well before the rollout goes on.
	// +optional
	// +kubebuilder:default="0"
	// +kubebuilder:validation:Type=string
	MinSuccessTime metav1.Duration `json:"minSuccessTime,omitempty"`

	// ProgressDeadline is how long a cluster may take: a number and one of h, m, s, or None for no limit.
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:Pattern=`^(([0-9])+[h|m|s])|None$`
	ProgressDeadline string `json:"progressDeadline,omitempty"`

	// MaxFailures is the number or percentage of clusters that may fail before the rollout stops.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]+)$`
	MaxFailures intstr.IntOrString `json:"maxFailures,omitempty"`
}

// RolloutAllStrategy changes all clusters at once.
type RolloutAllStrategy struct {
	RolloutConfig `json:",inline"`
}

// RolloutProgressiveStrategy changes a number of clusters at a time.
type RolloutProgressiveStrategy struct {
	RolloutConfig `json:",inline"`

	MandatoryDecisionGroups `json:",inline"`

	// MaxConcurrency is the number or percentage of clusters that change at a time. Without it, clustersPerDecisionGroup counts.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^((100|[1-9][0-9]?)%|[0-9]+)$`
	MaxConcurrency intstr.IntOrString `json:"maxConcurrency,omitempty"`
}

// RolloutProgressivePerGroupStrategy changes one decision group after the other.
type RolloutProgressivePerGroupStrategy struct {
	RolloutConfig `json:",inline"`

	MandatoryDecisionGroups `json:",inline"`
}

// MandatoryDecisionGroups come first, and nothing else until they are well.
type MandatoryDecisionGroups struct {
	// MandatoryDecisionGroups come first, in this order.
	// +optional
	// +listType=atomic
	MandatoryDecisionGroups []MandatoryDecisionGroup `json:"mandatoryDecisionGroups,omitempty"`
}

// MandatoryDecisionGroup names a decision group.
type MandatoryDecisionGroup struct {
	// GroupName of the decision group; it goes before the index.
	// +optional
	GroupName string `json:"groupName,omitempty"`

	// GroupIndex of the decision group.
	// +optional
	GroupIndex int32 `json:"groupIndex,omitempty"`
}

// NoProgressDeadline is the ProgressDeadline that sets no limit.
const NoProgressDeadline = "None"
