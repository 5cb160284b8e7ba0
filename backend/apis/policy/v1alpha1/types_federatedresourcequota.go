package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FederatedResourceQuota bounds what a namespace uses in all members together.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=federatedresourcequotas,scope=Namespaced,categories={karmada-io}
// +kubebuilder:printcolumn:JSONPath=`.status.overall`,name="OVERALL",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.overallUsed`,name="OVERALL_USED",type=string
type FederatedResourceQuota struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired quota.
	Spec FederatedResourceQuotaSpec `json:"spec"`

	// Status is what is used.
	// +optional
	Status FederatedResourceQuotaStatus `json:"status,omitempty"`
}

// FederatedResourceQuotaList is a list of federated resource quotas.
//
// +kubebuilder:object:root=true
type FederatedResourceQuotaList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the quotas.
	Items []FederatedResourceQuota `json:"items"`
}

// FederatedResourceQuotaSpec is the desired quota.
type FederatedResourceQuotaSpec struct {
	// Overall is the bound for all members together.
	Overall corev1.ResourceList `json:"overall"`

	// StaticAssignments become a ResourceQuota in each listed member.
	// +optional
	StaticAssignments []StaticClusterAssignment `json:"staticAssignments,omitempty"`
}

// StaticClusterAssignment is the bound in one member.
type StaticClusterAssignment struct {
	// ClusterName is the member.
	ClusterName string `json:"clusterName"`

	// Hard is the bound.
	Hard corev1.ResourceList `json:"hard"`
}

// FederatedResourceQuotaStatus is what is used of a quota.
type FederatedResourceQuotaStatus struct {
	// Overall is the bound that is in force.
	// +optional
	Overall corev1.ResourceList `json:"overall,omitempty"`

	// OverallUsed is what all members use together.
	// +optional
	OverallUsed corev1.ResourceList `json:"overallUsed,omitempty"`

	// AggregatedStatus is what each member uses.
	// +optional
	AggregatedStatus []ClusterQuotaStatus `json:"aggregatedStatus,omitempty"`
}

// ClusterQuotaStatus is what one member uses.
type ClusterQuotaStatus struct {
	corev1.ResourceQuotaStatus `json:",inline"`

	// ClusterName is the member.
	ClusterName string `json:"clusterName"`
}
