// Package v1alpha1 is the API group config.karmada.io/v1alpha1: how the control plane reads kinds that it does not know.
// The Go types are our own; names and JSON shapes follow contract sections 1 and 2.6.
//
// +kubebuilder:object:generate=true
// +groupName=config.karmada.io
package v1alpha1
