package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InstallMode says where pods run.
type InstallMode string

// Where pods run.
const (
	// InstallModeDefault runs them in the cluster that they serve.
	InstallModeDefault InstallMode = "Default"
	// InstallModeHosted runs them outside of it, in the cluster that the object is in.
	InstallModeHosted InstallMode = "Hosted"
	// InstallModeSingleton runs one agent in the managed cluster.
	InstallModeSingleton InstallMode = "Singleton"
	// InstallModeSingletonHosted runs one agent outside of it.
	InstallModeSingletonHosted InstallMode = "SingletonHosted"
)

// IsHosted says whether the pods run outside of the cluster that they serve.
func (m InstallMode) IsHosted() bool {
	return m == InstallModeHosted || m == InstallModeSingletonHosted
}

// IsSingleton says whether one agent does the work of two.
func (m InstallMode) IsSingleton() bool {
	return m == InstallModeSingleton || m == InstallModeSingletonHosted
}

// NodePlacement says on which nodes pods run.
type NodePlacement struct {
	// NodeSelector of the pods.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of the pods.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// FeatureGateMode switches a feature.
type FeatureGateMode string

// What a feature is switched to.
const (
	// FeatureEnable switches it on.
	FeatureEnable FeatureGateMode = "Enable"
	// FeatureDisable switches it off.
	FeatureDisable FeatureGateMode = "Disable"
)

// FeatureGate switches one feature.
type FeatureGate struct {
	// Feature is its name.
	Feature string `json:"feature"`

	// Mode is on or off.
	// +optional
	// +kubebuilder:validation:Enum=Enable;Disable
	// +kubebuilder:default=Disable
	Mode FeatureGateMode `json:"mode,omitempty"`
}

// ResourceQosClass says how much containers ask for.
type ResourceQosClass string

// How much containers ask for.
const (
	// ResourceQosDefault is what we think fit.
	ResourceQosDefault ResourceQosClass = "Default"
	// ResourceQosBestEffort is nothing.
	ResourceQosBestEffort ResourceQosClass = "BestEffort"
	// ResourceQosRequirement is what the object says.
	ResourceQosRequirement ResourceQosClass = "ResourceRequirement"
)

// ResourceQuota says how much containers ask for.
type ResourceQuota struct {
	// Type says how.
	// +optional
	// +kubebuilder:validation:Enum=Default;BestEffort;ResourceRequirement
	// +kubebuilder:default=Default
	Type ResourceQosClass `json:"type,omitempty"`

	// ResourceRequirements go with the type ResourceRequirement.
	// +optional
	ResourceRequirements *corev1.ResourceRequirements `json:"resourceRequirements,omitempty"`
}

// OperatorStatus says how far the operator is with an object.
type OperatorStatus struct {
	// ObservedGeneration is the generation that the conditions are about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are those of contract section 3.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Generations are those of what was applied, as seen last.
	// +optional
	// +listType=atomic
	Generations []GenerationStatus `json:"generations,omitempty"`

	// RelatedResources is everything that was applied.
	// +optional
	// +listType=atomic
	RelatedResources []RelatedResourceMeta `json:"relatedResources,omitempty"`
}

// GenerationStatus is the generation of an applied object.
type GenerationStatus struct {
	// Group of the object; empty for the core group.
	Group string `json:"group"`
	// Version of the object.
	Version string `json:"version"`
	// Resource is its plural name.
	Resource string `json:"resource"`
	// Namespace of the object; empty for cluster-scoped ones.
	// +optional
	Namespace string `json:"namespace"`
	// Name of the object.
	Name string `json:"name"`
	// LastGeneration is the one that was seen last.
	LastGeneration int64 `json:"lastGeneration"`
}

// RelatedResourceMeta names an applied object.
type RelatedResourceMeta struct {
	// Group of the object; empty for the core group.
	Group string `json:"group"`
	// Version of the object.
	Version string `json:"version"`
	// Resource is its plural name.
	Resource string `json:"resource"`
	// Namespace of the object; empty for cluster-scoped ones.
	// +optional
	Namespace string `json:"namespace"`
	// Name of the object.
	Name string `json:"name"`
}
