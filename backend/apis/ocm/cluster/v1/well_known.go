package v1

// Labels and annotations.
const (
	// ClusterNameLabel is on everything that the hub makes for a cluster, and on the agents' certificate signing requests.
	ClusterNameLabel = "open-cluster-management.io/cluster-name"
	// AddonNameLabel names the add-on that an object belongs to.
	AddonNameLabel = "open-cluster-management.io/addon-name"
	// ClusterSetLabel puts a cluster into one set exclusively. Admission puts DefaultClusterSet where it is missing.
	ClusterSetLabel = "cluster.open-cluster-management.io/clusterset"
	// AddonFeatureLabelPrefix followed by the name of an add-on tells of its health: available, unhealthy or unreachable.
	AddonFeatureLabelPrefix = "feature.open-cluster-management.io/addon-"
	// AutomaticallyAcceptedAnnotation holds when the hub accepted the cluster by itself. It does so once.
	AutomaticallyAcceptedAnnotation = "open-cluster-management.io/automatically-accepted-on"
	// SkipClockSyncCheckAnnotation set to "true" takes the cluster's clock as in sync.
	SkipClockSyncCheckAnnotation = "registration.open-cluster-management.io/skip-clock-sync-check"
	// AgentAnnotationPrefix is what the keys of annotations that an agent may bring start with.
	AgentAnnotationPrefix = "agent.open-cluster-management.io/"
	// CleanupPriorityAnnotation is 0 to 100; what has more is deleted later.
	CleanupPriorityAnnotation = "open-cluster-management.io/cleanup-priority"
	// ImageRegistriesAnnotation holds, as JSON, which registries add-ons take their images from.
	ImageRegistriesAnnotation = "open-cluster-management.io/image-registries"
)

// Finalizers of ManagedCluster.
const (
	// ManagedClusterFinalizer holds an accepted cluster until its rights are gone and no ManifestWork is left.
	ManagedClusterFinalizer = "cluster.open-cluster-management.io/api-resource-cleanup"
	// ResourceCleanupFinalizer holds every cluster until its add-ons and ManifestWorks are deleted.
	ResourceCleanupFinalizer = "cluster.open-cluster-management.io/resource-cleanup"
)

// Taints that the hub writes.
const (
	// UnavailableTaint is on a cluster that is not available.
	UnavailableTaint = "cluster.open-cluster-management.io/unavailable"
	// UnreachableTaint is on a cluster of which the hub does not know whether it is available.
	UnreachableTaint = "cluster.open-cluster-management.io/unreachable"
)

// Sets that exist always, and the lease.
const (
	// DefaultClusterSet holds the clusters that nobody put into another set.
	DefaultClusterSet = "default"
	// GlobalClusterSet holds every cluster.
	GlobalClusterSet = "global"
	// LeaseName names the lease in the cluster's namespace that the hub makes and the agent renews.
	LeaseName = "managed-cluster-lease"
	// DefaultLeaseDurationSeconds counts when a cluster says 0.
	DefaultLeaseDurationSeconds = 60
	// LeaseDurationTimes is how many lease durations the hub waits before it gives a cluster up.
	LeaseDurationTimes = 5
)

// Types of conditions of ManagedCluster.
const (
	// ConditionHubAccepted is written by the hub.
	ConditionHubAccepted = "HubAcceptedManagedCluster"
	// ConditionHubDenied is written by this hub while a denial waits, and says for what. In the field nobody writes it.
	ConditionHubDenied = "HubDeniedManagedCluster"
	// ConditionJoined is written by the agent and never reset.
	ConditionJoined = "ManagedClusterJoined"
	// ConditionAvailable is written by the agent; the hub only sets it to Unknown.
	ConditionAvailable = "ManagedClusterConditionAvailable"
	// ConditionClockSynced is written by the hub.
	ConditionClockSynced = "ManagedClusterConditionClockSynced"
	// ConditionCertificateRotated is written by the agent, once it tried a rotation.
	ConditionCertificateRotated = "ClusterCertificateRotated"
	// ConditionDeleting is written by the hub while the cluster's add-ons and works are deleted.
	ConditionDeleting = "Deleting"
	// ConditionNamespaceAvailable is written by the agent for each managed namespace.
	ConditionNamespaceAvailable = "NamespaceAvailable"
)

// Reasons of those conditions.
const (
	ReasonAccepted                   = "HubClusterAdminAccepted"
	ReasonDenied                     = "HubClusterAdminDenied"
	ReasonWorksRemaining             = "WorksRemaining"
	ReasonAcceptError                = "Error"
	ReasonJoined                     = "ManagedClusterJoined"
	ReasonAvailable                  = "ManagedClusterAvailable"
	ReasonKubeAPIServerUnavailable   = "ManagedClusterKubeAPIServerUnavailable"
	ReasonLeaseUpdateStopped         = "ManagedClusterLeaseUpdateStopped"
	ReasonClockSynced                = "ManagedClusterClockSynced"
	ReasonClockOutOfSync             = "ManagedClusterClockOutOfSync"
	ReasonClientCertificateUpdated   = "ClientCertificateUpdated"
	ReasonClientCertificateNotUpdate = "ClientCertificateUpdateFailed"
	ReasonResourceRemaining          = "ResourceRemaining"
	ReasonDeletingError              = "DeletingError"
	ReasonNoResource                 = "NoResource"
	ReasonNamespaceApplied           = "NamespaceApplied"
	ReasonNamespaceApplyFailed       = "NamespaceApplyFailed"
)
