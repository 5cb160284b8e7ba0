package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// Names of the bindings on the wire.
const (
	// ResourceKindResourceBinding is the namespaced kind.
	ResourceKindResourceBinding = "ResourceBinding"
	// ResourcePluralResourceBinding is its resource name in paths.
	ResourcePluralResourceBinding = "resourcebindings"
	// ResourceSingularResourceBinding is its singular resource name.
	ResourceSingularResourceBinding = "resourcebinding"
	// ResourceKindClusterResourceBinding is the cluster-scoped kind.
	ResourceKindClusterResourceBinding = "ClusterResourceBinding"
	// ResourcePluralClusterResourceBinding is its resource name in paths.
	ResourcePluralClusterResourceBinding = "clusterresourcebindings"
	// ResourceSingularClusterResourceBinding is its singular resource name.
	ResourceSingularClusterResourceBinding = "clusterresourcebinding"
)

// ResourceBinding ties a namespaced template to the clusters it is placed in.
//
// +kubebuilder:object:root=true
type ResourceBinding struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what is placed where.
	Spec ResourceBindingSpec `json:"spec"`

	// Status says what came of it.
	// +optional
	Status ResourceBindingStatus `json:"status,omitempty"`
}

// ResourceBindingList is a list of resource bindings.
//
// +kubebuilder:object:root=true
type ResourceBindingList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the bindings.
	Items []ResourceBinding `json:"items"`
}

// ClusterResourceBinding ties a cluster-scoped template to the clusters it is placed in.
//
// +kubebuilder:object:root=true
type ClusterResourceBinding struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what is placed where.
	Spec ResourceBindingSpec `json:"spec"`

	// Status says what came of it.
	// +optional
	Status ResourceBindingStatus `json:"status,omitempty"`
}

// ClusterResourceBindingList is a list of cluster resource bindings.
//
// +kubebuilder:object:root=true
type ClusterResourceBindingList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the bindings.
	Items []ClusterResourceBinding `json:"items"`
}

// ResourceBindingSpec says what is placed where.
type ResourceBindingSpec struct {
	// Resource is the template.
	Resource ObjectReference `json:"resource"`

	// PropagateDeps also places what the template refers to.
	// +optional
	PropagateDeps bool `json:"propagateDeps,omitempty"`

	// ReplicaRequirements is what one replica needs of a cluster.
	// +optional
	ReplicaRequirements *ReplicaRequirements `json:"replicaRequirements,omitempty"`

	// Replicas is the desired number over all clusters.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Components are the parts of a template that has several pod templates.
	// +optional
	Components []Component `json:"components,omitempty"`

	// Clusters is the schedule result.
	// +optional
	Clusters []TargetCluster `json:"clusters,omitempty"`

	// GracefulEvictionTasks are moves away from clusters that are under way.
	// +optional
	GracefulEvictionTasks []GracefulEvictionTask `json:"gracefulEvictionTasks,omitempty"`

	// RequiredBy lists the bindings that need this one's template in their clusters.
	// +optional
	RequiredBy []BindingSnapshot `json:"requiredBy,omitempty"`

	// SchedulerName is the scheduler that places the template.
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`

	// Placement is the policy's placement.
	// +optional
	Placement *policyv1alpha1.Placement `json:"placement,omitempty"`

	// Failover is the policy's failover behaviour.
	// +optional
	Failover *policyv1alpha1.FailoverBehavior `json:"failover,omitempty"`

	// ConflictResolution is the policy's; Abort by default.
	// +optional
	ConflictResolution policyv1alpha1.ConflictResolution `json:"conflictResolution,omitempty"`

	// RescheduleTriggeredAt asks for the template to be scheduled afresh when it is later than status.lastScheduledTime.
	// +optional
	RescheduleTriggeredAt *metav1.Time `json:"rescheduleTriggeredAt,omitempty"`

	// Suspension holds back scheduling or dispatching.
	// +optional
	Suspension *Suspension `json:"suspension,omitempty"`

	// PreserveResourcesOnDeletion leaves the members' objects in place when the template is deleted.
	// +optional
	PreserveResourcesOnDeletion *bool `json:"preserveResourcesOnDeletion,omitempty"`

	// SchedulePriority orders the binding in the scheduler's queue.
	// +optional
	SchedulePriority *SchedulePriority `json:"schedulePriority,omitempty"`

	// WorkloadAffinityGroups are the groups that the template belongs to.
	// +optional
	WorkloadAffinityGroups *WorkloadAffinityGroups `json:"workloadAffinityGroups,omitempty"`
}

// ObjectReference names a template on the hub.
type ObjectReference struct {
	// APIVersion of the template.
	APIVersion string `json:"apiVersion"`
	// Kind of the template.
	Kind string `json:"kind"`
	// Namespace of the template; empty for cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the template.
	Name string `json:"name"`
	// UID of the template.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// ResourceVersion of the template that the binding was last made from.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// ReplicaRequirements is what one replica needs of a cluster.
type ReplicaRequirements struct {
	// NodeClaim is what it needs of a node.
	// +optional
	NodeClaim *NodeClaim `json:"nodeClaim,omitempty"`

	// ResourceRequest is what it asks for.
	// +optional
	ResourceRequest corev1.ResourceList `json:"resourceRequest,omitempty"`

	// Namespace of the template.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// PriorityClassName of its pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// NodeClaim is what a replica needs of a node.
type NodeClaim struct {
	// HardNodeAffinity must match.
	// +optional
	HardNodeAffinity *corev1.NodeSelector `json:"hardNodeAffinity,omitempty"`

	// NodeSelector must match.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations let the replica onto tainted nodes.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// Component is one part of a template that has several pod templates.
type Component struct {
	// Name of the part, at most 32 characters.
	Name string `json:"name"`

	// Replicas of the part.
	Replicas int32 `json:"replicas"`

	// ReplicaRequirements is what one replica needs.
	// +optional
	ReplicaRequirements *ReplicaRequirements `json:"replicaRequirements,omitempty"`
}

// TargetCluster is a cluster that was chosen.
type TargetCluster struct {
	// Name of the cluster.
	Name string `json:"name"`

	// Replicas that the cluster runs.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Components are the replicas of each part.
	// +optional
	Components []TargetComponent `json:"components,omitempty"`
}

// TargetComponent is how many replicas of a part a cluster runs.
type TargetComponent struct {
	// Name of the part.
	Name string `json:"name"`

	// Replicas that the cluster runs.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
}

// GracefulEvictionTask is a move away from a cluster.
type GracefulEvictionTask struct {
	// FromCluster is the cluster that is left.
	FromCluster string `json:"fromCluster"`

	// PurgeMode says when the old copy is removed.
	// +optional
	PurgeMode policyv1alpha1.PurgeMode `json:"purgeMode,omitempty"`

	// Replicas that the old copy ran.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Reason in one word, at most 32 characters.
	Reason string `json:"reason"`

	// Message for people, at most 1024 characters.
	// +optional
	Message string `json:"message,omitempty"`

	// Producer is the controller that asked for the move.
	Producer string `json:"producer"`

	// GracePeriodSeconds is how long the old copy waits for the new one, in seconds.
	// +optional
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// SuppressDeletion keeps the old copy until a user decides.
	// +optional
	SuppressDeletion *bool `json:"suppressDeletion,omitempty"`

	// PreservedLabelState is handed to the new copy as labels.
	// +optional
	PreservedLabelState map[string]string `json:"preservedLabelState,omitempty"`

	// CreationTimestamp is when the move was asked for.
	// +optional
	CreationTimestamp *metav1.Time `json:"creationTimestamp,omitempty"`

	// ClustersBeforeFailover are the clusters of the last schedule result before the move.
	// +optional
	ClustersBeforeFailover []string `json:"clustersBeforeFailover,omitempty"`
}

// BindingSnapshot is what is known of another binding.
type BindingSnapshot struct {
	// Namespace of the other binding; empty when it is cluster-scoped.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the other binding.
	Name string `json:"name"`

	// Clusters is its schedule result.
	// +optional
	Clusters []TargetCluster `json:"clusters,omitempty"`
}

// Suspension holds back scheduling or dispatching.
type Suspension struct {
	policyv1alpha1.Suspension `json:",inline"`

	// Scheduling, when true, makes the scheduler leave the binding alone.
	// +optional
	Scheduling *bool `json:"scheduling,omitempty"`
}

// SchedulePriority orders bindings in the scheduler's queue.
type SchedulePriority struct {
	// Priority of the binding; the higher number goes first.
	// +optional
	Priority int32 `json:"priority,omitempty"`
}

// WorkloadAffinityGroups are the groups a template belongs to, each as key=value.
type WorkloadAffinityGroups struct {
	// AffinityGroup is the group to be placed together with.
	// +optional
	AffinityGroup string `json:"affinityGroup,omitempty"`

	// AntiAffinityGroup is the group to be placed apart from.
	// +optional
	AntiAffinityGroup string `json:"antiAffinityGroup,omitempty"`
}

// ResourceBindingStatus is what came of a binding.
type ResourceBindingStatus struct {
	// SchedulerObservedGeneration is the generation that was last scheduled.
	// +optional
	SchedulerObservedGeneration int64 `json:"schedulerObservedGeneration,omitempty"`

	// SchedulerObservedAffinityName is the group of placement.clusterAffinities in use.
	// +optional
	SchedulerObservedAffinityName string `json:"schedulerObservingAffinityName,omitempty"`

	// LastScheduledTime is when scheduling last succeeded.
	// +optional
	LastScheduledTime *metav1.Time `json:"lastScheduledTime,omitempty"`

	// Conditions holds Scheduled and FullyApplied.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// AggregatedStatus is what each cluster reports, sorted by name.
	// +optional
	AggregatedStatus []AggregatedStatusItem `json:"aggregatedStatus,omitempty"`
}

// ResourceHealth says whether an object in a member does its job.
type ResourceHealth string

const (
	// ResourceHealthy means that the object does its job.
	ResourceHealthy ResourceHealth = "Healthy"
	// ResourceUnhealthy means that it does not.
	ResourceUnhealthy ResourceHealth = "Unhealthy"
	// ResourceUnknown means that it could not be told.
	ResourceUnknown ResourceHealth = "Unknown"
)

// AggregatedStatusItem is what one cluster reports.
type AggregatedStatusItem struct {
	// ClusterName is the cluster.
	ClusterName string `json:"clusterName"`

	// Status is the collected part of the member object's status.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Status *runtime.RawExtension `json:"status,omitempty"`

	// Applied says whether the object was applied.
	// +optional
	Applied bool `json:"applied,omitempty"`

	// AppliedMessage says why it was not.
	// +optional
	AppliedMessage string `json:"appliedMessage,omitempty"`

	// Health is Healthy, Unhealthy or Unknown.
	// +optional
	Health ResourceHealth `json:"health,omitempty"`
}
