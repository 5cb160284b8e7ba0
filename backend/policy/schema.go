package policy

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// kindSchema is what a custom resource definition says about one kind.
type kindSchema struct {
	structural *structuralschema.Structural
	validator  apiservervalidation.SchemaValidator
	// document is the JSON schema for editors.
	document map[string]any
}

// loadSchemas reads the definitions of the four kinds.
func loadSchemas(crds fs.FS) (map[string]*kindSchema, error) {
	schemas := map[string]*kindSchema{}
	for i := range Kinds {
		kind := &Kinds[i]
		data, err := fs.ReadFile(crds, policyv1alpha1.GroupName+"_"+kind.Resource+".yaml")
		if err != nil {
			return nil, fmt.Errorf("read definition of %s: %w", kind.Name, err)
		}
		if schemas[kind.Resource], err = newSchema(kind, data); err != nil {
			return nil, fmt.Errorf("read definition of %s: %w", kind.Name, err)
		}
	}
	return schemas, nil
}

func newSchema(kind *Kind, data []byte) (*kindSchema, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &definition); err != nil {
		return nil, err
	}
	versions := definition.Spec.Versions
	i := slices.IndexFunc(versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == policyv1alpha1.GroupVersion.Version
	})
	if i < 0 || versions[i].Schema == nil || versions[i].Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("there is no schema of %s", policyv1alpha1.GroupVersion.Version)
	}
	given := versions[i].Schema.OpenAPIV3Schema
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(given, &props, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		return nil, err
	}
	validator, _, err := apiservervalidation.NewSchemaValidator(&props)
	if err != nil {
		return nil, err
	}
	document, err := runtime.DefaultUnstructuredConverter.ToUnstructured(given)
	if err != nil {
		return nil, err
	}
	return &kindSchema{structural: structural, validator: validator, document: editorSchema(kind, document)}, nil
}

// check finds what does not fit the schema: fields it does not know, types,
// enumerations, what is missing. The object is not changed.
func (s *kindSchema) check(object map[string]any) field.ErrorList {
	copied := runtime.DeepCopyJSON(object)
	var errs field.ErrorList
	for _, path := range pruning.PruneWithOptions(copied, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		errs = append(errs, &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: "is not a field of this kind"})
	}
	defaulting.Default(copied, s.structural)
	return append(errs, apiservervalidation.ValidateCustomResource(nil, copied, s.validator)...)
}

// dropNulls takes out fields without a value, as the API server does: a key
// that somebody has begun to write is not there yet.
func (s *kindSchema) dropNulls(object map[string]any) {
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
}

// withDefaults is a copy of an object with the defaults of the schema.
func (s *kindSchema) withDefaults(object map[string]any) map[string]any {
	copied := runtime.DeepCopyJSON(object)
	defaulting.Default(copied, s.structural)
	return copied
}

// editorSchema makes the OpenAPI schema of a definition a JSON schema for
// editors: identity and metadata are spelled out, fields that are not known are
// refused, and what only API servers understand is left out.
func editorSchema(kind *Kind, openAPI map[string]any) map[string]any {
	document, ok := plain(openAPI).(map[string]any)
	if !ok {
		return openAPI
	}
	document["$schema"] = "http://json-schema.org/draft-07/schema#"
	document["title"] = kind.Name
	document["required"] = []any{"apiVersion", "kind", "metadata", "spec"}
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "description": description}
	}
	pairs := func(description string) map[string]any {
		return map[string]any{"type": "object", "description": description, "additionalProperties": map[string]any{"type": "string"}}
	}
	metadata := map[string]any{
		"name": text("The name of the policy."), "labels": pairs("Labels of the policy itself."), "annotations": pairs("Annotations of the policy itself."),
	}
	required := []any{"name"}
	if kind.Namespaced {
		metadata["namespace"] = text("The namespace whose objects the policy means.")
		required = append(required, "namespace")
	}
	if properties, ok := document["properties"].(map[string]any); ok {
		properties["apiVersion"] = map[string]any{"const": policyv1alpha1.GroupVersion.String()}
		properties["kind"] = map[string]any{"const": kind.Name}
		properties["metadata"] = map[string]any{"type": "object", "description": "What the policy is called.", "properties": metadata, "required": required}
	}
	return document
}

// plain rewrites one level of a schema and those below it.
func plain(value any) any {
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !strings.HasPrefix(key, "x-kubernetes-") {
				object[key] = plain(v[key])
			}
		}
		if v["x-kubernetes-int-or-string"] == true {
			delete(object, "anyOf")
			object["type"] = []any{"integer", "string"}
		}
		_, closed := v["properties"].(map[string]any)
		_, open := v["additionalProperties"]
		if closed && !open && v["type"] == "object" && v["x-kubernetes-preserve-unknown-fields"] != true {
			object["additionalProperties"] = false
		}
		return object
	}
	return value
}
