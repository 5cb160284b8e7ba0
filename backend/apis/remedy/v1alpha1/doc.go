// Package v1alpha1 is the API group remedy.karmada.io/v1alpha1: what to do about clusters whose conditions are bad.
// The Go types are our own; names and JSON shapes follow contract sections 1 and 2.6.
//
// +kubebuilder:object:generate=true
// +groupName=remedy.karmada.io
package v1alpha1
