// Package draft reads policies that are not saved yet and completes and judges
// them as saving would: by the definition of their kind and by the rules of
// package policy.
package draft

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/workload/fact"
)

// draftID stands for the permanent id that a draft gets when it is saved.
const draftID = "draft"

// Problem is one part of a draft that is wrong.
type Problem struct {
	// Field is a path such as spec.placement.clusterAffinity.
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Policy is a draft as it would be stored.
type Policy struct {
	Ref fact.PolicyRef
	// Object is of one of the four kinds.
	Object client.Object
}

// Override is the spec of an override policy; nil for others.
func (p Policy) Override() *policyv1alpha1.OverrideSpec { return OverrideOf(p.Object) }

// OverrideOf is the spec of an override policy; nil for others.
func OverrideOf(object client.Object) *policyv1alpha1.OverrideSpec {
	switch p := object.(type) {
	case *policyv1alpha1.OverridePolicy:
		return &p.Spec
	case *policyv1alpha1.ClusterOverridePolicy:
		return &p.Spec
	}
	return nil
}

// New is an empty policy of a kind.
func New(kind string) client.Object {
	switch kind {
	case policyv1alpha1.ResourceKindPropagationPolicy:
		return &policyv1alpha1.PropagationPolicy{}
	case policyv1alpha1.ResourceKindClusterPropagationPolicy:
		return &policyv1alpha1.ClusterPropagationPolicy{}
	case policyv1alpha1.ResourceKindOverridePolicy:
		return &policyv1alpha1.OverridePolicy{}
	}
	return &policyv1alpha1.ClusterOverridePolicy{}
}

// Parse reads a draft, completes and judges it. saved finds the policy that it
// would replace; nil: there is none. Without problems the draft is what saving
// would store.
func (s *Schemas) Parse(text string, saved func(fact.PolicyRef) client.Object) (Policy, []Problem, error) {
	content, problem := decode(text)
	if problem != nil {
		return Policy{}, []Problem{*problem}, nil
	}
	kind, _ := content["kind"].(string)
	resource, known := fact.Resources[kind]
	if !known {
		return Policy{}, []Problem{{"kind", "must be PropagationPolicy, ClusterPropagationPolicy, OverridePolicy or ClusterOverridePolicy"}}, nil
	}
	if content["apiVersion"] != policyv1alpha1.GroupVersion.String() {
		return Policy{}, []Problem{{"apiVersion", "must be " + policyv1alpha1.GroupVersion.String()}}, nil
	}
	schema, err := s.of(resource)
	if err != nil {
		return Policy{}, nil, err
	}
	if problems := schema.complete(content); len(problems) > 0 {
		return Policy{}, problems, nil
	}
	object := New(kind)
	if err := into(content, object); err != nil {
		return Policy{}, []Problem{{"", "the policy does not have the shape of its kind: " + err.Error()}}, nil
	}
	problems := settle(object, kind)
	draft := Policy{fact.PolicyOf(kind, object.GetNamespace(), object.GetName()), object}
	if len(problems) == 0 {
		problems = append(judge(object), judgeChange(object, saved(draft.Ref))...)
	}
	return draft, problems, nil
}

// decode reads the only document of a YAML text.
func decode(text string) (map[string]any, *Problem) {
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, &Problem{"", strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")}
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil || content == nil {
		return nil, &Problem{"", "the text must hold one policy"}
	}
	return content, nil
}

func into(content map[string]any, object client.Object) error {
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, object)
}

// settle gives a draft what saving it gives: a namespace, where there is one.
func settle(object client.Object, kind string) []Problem {
	var problems []Problem
	if object.GetName() == "" {
		problems = append(problems, Problem{"metadata.name", "a policy needs a name"})
	}
	switch namespaced := kind == policyv1alpha1.ResourceKindPropagationPolicy || kind == policyv1alpha1.ResourceKindOverridePolicy; {
	case namespaced && object.GetNamespace() == "":
		object.SetNamespace(metav1.NamespaceDefault)
	case !namespaced && object.GetNamespace() != "":
		problems = append(problems, Problem{"metadata.namespace", "a " + kind + " has no namespace"})
	}
	return problems
}

// judge completes a policy and says what is wrong with it.
func judge(object client.Object) []Problem {
	at := field.NewPath("spec")
	switch p := object.(type) {
	case *policyv1alpha1.PropagationPolicy:
		policy.CompletePropagation(&p.Spec, p.Namespace)
		return problemsOf(policy.ValidatePropagation(&p.Spec, p.Namespace, at))
	case *policyv1alpha1.ClusterPropagationPolicy:
		policy.CompletePropagation(&p.Spec, "")
		return problemsOf(policy.ValidatePropagation(&p.Spec, "", at))
	case *policyv1alpha1.OverridePolicy:
		policy.CompleteOverride(&p.Spec, p.Namespace)
		return problemsOf(policy.ValidateOverride(&p.Spec, at))
	case *policyv1alpha1.ClusterOverridePolicy:
		policy.CompleteOverride(&p.Spec, "")
		return problemsOf(policy.ValidateOverride(&p.Spec, at))
	}
	return nil
}

// judgeChange gives a draft the identity of the policy it replaces, or a new
// one, and says what of it may not be changed.
func judgeChange(draft, saved client.Object) []Problem {
	at := field.NewPath("spec")
	switch p := draft.(type) {
	case *policyv1alpha1.PropagationPolicy:
		old, _ := saved.(*policyv1alpha1.PropagationPolicy)
		identify(p, saved, policyv1alpha1.PropagationPolicyPermanentIDLabel)
		if old != nil {
			return problemsOf(policy.ValidatePropagationUpdate(&p.Spec, &old.Spec, at))
		}
	case *policyv1alpha1.ClusterPropagationPolicy:
		old, _ := saved.(*policyv1alpha1.ClusterPropagationPolicy)
		identify(p, saved, policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel)
		if old != nil {
			return problemsOf(policy.ValidatePropagationUpdate(&p.Spec, &old.Spec, at))
		}
	default:
		identify(draft, saved, "")
	}
	return nil
}

func identify(draft, saved client.Object, label string) {
	id, generation := draftID, int64(1)
	if saved != nil {
		id, generation = saved.GetLabels()[label], saved.GetGeneration()+1
	}
	draft.SetGeneration(generation)
	draft.SetDeletionTimestamp(nil)
	if label == "" {
		return
	}
	labels := draft.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[label] = id
	draft.SetLabels(labels)
}
