package v1alpha1

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceInterpreterWebhookConfiguration teaches the control plane kinds by webhooks.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=resourceinterpreterwebhookconfigurations,scope=Cluster,categories={karmada-io}
type ResourceInterpreterWebhookConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Webhooks are the webhooks and the kinds they interpret.
	Webhooks []ResourceInterpreterWebhook `json:"webhooks"`
}

// ResourceInterpreterWebhookConfigurationList is a list of configurations.
//
// +kubebuilder:object:root=true
type ResourceInterpreterWebhookConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the configurations.
	Items []ResourceInterpreterWebhookConfiguration `json:"items"`
}

// ResourceInterpreterWebhook is one webhook.
type ResourceInterpreterWebhook struct {
	// Name of the webhook, fully qualified.
	Name string `json:"name"`

	// ClientConfig says how to reach it.
	ClientConfig admissionregistrationv1.WebhookClientConfig `json:"clientConfig"`

	// Rules say which operations on which kinds it interprets.
	// +optional
	Rules []RuleWithOperations `json:"rules,omitempty"`

	// TimeoutSeconds bounds one call, in seconds. The default is 10.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// InterpreterContextVersions are the versions of the review object that it understands, the preferred one first.
	InterpreterContextVersions []string `json:"interpreterContextVersions"`
}

// InterpreterOperation is one question to an interpreter.
type InterpreterOperation string

// Questions to an interpreter.
const (
	// InterpreterOperationAll stands for every question.
	InterpreterOperationAll InterpreterOperation = "*"
	// InterpreterOperationInterpretReplica asks for replicas.
	InterpreterOperationInterpretReplica InterpreterOperation = "InterpretReplica"
	// InterpreterOperationInterpretComponent asks for parts.
	InterpreterOperationInterpretComponent InterpreterOperation = "InterpretComponent"
	// InterpreterOperationReviseReplica asks for changed replicas.
	InterpreterOperationReviseReplica InterpreterOperation = "ReviseReplica"
	// InterpreterOperationRetain asks for values to keep.
	InterpreterOperationRetain InterpreterOperation = "Retain"
	// InterpreterOperationAggregateStatus asks for added up status.
	InterpreterOperationAggregateStatus InterpreterOperation = "AggregateStatus"
	// InterpreterOperationInterpretDependency asks for referenced objects.
	InterpreterOperationInterpretDependency InterpreterOperation = "InterpretDependency"
	// InterpreterOperationInterpretStatus asks for status.
	InterpreterOperationInterpretStatus InterpreterOperation = "InterpretStatus"
	// InterpreterOperationInterpretHealth asks for health.
	InterpreterOperationInterpretHealth InterpreterOperation = "InterpretHealth"
)

// RuleWithOperations says which operations on which kinds are meant.
type RuleWithOperations struct {
	// Operations that are meant.
	Operations []InterpreterOperation `json:"operations"`

	Rule `json:",inline"`
}

// Rule names kinds.
type Rule struct {
	// APIGroups of the kinds; "*" for all.
	APIGroups []string `json:"apiGroups"`

	// APIVersions of the kinds; "*" for all.
	APIVersions []string `json:"apiVersions"`

	// Kinds by name; "*" for all.
	Kinds []string `json:"kinds"`
}
