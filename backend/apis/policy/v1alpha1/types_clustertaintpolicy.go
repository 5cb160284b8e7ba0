package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterTaintPolicy adds taints to clusters and removes them as the clusters' conditions change.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clustertaintpolicies,scope=Cluster
type ClusterTaintPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired tainting.
	Spec ClusterTaintPolicySpec `json:"spec"`
}

// ClusterTaintPolicyList is a list of cluster taint policies.
//
// +kubebuilder:object:root=true
type ClusterTaintPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the policies.
	Items []ClusterTaintPolicy `json:"items"`
}

// ClusterTaintPolicySpec says which clusters get which taints, and when.
type ClusterTaintPolicySpec struct {
	// TargetClusters chooses the clusters. Without it all are meant.
	// +optional
	TargetClusters *ClusterAffinity `json:"targetClusters,omitempty"`

	// AddOnConditions must all hold for the taints to be added. Without any, the policy adds none.
	// +optional
	AddOnConditions []MatchCondition `json:"addOnConditions,omitempty"`

	// RemoveOnConditions must all hold for the taints to be removed. Without any, the policy removes none.
	// +optional
	RemoveOnConditions []MatchCondition `json:"removeOnConditions,omitempty"`

	// Taints are what is added and removed.
	// +kubebuilder:validation:MinItems=1
	Taints []Taint `json:"taints"`
}

// MatchConditionOperator relates a condition's status to a set.
type MatchConditionOperator string

const (
	// MatchConditionOpIn holds when the status is in the set.
	MatchConditionOpIn MatchConditionOperator = "In"
	// MatchConditionOpNotIn holds when the status is not in the set.
	MatchConditionOpNotIn MatchConditionOperator = "NotIn"
)

// MatchCondition looks at one condition of a cluster.
type MatchCondition struct {
	// ConditionType is the type of the condition.
	ConditionType string `json:"conditionType"`

	// Operator relates the condition's status to statusValues.
	// +kubebuilder:validation:Enum=In;NotIn
	Operator MatchConditionOperator `json:"operator"`

	// StatusValues is the set.
	// +kubebuilder:validation:items:Enum=True;False;Unknown
	StatusValues []metav1.ConditionStatus `json:"statusValues"`
}

// Taint is what a policy adds to clusters.
type Taint struct {
	// Key of the taint.
	Key string `json:"key"`

	// Effect of the taint.
	// +kubebuilder:validation:Enum=NoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect"`

	// Value of the taint.
	// +optional
	Value string `json:"value,omitempty"`
}
