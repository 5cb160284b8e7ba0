package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AddOnDeploymentConfig configures how an add-on's agent is deployed.
//
// +kubebuilder:object:root=true
type AddOnDeploymentConfig struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the configuration.
	Spec AddOnDeploymentConfigSpec `json:"spec"`
}

// AddOnDeploymentConfigList is a list of configurations.
//
// +kubebuilder:object:root=true
type AddOnDeploymentConfigList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the configurations.
	Items []AddOnDeploymentConfig `json:"items"`
}

// AddOnDeploymentConfigSpec is a configuration. The hub only hands it to add-ons; what they read besides is kept.
//
// +kubebuilder:pruning:PreserveUnknownFields
type AddOnDeploymentConfigSpec struct {
	// CustomizedVariables are filled into the add-on's manifests.
	// +optional
	// +listType=map
	// +listMapKey=name
	CustomizedVariables []CustomizedVariable `json:"customizedVariables,omitempty"`

	// NodePlacement says on which nodes it runs.
	// +optional
	NodePlacement *NodePlacement `json:"nodePlacement,omitempty"`

	// Registries rewrite image names.
	// +optional
	// +listType=atomic
	Registries []ImageMirror `json:"registries,omitempty"`

	// ProxyConfig is the proxy that it reaches the hub through.
	// +optional
	ProxyConfig ProxyConfig `json:"proxyConfig,omitempty"`

	// AgentInstallNamespace is where it runs.
	// +optional
	// +kubebuilder:default=open-cluster-management-agent-addon
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	AgentInstallNamespace string `json:"agentInstallNamespace,omitempty"`

	// ResourceRequirements of its containers.
	// +optional
	// +listType=atomic
	ResourceRequirements []ContainerResourceRequirements `json:"resourceRequirements,omitempty"`
}

// CustomizedVariable is filled into manifests.
type CustomizedVariable struct {
	// Name of the variable.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][_a-zA-Z0-9]*$`
	Name string `json:"name"`
	// Value of the variable.
	Value string `json:"value"`
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

// ImageMirror rewrites image names.
type ImageMirror struct {
	// Mirror takes the place of the source.
	Mirror string `json:"mirror"`
	// Source is the start of image names; empty means all.
	// +optional
	Source string `json:"source,omitempty"`
}

// ProxyConfig is a proxy.
type ProxyConfig struct {
	// HTTPProxy is the proxy of http addresses.
	// +optional
	HTTPProxy string `json:"httpProxy,omitempty"`
	// HTTPSProxy is the proxy of https addresses.
	// +optional
	HTTPSProxy string `json:"httpsProxy,omitempty"`
	// CABundle verifies the proxy.
	// +optional
	CABundle []byte `json:"caBundle,omitempty"`
	// NoProxy lists what goes without.
	// +optional
	NoProxy string `json:"noProxy,omitempty"`
}

// ContainerResourceRequirements are those of the containers that a pattern matches.
type ContainerResourceRequirements struct {
	// ContainerID is resource:name:container, each of which may be *.
	ContainerID string `json:"containerID"`
	// Resources of the containers.
	Resources corev1.ResourceRequirements `json:"resources"`
}
