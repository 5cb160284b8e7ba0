package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kinds of the override policies on the wire.
const (
	// ResourceKindOverridePolicy is the namespaced kind.
	ResourceKindOverridePolicy = "OverridePolicy"
	// ResourceKindClusterOverridePolicy is the cluster-scoped kind.
	ResourceKindClusterOverridePolicy = "ClusterOverridePolicy"
)

// OverridePolicy changes objects of its namespace on their way to members.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=overridepolicies,scope=Namespaced,shortName=op,categories={karmada-io}
type OverridePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired change.
	Spec OverrideSpec `json:"spec"`
}

// OverridePolicyList is a list of override policies.
//
// +kubebuilder:object:root=true
type OverridePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the policies.
	Items []OverridePolicy `json:"items"`
}

// ClusterOverridePolicy changes objects, cluster-scoped or in any namespace, on their way to members.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusteroverridepolicies,scope=Cluster,shortName=cop,categories={karmada-io}
type ClusterOverridePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired change.
	Spec OverrideSpec `json:"spec"`
}

// ClusterOverridePolicyList is a list of cluster override policies.
//
// +kubebuilder:object:root=true
type ClusterOverridePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the policies.
	Items []ClusterOverridePolicy `json:"items"`
}

// OverrideSpec says which objects are changed for which clusters.
type OverrideSpec struct {
	// ResourceSelectors choose the objects. Without any, all objects are chosen.
	// +optional
	ResourceSelectors []ResourceSelector `json:"resourceSelectors,omitempty"`

	// OverrideRules are applied in order.
	// +optional
	OverrideRules []RuleWithCluster `json:"overrideRules,omitempty"`

	// TargetCluster is the deprecated form of a single rule's clusters. It excludes overrideRules.
	// +optional
	TargetCluster *ClusterAffinity `json:"targetCluster,omitempty"`

	// Overriders is the deprecated form of a single rule's changes. It excludes overrideRules.
	// +optional
	Overriders Overriders `json:"overriders,omitempty,omitzero"`
}

// RuleWithCluster changes objects for some clusters.
type RuleWithCluster struct {
	// TargetCluster chooses the clusters. Without it the rule holds for all.
	// +optional
	TargetCluster *ClusterAffinity `json:"targetCluster,omitempty"`

	// Overriders are the changes.
	Overriders Overriders `json:"overriders"`
}

// Overriders are changes to an object. Kinds of change are applied in the order image, command, args, labels, annotations, field,
// plaintext.
type Overriders struct {
	// Plaintext changes values by JSON patch.
	// +optional
	Plaintext []PlaintextOverrider `json:"plaintext,omitempty"`

	// ImageOverrider changes parts of container images.
	// +optional
	ImageOverrider []ImageOverrider `json:"imageOverrider,omitempty"`

	// CommandOverrider changes the command of containers.
	// +optional
	CommandOverrider []CommandArgsOverrider `json:"commandOverrider,omitempty"`

	// ArgsOverrider changes the arguments of containers.
	// +optional
	ArgsOverrider []CommandArgsOverrider `json:"argsOverrider,omitempty"`

	// LabelsOverrider changes labels.
	// +optional
	LabelsOverrider []LabelAnnotationOverrider `json:"labelsOverrider,omitempty"`

	// AnnotationsOverrider changes annotations.
	// +optional
	AnnotationsOverrider []LabelAnnotationOverrider `json:"annotationsOverrider,omitempty"`

	// FieldOverrider changes JSON or YAML documents that a string field holds, for example in a ConfigMap.
	// +optional
	FieldOverrider []FieldOverrider `json:"fieldOverrider,omitempty"`
}

// OverriderOperator says what a change does.
type OverriderOperator string

const (
	// OverriderOpAdd adds the value.
	OverriderOpAdd OverriderOperator = "add"
	// OverriderOpRemove removes the value.
	OverriderOpRemove OverriderOperator = "remove"
	// OverriderOpReplace replaces the value.
	OverriderOpReplace OverriderOperator = "replace"
)

// PlaintextOverrider is one JSON patch operation.
type PlaintextOverrider struct {
	// Path is an RFC 6901 pointer to what is changed.
	Path string `json:"path"`

	// Operator says what is done.
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value is the new value; none for remove.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
}

// LabelAnnotationOverrider changes labels or annotations.
type LabelAnnotationOverrider struct {
	// Operator says what is done.
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value holds the keys and values.
	Value map[string]string `json:"value"`
}

// ImageComponent is a part of an image name.
type ImageComponent string

const (
	// Registry is the part before the repository.
	Registry ImageComponent = "Registry"
	// Repository is the part between registry and tag.
	Repository ImageComponent = "Repository"
	// Tag is the tag or digest.
	Tag ImageComponent = "Tag"
)

// ImageOverrider changes one part of images.
type ImageOverrider struct {
	// Predicate limits the change to the image at a path. Without it all images of known pod-bearing kinds are changed.
	// +optional
	Predicate *ImagePredicate `json:"predicate,omitempty"`

	// Component is the part that is changed.
	// +kubebuilder:validation:Enum=Registry;Repository;Tag
	Component ImageComponent `json:"component"`

	// Operator says what is done.
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value is the new value, or what is appended by add; none for remove.
	// +optional
	Value string `json:"value,omitempty"`
}

// ImagePredicate finds an image.
type ImagePredicate struct {
	// Path is an RFC 6901 pointer to the image.
	Path string `json:"path"`
}

// CommandArgsOverrider changes the command or the arguments of a container.
type CommandArgsOverrider struct {
	// ContainerName is the name of the container.
	ContainerName string `json:"containerName"`

	// Operator says what is done.
	// +kubebuilder:validation:Enum=add;remove
	Operator OverriderOperator `json:"operator"`

	// Value holds what is added or removed.
	// +optional
	Value []string `json:"value,omitempty"`
}

// FieldOverrider changes the document that a string field holds. Exactly one of json and yaml is given.
type FieldOverrider struct {
	// FieldPath is an RFC 6901 pointer to the string field.
	FieldPath string `json:"fieldPath"`

	// JSON are changes to a JSON document.
	// +optional
	JSON []FieldPatchOperation `json:"json,omitempty"`

	// YAML are changes to a YAML document.
	// +optional
	YAML []FieldPatchOperation `json:"yaml,omitempty"`
}

// FieldPatchOperation is one change to a document inside a field.
type FieldPatchOperation struct {
	// SubPath is an RFC 6901 pointer within the document.
	SubPath string `json:"subPath"`

	// Operator says what is done.
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value is the new value; none for remove.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
}
