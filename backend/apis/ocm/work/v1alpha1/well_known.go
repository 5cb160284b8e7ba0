package v1alpha1

// Names that go with a replica set.
const (
	// ReplicaSetFinalizer holds a replica set until its works are deleted.
	ReplicaSetFinalizer = "work.open-cluster-management.io/manifest-work-cleanup"
	// ReplicaSetLabel is on each work: namespace.name of the replica set.
	ReplicaSetLabel = "work.open-cluster-management.io/manifestworkreplicaset"
	// PlacementNameLabel is on each work: the placement that it is there for.
	PlacementNameLabel = "work.open-cluster-management.io/placementname"
)

// Types of conditions of ManifestWorkReplicaSet.
const (
	// ConditionPlacementVerified says whether the placements exist and have decisions.
	ConditionPlacementVerified = "PlacementVerified"
	// ConditionPlacementRolledOut says whether the current template is on every cluster.
	ConditionPlacementRolledOut = "PlacementRolledOut"
	// ConditionManifestworkApplied says whether every cluster applied it.
	ConditionManifestworkApplied = "ManifestworkApplied"
)

// Reasons of those conditions.
const (
	// ReasonAsExpected goes with PlacementVerified True and ManifestworkApplied True.
	ReasonAsExpected = "AsExpected"
	// ReasonPlacementDecisionNotFound means that there is no decision.
	ReasonPlacementDecisionNotFound = "PlacementDecisionNotFound"
	// ReasonPlacementDecisionEmpty means that no cluster was chosen.
	ReasonPlacementDecisionEmpty = "PlacementDecisionEmpty"
	// ReasonNotAsExpected means that the works could not be brought about.
	ReasonNotAsExpected = "NotAsExpected"
	// ReasonProcessing means that clusters have not applied it yet.
	ReasonProcessing = "Processing"
	// ReasonProgressing goes with PlacementRolledOut False.
	ReasonProgressing = "Progressing"
	// ReasonComplete goes with PlacementRolledOut True.
	ReasonComplete = "Complete"
)
