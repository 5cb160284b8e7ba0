// Package v1 is the API group work.open-cluster-management.io/v1: manifests on their way to one managed cluster, and in that cluster
// the record of what was applied. The Go types are our own; names, JSON shapes and defaults follow section 1.5 of the OCM contract,
// so that Open Cluster Management's clients work against them unchanged.
//
// +kubebuilder:object:generate=true
// +groupName=work.open-cluster-management.io
package v1
