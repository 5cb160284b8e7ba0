// Package v1alpha1 is the API group autoscaling.karmada.io/v1alpha1: scaling by load and by schedule over all members.
// The Go types are our own; names and JSON shapes follow contract sections 1 and 2.6.
//
// +kubebuilder:object:generate=true
// +groupName=autoscaling.karmada.io
package v1alpha1
