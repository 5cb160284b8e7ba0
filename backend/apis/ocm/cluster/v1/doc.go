// Package v1 is the API group cluster.open-cluster-management.io/v1: which clusters the hub manages: what each says of itself,
// whether the hub accepts it, and what it is tainted with. The Go types are our own; names, JSON shapes and defaults follow section
// 1.1 to 1.4 of the OCM contract, so that Open Cluster Management's clients work against them unchanged.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.open-cluster-management.io
package v1
