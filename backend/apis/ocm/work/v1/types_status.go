package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ManifestWorkStatus is what became of a work.
type ManifestWorkStatus struct {
	// Conditions holds Applied, Available and what rules make.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ResourceStatus is the state of each manifest.
	// +optional
	ResourceStatus ManifestResourceStatus `json:"resourceStatus,omitempty"`
}

// ManifestResourceStatus is the state of manifests.
type ManifestResourceStatus struct {
	// Manifests are their states.
	// +optional
	// +listType=atomic
	Manifests []ManifestCondition `json:"manifests,omitempty"`
}

// ManifestCondition is the state of one manifest.
type ManifestCondition struct {
	// ResourceMeta says which.
	ResourceMeta ManifestResourceMeta `json:"resourceMeta"`

	// StatusFeedbacks are the values that rules ask for.
	// +optional
	StatusFeedbacks StatusFeedbackResult `json:"statusFeedback,omitempty"`

	// Conditions holds Applied, Available, StatusFeedbackSynced and what rules make.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions"`
}

// ManifestResourceMeta names a manifest of a work.
type ManifestResourceMeta struct {
	// Ordinal is the index of the manifest.
	Ordinal int32 `json:"ordinal"`
	// Group of the manifest; empty for the core group.
	// +optional
	Group string `json:"group"`
	// Version of the manifest.
	// +optional
	Version string `json:"version"`
	// Kind of the manifest.
	// +optional
	Kind string `json:"kind"`
	// Resource is the plural name; empty when the managed cluster does not know the kind.
	// +optional
	Resource string `json:"resource"`
	// Name of the object.
	// +optional
	Name string `json:"name"`
	// Namespace of the object; empty for cluster-scoped ones.
	// +optional
	Namespace string `json:"namespace"`
}

// StatusFeedbackResult holds values.
type StatusFeedbackResult struct {
	// Values by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Values []FeedbackValue `json:"values,omitempty"`
}

// FeedbackValue is one value.
type FeedbackValue struct {
	// Name of the value.
	Name string `json:"name"`

	// Value is the value.
	Value FieldValue `json:"fieldValue"`
}

// ValueType is the type of a value.
type ValueType string

// Types of values.
const (
	// ValueInteger is a whole number.
	ValueInteger ValueType = "Integer"
	// ValueString is text.
	ValueString ValueType = "String"
	// ValueBoolean is true or false.
	ValueBoolean ValueType = "Boolean"
	// ValueJSONRaw is anything else, as JSON.
	ValueJSONRaw ValueType = "JsonRaw"
)

// FieldValue is a value of one of four types.
type FieldValue struct {
	// Type says which of those below is set.
	// +kubebuilder:validation:Enum=Integer;String;Boolean;JsonRaw
	Type ValueType `json:"type"`

	// Integer goes with the type of that name.
	// +optional
	Integer *int64 `json:"integer,omitempty"`

	// String goes with the type of that name.
	// +optional
	String *string `json:"string,omitempty"`

	// Boolean goes with the type of that name.
	// +optional
	Boolean *bool `json:"boolean,omitempty"`

	// JsonRaw goes with the type of that name.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	JSONRaw *string `json:"jsonRaw,omitempty"`
}
