package v1alpha2

// Condition types of a binding (contract section 3.7).
const (
	// Scheduled says whether clusters were found.
	Scheduled = "Scheduled"
	// FullyApplied says whether every chosen cluster has the object applied.
	FullyApplied = "FullyApplied"
)

// Reasons of the conditions of a binding, and of its eviction tasks.
const (
	// ReasonSuccess goes with Scheduled True.
	ReasonSuccess = "Success"
	// ReasonSchedulerError goes with Scheduled False: scheduling itself failed.
	ReasonSchedulerError = "SchedulerError"
	// ReasonNoClusterFit goes with Scheduled False: no cluster passes all filters.
	ReasonNoClusterFit = "NoClusterFit"
	// ReasonUnschedulable goes with Scheduled False: the clusters have no room.
	ReasonUnschedulable = "Unschedulable"
	// ReasonQuotaExceeded goes with Scheduled False: a federated quota is used up.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonFullyAppliedSuccess goes with FullyApplied True.
	ReasonFullyAppliedSuccess = "FullyAppliedSuccess"
	// ReasonFullyAppliedFailed goes with FullyApplied False.
	ReasonFullyAppliedFailed = "FullyAppliedFailed"
	// EvictionReasonTaintUntolerated is the reason of an eviction task: the cluster got a taint that is not tolerated.
	EvictionReasonTaintUntolerated = "TaintUntolerated"
	// EvictionReasonApplicationFailure is the reason of an eviction task: the application was unhealthy for too long.
	EvictionReasonApplicationFailure = "ApplicationFailure"
	// EvictionProducerTaintManager is the producer of eviction tasks for taints.
	EvictionProducerTaintManager = "TaintManager"
)

// Labels and annotations of bindings, their Works and manifests (contract sections 3.3 and 3.4).
const (
	// ResourceBindingPermanentIDLabel identifies a ResourceBinding, on itself, its Works and their manifests.
	ResourceBindingPermanentIDLabel = "resourcebinding.karmada.io/permanent-id"
	// ClusterResourceBindingPermanentIDLabel identifies a ClusterResourceBinding, on itself, its Works and their manifests.
	ClusterResourceBindingPermanentIDLabel = "clusterresourcebinding.karmada.io/permanent-id"
	// ResourceBindingNamespaceAnnotation on a Work or manifest names the namespace of its binding.
	ResourceBindingNamespaceAnnotation = "resourcebinding.karmada.io/namespace"
	// ResourceBindingNameAnnotation on a Work or manifest names its binding.
	ResourceBindingNameAnnotation = "resourcebinding.karmada.io/name"
	// ClusterResourceBindingNameAnnotation on a Work or manifest names its cluster-scoped binding.
	ClusterResourceBindingNameAnnotation = "clusterresourcebinding.karmada.io/name"
	// DependenciesAnnotation on a binding lists the objects that its template refers to, as JSON.
	DependenciesAnnotation = "resourcebinding.karmada.io/dependencies"
	// DependedByLabelPrefix followed by a code of the parent's name labels a binding that another one brought along.
	DependedByLabelPrefix = "resourcebinding.karmada.io/depended-by-"
	// BindingManagedByLabel on a binding names the component, other than the policy detector, that made it.
	BindingManagedByLabel = "binding.karmada.io/managed-by"
)

// Finalizers of contract section 3.5.
const (
	// BindingControllerFinalizer holds a ResourceBinding until its Works are deleted.
	BindingControllerFinalizer = "karmada.io/binding-controller"
	// ClusterResourceBindingControllerFinalizer holds a ClusterResourceBinding until its Works are deleted.
	ClusterResourceBindingControllerFinalizer = "karmada.io/cluster-resource-binding-controller"
	// DependenciesDistributorFinalizer holds a parent binding until the bindings that it brought along know.
	DependenciesDistributorFinalizer = "karmada.io/binding-dependencies-distributor"
)
