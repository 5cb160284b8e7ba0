// Package v1alpha1 is the API group addon.open-cluster-management.io/v1alpha1: add-ons of managed clusters, in the version that is
// stored. The Go types are our own; names, JSON shapes and defaults follow section 1.6 of the OCM contract, so that Open Cluster
// Management's clients work against them unchanged.
//
// Both versions of this group are served from one stored form without conversion: only the version in apiVersion is exchanged. The
// two differ in few places, and there both schemas keep fields they do not know, so that what a client of one version wrote outlives
// a write by a client of the other. A conversion webhook would need an address that the API server can reach before anything of the
// group can be read, on the hub itself and in every hosted hub; the recordings show what that costs when it is wrong (NOTES, section
// 1).
//
// +kubebuilder:object:generate=true
// +groupName=addon.open-cluster-management.io
package v1alpha1
