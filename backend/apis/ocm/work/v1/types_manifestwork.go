package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ManifestWork holds manifests for one managed cluster, the one its namespace is named like.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:subresource:status
type ManifestWork struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what to apply, and how.
	// +optional
	Spec ManifestWorkSpec `json:"spec,omitempty"`

	// Status says what became of it.
	// +optional
	Status ManifestWorkStatus `json:"status,omitempty"`
}

// ManifestWorkList is a list of works.
//
// +kubebuilder:object:root=true
type ManifestWorkList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the works.
	Items []ManifestWork `json:"items"`
}

// ManifestWorkSpec says what a managed cluster shall run.
type ManifestWorkSpec struct {
	// Workload holds the manifests.
	// +optional
	Workload ManifestsTemplate `json:"workload,omitempty"`

	// DeleteOption says what stays when the work is deleted.
	// +optional
	DeleteOption *DeleteOption `json:"deleteOption,omitempty"`

	// ManifestConfigs say for single manifests how they are applied and what is reported of them.
	// +optional
	// +listType=atomic
	ManifestConfigs []ManifestConfigOption `json:"manifestConfigs,omitempty"`

	// Executor is the identity in the managed cluster whose rights count. Without it the agent's own count.
	// +optional
	Executor *ManifestWorkExecutor `json:"executor,omitempty"`
}

// ManifestsTemplate holds manifests.
type ManifestsTemplate struct {
	// Manifests are complete objects.
	// +optional
	// +listType=atomic
	Manifests []Manifest `json:"manifests,omitempty"`
}

// Manifest is one complete object of any kind, kept as the JSON it came as.
//
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:validation:EmbeddedResource
type Manifest struct {
	runtime.RawExtension `json:",inline"`
}

// DeletePropagationPolicy says what becomes of applied objects.
type DeletePropagationPolicy string

// What becomes of applied objects when their work is deleted.
const (
	// DeleteForeground deletes them, and the work is gone only when they are.
	DeleteForeground DeletePropagationPolicy = "Foreground"
	// DeleteOrphan leaves them.
	DeleteOrphan DeletePropagationPolicy = "Orphan"
	// DeleteSelectivelyOrphan leaves those that the rules name.
	DeleteSelectivelyOrphan DeletePropagationPolicy = "SelectivelyOrphan"
)

// DeleteOption says what stays when a work is deleted.
type DeleteOption struct {
	// PropagationPolicy says what becomes of applied objects.
	// +optional
	// +kubebuilder:validation:Enum=Foreground;Orphan;SelectivelyOrphan
	// +kubebuilder:default=Foreground
	PropagationPolicy DeletePropagationPolicy `json:"propagationPolicy,omitempty"`

	// SelectivelyOrphan goes with the policy of that name.
	// +optional
	SelectivelyOrphan *SelectivelyOrphan `json:"selectivelyOrphans,omitempty"`

	// TTLSecondsAfterFinished deletes the work itself so long after its condition Complete became True.
	// +optional
	TTLSecondsAfterFinished *int64 `json:"ttlSecondsAfterFinished,omitempty"`
}

// SelectivelyOrphan names objects that stay.
type SelectivelyOrphan struct {
	// OrphaningRules name them.
	// +optional
	// +listType=atomic
	OrphaningRules []OrphaningRule `json:"orphaningRules,omitempty"`
}

// OrphaningRule names objects that stay, by resource and name.
type OrphaningRule struct {
	// Group of the resource; empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// Resource is the plural name.
	Resource string `json:"resource"`
	// Namespace of the object; empty for cluster-scoped ones.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
}

// ManifestWorkExecutor is the identity whose rights count.
type ManifestWorkExecutor struct {
	// Subject is that identity.
	Subject ManifestWorkExecutorSubject `json:"subject"`
}

// ExecutorSubjectType is the type of an executor.
type ExecutorSubjectType string

// ExecutorServiceAccount is the only type of executors.
const ExecutorServiceAccount ExecutorSubjectType = "ServiceAccount"

// ManifestWorkExecutorSubject is an identity in the managed cluster.
type ManifestWorkExecutorSubject struct {
	// Type is ServiceAccount.
	// +kubebuilder:validation:Enum=ServiceAccount
	Type ExecutorSubjectType `json:"type"`

	// ServiceAccount goes with that type.
	// +optional
	ServiceAccount *ManifestWorkSubjectServiceAccount `json:"serviceAccount,omitempty"`
}

// ManifestWorkSubjectServiceAccount names a service account of the managed cluster.
type ManifestWorkSubjectServiceAccount struct {
	// Namespace of the service account.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Namespace string `json:"namespace"`

	// Name of the service account.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}
