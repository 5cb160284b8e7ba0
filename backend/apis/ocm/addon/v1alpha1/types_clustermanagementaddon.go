package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
)

// ClusterManagementAddOn describes an add-on to the hub and says to which clusters it goes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName={cma,cmas}
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="DISPLAY NAME",type=string,JSONPath=`.spec.addOnMeta.displayName`
// +kubebuilder:printcolumn:name="CRD NAME",type=string,JSONPath=`.spec.addOnConfiguration.crdName`
type ClusterManagementAddOn struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec describes the add-on.
	// +optional
	Spec ClusterManagementAddOnSpec `json:"spec,omitempty"`

	// Status says how far its installation is.
	// +optional
	Status ClusterManagementAddOnStatus `json:"status,omitempty"`
}

// ClusterManagementAddOnList is a list of add-ons.
//
// +kubebuilder:object:root=true
type ClusterManagementAddOnList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the add-ons.
	Items []ClusterManagementAddOn `json:"items"`
}

// ClusterManagementAddOnSpec describes an add-on.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterManagementAddOnSpec struct {
	// AddOnMeta is for people.
	// +optional
	AddOnMeta AddOnMeta `json:"addOnMeta,omitempty"`

	// AddOnConfiguration is an older way to name its configuration.
	// +optional
	AddOnConfiguration ConfigCoordinates `json:"addOnConfiguration,omitempty"`

	// SupportedConfigs are the types of configuration that it takes. v1beta1 has defaultConfigs instead.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=resource
	SupportedConfigs []ConfigMeta `json:"supportedConfigs,omitempty"`

	// InstallStrategy says to which clusters it goes.
	// +optional
	// +kubebuilder:default={type:Manual}
	InstallStrategy InstallStrategy `json:"installStrategy,omitempty"`
}

// AddOnMeta is for people.
type AddOnMeta struct {
	// DisplayName is what it is called.
	// +optional
	DisplayName string `json:"displayName,omitempty"`
	// Description is what it does.
	// +optional
	Description string `json:"description,omitempty"`
}

// ConfigCoordinates is an older way to name a configuration.
type ConfigCoordinates struct {
	// CRDName is the definition of the configuration.
	// +optional
	CRDName string `json:"crdName,omitempty"`
	// CRName is the name of the configuration.
	// +optional
	CRName string `json:"crName,omitempty"`
	// LastObservedGeneration of the configuration.
	// +optional
	LastObservedGeneration int64 `json:"lastObservedGeneration,omitempty"`
}

// ConfigMeta is a type of configuration.
type ConfigMeta struct {
	ConfigGroupResource `json:",inline"`

	// DefaultConfig is used where no other is named.
	// +optional
	DefaultConfig *ConfigReferent `json:"defaultConfig,omitempty"`
}

// InstallStrategyType says to which clusters an add-on goes.
type InstallStrategyType string

// To which clusters an add-on goes.
const (
	// InstallManual leaves it to those who make ManagedClusterAddOns.
	InstallManual InstallStrategyType = "Manual"
	// InstallPlacements installs on the clusters of placements.
	InstallPlacements InstallStrategyType = "Placements"
)

// InstallStrategy says to which clusters an add-on goes.
type InstallStrategy struct {
	// Type says which of the ways.
	// +kubebuilder:validation:Enum=Manual;Placements
	// +kubebuilder:default=Manual
	// +optional
	Type InstallStrategyType `json:"type,omitempty"`

	// Placements go with the type of that name.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	Placements []PlacementStrategy `json:"placements,omitempty"`
}

// PlacementRef names a placement.
type PlacementRef struct {
	// Name of the placement.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Namespace of the placement.
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace"`
}

// PlacementStrategy installs on the clusters of one placement.
type PlacementStrategy struct {
	PlacementRef `json:",inline"`

	// Configs configure the add-on there.
	// +optional
	// +listType=atomic
	Configs []AddOnConfig `json:"configs,omitempty"`

	// RolloutStrategy says how a change goes over the clusters.
	// +optional
	// +kubebuilder:default={type:All}
	RolloutStrategy ocmv1alpha1.RolloutStrategy `json:"rolloutStrategy,omitempty"`
}

// ClusterManagementAddOnStatus says how far an installation is.
type ClusterManagementAddOnStatus struct {
	// DefaultConfigReferences are the configurations used where no other is named.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=resource
	DefaultConfigReferences []DefaultConfigReference `json:"defaultconfigReferences,omitempty"`

	// InstallProgressions tell of each placement.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	InstallProgressions []InstallProgression `json:"installProgressions,omitempty"`
}

// DefaultConfigReference is a configuration used where no other is named.
type DefaultConfigReference struct {
	ConfigGroupResource `json:",inline"`

	// DesiredConfig shall be in use.
	// +optional
	DesiredConfig *ConfigSpecHash `json:"desiredConfig,omitempty"`
}

// InstallProgression tells of one placement.
type InstallProgression struct {
	PlacementRef `json:",inline"`

	// ConfigReferences are the configurations in use.
	// +optional
	// +listType=atomic
	ConfigReferences []InstallConfigReference `json:"configReferences,omitempty"`

	// Conditions holds Progressing.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// InstallConfigReference is a configuration in use.
type InstallConfigReference struct {
	ConfigGroupResource `json:",inline"`

	// DesiredConfig shall be in use.
	// +optional
	DesiredConfig *ConfigSpecHash `json:"desiredConfig,omitempty"`

	// LastKnownGoodConfig is on every cluster.
	// +optional
	LastKnownGoodConfig *ConfigSpecHash `json:"lastKnownGoodConfig,omitempty"`

	// LastAppliedConfig was applied last.
	// +optional
	LastAppliedConfig *ConfigSpecHash `json:"lastAppliedConfig,omitempty"`
}
