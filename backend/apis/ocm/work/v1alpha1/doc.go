// Package v1alpha1 is the API group work.open-cluster-management.io/v1alpha1: one ManifestWork template for all clusters of a
// placement. The Go types are our own; names, JSON shapes and defaults follow section 1.5 of the OCM contract, so that Open Cluster
// Management's clients work against them unchanged.
//
// +kubebuilder:object:generate=true
// +groupName=work.open-cluster-management.io
package v1alpha1
