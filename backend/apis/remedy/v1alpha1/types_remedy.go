package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Remedy says what to do about clusters whose conditions are bad.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=remedies,scope=Cluster,categories={karmada-io}
type Remedy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec holds the clusters, the conditions and the actions.
	Spec RemedySpec `json:"spec"`
}

// RemedyList is a list of remedies.
//
// +kubebuilder:object:root=true
type RemedyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the remedies.
	Items []Remedy `json:"items"`
}

// RemedySpec says which actions which clusters need, and when.
type RemedySpec struct {
	// ClusterAffinity chooses the clusters. Without it all are meant.
	// +optional
	ClusterAffinity *ClusterAffinity `json:"clusterAffinity,omitempty"`

	// DecisionMatches say when the actions are needed; one match is enough. Without any, they are always needed.
	// +optional
	DecisionMatches []DecisionMatch `json:"decisionMatches,omitempty"`

	// Actions are what is needed.
	// +optional
	Actions []RemedyAction `json:"actions,omitempty"`
}

// ClusterAffinity chooses clusters.
type ClusterAffinity struct {
	// ClusterNames are the names of the clusters.
	// +optional
	ClusterNames []string `json:"clusterNames,omitempty"`
}

// DecisionMatch is one reason to act.
type DecisionMatch struct {
	// ClusterConditionMatch looks at a condition of the cluster.
	// +optional
	ClusterConditionMatch *ClusterConditionRequirement `json:"clusterConditionMatch,omitempty"`
}

// ClusterConditionOperator relates a condition's status to a value.
type ClusterConditionOperator string

const (
	// ClusterConditionEqual holds when the status is the value.
	ClusterConditionEqual ClusterConditionOperator = "Equal"
	// ClusterConditionNotEqual holds when the status is not the value.
	ClusterConditionNotEqual ClusterConditionOperator = "NotEqual"
)

// ClusterConditionRequirement looks at one condition of a cluster.
type ClusterConditionRequirement struct {
	// ConditionType is the type of the condition.
	ConditionType string `json:"conditionType"`

	// Operator relates the condition's status to conditionStatus.
	// +kubebuilder:validation:Enum=Equal;NotEqual
	Operator ClusterConditionOperator `json:"operator"`

	// ConditionStatus is the value.
	ConditionStatus string `json:"conditionStatus"`
}

// RemedyAction is something to do about a cluster.
type RemedyAction string

// TrafficControl keeps traffic away from the cluster.
const TrafficControl RemedyAction = "TrafficControl"
