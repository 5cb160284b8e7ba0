package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Placement says which clusters objects go to and how replicas are divided among them.
type Placement struct {
	// ClusterAffinity limits the clusters. It excludes clusterAffinities.
	// +optional
	ClusterAffinity *ClusterAffinity `json:"clusterAffinity,omitempty"`

	// ClusterAffinities are groups of clusters, tried in order; the first that fits is used as a whole.
	// +optional
	ClusterAffinities []ClusterAffinityTerm `json:"clusterAffinities,omitempty"`

	// ClusterTolerations let objects onto tainted clusters.
	// +optional
	ClusterTolerations []corev1.Toleration `json:"clusterTolerations,omitempty"`

	// SpreadConstraints bound the number of clusters, regions, zones or providers.
	// +optional
	SpreadConstraints []SpreadConstraint `json:"spreadConstraints,omitempty"`

	// ReplicaScheduling divides replicas. Without it every chosen cluster runs all replicas.
	// +optional
	ReplicaScheduling *ReplicaSchedulingStrategy `json:"replicaScheduling,omitempty"`

	// WorkloadAffinity places workloads together or apart.
	// +optional
	WorkloadAffinity *WorkloadAffinity `json:"workloadAffinity,omitempty"`
}

// ClusterAffinity chooses clusters; a cluster must meet all that is given.
type ClusterAffinity struct {
	// LabelSelector chooses clusters by their labels.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// FieldSelector chooses clusters by provider, region or zone.
	// +optional
	FieldSelector *FieldSelector `json:"fieldSelector,omitempty"`

	// ClusterNames lists the clusters that may be chosen.
	// +optional
	ClusterNames []string `json:"clusterNames,omitempty"`

	// ExcludeClusters lists clusters that are never chosen.
	// +optional
	ExcludeClusters []string `json:"exclude,omitempty"`
}

// FieldSelector chooses clusters by fields of their spec.
type FieldSelector struct {
	// MatchExpressions must all hold. The keys are provider, region and zone, the operators In and NotIn.
	// +optional
	MatchExpressions []corev1.NodeSelectorRequirement `json:"matchExpressions,omitempty"`
}

// Keys that a FieldSelector understands.
const (
	// ProviderField is spec.provider of a Cluster.
	ProviderField = "provider"
	// RegionField is spec.region of a Cluster.
	RegionField = "region"
	// ZoneField is any of spec.zones of a Cluster.
	ZoneField = "zone"
)

// ClusterAffinityTerm is a named group of clusters.
type ClusterAffinityTerm struct {
	// AffinityName names the group.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	AffinityName string `json:"affinityName"`

	ClusterAffinity `json:",inline"`

	// OverflowAffinities are groups that take the replicas for which this group has no room, in order. Only where replicas are
	// divided by capacity.
	// +optional
	OverflowAffinities []OverflowAffinity `json:"overflowAffinities,omitempty"`
}

// OverflowAffinity is a named group of clusters that takes what another group has no room for.
type OverflowAffinity struct {
	// AffinityName names the group.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	AffinityName string `json:"affinityName"`

	ClusterAffinity `json:",inline"`
}

// SpreadFieldValue is a property of clusters to spread over.
type SpreadFieldValue string

const (
	// SpreadByFieldCluster spreads over clusters.
	SpreadByFieldCluster SpreadFieldValue = "cluster"
	// SpreadByFieldRegion spreads over regions.
	SpreadByFieldRegion SpreadFieldValue = "region"
	// SpreadByFieldZone spreads over zones.
	SpreadByFieldZone SpreadFieldValue = "zone"
	// SpreadByFieldProvider spreads over providers.
	SpreadByFieldProvider SpreadFieldValue = "provider"
)

// SpreadConstraint bounds the number of groups that objects are spread over.
type SpreadConstraint struct {
	// SpreadByField groups clusters by a field. It excludes spreadByLabel.
	// +kubebuilder:validation:Enum=cluster;region;zone;provider
	// +optional
	SpreadByField SpreadFieldValue `json:"spreadByField,omitempty"`

	// SpreadByLabel groups clusters by a label. It is accepted, but no scheduler follows it yet.
	// +optional
	SpreadByLabel string `json:"spreadByLabel,omitempty"`

	// MaxGroups is the largest number of groups; 0 means no bound.
	// +optional
	MaxGroups int `json:"maxGroups,omitempty"`

	// MinGroups is the smallest number of groups.
	// +optional
	MinGroups int `json:"minGroups,omitempty"`
}

// ReplicaSchedulingType says whether replicas are divided.
type ReplicaSchedulingType string

const (
	// ReplicaSchedulingTypeDuplicated runs all replicas in every cluster.
	ReplicaSchedulingTypeDuplicated ReplicaSchedulingType = "Duplicated"
	// ReplicaSchedulingTypeDivided shares the replicas among the clusters.
	ReplicaSchedulingTypeDivided ReplicaSchedulingType = "Divided"
)

// ReplicaDivisionPreference says how replicas are divided.
type ReplicaDivisionPreference string

const (
	// ReplicaDivisionPreferenceAggregated uses as few clusters as have room.
	ReplicaDivisionPreferenceAggregated ReplicaDivisionPreference = "Aggregated"
	// ReplicaDivisionPreferenceWeighted follows weights.
	ReplicaDivisionPreferenceWeighted ReplicaDivisionPreference = "Weighted"
)

// ReplicaSchedulingStrategy divides replicas among clusters.
type ReplicaSchedulingStrategy struct {
	// ReplicaSchedulingType says whether replicas are divided at all.
	// +kubebuilder:validation:Enum=Duplicated;Divided
	// +kubebuilder:default=Divided
	// +optional
	ReplicaSchedulingType ReplicaSchedulingType `json:"replicaSchedulingType,omitempty"`

	// ReplicaDivisionPreference says how they are divided.
	// +kubebuilder:validation:Enum=Aggregated;Weighted
	// +optional
	ReplicaDivisionPreference ReplicaDivisionPreference `json:"replicaDivisionPreference,omitempty"`

	// WeightPreference gives the weights. Without it all clusters weigh the same.
	// +optional
	WeightPreference *ClusterPreferences `json:"weightPreference,omitempty"`
}

// ClusterPreferences gives clusters weights.
type ClusterPreferences struct {
	// StaticWeightList gives fixed weights. It has no effect when dynamicWeight is set.
	// +optional
	StaticWeightList []StaticClusterWeight `json:"staticWeightList,omitempty"`

	// DynamicWeight names a measure that the weights are taken from.
	// +kubebuilder:validation:Enum=AvailableReplicas
	// +optional
	DynamicWeight DynamicWeightFactor `json:"dynamicWeight,omitempty"`
}

// StaticClusterWeight gives some clusters a weight.
type StaticClusterWeight struct {
	// TargetCluster chooses the clusters.
	TargetCluster ClusterAffinity `json:"targetCluster"`

	// Weight of each of them.
	// +kubebuilder:validation:Minimum=1
	Weight int64 `json:"weight"`
}

// DynamicWeightFactor is a measure of clusters.
type DynamicWeightFactor string

// DynamicWeightByAvailableReplicas weighs a cluster by the replicas it has room for.
const DynamicWeightByAvailableReplicas DynamicWeightFactor = "AvailableReplicas"

// WorkloadAffinity places workloads together or apart.
type WorkloadAffinity struct {
	// Affinity places workloads of one group in the same clusters.
	// +optional
	Affinity *WorkloadAffinityTerm `json:"affinity,omitempty"`

	// AntiAffinity places workloads of one group in different clusters.
	// +optional
	AntiAffinity *WorkloadAffinityTerm `json:"antiAffinity,omitempty"`
}

// WorkloadAffinityTerm forms groups of workloads.
type WorkloadAffinityTerm struct {
	// GroupByLabelKey is the label of the template whose value names the group.
	GroupByLabelKey string `json:"groupByLabelKey"`
}
