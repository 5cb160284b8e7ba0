// Package openapi describes the typed Karmada groups for the API server: field names, types and documentation, which kubectl explain,
// validation and server-side apply read. The definitions are generated from the Go types by deploy/dev/generate.sh.
package openapi

import (
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Definitions returns the generated definitions, keyed by model name. Kubernetes' own types are referred to and not included: they are
// part of the definitions of the API server that these are added to.
func Definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	definitions := GetOpenAPIDefinitions(func(name string) spec.Ref { return ref(modelName(name)) })
	for name, definition := range definitions {
		for i, dependency := range definition.Dependencies {
			definition.Dependencies[i] = modelName(dependency)
		}
		definitions[name] = definition
	}
	return definitions
}

// modelName turns the Go path of a Kubernetes type into its model name. The generator writes Go paths for types outside of its input,
// and taking those packages as input would copy hundreds of definitions that the server already has.
func modelName(name string) string {
	path, ok := strings.CutPrefix(name, "k8s.io/")
	if !ok {
		return name
	}
	return "io.k8s." + strings.ReplaceAll(path, "/", ".")
}
