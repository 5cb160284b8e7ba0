package v1

// Finalizers.
const (
	// ManifestWorkFinalizer is written by the agent, and on the hub holds the work RoleBinding of a cluster that has works.
	ManifestWorkFinalizer = "cluster.open-cluster-management.io/manifest-work-cleanup"
	// AppliedManifestWorkFinalizer holds the record until the applied objects are gone.
	AppliedManifestWorkFinalizer = "cluster.open-cluster-management.io/applied-manifest-work-cleanup"
)

// Types of conditions of ManifestWork and of its manifests. Rules may make others.
const (
	// ConditionApplied says whether all was applied.
	ConditionApplied = "Applied"
	// ConditionAvailable says whether all objects are there.
	ConditionAvailable = "Available"
	// ConditionProgressing is made by a rule.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is made by a rule.
	ConditionDegraded = "Degraded"
	// ConditionComplete is made by a rule: the work is done and may be deleted.
	ConditionComplete = "Complete"
	// ConditionStatusFeedbackSynced of one manifest says whether its values were read.
	ConditionStatusFeedbackSynced = "StatusFeedbackSynced"
)

// Reasons of the conditions of a work.
const (
	ReasonWorkApplied              = "AppliedManifestWorkComplete"
	ReasonWorkApplyFailed          = "AppliedManifestWorkFailed"
	ReasonResourcesAvailable       = "ResourcesAvailable"
	ReasonResourcesNotAvailable    = "ResourcesNotAvailable"
	ReasonConditionRulesAggregated = "ConditionRulesAggregated"
)

// Reasons of the conditions of a manifest.
const (
	ReasonManifestApplied          = "AppliedManifestComplete"
	ReasonManifestApplyFailed      = "AppliedManifestFailed"
	ReasonResourceAvailable        = "ResourceAvailable"
	ReasonResourceNotAvailable     = "ResourceNotAvailable"
	ReasonIncompleteResourceMeta   = "IncompleteResourceMeta"
	ReasonNoStatusFeedbackSynced   = "NoStatusFeedbackSynced"
	ReasonStatusFeedbackSynced     = "StatusFeedbackSynced"
	ReasonStatusFeedbackSyncFailed = "StatusFeedbackSyncFailed"
)
