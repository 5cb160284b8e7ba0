package v1beta1

// Labels of PlacementDecisions.
const (
	// PlacementLabel names the placement.
	PlacementLabel = "cluster.open-cluster-management.io/placement"
	// DecisionGroupNameLabel names the group; empty for those divided by number.
	DecisionGroupNameLabel = "cluster.open-cluster-management.io/decision-group-name"
	// DecisionGroupIndexLabel counts the groups from 0.
	DecisionGroupIndexLabel = "cluster.open-cluster-management.io/decision-group-index"
)

// MaxDecisions is how many clusters one PlacementDecision holds.
const MaxDecisions = 100

// DisableAnnotation set to "true" makes the hub leave a placement to somebody else.
const DisableAnnotation = "cluster.open-cluster-management.io/experimental-scheduling-disable"

// Types of conditions of Placement.
const (
	// ConditionSatisfied says whether as many clusters were found as are wanted.
	ConditionSatisfied = "PlacementSatisfied"
	// ConditionMisconfigured says whether the spec makes sense.
	ConditionMisconfigured = "PlacementMisconfigured"
)

// Reasons of those conditions.
const (
	// ReasonAllDecisionsScheduled goes with PlacementSatisfied True.
	ReasonAllDecisionsScheduled = "AllDecisionsScheduled"
	// ReasonNotAllDecisionsScheduled means that fewer clusters qualify than are wanted.
	ReasonNotAllDecisionsScheduled = "NotAllDecisionsScheduled"
	// ReasonNoIntersection means that none of spec.clusterSets is bound.
	ReasonNoIntersection = "NoIntersection"
	// ReasonNoManagedClusterSetBindings means that no set is bound to the namespace.
	ReasonNoManagedClusterSetBindings = "NoManagedClusterSetBindings"
	// ReasonAllManagedClusterSetsEmpty means that the bound sets hold no cluster.
	ReasonAllManagedClusterSetsEmpty = "AllManagedClusterSetsEmpty"
	// ReasonNoManagedClusterMatched means that no cluster of the bound sets qualifies.
	ReasonNoManagedClusterMatched = "NoManagedClusterMatched"
	// ReasonConfigured goes with PlacementMisconfigured False.
	ReasonConfigured = "Succeedconfigured"
	// ReasonMisconfigured goes with PlacementMisconfigured True.
	ReasonMisconfigured = "Misconfigured"
)
