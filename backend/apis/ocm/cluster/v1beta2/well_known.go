package v1beta2

// AutoUpdateAnnotation set to "false" keeps the hub from putting back the selector of the sets default and global.
const AutoUpdateAnnotation = "cluster.open-cluster-management.io/autoupdate"

// Types of conditions.
const (
	// ConditionClusterSetEmpty of a ManagedClusterSet.
	ConditionClusterSetEmpty = "ClusterSetEmpty"
	// ConditionBound of a ManagedClusterSetBinding.
	ConditionBound = "Bound"
)

// Reasons of those conditions.
const (
	// ReasonNoClusterMatched goes with ClusterSetEmpty True.
	ReasonNoClusterMatched = "NoClusterMatched"
	// ReasonClustersSelected goes with ClusterSetEmpty False.
	ReasonClustersSelected = "ClustersSelected"
	// ReasonClusterSetBound goes with Bound True.
	ReasonClusterSetBound = "ClusterSetBound"
	// ReasonClusterSetNotFound goes with Bound False.
	ReasonClusterSetNotFound = "ClusterSetNotFound"
)
