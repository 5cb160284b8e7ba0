package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Klusterlet installs the agents of one managed cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
type Klusterlet struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what is installed, and where.
	// +optional
	Spec KlusterletSpec `json:"spec,omitempty"`

	// Status says how far it is.
	// +optional
	Status OperatorStatus `json:"status,omitempty"`
}

// KlusterletList is a list of klusterlets.
//
// +kubebuilder:object:root=true
type KlusterletList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the klusterlets.
	Items []Klusterlet `json:"items"`
}

// KlusterletSpec says which agents are installed, and where.
type KlusterletSpec struct {
	// Namespace of the agents in the managed cluster. Without it, DefaultAgentNamespace.
	// +optional
	// +kubebuilder:validation:MaxLength=57
	// +kubebuilder:validation:Pattern=`^open-cluster-management-[-a-z0-9]*[a-z0-9]$`
	Namespace string `json:"namespace,omitempty"`

	// ClusterName is the name of the ManagedCluster. Without it the agent makes one up.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ClusterName string `json:"clusterName,omitempty"`

	// ExternalServerURLs are the addresses of the managed cluster's API that the hub is told.
	// +optional
	// +listType=atomic
	ExternalServerURLs []ServerURL `json:"externalServerURLs,omitempty"`

	// HubAPIServerHostAlias gives the agents' pods the address of a hub that is known by name only.
	// +optional
	HubAPIServerHostAlias *HubAPIServerHostAlias `json:"hubApiServerHostAlias,omitempty"`

	// DeployOption says where the agents run.
	// +optional
	DeployOption KlusterletDeployOption `json:"deployOption,omitempty"`

	// RegistrationImagePullSpec is the image of the registration agent.
	// +optional
	RegistrationImagePullSpec string `json:"registrationImagePullSpec,omitempty"`

	// WorkImagePullSpec is the image of the work agent.
	// +optional
	WorkImagePullSpec string `json:"workImagePullSpec,omitempty"`

	// ImagePullSpec is the image of the single agent.
	// +optional
	ImagePullSpec string `json:"imagePullSpec,omitempty"`

	// NodePlacement is where the agents' pods run.
	// +optional
	NodePlacement NodePlacement `json:"nodePlacement,omitempty"`

	// PriorityClassName of the agents' pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// ResourceRequirement is that of the agents' containers.
	// +optional
	ResourceRequirement *ResourceQuota `json:"resourceRequirement,omitempty"`

	// RegistrationConfiguration configures the registration agent.
	// +optional
	RegistrationConfiguration *RegistrationConfiguration `json:"registrationConfiguration,omitempty"`

	// WorkConfiguration configures the work agent.
	// +optional
	WorkConfiguration *WorkAgentConfiguration `json:"workConfiguration,omitempty"`
}

// ServerURL is an address of the managed cluster's API.
type ServerURL struct {
	// URL is the address; an empty one is taken and means nothing.
	URL string `json:"url"`

	// CABundle verifies it.
	// +optional
	CABundle []byte `json:"caBundle,omitempty"`
}

// HubAPIServerHostAlias is the address of a hub that is known by name only.
type HubAPIServerHostAlias struct {
	// IP is an IPv4 address.
	// +kubebuilder:validation:Pattern=`^(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)$`
	IP string `json:"ip"`

	// Hostname is the hub's name.
	// +kubebuilder:validation:Pattern=`^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]*[a-zA-Z0-9])\.)+([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9\-]*[A-Za-z0-9])$`
	Hostname string `json:"hostname"`
}

// KlusterletDeployOption says where agents run.
type KlusterletDeployOption struct {
	// Mode is Default, Hosted, Singleton or SingletonHosted; the schema takes any text. Without it, Default.
	// +optional
	Mode InstallMode `json:"mode,omitempty"`
}

// RegistrationConfiguration configures a registration agent.
type RegistrationConfiguration struct {
	// ClientCertExpirationSeconds is what the agent asks for.
	// +optional
	ClientCertExpirationSeconds int32 `json:"clientCertExpirationSeconds,omitempty"`

	// FeatureGates switch features.
	// +optional
	// +listType=atomic
	FeatureGates []FeatureGate `json:"featureGates,omitempty"`

	// ClusterAnnotations are put on the ManagedCluster when it is made.
	// +optional
	ClusterAnnotations map[string]string `json:"clusterAnnotations,omitempty"`

	// ClusterLabels are put on the ManagedCluster when it is made.
	// +optional
	ClusterLabels map[string]string `json:"clusterLabels,omitempty"`

	// KubeAPIQPS bounds requests.
	// +optional
	// +kubebuilder:default=50
	KubeAPIQPS int32 `json:"kubeAPIQPS,omitempty"`

	// KubeAPIBurst bounds requests.
	// +optional
	// +kubebuilder:default=100
	KubeAPIBurst int32 `json:"kubeAPIBurst,omitempty"`

	// BootstrapKubeConfigs names several hubs, with the gate MultipleHubs.
	// +optional
	BootstrapKubeConfigs BootstrapKubeConfigs `json:"bootstrapKubeConfigs,omitempty"`

	// RegistrationDriver is the way of joining.
	// +optional
	RegistrationDriver RegistrationDriver `json:"registrationDriver,omitempty"`

	// AddOnKubeClientRegistrationDriver is how add-ons get credentials for the hub.
	// +optional
	AddOnKubeClientRegistrationDriver *AddOnRegistrationDriver `json:"addOnKubeClientRegistrationDriver,omitempty"`

	// ClusterClaimConfiguration bounds claims.
	// +optional
	ClusterClaimConfiguration *ClusterClaimConfiguration `json:"clusterClaimConfiguration,omitempty"`
}

// BootstrapKubeConfigs names several hubs.
type BootstrapKubeConfigs struct {
	// Type says whether it does.
	// +kubebuilder:validation:Enum=None;LocalSecrets
	// +kubebuilder:default=None
	// +required
	Type string `json:"type,omitempty"`

	// LocalSecrets goes with the type of that name.
	// +optional
	LocalSecrets *LocalSecretsConfig `json:"localSecretsConfig,omitempty"`
}

// LocalSecretsConfig names secrets that hold bootstrap kubeconfigs.
type LocalSecretsConfig struct {
	// KubeConfigSecrets are tried in order.
	// +listType=map
	// +listMapKey=name
	KubeConfigSecrets []KubeConfigSecret `json:"kubeConfigSecrets"`

	// HubConnectionTimeoutSeconds is how long before the next is tried.
	// +optional
	// +kubebuilder:validation:Minimum=180
	// +kubebuilder:default=600
	HubConnectionTimeoutSeconds int32 `json:"hubConnectionTimeoutSeconds,omitempty"`
}

// KubeConfigSecret names a secret in the agents' namespace.
type KubeConfigSecret struct {
	// Name of the secret.
	Name string `json:"name"`
}

// RegistrationDriver is a way of joining.
type RegistrationDriver struct {
	// AuthType says which.
	// +kubebuilder:validation:Enum=csr;awsirsa;grpc
	// +kubebuilder:default=csr
	// +required
	AuthType string `json:"authType,omitempty"`

	// AwsIrsa goes with the type awsirsa.
	// +optional
	AwsIrsa *AwsIrsa `json:"awsIrsa,omitempty"`
}

// AwsIrsa configures joining by an AWS identity.
type AwsIrsa struct {
	// HubClusterArn identifies the hub.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^arn:aws:eks:([a-zA-Z0-9-]+):(\d{12}):cluster/([a-zA-Z0-9-]+)$`
	HubClusterArn string `json:"hubClusterArn"`

	// ManagedClusterArn identifies the managed cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^arn:aws:eks:([a-zA-Z0-9-]+):(\d{12}):cluster/([a-zA-Z0-9-]+)$`
	ManagedClusterArn string `json:"managedClusterArn"`
}

// AddOnRegistrationDriver is how add-ons get credentials.
type AddOnRegistrationDriver struct {
	// AuthType says how.
	// +optional
	// +kubebuilder:validation:Enum=csr;token
	AuthType string `json:"authType,omitempty"`

	// Token goes with the type of that name.
	// +optional
	Token *TokenConfig `json:"token,omitempty"`
}

// TokenConfig is about tokens.
type TokenConfig struct {
	// ExpirationSeconds is what is asked for.
	// +optional
	ExpirationSeconds int64 `json:"expirationSeconds,omitempty"`
}

// ClusterClaimConfiguration bounds claims.
type ClusterClaimConfiguration struct {
	// MaxCustomClusterClaims is how many claims besides the reserved ones go to the hub.
	// +kubebuilder:default=20
	// +required
	MaxCustomClusterClaims int32 `json:"maxCustomClusterClaims,omitempty"`

	// ReservedClusterClaimSuffixes make claims reserved.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=atomic
	ReservedClusterClaimSuffixes []string `json:"reservedClusterClaimSuffixes,omitempty"`
}

// WorkAgentConfiguration configures a work agent.
type WorkAgentConfiguration struct {
	// FeatureGates switch features.
	// +optional
	// +listType=atomic
	FeatureGates []FeatureGate `json:"featureGates,omitempty"`

	// KubeAPIQPS bounds requests to the managed cluster.
	// +optional
	// +kubebuilder:default=50
	KubeAPIQPS int32 `json:"kubeAPIQPS,omitempty"`

	// KubeAPIBurst bounds requests to the managed cluster.
	// +optional
	// +kubebuilder:default=100
	KubeAPIBurst int32 `json:"kubeAPIBurst,omitempty"`

	// HubKubeAPIQPS bounds requests to the hub.
	// +optional
	// +kubebuilder:default=50
	HubKubeAPIQPS int32 `json:"hubKubeAPIQPS,omitempty"`

	// HubKubeAPIBurst bounds requests to the hub.
	// +optional
	// +kubebuilder:default=100
	HubKubeAPIBurst int32 `json:"hubKubeAPIBurst,omitempty"`

	// AppliedManifestWorkEvictionGracePeriod is how long applied objects outlive a work that is missed.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	AppliedManifestWorkEvictionGracePeriod *metav1.Duration `json:"appliedManifestWorkEvictionGracePeriod,omitempty"`

	// StatusSyncInterval is how often status is read.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	StatusSyncInterval *metav1.Duration `json:"statusSyncInterval,omitempty"`
}
