package draft

import (
	"fmt"
	"io/fs"
	"path"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/workload/fact"
)

// Schemas judge drafts by the definitions of the policies' kinds, as the hub API
// does with what is saved: unknown fields, types, defaults. They are read once,
// when they are first needed.
type Schemas struct {
	files fs.FS
	once  sync.Once
	byRes map[string]*kindSchema // by the segment in paths
	err   error
}

type kindSchema struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

// NewSchemas reads the definitions of the policies' kinds from files, one each.
func NewSchemas(files fs.FS) *Schemas { return &Schemas{files: files} }

// of returns the schema of a kind of policies.
func (s *Schemas) of(resource string) (*kindSchema, error) {
	s.once.Do(s.read)
	if s.err != nil {
		return nil, s.err
	}
	return s.byRes[resource], nil
}

func (s *Schemas) read() {
	s.byRes = map[string]*kindSchema{}
	for resource := range fact.Kinds {
		name := policyv1alpha1.GroupVersion.Group + "_" + resource + ".yaml"
		if s.files == nil {
			s.err = fmt.Errorf("read definition %s: no definitions were given", name)
			return
		}
		data, err := fs.ReadFile(s.files, path.Clean(name))
		if err == nil {
			s.byRes[resource], err = parseSchema(data)
		}
		if err != nil {
			s.err = fmt.Errorf("read definition %s: %w", name, err)
			return
		}
	}
}

func parseSchema(data []byte) (*kindSchema, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &definition); err != nil {
		return nil, err
	}
	if len(definition.Spec.Versions) == 0 || definition.Spec.Versions[0].Schema == nil {
		return nil, fmt.Errorf("definition %s has no schema", definition.Name)
	}
	var given apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(definition.Spec.Versions[0].Schema.OpenAPIV3Schema, &given, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&given)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&given)
	if err != nil {
		return nil, err
	}
	return &kindSchema{structural, validator}, nil
}

// complete fills in the defaults of a draft, in place, and says what is wrong
// with it.
func (k *kindSchema) complete(draft map[string]any) []Problem {
	var problems []Problem
	unknown := pruning.PruneWithOptions(draft, k.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, at := range unknown {
		problems = append(problems, Problem{Field: at, Message: "there is no such field"})
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(draft, k.structural)
	defaulting.Default(draft, k.structural)
	return append(problems, problemsOf(validation.ValidateCustomResource(nil, draft, k.validator))...)
}

func problemsOf(errs field.ErrorList) []Problem {
	problems := make([]Problem, 0, len(errs))
	for _, err := range errs {
		problems = append(problems, Problem{Field: err.Field, Message: err.ErrorBody()})
	}
	return problems
}
