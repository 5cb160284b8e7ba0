package v1

// Finalizers.
const (
	// ClusterManagerFinalizer holds a ClusterManager until what it installed is gone.
	ClusterManagerFinalizer = "operator.open-cluster-management.io/cluster-manager-cleanup"
	// KlusterletFinalizer holds a Klusterlet until what it installed is gone.
	KlusterletFinalizer = "operator.open-cluster-management.io/klusterlet-cleanup"
	// KlusterletHostedFinalizer holds a hosted Klusterlet until the managed cluster is cleaned.
	KlusterletHostedFinalizer = "operator.open-cluster-management.io/klusterlet-hosted-cleanup"
)

// Labels and annotations.
const (
	// CreatedByClusterManagerLabel is on what a ClusterManager installs.
	CreatedByClusterManagerLabel = "open-cluster-management.io/created-by-clustermanager"
	// CreatedByKlusterletLabel is on what a Klusterlet installs.
	CreatedByKlusterletLabel = "open-cluster-management.io/created-by-klusterlet"
	// KlusterletNamespaceLabel is on namespaces that are made for a Klusterlet.
	KlusterletNamespaceLabel = "operator.open-cluster-management.io/klusterlet"
	// EvictionTimestampAnnotation holds since when the managed cluster of a deleted Klusterlet cannot be reached.
	EvictionTimestampAnnotation = "operator.open-cluster-management.io/managed-resources-eviction-timestamp"
)

// Namespaces.
const (
	// OperatorNamespace is where the operators run.
	OperatorNamespace = "open-cluster-management"
	// HubNamespace is where a ClusterManager in default mode installs.
	HubNamespace = "open-cluster-management-hub"
	// DefaultAgentNamespace is where a Klusterlet in default mode installs when nothing else is said.
	DefaultAgentNamespace = "open-cluster-management-agent"
	// AgentAddonNamespace is where add-ons run in a managed cluster.
	AgentAddonNamespace = "open-cluster-management-agent-addon"
)

// Secrets that users make or agents write.
const (
	// BootstrapHubKubeconfigSecret holds what an agent registers with.
	BootstrapHubKubeconfigSecret = "bootstrap-hub-kubeconfig"
	// HubKubeconfigSecret holds what an agent works with.
	HubKubeconfigSecret = "hub-kubeconfig-secret"
	// ExternalHubKubeconfigSecret holds how a hosted ClusterManager gets to its hub.
	ExternalHubKubeconfigSecret = "external-hub-kubeconfig"
	// ExternalManagedKubeconfigSecret holds how a hosted Klusterlet gets to its managed cluster.
	ExternalManagedKubeconfigSecret = "external-managed-kubeconfig"
	// ImagePullSecret is copied into the namespaces that pods run in.
	ImagePullSecret = "open-cluster-management-image-pull-credentials"
)

// Default images of the schema. They count as unset.
const (
	DefaultRegistrationImage = "quay.io/open-cluster-management/registration"
	DefaultWorkImage         = "quay.io/open-cluster-management/work"
	DefaultPlacementImage    = "quay.io/open-cluster-management/placement"
	DefaultAddOnManagerImage = "quay.io/open-cluster-management/addon-manager"
)

// Types of conditions of both kinds.
const (
	// ConditionApplied says whether everything was applied.
	ConditionApplied = "Applied"
	// ConditionProgressing of a ClusterManager says whether its Deployments roll.
	ConditionProgressing = "Progressing"
	// ConditionHubRegistrationDegraded of a ClusterManager.
	ConditionHubRegistrationDegraded = "HubRegistrationDegraded"
	// ConditionHubPlacementDegraded of a ClusterManager.
	ConditionHubPlacementDegraded = "HubPlacementDegraded"
	// ConditionMigrationSucceeded of a ClusterManager says whether stored objects have the current version.
	ConditionMigrationSucceeded = "MigrationSucceeded"
	// ConditionValidFeatureGates says whether every named feature is known.
	ConditionValidFeatureGates = "ValidFeatureGates"
	// ConditionReadyToApply of a hosted Klusterlet says whether the managed cluster can be reached.
	ConditionReadyToApply = "ReadyToApply"
	// ConditionAvailable of a Klusterlet says whether its agents run.
	ConditionAvailable = "Available"
	// ConditionRegistrationDesiredDegraded of a Klusterlet.
	ConditionRegistrationDesiredDegraded = "RegistrationDesiredDegraded"
	// ConditionWorkDesiredDegraded of a Klusterlet.
	ConditionWorkDesiredDegraded = "WorkDesiredDegraded"
	// ConditionHubConnectionDegraded of a Klusterlet says whether its credentials for the hub are good.
	ConditionHubConnectionDegraded = "HubConnectionDegraded"
)
