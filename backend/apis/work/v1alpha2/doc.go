// Package v1alpha2 is the version of the API group work.karmada.io that holds the bindings: where a template is scheduled to and what
// came of it. The Go types are our own; names and JSON shapes follow contract sections 1 and 2.4.
//
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.karmada.work.v1alpha2
// +kubebuilder:object:generate=true
// +groupName=work.karmada.io
package v1alpha2
