// Package v1alpha1 is the version of the API group work.karmada.io that holds Work, manifests on their way to one member cluster, and
// the first words for bindings, which are stored as v1alpha2. The Go types are our own; names and JSON shapes follow contract sections
// 1, 2.4 and 2.5 so that Karmada's clients work against them unchanged.
//
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.karmada.work.v1alpha1
// +kubebuilder:object:generate=true
// +groupName=work.karmada.io
package v1alpha1
