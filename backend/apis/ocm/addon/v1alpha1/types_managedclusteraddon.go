package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmaddonv1beta1 "muster.dev/muster/backend/apis/ocm/addon/v1beta1"
)

// ManagedClusterAddOn says that the cluster whose namespace it is in shall run an add-on.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName={mca,mcas}
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
type ManagedClusterAddOn struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says how it shall run.
	// +optional
	Spec ManagedClusterAddOnSpec `json:"spec,omitempty"`

	// Status says how it does.
	// +optional
	Status ManagedClusterAddOnStatus `json:"status,omitempty"`
}

// ManagedClusterAddOnList is a list of add-ons of clusters.
//
// +kubebuilder:object:root=true
type ManagedClusterAddOnList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the add-ons.
	Items []ManagedClusterAddOn `json:"items"`
}

// ManagedClusterAddOnSpec says how an add-on shall run.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ManagedClusterAddOnSpec struct {
	// InstallNamespace is where its agent runs in the managed cluster. v1beta1 carries it as an annotation.
	// +optional
	// +kubebuilder:default=open-cluster-management-agent-addon
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	InstallNamespace string `json:"installNamespace,omitempty"`

	// Configs configure it.
	// +optional
	// +listType=atomic
	Configs []AddOnConfig `json:"configs,omitempty"`
}

// AddOnConfig names a configuration.
type AddOnConfig struct {
	ConfigGroupResource `json:",inline"`
	ConfigReferent      `json:",inline"`
}

// ConfigGroupResource is the type of a configuration.
type ConfigGroupResource struct {
	// Group of the configuration.
	// +optional
	// +kubebuilder:default=""
	Group string `json:"group"`
	// Resource is its plural name.
	// +kubebuilder:validation:MinLength=1
	Resource string `json:"resource"`
}

// ConfigReferent is the name of a configuration.
type ConfigReferent struct {
	// Namespace of the configuration; empty for cluster-scoped ones.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the configuration.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// ManagedClusterAddOnStatus says how an add-on does.
type ManagedClusterAddOnStatus struct {
	// Namespace is where its agent runs, once that is decided.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Conditions have one writer each (contract section 1.6).
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// RelatedObjects are of interest for it.
	// +optional
	// +listType=atomic
	RelatedObjects []ObjectReference `json:"relatedObjects,omitempty"`

	// AddOnMeta describes it.
	// +optional
	AddOnMeta AddOnMeta `json:"addOnMeta,omitempty"`

	// AddOnConfiguration is an older way to name its configuration.
	// +optional
	AddOnConfiguration ConfigCoordinates `json:"addOnConfiguration,omitempty"`

	// SupportedConfigs are the types of configuration that it takes.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=resource
	SupportedConfigs []ConfigGroupResource `json:"supportedConfigs,omitempty"`

	// ConfigReferences are the configurations in use.
	// +optional
	// +listType=atomic
	ConfigReferences []ConfigReference `json:"configReferences,omitempty"`

	// Registrations say which certificates its agent asks the hub for. The two versions differ in them.
	// +optional
	// +listType=atomic
	Registrations []RegistrationConfig `json:"registrations,omitempty"`

	// KubeClientDriver is how its agent gets credentials for the hub.
	// +optional
	// +kubebuilder:validation:Enum=csr;token
	KubeClientDriver string `json:"kubeClientDriver,omitempty"`

	// HealthCheck says how its health is found.
	// +optional
	HealthCheck HealthCheck `json:"healthCheck,omitempty"`
}

// RegistrationConfig says which certificate an add-on's agent asks for.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RegistrationConfig struct {
	// SignerName is the signer of the certificate. v1beta1 writes a type instead, hence no field is demanded.
	// +optional
	// +kubebuilder:validation:MinLength=5
	// +kubebuilder:validation:MaxLength=571
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)+[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	SignerName string `json:"signerName,omitempty"`

	// Subject of the certificate.
	// +optional
	Subject *Subject `json:"subject,omitempty"`

	// Type, KubeClient and CustomSigner say the same in the words of v1beta1. The hub adds whatever is missing of the two.
	// +optional
	// +kubebuilder:validation:Enum=kubeClient;customSigner
	Type ocmaddonv1beta1.RegistrationType `json:"type,omitempty"`
	// KubeClient goes with the type of that name.
	// +optional
	KubeClient *ocmaddonv1beta1.KubeClientConfig `json:"kubeClient,omitempty"`
	// CustomSigner goes with the type of that name.
	// +optional
	CustomSigner *ocmaddonv1beta1.CustomSignerConfig `json:"customSigner,omitempty"`
}

// Subject is that of a certificate.
type Subject struct {
	// User is the common name.
	// +optional
	User string `json:"user,omitempty"`
	// Groups are the organisations.
	// +optional
	// +listType=atomic
	Groups []string `json:"groups,omitempty"`
	// OrganizationUnits go with signers that are not Kubernetes' own.
	// +optional
	// +listType=atomic
	OrganizationUnits []string `json:"organizationUnit,omitempty"`
}

// HealthCheckMode says how an add-on's health is found.
type HealthCheckMode string

// How an add-on's health is found.
const (
	// HealthCheckLease looks at a lease in the managed cluster.
	HealthCheckLease HealthCheckMode = "Lease"
	// HealthCheckCustomized leaves it to the add-on.
	HealthCheckCustomized HealthCheckMode = "Customized"
)

// HealthCheck says how an add-on's health is found.
type HealthCheck struct {
	// Mode says how.
	// +optional
	// +kubebuilder:validation:Enum=Lease;Customized
	// +kubebuilder:default=Lease
	Mode HealthCheckMode `json:"mode,omitempty"`
}

// ObjectReference names an object.
type ObjectReference struct {
	// Group of the object.
	Group string `json:"group"`
	// Resource is its plural name.
	Resource string `json:"resource"`
	// Namespace of the object.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
}

// ConfigReference is a configuration in use.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ConfigReference struct {
	ConfigGroupResource `json:",inline"`

	// Namespace is an older form of desiredConfig.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name is an older form of desiredConfig.
	// +optional
	Name string `json:"name,omitempty"`

	// LastObservedGeneration is an older form of a hash.
	// +optional
	LastObservedGeneration int64 `json:"lastObservedGeneration,omitempty"`

	// DesiredConfig shall be in use.
	// +optional
	DesiredConfig *ConfigSpecHash `json:"desiredConfig,omitempty"`

	// LastAppliedConfig was applied last.
	// +optional
	LastAppliedConfig *ConfigSpecHash `json:"lastAppliedConfig,omitempty"`
}

// ConfigSpecHash is a configuration at one time.
type ConfigSpecHash struct {
	ConfigReferent `json:",inline"`

	// SpecHash of the configuration.
	// +optional
	SpecHash string `json:"specHash,omitempty"`
}
