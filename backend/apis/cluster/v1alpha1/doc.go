// Package v1alpha1 is the API group cluster.karmada.io/v1alpha1: the record of a member cluster. The Go types are our own; names, JSON
// shapes and defaults follow contract sections 1 and 2.1 so that Karmada's clients work against them unchanged.
//
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.karmada.cluster.v1alpha1
// +kubebuilder:object:generate=true
// +groupName=cluster.karmada.io
package v1alpha1
