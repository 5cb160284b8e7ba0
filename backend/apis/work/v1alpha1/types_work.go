package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Names of the kind Work on the wire.
const (
	// ResourceKindWork is the kind.
	ResourceKindWork = "Work"
	// ResourcePluralWork is the resource name in paths.
	ResourcePluralWork = "works"
	// ResourceSingularWork is the singular resource name.
	ResourceSingularWork = "work"
)

// Work holds manifests for one member cluster, the one its namespace stands for.
//
// +kubebuilder:object:root=true
type Work struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what to apply.
	Spec WorkSpec `json:"spec"`

	// Status says what became of it.
	// +optional
	Status WorkStatus `json:"status,omitempty"`
}

// WorkSpec is what a member shall run.
type WorkSpec struct {
	// Workload holds the manifests.
	// +optional
	Workload WorkloadTemplate `json:"workload,omitempty"`

	// SuspendDispatching stops changes from being sent to the member; status is still collected.
	// +optional
	SuspendDispatching *bool `json:"suspendDispatching,omitempty"`

	// PreserveResourcesOnDeletion leaves the member's objects in place when the Work is deleted.
	// +optional
	PreserveResourcesOnDeletion *bool `json:"preserveResourcesOnDeletion,omitempty"`
}

// WorkloadTemplate holds manifests.
type WorkloadTemplate struct {
	// Manifests are complete objects, normally one.
	// +listType=atomic
	// +optional
	Manifests []Manifest `json:"manifests,omitempty"`
}

// Manifest is one complete object of any kind, kept as the JSON it came as.
//
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:validation:EmbeddedResource
type Manifest struct {
	runtime.RawExtension `json:",inline"`
}

// WorkStatus is what became of a Work.
type WorkStatus struct {
	// Conditions holds Applied and Dispatching.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ManifestStatuses holds one entry per applied manifest.
	// +listType=atomic
	// +optional
	ManifestStatuses []ManifestStatus `json:"manifestStatuses,omitempty"`
}

// ManifestStatus is what was observed of one manifest in the member.
type ManifestStatus struct {
	// Identifier says which manifest this is about.
	Identifier ResourceIdentifier `json:"identifier"`

	// Status is the part of the member object's status that is collected for its kind.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Status *runtime.RawExtension `json:"status,omitempty"`

	// Health is Healthy, Unhealthy or Unknown.
	// +optional
	Health ResourceHealth `json:"health,omitempty"`
}

// ResourceHealth says whether an object in a member does its job.
type ResourceHealth string

const (
	// ResourceHealthy means that the object does its job.
	ResourceHealthy ResourceHealth = "Healthy"
	// ResourceUnhealthy means that it does not.
	ResourceUnhealthy ResourceHealth = "Unhealthy"
	// ResourceUnknown means that it could not be told.
	ResourceUnknown ResourceHealth = "Unknown"
)

// ResourceIdentifier names a manifest of a Work.
type ResourceIdentifier struct {
	// Ordinal is the index of the manifest in the Work.
	Ordinal int `json:"ordinal"`
	// Group of the manifest; empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// Version of the manifest.
	Version string `json:"version"`
	// Kind of the manifest.
	Kind string `json:"kind"`
	// Resource is the plural name of the kind. Writers leave it empty.
	Resource string `json:"resource"`
	// Namespace of the manifest; empty for cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the manifest.
	Name string `json:"name"`
}

// WorkList is a list of Works.
//
// +kubebuilder:object:root=true
type WorkList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the Works.
	Items []Work `json:"items"`
}
