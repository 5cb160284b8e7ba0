package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// ManifestWorkReplicaSet makes one ManifestWork in the namespace of every cluster that its placements chose.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=mwrs
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Placement",type=string,JSONPath=`.status.conditions[?(@.type=="PlacementVerified")].reason`
// +kubebuilder:printcolumn:name="Found",type=string,JSONPath=`.status.conditions[?(@.type=="PlacementVerified")].status`
// +kubebuilder:printcolumn:name="ManifestWorks",type=string,JSONPath=`.status.conditions[?(@.type=="ManifestworkApplied")].reason`
// +kubebuilder:printcolumn:name="Applied",type=string,JSONPath=`.status.conditions[?(@.type=="ManifestworkApplied")].status`
type ManifestWorkReplicaSet struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the template and where it goes.
	// +optional
	Spec ManifestWorkReplicaSetSpec `json:"spec,omitempty"`

	// Status sums up the works.
	// +optional
	Status ManifestWorkReplicaSetStatus `json:"status,omitempty"`
}

// ManifestWorkReplicaSetList is a list of replica sets.
//
// +kubebuilder:object:root=true
type ManifestWorkReplicaSetList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the replica sets.
	Items []ManifestWorkReplicaSet `json:"items"`
}

// CascadeDeletionPolicy says how works are deleted with their replica set.
type CascadeDeletionPolicy string

// How works are deleted with their replica set.
const (
	// CascadeBackground deletes the works and goes.
	CascadeBackground CascadeDeletionPolicy = "Background"
	// CascadeForeground stays until the works are gone.
	CascadeForeground CascadeDeletionPolicy = "Foreground"
)

// ManifestWorkReplicaSetSpec is a template and where it goes.
type ManifestWorkReplicaSetSpec struct {
	// ManifestWorkTemplate is the spec of each work.
	ManifestWorkTemplate ocmworkv1.ManifestWorkSpec `json:"manifestWorkTemplate"`

	// PlacementRefs name placements of the same namespace.
	// +kubebuilder:validation:MinItems=1
	// +listType=map
	// +listMapKey=name
	PlacementRefs []LocalPlacementReference `json:"placementRefs"`

	// CascadeDeletionPolicy says how works are deleted with the replica set.
	// +optional
	// +kubebuilder:validation:Enum=Background;Foreground
	// +kubebuilder:default=Background
	CascadeDeletionPolicy CascadeDeletionPolicy `json:"cascadeDeletionPolicy,omitempty"`
}

// LocalPlacementReference names a placement of the same namespace.
type LocalPlacementReference struct {
	// Name of the placement.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// RolloutStrategy says how a change goes over its clusters.
	// +optional
	// +kubebuilder:default={type:All,all:{progressDeadline:None}}
	RolloutStrategy ocmv1alpha1.RolloutStrategy `json:"rolloutStrategy,omitempty"`
}

// ManifestWorkReplicaSetStatus sums up the works.
type ManifestWorkReplicaSetStatus struct {
	// Conditions holds PlacementVerified, PlacementRolledOut and ManifestworkApplied.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Summary counts the works of all placements.
	// +optional
	Summary ManifestWorkReplicaSetSummary `json:"summary,omitempty"`

	// PlacementsSummary counts the works of each placement.
	// +optional
	// +listType=map
	// +listMapKey=name
	PlacementsSummary []PlacementSummary `json:"placementSummary,omitempty"`
}

// ManifestWorkReplicaSetSummary counts works.
type ManifestWorkReplicaSetSummary struct {
	// Total is how many works there are.
	// +optional
	Total int `json:"total"`
	// DesiredTotal is how many clusters shall have the work.
	// +optional
	DesiredTotal int `json:"desiredTotal"`
	// Updated counts the works that hold the current template.
	// +optional
	Updated int `json:"updated"`
	// Available counts the works whose objects are there.
	// +optional
	Available int `json:"available"`
	// Progressing counts the works that change.
	// +optional
	Progressing int `json:"progressing"`
	// Degraded counts the works whose objects do not do their job.
	// +optional
	Degraded int `json:"degraded"`
	// Applied counts the works that were applied.
	// +optional
	Applied int `json:"applied"`
}

// PlacementSummary counts the works of one placement.
type PlacementSummary struct {
	// Name of the placement.
	Name string `json:"name"`

	// AvailableDecisionGroups tells how many groups are done, and how many clusters are in them.
	// +optional
	AvailableDecisionGroups string `json:"availableDecisionGroups"`

	// Summary counts the works.
	// +optional
	Summary ManifestWorkReplicaSetSummary `json:"summary,omitempty"`
}
