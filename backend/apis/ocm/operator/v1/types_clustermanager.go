package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterManager installs the hub side.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
type ClusterManager struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what is installed, and where.
	// +optional
	// +kubebuilder:default={deployOption:{mode:Default}}
	Spec ClusterManagerSpec `json:"spec,omitempty"`

	// Status says how far it is.
	// +optional
	Status OperatorStatus `json:"status,omitempty"`
}

// ClusterManagerList is a list of cluster managers.
//
// +kubebuilder:object:root=true
type ClusterManagerList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the cluster managers.
	Items []ClusterManager `json:"items"`
}

// ClusterManagerSpec says what is installed as the hub side, and where. An image field that has the default of the schema counts as
// unset: our own image is meant then.
type ClusterManagerSpec struct {
	// RegistrationImagePullSpec is the image of the registration controllers and webhook.
	// +optional
	// +kubebuilder:default=quay.io/open-cluster-management/registration
	RegistrationImagePullSpec string `json:"registrationImagePullSpec,omitempty"`

	// WorkImagePullSpec is the image of the work controllers and webhook.
	// +optional
	// +kubebuilder:default=quay.io/open-cluster-management/work
	WorkImagePullSpec string `json:"workImagePullSpec,omitempty"`

	// PlacementImagePullSpec is the image of the placement controllers.
	// +optional
	// +kubebuilder:default=quay.io/open-cluster-management/placement
	PlacementImagePullSpec string `json:"placementImagePullSpec,omitempty"`

	// AddOnManagerImagePullSpec is the image of the add-on manager.
	// +optional
	// +kubebuilder:default=quay.io/open-cluster-management/addon-manager
	AddOnManagerImagePullSpec string `json:"addOnManagerImagePullSpec,omitempty"`

	// NodePlacement is where the hub's pods run.
	// +optional
	NodePlacement NodePlacement `json:"nodePlacement,omitempty"`

	// DeployOption says whether the hub's pods run on the hub itself.
	// +optional
	// +kubebuilder:default={mode:Default}
	DeployOption ClusterManagerDeployOption `json:"deployOption,omitempty"`

	// RegistrationConfiguration configures the registration controllers.
	// +optional
	RegistrationConfiguration *RegistrationHubConfiguration `json:"registrationConfiguration,omitempty"`

	// WorkConfiguration configures the work controllers.
	// +optional
	// +kubebuilder:default={workDriver:kube}
	WorkConfiguration *WorkHubConfiguration `json:"workConfiguration,omitempty"`

	// AddOnManagerConfiguration configures the add-on manager.
	// +optional
	AddOnManagerConfiguration *FeatureGateConfiguration `json:"addOnManagerConfiguration,omitempty"`

	// PlacementConfiguration configures the placement controllers.
	// +optional
	PlacementConfiguration *FeatureGateConfiguration `json:"placementConfiguration,omitempty"`

	// ServerConfiguration configures the server for agents that speak gRPC.
	// +optional
	ServerConfiguration *ServerConfiguration `json:"serverConfiguration,omitempty"`

	// ResourceRequirement is that of the hub's containers.
	// +optional
	ResourceRequirement *ResourceQuota `json:"resourceRequirement,omitempty"`
}

// ClusterManagerDeployOption says where the hub's pods run.
type ClusterManagerDeployOption struct {
	// Mode is Default for pods on the hub itself, Hosted for pods on the cluster that the ClusterManager is in.
	// +kubebuilder:validation:Enum=Default;Hosted
	// +kubebuilder:default=Default
	// +required
	Mode InstallMode `json:"mode,omitempty"`

	// Default goes with that mode.
	// +optional
	Default *DefaultClusterManagerConfiguration `json:"default,omitempty"`

	// Hosted goes with that mode.
	// +optional
	Hosted *HostedClusterManagerConfiguration `json:"hosted,omitempty"`
}

// DefaultClusterManagerConfiguration says what the webhooks listen on.
type DefaultClusterManagerConfiguration struct {
	// RegistrationWebhookConfiguration is that of the registration webhook.
	// +optional
	RegistrationWebhookConfiguration DefaultWebhookConfiguration `json:"registrationWebhookConfiguration,omitempty"`

	// WorkWebhookConfiguration is that of the work webhook.
	// +optional
	WorkWebhookConfiguration DefaultWebhookConfiguration `json:"workWebhookConfiguration,omitempty"`

	// AddonWebhookConfiguration is that of the add-on webhook.
	// +optional
	AddonWebhookConfiguration DefaultWebhookConfiguration `json:"addonWebhookConfiguration,omitempty"`
}

// DefaultWebhookConfiguration says what a webhook listens on.
type DefaultWebhookConfiguration struct {
	// BindConfiguration holds ports.
	// +optional
	BindConfiguration BindConfiguration `json:"bindConfiguration,omitempty"`
}

// HostedClusterManagerConfiguration says how the hub's API server finds the webhooks.
type HostedClusterManagerConfiguration struct {
	// RegistrationWebhookConfiguration is that of the registration webhook.
	// +optional
	RegistrationWebhookConfiguration *HostedWebhookConfiguration `json:"registrationWebhookConfiguration,omitempty"`

	// WorkWebhookConfiguration is that of the work webhook.
	// +optional
	WorkWebhookConfiguration *HostedWebhookConfiguration `json:"workWebhookConfiguration,omitempty"`
}

// HostedWebhookConfiguration says how the hub's API server finds a webhook.
type HostedWebhookConfiguration struct {
	// Address is a host name or IP address.
	// +kubebuilder:validation:Pattern=`^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]*[a-zA-Z0-9])\.)*([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9\-]*[A-Za-z0-9])$`
	Address string `json:"address"`

	// Port goes with the address.
	// +optional
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=443
	Port int32 `json:"port,omitempty"`

	// BindConfiguration holds ports.
	// +optional
	BindConfiguration *BindConfiguration `json:"bindConfiguration,omitempty"`
}

// Ports that a webhook listens on when nothing else is said.
const (
	// DefaultWebhookPort serves admission.
	DefaultWebhookPort = 9443
	// DefaultHealthProbePort serves probes.
	DefaultHealthProbePort = 8000
	// DefaultMetricsPort serves metrics.
	DefaultMetricsPort = 8080
	// DefaultHostedWebhookPort is where a hosted webhook is found.
	DefaultHostedWebhookPort = 443
)

// BindConfiguration says what a webhook listens on.
type BindConfiguration struct {
	// Port serves admission.
	// +optional
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=9443
	Port int32 `json:"port,omitempty"`

	// HealthProbePort serves probes.
	// +optional
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=8000
	HealthProbePort int32 `json:"healthProbePort,omitempty"`

	// MetricsPort serves metrics.
	// +optional
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=8080
	MetricsPort int32 `json:"metricsPort,omitempty"`

	// HostNetwork listens on the node's own network.
	// +optional
	HostNetwork bool `json:"hostNetwork,omitempty"`
}

// RegistrationHubConfiguration configures the registration controllers.
type RegistrationHubConfiguration struct {
	// AutoApproveUsers are approved by themselves when they ask for their first certificate, with the gate ManagedClusterAutoApproval.
	// +optional
	// +listType=atomic
	AutoApproveUsers []string `json:"autoApproveUsers,omitempty"`

	// FeatureGates switch features.
	// +optional
	// +listType=atomic
	FeatureGates []FeatureGate `json:"featureGates,omitempty"`

	// RegistrationDrivers are the ways of joining that the hub takes. Without any, by certificate signing request.
	// +optional
	// +listType=map
	// +listMapKey=authType
	RegistrationDrivers []RegistrationDriverHub `json:"registrationDrivers,omitempty"`

	// ImporterConfiguration configures the import of clusters, with the gate ClusterImporter.
	// +optional
	ImporterConfiguration *ImporterConfiguration `json:"importerConfiguration,omitempty"`
}

// RegistrationDriverHub is one way of joining.
type RegistrationDriverHub struct {
	// AuthType says which.
	// +kubebuilder:validation:Enum=csr;awsirsa;grpc
	// +kubebuilder:default=csr
	// +required
	AuthType string `json:"authType,omitempty"`

	// CSR goes with the type csr.
	// +optional
	CSR *AutoApprovedIdentities `json:"csr,omitempty"`

	// AwsIrsa goes with the type awsirsa.
	// +optional
	AwsIrsa *AwsIrsaHub `json:"awsirsa,omitempty"`

	// GRPC goes with the type grpc.
	// +optional
	GRPC *AutoApprovedIdentities `json:"grpc,omitempty"`
}

// AutoApprovedIdentities are approved by themselves.
type AutoApprovedIdentities struct {
	// AutoApprovedIdentities are names of users.
	// +optional
	// +listType=atomic
	AutoApprovedIdentities []string `json:"autoApprovedIdentities,omitempty"`
}

// AwsIrsaHub configures joining by AWS identities.
type AwsIrsaHub struct {
	// HubClusterArn identifies the hub.
	// +optional
	// +kubebuilder:validation:Pattern=`^arn:aws:eks:([a-zA-Z0-9-]+):(\d{12}):cluster/([a-zA-Z0-9-]+)$`
	HubClusterArn string `json:"hubClusterArn,omitempty"`

	// AutoApprovedIdentities are patterns of identities.
	// +optional
	// +listType=atomic
	AutoApprovedIdentities []string `json:"autoApprovedIdentities,omitempty"`

	// Tags are put on what is made in AWS.
	// +optional
	// +listType=atomic
	Tags []string `json:"tags,omitempty"`
}

// ImporterConfiguration configures the import of clusters.
type ImporterConfiguration struct {
	// Renderers make what is installed.
	// +optional
	// +listType=atomic
	Renderers []string `json:"renderers,omitempty"`
}

// WorkHubConfiguration configures the work controllers.
type WorkHubConfiguration struct {
	// WorkDriver is how works get to the agents.
	// +optional
	// +kubebuilder:validation:Enum=kube;mqtt;grpc
	// +kubebuilder:default=kube
	WorkDriver string `json:"workDriver,omitempty"`

	// FeatureGates switch features.
	// +optional
	// +listType=atomic
	FeatureGates []FeatureGate `json:"featureGates,omitempty"`
}

// FeatureGateConfiguration configures a component that has nothing but features.
type FeatureGateConfiguration struct {
	// FeatureGates switch features.
	// +optional
	// +listType=atomic
	FeatureGates []FeatureGate `json:"featureGates,omitempty"`
}
