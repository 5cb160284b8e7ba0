package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kinds of the propagation policies on the wire.
const (
	// ResourceKindPropagationPolicy is the namespaced kind.
	ResourceKindPropagationPolicy = "PropagationPolicy"
	// ResourceKindClusterPropagationPolicy is the cluster-scoped kind.
	ResourceKindClusterPropagationPolicy = "ClusterPropagationPolicy"
)

// PropagationPolicy says which objects of its namespace are propagated, and where to.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=propagationpolicies,scope=Namespaced,shortName=pp,categories={karmada-io}
// +kubebuilder:printcolumn:JSONPath=`.spec.conflictResolution`,name="CONFLICT-RESOLUTION",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.priority`,name="PRIORITY",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
type PropagationPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired propagation.
	Spec PropagationSpec `json:"spec"`
}

// PropagationPolicyList is a list of propagation policies.
//
// +kubebuilder:object:root=true
type PropagationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the policies.
	Items []PropagationPolicy `json:"items"`
}

// ClusterPropagationPolicy says which objects, cluster-scoped or in any namespace that is not reserved, are propagated, and where to.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusterpropagationpolicies,scope=Cluster,shortName=cpp,categories={karmada-io}
// +kubebuilder:printcolumn:JSONPath=`.spec.conflictResolution`,name="CONFLICT-RESOLUTION",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.priority`,name="PRIORITY",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
type ClusterPropagationPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired propagation.
	Spec PropagationSpec `json:"spec"`
}

// ClusterPropagationPolicyList is a list of cluster propagation policies.
//
// +kubebuilder:object:root=true
type ClusterPropagationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the policies.
	Items []ClusterPropagationPolicy `json:"items"`
}

// PropagationSpec is the desired propagation of a set of objects.
type PropagationSpec struct {
	// ResourceSelectors choose the objects that are propagated.
	// +kubebuilder:validation:MinItems=1
	ResourceSelectors []ResourceSelector `json:"resourceSelectors"`

	// Association is deprecated and has no effect; use propagateDeps.
	// +optional
	Association bool `json:"association,omitempty"`

	// PropagateDeps also propagates what the objects refer to, for example ConfigMaps, to the same clusters.
	// +optional
	PropagateDeps bool `json:"propagateDeps,omitempty"`

	// Placement says which clusters the objects go to. Without it they go to all clusters, unchanged in scale.
	// +optional
	Placement Placement `json:"placement,omitempty,omitzero"`

	// Priority decides between policies that select the same object; the higher number wins.
	// +kubebuilder:default=0
	// +optional
	Priority *int32 `json:"priority,omitempty"`

	// Preemption says whether this policy takes over objects that a policy of lower priority has claimed.
	// +kubebuilder:default="Never"
	// +kubebuilder:validation:Enum=Always;Never
	// +optional
	Preemption PreemptionBehavior `json:"preemption,omitempty"`

	// DependentOverrides names override policies that must exist before anything is propagated: OverridePolicies of the same
	// namespace for a PropagationPolicy, ClusterOverridePolicies for a ClusterPropagationPolicy.
	// +optional
	DependentOverrides []string `json:"dependentOverrides,omitempty"`

	// SchedulerName is the scheduler that places the objects. It cannot be changed.
	// +kubebuilder:default="default-scheduler"
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`

	// Failover says how objects leave a cluster in trouble. Without it they stay.
	// +optional
	Failover *FailoverBehavior `json:"failover,omitempty"`

	// ConflictResolution says what happens when a member already has an object of the same name: Abort leaves it alone, Overwrite
	// takes it over.
	// +kubebuilder:default="Abort"
	// +kubebuilder:validation:Enum=Abort;Overwrite
	// +optional
	ConflictResolution ConflictResolution `json:"conflictResolution,omitempty"`

	// ActivationPreference says when a change of this policy reaches objects that it already claims: at once if empty; with Lazy
	// when the object itself changes next.
	// +kubebuilder:validation:Enum=Lazy
	// +optional
	ActivationPreference ActivationPreference `json:"activationPreference,omitempty"`

	// Suspension holds back what this policy would do.
	// +optional
	Suspension *Suspension `json:"suspension,omitempty"`

	// PreserveResourcesOnDeletion leaves the members' objects in place when the object on the hub is deleted.
	// +optional
	PreserveResourcesOnDeletion *bool `json:"preserveResourcesOnDeletion,omitempty"`

	// SchedulePriority orders the objects in the scheduler's queue.
	// +optional
	SchedulePriority *SchedulePriority `json:"schedulePriority,omitempty"`
}

// ResourceSelector chooses objects of one kind.
type ResourceSelector struct {
	// APIVersion of the objects, exactly as they carry it.
	APIVersion string `json:"apiVersion"`

	// Kind of the objects, exactly as they carry it.
	Kind string `json:"kind"`

	// Namespace of the objects. In a namespaced policy it is the policy's own; in a cluster policy empty means any.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object. When set, labelSelector has no effect.
	// +optional
	Name string `json:"name,omitempty"`

	// LabelSelector chooses objects by their labels.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// PreemptionBehavior says whether a policy takes over claimed objects.
type PreemptionBehavior string

const (
	// PreemptAlways takes objects over from policies of lower priority.
	PreemptAlways PreemptionBehavior = "Always"
	// PreemptNever leaves claimed objects to their policy.
	PreemptNever PreemptionBehavior = "Never"
)

// ConflictResolution says what happens to an object that a member already has.
type ConflictResolution string

const (
	// ConflictOverwrite takes the member's object over.
	ConflictOverwrite ConflictResolution = "Overwrite"
	// ConflictAbort leaves the member's object alone and reports the conflict.
	ConflictAbort ConflictResolution = "Abort"
)

// ActivationPreference says when a changed policy takes effect on claimed objects.
type ActivationPreference string

// LazyActivation waits for the next change of the object itself.
const LazyActivation ActivationPreference = "Lazy"

// Suspension holds back the dispatching of changes.
type Suspension struct {
	// Dispatching, when true, holds changes back from all clusters. It excludes dispatchingOnClusters.
	// +optional
	Dispatching *bool `json:"dispatching,omitempty"`

	// DispatchingOnClusters holds changes back from the listed clusters.
	// +optional
	DispatchingOnClusters *SuspendClusters `json:"dispatchingOnClusters,omitempty"`
}

// SuspendClusters lists clusters.
type SuspendClusters struct {
	// ClusterNames are the names of the clusters.
	// +optional
	ClusterNames []string `json:"clusterNames,omitempty"`
}

// SchedulePriority names where the scheduling priority comes from.
type SchedulePriority struct {
	// PriorityClassSource is the kind of priority class.
	// +kubebuilder:validation:Enum=KubePriorityClass
	PriorityClassSource PriorityClassSource `json:"priorityClassSource"`

	// PriorityClassName is the name of the priority class.
	PriorityClassName string `json:"priorityClassName"`
}

// PriorityClassSource is a kind of priority class.
type PriorityClassSource string

// KubePriorityClass is a scheduling.k8s.io PriorityClass on the hub.
const KubePriorityClass PriorityClassSource = "KubePriorityClass"
