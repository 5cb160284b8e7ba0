package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AppliedManifestWork is the record, in the managed cluster, of what was applied for one ManifestWork. It owns the applied objects.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
type AppliedManifestWork struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says which work this is about.
	// +optional
	Spec AppliedManifestWorkSpec `json:"spec,omitempty"`

	// Status lists the applied objects.
	// +optional
	Status AppliedManifestWorkStatus `json:"status,omitempty"`
}

// AppliedManifestWorkList is a list of records.
//
// +kubebuilder:object:root=true
type AppliedManifestWorkList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the records.
	Items []AppliedManifestWork `json:"items"`
}

// AppliedManifestWorkSpec says which work a record is about.
type AppliedManifestWorkSpec struct {
	// HubHash is the hexadecimal SHA-256 of the hub's URL.
	HubHash string `json:"hubHash"`

	// AgentID identifies the agent that applied, so that one hub by two addresses is told apart from two hubs.
	// +optional
	AgentID string `json:"agentID,omitempty"`

	// ManifestWorkName is the name of the work on the hub.
	ManifestWorkName string `json:"manifestWorkName"`
}

// AppliedManifestWorkStatus lists applied objects.
type AppliedManifestWorkStatus struct {
	// AppliedResources are the objects.
	// +optional
	// +listType=atomic
	AppliedResources []AppliedManifestResourceMeta `json:"appliedResources,omitempty"`

	// EvictionStartTime is when the work was missed first. After a grace period the record is deleted.
	// +optional
	EvictionStartTime *metav1.Time `json:"evictionStartTime,omitempty"`
}

// AppliedManifestResourceMeta names an applied object.
type AppliedManifestResourceMeta struct {
	ResourceIdentifier `json:",inline"`

	// Version that it was applied in.
	Version string `json:"version"`

	// UID of the object.
	// +optional
	UID string `json:"uid,omitempty"`
}
