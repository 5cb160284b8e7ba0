package v1alpha1

// FailoverBehavior says how objects leave a cluster in trouble.
type FailoverBehavior struct {
	// Application reacts to the health of the application. It needs propagateDeps.
	// +optional
	Application *ApplicationFailoverBehavior `json:"application,omitempty"`

	// Cluster reacts to taints of the cluster.
	// +optional
	Cluster *ClusterFailoverBehavior `json:"cluster,omitempty"`
}

// ApplicationFailoverBehavior says how an unhealthy application moves.
type ApplicationFailoverBehavior struct {
	// DecisionConditions say when the application moves.
	DecisionConditions DecisionConditions `json:"decisionConditions"`

	// PurgeMode says when the old copy is removed.
	// +kubebuilder:validation:Enum=Directly;Gracefully;Never
	// +kubebuilder:default=Gracefully
	// +optional
	PurgeMode PurgeMode `json:"purgeMode,omitempty"`

	// GracePeriodSeconds is how long a graceful purge waits for the new copy to become healthy, in seconds. Only with the purge mode
	// Gracefully, where 600 is the default.
	// +optional
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// StatePreservation hands state of the old copy to the new one.
	// +optional
	StatePreservation *StatePreservation `json:"statePreservation,omitempty"`
}

// DecisionConditions say when an application moves.
type DecisionConditions struct {
	// TolerationSeconds is how long the application may be unhealthy, in seconds.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=300
	// +optional
	TolerationSeconds *int32 `json:"tolerationSeconds,omitempty"`
}

// ClusterFailoverBehavior says how objects leave a tainted cluster.
type ClusterFailoverBehavior struct {
	// PurgeMode says when the old copy is removed.
	// +kubebuilder:validation:Enum=Directly;Gracefully
	// +kubebuilder:default=Gracefully
	// +optional
	PurgeMode PurgeMode `json:"purgeMode,omitempty"`

	// StatePreservation hands state of the old copy to the new one.
	// +optional
	StatePreservation *StatePreservation `json:"statePreservation,omitempty"`
}

// PurgeMode says when the copy in the old cluster is removed.
type PurgeMode string

const (
	// PurgeModeDirectly removes the old copy before the new one is made.
	PurgeModeDirectly PurgeMode = "Directly"
	// PurgeModeGracefully removes the old copy once the new one is healthy or the grace period is over.
	PurgeModeGracefully PurgeMode = "Gracefully"
	// PurgeModeNever leaves the old copy to the user.
	PurgeModeNever PurgeMode = "Never"
)

// StatePreservation copies values from the old copy's status to labels of the new one.
type StatePreservation struct {
	// Rules are the values to copy.
	Rules []StatePreservationRule `json:"rules"`
}

// StatePreservationRule copies one value.
type StatePreservationRule struct {
	// AliasLabelName is the label that the new copy gets the value in.
	AliasLabelName string `json:"aliasLabelName"`

	// JSONPath finds the value in the old copy's status.
	JSONPath string `json:"jsonPath"`
}
