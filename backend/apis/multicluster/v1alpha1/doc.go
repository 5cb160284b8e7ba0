// Package v1alpha1 is the API group multicluster.x-k8s.io/v1alpha1: the export and import of services, as the multi-cluster services API of Kubernetes defines it.
// The Go types are our own; names and JSON shapes follow contract sections 1 and 2.6.
//
// +kubebuilder:object:generate=true
// +groupName=multicluster.x-k8s.io
package v1alpha1
