// Package v1alpha1 is the API group policy.karmada.io/v1alpha1: which objects go to which clusters, with which changes, and what
// clusters are tainted with. The Go types are our own; names, JSON shapes and defaults follow contract sections 1 and 2.2 to 2.6.
//
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.karmada.policy.v1alpha1
// +kubebuilder:object:generate=true
// +groupName=policy.karmada.io
package v1alpha1
