package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// AddOnTemplate is an add-on made of manifests alone, without a program on the hub.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
type AddOnTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the template.
	Spec AddOnTemplateSpec `json:"spec"`
}

// AddOnTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type AddOnTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the templates.
	Items []AddOnTemplate `json:"items"`
}

// AddOnTemplateSpec is an add-on made of manifests.
type AddOnTemplateSpec struct {
	// AddonName is the add-on.
	AddonName string `json:"addonName"`

	// AgentSpec is the work that carries its agent.
	AgentSpec ocmworkv1.ManifestWorkSpec `json:"agentSpec"`

	// Registration says which certificates its agent gets. The hub only hands it on.
	// +optional
	// +listType=atomic
	Registration []RegistrationSpec `json:"registration,omitempty"`
}

// RegistrationSpec says which certificate an add-on's agent gets.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RegistrationSpec struct {
	// Type says which of the two below counts.
	// +kubebuilder:validation:Enum=KubeClient;CustomSigner
	Type string `json:"type"`

	// KubeClient gives rights on the hub.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	KubeClient *runtime.RawExtension `json:"kubeClient,omitempty"`

	// CustomSigner names a signer of the add-on's own.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	CustomSigner *runtime.RawExtension `json:"customSigner,omitempty"`
}
