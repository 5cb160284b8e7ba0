// Package v1beta1 is the API group addon.open-cluster-management.io/v1beta1: add-ons of managed clusters, in the version that
// current agents use. It is served and not stored; package v1alpha1 says how the two go together. The Go types are our own; names,
// JSON shapes and defaults follow section 1.6 of the OCM contract, so that Open Cluster Management's clients work against them
// unchanged.
//
// +kubebuilder:object:generate=true
// +groupName=addon.open-cluster-management.io
package v1beta1
