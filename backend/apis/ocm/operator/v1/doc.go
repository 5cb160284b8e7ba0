// Package v1 is the API group operator.open-cluster-management.io/v1: what the Registration Operator installs: the hub side
// (ClusterManager) and the agents of a managed cluster (Klusterlet). The Go types are our own; names, JSON shapes and defaults
// follow section 1.7 and 1.8 of the OCM contract, so that Open Cluster Management's clients work against them unchanged.
//
// +kubebuilder:object:generate=true
// +groupName=operator.open-cluster-management.io
package v1
