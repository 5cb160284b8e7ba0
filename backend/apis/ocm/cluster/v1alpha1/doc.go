// Package v1alpha1 is the API group cluster.open-cluster-management.io/v1alpha1: what clusters claim about themselves, the scores
// that add-ons give them, and how a change rolls out over placed clusters. The Go types are our own; names, JSON shapes and defaults
// follow section 1.1 to 1.4 of the OCM contract, so that Open Cluster Management's clients work against them unchanged.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.open-cluster-management.io
package v1alpha1
