package cluster

// ConditionRemoving is True on a Cluster that is being removed and cannot go at
// once. Its reason and message say what is waited for. Ready and
// CompleteAPIEnablements are the contract's (section 3.7); who writes them:
//
//	Push                       liveness.StatusReconciler
//	Pull, our agent            liveness.Agents
//	Pull, karmada-agent        the agent; liveness.LeaseReconciler writes Ready=Unknown
const ConditionRemoving = "Removing"

// Reasons of ConditionRemoving.
const (
	// ReasonWaitingForWorks: objects are still being taken out of the member.
	ReasonWaitingForWorks = "WaitingForWorks"
	// ReasonWaitingForManifestWorks: the same, of ManifestWorks.
	ReasonWaitingForManifestWorks = "WaitingForManifestWorks"
	// ReasonWaitingForNamespace: something in the execution namespace is held.
	ReasonWaitingForNamespace = "WaitingForNamespace"
)

// Reasons of Events about a Cluster (contract section 3.8).
const (
	EventCreateExecutionSpace       = "CreateExecutionSpaceSucceed"
	EventCreateExecutionSpaceFailed = "CreateExecutionSpaceFailed"
	EventRemoveExecutionSpace       = "RemoveExecutionSpaceSucceed"
	EventRemoveExecutionSpaceFailed = "RemoveExecutionSpaceFailed"
	EventTaintCluster               = "TaintClusterSucceed"
	EventTaintClusterFailed         = "TaintClusterFailed"
)
