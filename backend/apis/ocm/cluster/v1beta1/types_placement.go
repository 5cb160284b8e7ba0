package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Placement chooses clusters out of the sets that are bound to its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="PlacementSatisfied")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="PlacementSatisfied")].reason`
// +kubebuilder:printcolumn:name="SelectedClusters",type=integer,JSONPath=`.status.numberOfSelectedClusters`
type Placement struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says which clusters are wanted.
	Spec PlacementSpec `json:"spec"`

	// Status says how many were found and where the decisions are.
	// +optional
	Status PlacementStatus `json:"status,omitempty"`
}

// PlacementList is a list of placements.
//
// +kubebuilder:object:root=true
type PlacementList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the placements.
	Items []Placement `json:"items"`
}

// PlacementSpec says which clusters are wanted.
type PlacementSpec struct {
	// ClusterSets limits the sets. Without it all bound sets count. A set that is not bound is ignored.
	// +optional
	// +listType=atomic
	ClusterSets []string `json:"clusterSets,omitempty"`

	// NumberOfClusters is how many are wanted. Without it all that qualify.
	// +optional
	NumberOfClusters *int32 `json:"numberOfClusters,omitempty"`

	// Predicates are alternatives: a cluster must meet one.
	// +optional
	// +listType=atomic
	Predicates []ClusterPredicate `json:"predicates,omitempty"`

	// PrioritizerPolicy says which of the clusters that qualify are better.
	// +optional
	PrioritizerPolicy PrioritizerPolicy `json:"prioritizerPolicy,omitempty"`

	// SpreadPolicy spreads the chosen clusters.
	// +optional
	SpreadPolicy SpreadPolicy `json:"spreadPolicy,omitempty"`

	// Tolerations let tainted clusters qualify.
	// +optional
	// +listType=atomic
	Tolerations []Toleration `json:"tolerations,omitempty"`

	// DecisionStrategy divides the chosen clusters into groups.
	// +optional
	DecisionStrategy DecisionStrategy `json:"decisionStrategy,omitempty"`

	// SortBy orders the decisions.
	// +optional
	// +kubebuilder:validation:Enum=ClusterName;Score
	// +kubebuilder:default=ClusterName
	SortBy SortBy `json:"sortBy,omitempty"`

	// ScoreRateLimit is how often changed scores alone may change the decisions: a number and one of h, m, s.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]+[hms]$`
	// +kubebuilder:default="1m"
	ScoreRateLimit string `json:"scoreRateLimit,omitempty"`
}

// SortBy orders decisions.
type SortBy string

// Orders of decisions.
const (
	// SortByClusterName orders by name.
	SortByClusterName SortBy = "ClusterName"
	// SortByScore puts the best first.
	SortByScore SortBy = "Score"
)

// ClusterPredicate is one way to qualify.
type ClusterPredicate struct {
	// RequiredClusterSelector must match in all its parts.
	// +optional
	RequiredClusterSelector ClusterSelector `json:"requiredClusterSelector,omitempty"`
}

// ClusterSelector chooses clusters; all parts must match.
type ClusterSelector struct {
	// LabelSelector is on the cluster's labels.
	// +optional
	LabelSelector metav1.LabelSelector `json:"labelSelector,omitempty"`

	// ClaimSelector is on the cluster's claims.
	// +optional
	ClaimSelector ClusterClaimSelector `json:"claimSelector,omitempty"`

	// CelSelector holds expressions over the cluster.
	// +optional
	CelSelector ClusterCelSelector `json:"celSelector,omitempty"`
}

// ClusterClaimSelector chooses clusters by their claims.
type ClusterClaimSelector struct {
	// MatchExpressions must all hold; the keys are names of claims.
	// +optional
	// +listType=atomic
	MatchExpressions []metav1.LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// ClusterCelSelector chooses clusters by expressions.
type ClusterCelSelector struct {
	// CelExpressions must all be true; the variable managedCluster is the cluster.
	// +optional
	// +listType=atomic
	CelExpressions []string `json:"celExpressions,omitempty"`
}

// PrioritizerPolicyMode says whether prioritizers that are not listed count.
type PrioritizerPolicyMode string

// Modes of a policy.
const (
	// PrioritizerAdditive keeps the default prioritizers, Balance and Steady, beside those listed.
	PrioritizerAdditive PrioritizerPolicyMode = "Additive"
	// PrioritizerExact uses only those listed.
	PrioritizerExact PrioritizerPolicyMode = "Exact"
)

// PrioritizerPolicy says which clusters are better.
type PrioritizerPolicy struct {
	// Mode says whether prioritizers that are not listed count.
	// +optional
	// +kubebuilder:validation:Enum=Additive;Exact
	// +kubebuilder:default=Additive
	Mode PrioritizerPolicyMode `json:"mode,omitempty"`

	// Configurations weigh prioritizers.
	// +optional
	// +listType=atomic
	Configurations []PrioritizerConfig `json:"configurations,omitempty"`
}

// PrioritizerConfig weighs one prioritizer.
type PrioritizerConfig struct {
	// ScoreCoordinate names the prioritizer.
	ScoreCoordinate *ScoreCoordinate `json:"scoreCoordinate"`

	// Weight of its score; negative prefers what scores low.
	// +optional
	// +kubebuilder:validation:Minimum=-10
	// +kubebuilder:validation:Maximum=10
	// +kubebuilder:default=1
	Weight int32 `json:"weight,omitempty"`
}

// ScoreCoordinateType says where a score comes from.
type ScoreCoordinateType string

// Sources of scores.
const (
	// ScoreBuiltIn is computed by the hub.
	ScoreBuiltIn ScoreCoordinateType = "BuiltIn"
	// ScoreAddOn is read from an AddOnPlacementScore.
	ScoreAddOn ScoreCoordinateType = "AddOn"
)

// Built-in prioritizers.
const (
	// PrioritizerBalance prefers clusters with few decisions of other placements.
	PrioritizerBalance = "Balance"
	// PrioritizerSteady prefers clusters that are chosen already.
	PrioritizerSteady = "Steady"
	// PrioritizerResourceAllocatableCPU prefers clusters with much allocatable CPU.
	PrioritizerResourceAllocatableCPU = "ResourceAllocatableCPU"
	// PrioritizerResourceAllocatableMemory prefers clusters with much allocatable memory.
	PrioritizerResourceAllocatableMemory = "ResourceAllocatableMemory"
)

// ScoreCoordinate names a prioritizer.
type ScoreCoordinate struct {
	// Type says which of the two below counts.
	// +kubebuilder:validation:Enum=BuiltIn;AddOn
	// +kubebuilder:default=BuiltIn
	// +required
	Type ScoreCoordinateType `json:"type,omitempty"`

	// BuiltIn names a prioritizer of the hub.
	// +optional
	BuiltIn string `json:"builtIn,omitempty"`

	// AddOn names a score of an add-on.
	// +optional
	AddOn *AddOnScore `json:"addOn,omitempty"`
}

// AddOnScore names a score of an add-on.
type AddOnScore struct {
	// ResourceName is the name of the AddOnPlacementScore in each cluster's namespace.
	ResourceName string `json:"resourceName"`

	// ScoreName is the name of the score in it.
	ScoreName string `json:"scoreName"`
}

// SpreadPolicy spreads the chosen clusters.
type SpreadPolicy struct {
	// SpreadConstraints all count.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	SpreadConstraints []SpreadConstraintsTerm `json:"spreadConstraints,omitempty"`
}

// TopologyKeyType says where a topology is read from.
type TopologyKeyType string

// Sources of a topology.
const (
	// TopologyKeyLabel is a label of the cluster.
	TopologyKeyLabel TopologyKeyType = "Label"
	// TopologyKeyClaim is a claim of the cluster.
	TopologyKeyClaim TopologyKeyType = "Claim"
)

// UnsatisfiableSpreadConstraintAction says what happens when a constraint cannot be met.
type UnsatisfiableSpreadConstraintAction string

// What happens when a constraint cannot be met.
const (
	// DoNotSchedule leaves the cluster out.
	DoNotSchedule UnsatisfiableSpreadConstraintAction = "DoNotSchedule"
	// ScheduleAnyway takes it all the same, after those that meet the constraint.
	ScheduleAnyway UnsatisfiableSpreadConstraintAction = "ScheduleAnyway"
)

// SpreadConstraintsTerm bounds how uneven the topologies may be.
type SpreadConstraintsTerm struct {
	// TopologyKey is the label or claim whose values are the topologies.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	TopologyKey string `json:"topologyKey"`

	// TopologyKeyType says whether it is a label or a claim.
	// +kubebuilder:validation:Enum=Label;Claim
	TopologyKeyType TopologyKeyType `json:"topologyKeyType"`

	// MaxSkew is by how many clusters a topology may be ahead of the one with the fewest.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	MaxSkew int32 `json:"maxSkew,omitempty"`

	// WhenUnsatisfiable says what happens to a cluster that would make it too uneven.
	// +optional
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	// +kubebuilder:default=ScheduleAnyway
	WhenUnsatisfiable UnsatisfiableSpreadConstraintAction `json:"whenUnsatisfiable,omitempty"`
}

// TolerationOperator relates a toleration to a taint's value.
type TolerationOperator string

// Operators of tolerations.
const (
	// TolerationOpExists tolerates any value.
	TolerationOpExists TolerationOperator = "Exists"
	// TolerationOpEqual tolerates the same value.
	TolerationOpEqual TolerationOperator = "Equal"
)

// Toleration lets clusters with matching taints qualify.
type Toleration struct {
	// Key of the taint; empty with Exists means every key.
	// +optional
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	Key string `json:"key,omitempty"`

	// Operator relates the value to the taint's.
	// +optional
	// +kubebuilder:default=Equal
	Operator TolerationOperator `json:"operator,omitempty"`

	// Value of the taint, with Equal.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`

	// Effect of the taint; empty means every effect.
	// +optional
	// +kubebuilder:validation:Enum=NoSelect;PreferNoSelect;NoSelectIfNew
	Effect string `json:"effect,omitempty"`

	// TolerationSeconds is how long the taint is tolerated after it came. Without it, for ever. Not for PreferNoSelect.
	// +optional
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// DecisionStrategy divides the chosen clusters.
type DecisionStrategy struct {
	// GroupStrategy divides them into groups.
	// +optional
	GroupStrategy GroupStrategy `json:"groupStrategy,omitempty"`
}

// GroupStrategy divides the chosen clusters into groups.
type GroupStrategy struct {
	// DecisionGroups come first, in this order; what none of them chooses is divided by number.
	// +optional
	// +listType=atomic
	DecisionGroups []DecisionGroup `json:"decisionGroups,omitempty"`

	// ClustersPerDecisionGroup is the number, or the percentage of all chosen clusters, that a group holds at most; 0 means no limit.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^((100|[1-9][0-9]{0,1})%|[0-9]+)$`
	// +kubebuilder:default="100%"
	ClustersPerDecisionGroup intstr.IntOrString `json:"clustersPerDecisionGroup,omitempty"`
}

// DecisionGroup is a named group of chosen clusters.
type DecisionGroup struct {
	// GroupName becomes a label of the decisions.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	GroupName string `json:"groupName"`

	// ClusterSelector chooses its clusters.
	ClusterSelector GroupClusterSelector `json:"groupClusterSelector"`
}

// GroupClusterSelector chooses clusters of a group; all parts must match.
type GroupClusterSelector struct {
	// LabelSelector is on the cluster's labels.
	// +optional
	LabelSelector metav1.LabelSelector `json:"labelSelector,omitempty"`

	// ClaimSelector is on the cluster's claims.
	// +optional
	ClaimSelector ClusterClaimSelector `json:"claimSelector,omitempty"`
}

// PlacementStatus says what was found.
type PlacementStatus struct {
	// NumberOfSelectedClusters is how many were chosen.
	// +optional
	NumberOfSelectedClusters int32 `json:"numberOfSelectedClusters"`

	// DecisionGroups are the groups of chosen clusters.
	// +optional
	// +listType=atomic
	DecisionGroups []DecisionGroupStatus `json:"decisionGroups,omitempty"`

	// Conditions holds PlacementSatisfied and PlacementMisconfigured.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LastScoreUpdateTime is when scores last changed the decisions.
	// +optional
	LastScoreUpdateTime *metav1.Time `json:"lastScoreUpdateTime,omitempty"`
}

// DecisionGroupStatus is one group of chosen clusters.
type DecisionGroupStatus struct {
	// DecisionGroupIndex counts from 0.
	// +optional
	DecisionGroupIndex int32 `json:"decisionGroupIndex"`

	// DecisionGroupName is empty for the groups that were divided by number.
	// +optional
	DecisionGroupName string `json:"decisionGroupName"`

	// Decisions are the names of its PlacementDecisions.
	// +optional
	// +listType=atomic
	Decisions []string `json:"decisions,omitempty"`

	// ClustersCount is how many clusters it has.
	// +optional
	// +kubebuilder:default=0
	ClustersCount int32 `json:"clusterCount"`
}
