// Package v1alpha1 is the API group networking.karmada.io/v1alpha1: services and ingresses that span members.
// The Go types are our own; names and JSON shapes follow contract sections 1 and 2.6.
//
// +kubebuilder:object:generate=true
// +groupName=networking.karmada.io
package v1alpha1
