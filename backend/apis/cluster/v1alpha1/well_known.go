package v1alpha1

// Limits of contract section 1.2.
const (
	// MaxNameLength is the longest allowed cluster name, so that prefixed objects on hub and member keep valid names.
	MaxNameLength = 48
	// MaxIDLength is the longest allowed spec.id.
	MaxIDLength = 128000
)

// Condition types of a Cluster (contract section 3.7).
const (
	// ClusterConditionReady says whether the member's API server answers and is healthy.
	ClusterConditionReady = "Ready"
	// ClusterConditionCompleteAPIEnablements says whether status.apiEnablements lists everything that the member serves.
	ClusterConditionCompleteAPIEnablements = "CompleteAPIEnablements"
)

// Reasons of the condition Ready.
const (
	// ReasonClusterReady goes with status True.
	ReasonClusterReady = "ClusterReady"
	// ReasonClusterNotReachable goes with status False: the health request failed.
	ReasonClusterNotReachable = "ClusterNotReachable"
	// ReasonClusterNotReady goes with status False: the health endpoint answered, but not with OK.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonStatusCollectionFailed goes with status False: no client could be made, for example because the Secret is missing.
	ReasonStatusCollectionFailed = "StatusCollectionFailed"
	// ReasonClusterStatusUnknown goes with status Unknown: the agent reported once and fell silent.
	ReasonClusterStatusUnknown = "ClusterStatusUnknown"
	// ReasonClusterStatusNeverUpdated goes with status Unknown: the agent has never reported.
	ReasonClusterStatusNeverUpdated = "ClusterStatusNeverUpdated"
)

// Reasons of the condition CompleteAPIEnablements.
const (
	// ReasonAPIEnablementsComplete goes with status True.
	ReasonAPIEnablementsComplete = "Complete"
	// ReasonAPIEnablementsPartial goes with status False: some groups could not be read.
	ReasonAPIEnablementsPartial = "Partial"
	// ReasonAPIEnablementsEmpty goes with status False: nothing could be read.
	ReasonAPIEnablementsEmpty = "Empty"
)

// Taint keys of contract section 3.6. All of them are used with the effect NoSchedule.
const (
	// TaintClusterUnschedulable marks a cordoned cluster.
	TaintClusterUnschedulable = "cluster.karmada.io/unschedulable"
	// TaintClusterNotReady marks a cluster whose Ready condition is absent or False.
	TaintClusterNotReady = "cluster.karmada.io/not-ready"
	// TaintClusterUnreachable marks a cluster whose Ready condition is Unknown.
	TaintClusterUnreachable = "cluster.karmada.io/unreachable"
)

// ClusterControllerFinalizer holds a Cluster until its execution space is gone (contract section 3.5). Unmodified agents report
// nothing before it is set (contract section 7.2).
const ClusterControllerFinalizer = "karmada.io/cluster-controller"

// Keys of the Secrets that secretRef and impersonatorSecretRef name (contract section 3.2).
const (
	// SecretTokenKey holds a bearer token.
	SecretTokenKey = "token"
	// SecretCABundleKey holds the PEM bundle that the member's API server certificate is verified against.
	SecretCABundleKey = "caBundle"
)
