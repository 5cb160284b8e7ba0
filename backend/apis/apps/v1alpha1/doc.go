// Package v1alpha1 is the API group apps.karmada.io/v1alpha1: asking the scheduler to place workloads afresh.
// The Go types are our own; names and JSON shapes follow contract sections 1 and 2.6.
//
// +kubebuilder:object:generate=true
// +groupName=apps.karmada.io
package v1alpha1
