package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CronFederatedHPA scales a workload, or the bounds of its FederatedHPA, by schedule.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cronfederatedhpas,scope=Namespaced,shortName=cronfhpa,categories={karmada-io}
// +kubebuilder:printcolumn:JSONPath=`.spec.scaleTargetRef.kind`,name="REFERENCE-KIND",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.scaleTargetRef.name`,name="REFERENCE-NAME",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
type CronFederatedHPA struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired scaling.
	Spec CronFederatedHPASpec `json:"spec"`

	// Status is what was done.
	// +optional
	Status CronFederatedHPAStatus `json:"status,omitempty"`
}

// CronFederatedHPAList is a list of scheduled autoscalers.
//
// +kubebuilder:object:root=true
type CronFederatedHPAList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the autoscalers.
	Items []CronFederatedHPA `json:"items"`
}

// CronFederatedHPASpec is the desired scaling.
type CronFederatedHPASpec struct {
	// ScaleTargetRef is the workload or the FederatedHPA.
	ScaleTargetRef autoscalingv2.CrossVersionObjectReference `json:"scaleTargetRef"`

	// Rules are the schedules.
	// +optional
	Rules []CronFederatedHPARule `json:"rules,omitempty"`
}

// CronFederatedHPARule is one schedule.
type CronFederatedHPARule struct {
	// Name of the rule, unique among the rules.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`

	// Schedule in cron notation.
	Schedule string `json:"schedule"`

	// TargetReplicas is the number of replicas of a workload.
	// +optional
	TargetReplicas *int32 `json:"targetReplicas,omitempty"`

	// TargetMinReplicas is the lower bound of a FederatedHPA.
	// +optional
	TargetMinReplicas *int32 `json:"targetMinReplicas,omitempty"`

	// TargetMaxReplicas is the upper bound of a FederatedHPA.
	// +optional
	TargetMaxReplicas *int32 `json:"targetMaxReplicas,omitempty"`

	// Suspend stops the rule; what runs is not changed.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// TimeZone of the schedule, as in the IANA database; that of the controller by default.
	// +optional
	TimeZone *string `json:"timeZone,omitempty"`

	// SuccessfulHistoryLimit is how many successes are kept.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=32
	// +optional
	SuccessfulHistoryLimit *int32 `json:"successfulHistoryLimit,omitempty"`

	// FailedHistoryLimit is how many failures are kept.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=32
	// +optional
	FailedHistoryLimit *int32 `json:"failedHistoryLimit,omitempty"`
}

// CronFederatedHPAStatus is what was done.
type CronFederatedHPAStatus struct {
	// ExecutionHistories hold one entry per rule.
	// +optional
	ExecutionHistories []ExecutionHistory `json:"executionHistories,omitempty"`
}

// ExecutionHistory is what was done for one rule.
type ExecutionHistory struct {
	// RuleName is the rule.
	RuleName string `json:"ruleName"`

	// NextExecutionTime is when the rule acts next; none when it is suspended.
	// +optional
	NextExecutionTime *metav1.Time `json:"nextExecutionTime,omitempty"`

	// SuccessfulExecutions are the last successes.
	// +optional
	SuccessfulExecutions []SuccessfulExecution `json:"successfulExecutions,omitempty"`

	// FailedExecutions are the last failures.
	// +optional
	FailedExecutions []FailedExecution `json:"failedExecutions,omitempty"`
}

// SuccessfulExecution is one success.
type SuccessfulExecution struct {
	// ScheduleTime is when the rule was due.
	ScheduleTime *metav1.Time `json:"scheduleTime"`

	// ExecutionTime is when it acted.
	ExecutionTime *metav1.Time `json:"executionTime"`

	// AppliedReplicas is the number of replicas it set.
	// +optional
	AppliedReplicas *int32 `json:"appliedReplicas,omitempty"`

	// AppliedMaxReplicas is the upper bound it set.
	// +optional
	AppliedMaxReplicas *int32 `json:"appliedMaxReplicas,omitempty"`

	// AppliedMinReplicas is the lower bound it set.
	// +optional
	AppliedMinReplicas *int32 `json:"appliedMinReplicas,omitempty"`
}

// FailedExecution is one failure.
type FailedExecution struct {
	// ScheduleTime is when the rule was due.
	ScheduleTime *metav1.Time `json:"scheduleTime"`

	// ExecutionTime is when it acted.
	ExecutionTime *metav1.Time `json:"executionTime"`

	// Message says what went wrong.
	Message string `json:"message"`
}
