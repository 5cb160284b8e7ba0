package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadRebalancer asks the scheduler, once, to place workloads afresh.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=workloadrebalancers,scope=Cluster
type WorkloadRebalancer struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec lists the workloads.
	Spec WorkloadRebalancerSpec `json:"spec"`

	// Status is what came of it.
	// +optional
	Status WorkloadRebalancerStatus `json:"status,omitempty"`
}

// WorkloadRebalancerList is a list of rebalancers.
//
// +kubebuilder:object:root=true
type WorkloadRebalancerList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the rebalancers.
	Items []WorkloadRebalancer `json:"items"`
}

// WorkloadRebalancerSpec lists workloads.
type WorkloadRebalancerSpec struct {
	// Workloads to place afresh.
	// +kubebuilder:validation:MinItems=1
	Workloads []ObjectReference `json:"workloads"`

	// TTLSecondsAfterFinished is how long the finished rebalancer is kept, in seconds. Without it, it stays.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// ObjectReference names a template on the hub.
type ObjectReference struct {
	// APIVersion of the template.
	APIVersion string `json:"apiVersion"`

	// Kind of the template.
	Kind string `json:"kind"`

	// Name of the template.
	Name string `json:"name"`

	// Namespace of the template; empty for cluster-scoped kinds.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// WorkloadRebalancerStatus is what came of a rebalancer.
type WorkloadRebalancerStatus struct {
	// ObservedWorkloads hold one entry per workload.
	// +optional
	ObservedWorkloads []ObservedWorkload `json:"observedWorkloads,omitempty"`

	// ObservedGeneration is the generation that was last acted on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// FinishTime is when all workloads were dealt with.
	// +optional
	FinishTime *metav1.Time `json:"finishTime,omitempty"`
}

// ObservedWorkload is what came of one workload.
type ObservedWorkload struct {
	// Workload is the template.
	Workload ObjectReference `json:"workload"`

	// Result says whether the scheduler was asked.
	// +optional
	Result RebalanceResult `json:"result,omitempty"`

	// Reason says why it could not be asked.
	// +optional
	Reason RebalanceFailedReason `json:"reason,omitempty"`
}

// RebalanceResult says whether the scheduler was asked.
type RebalanceResult string

const (
	// RebalanceFailed means that the scheduler was not asked.
	RebalanceFailed RebalanceResult = "Failed"
	// RebalanceSuccessful means that it was.
	RebalanceSuccessful RebalanceResult = "Successful"
)

// RebalanceFailedReason says why the scheduler could not be asked.
type RebalanceFailedReason string

// RebalanceObjectNotFound means that the workload has no binding.
const RebalanceObjectNotFound RebalanceFailedReason = "ReferencedBindingNotFound"
