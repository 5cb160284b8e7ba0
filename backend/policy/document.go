package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/fault"
)

// lastApplied is what kubectl apply leaves: the whole object once more.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// codeInvalid is the code of a policy that makes no sense.
const codeInvalid = "invalid-policy"

// Manager is somebody who set fields of a policy.
type Manager struct {
	Manager   string    `json:"manager"`
	Operation string    `json:"operation" enums:"Apply,Update"`
	At        time.Time `json:"at"`
}

// Detail is one policy, whole.
type Detail struct {
	Row Row `json:"row"`
	// Manifest is the object without managed fields.
	Manifest map[string]any `json:"manifest" swaggertype:"object"`
	// YAML is what a person writes of it: without what the hub sets itself.
	YAML string `json:"yaml"`
	// Managers are who set fields of it, latest first.
	Managers []Manager `json:"managers"`
}

// detailOf shows an object as the API server gave it.
func detailOf(kind Kind, object *unstructured.Unstructured) (Detail, error) {
	typed := kind.empty()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return Detail{}, fmt.Errorf("read %s %s: %w", kind.Name, object.GetName(), err)
	}
	row, _ := rowOf(typed)
	detail := Detail{Row: row, Managers: []Manager{}}
	for _, entry := range object.GetManagedFields() {
		manager := Manager{Manager: entry.Manager, Operation: string(entry.Operation)}
		if entry.Time != nil {
			manager.At = entry.Time.UTC()
		}
		detail.Managers = append(detail.Managers, manager)
	}
	slices.SortStableFunc(detail.Managers, func(a, b Manager) int { return b.At.Compare(a.At) })
	text, err := yaml.Marshal(written(kind, object))
	if err != nil {
		return Detail{}, fmt.Errorf("write %s %s: %w", kind.Name, object.GetName(), err)
	}
	detail.YAML = string(text)
	shown := object.DeepCopy()
	shown.SetManagedFields(nil)
	detail.Manifest = shown.Object
	return detail, nil
}

// written is what a person writes of an object: identity, labels, annotations
// and spec.
func written(kind Kind, object *unstructured.Unstructured) map[string]any {
	metadata := map[string]any{"name": object.GetName()}
	if object.GetNamespace() != "" {
		metadata["namespace"] = object.GetNamespace()
	}
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	delete(labels, kind.idLabel)
	delete(annotations, lastApplied)
	for key, pairs := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
		if len(pairs) > 0 {
			values := map[string]any{}
			for name, value := range pairs {
				values[name] = value
			}
			metadata[key] = values
		}
	}
	content := map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": metadata}
	if spec, ok := object.Object["spec"]; ok {
		content["spec"] = spec
	}
	return content
}

// readDocument reads the YAML of a policy that ref names, completes it and
// judges it. What is wrong comes as one fault that names every field.
func readDocument(ref Ref, schema *kindSchema, text string) (*unstructured.Unstructured, error) {
	object, err := parseDocument(text)
	if err != nil {
		return nil, err
	}
	errs := identify(ref, object)
	schema.dropNulls(object.Object)
	errs = append(errs, schema.check(object.Object)...)
	if len(errs) == 0 {
		errs = judge(ref, schema, object)
	}
	if len(errs) > 0 {
		return nil, invalidPolicy(ref, errs)
	}
	return object, nil
}

func parseDocument(text string) (*unstructured.Unstructured, error) {
	refuse := func(message string) error {
		return fault.Invalid("this is not the YAML of one object: %s", message).WithCode(codeInvalid).WithField("", message)
	}
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, refuse(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
	}
	object := &unstructured.Unstructured{}
	if err := kjson.Unmarshal(data, &object.Object); err != nil || object.Object == nil {
		return nil, refuse("there is no object")
	}
	if metadata, ok := object.Object["metadata"]; ok {
		if _, ok := metadata.(map[string]any); !ok {
			return nil, fault.Senseless("metadata is no object").WithCode(codeInvalid).WithField("metadata", "must be an object")
		}
	}
	return object, nil
}

// identify checks that the document is of the policy that is meant, fills in
// what the path says, and takes out what the hub sets itself.
func identify(ref Ref, object *unstructured.Unstructured) field.ErrorList {
	delete(object.Object, "status")
	metadata, _ := object.Object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		object.Object["metadata"] = metadata
	}
	for _, key := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		delete(metadata, key)
	}
	var errs field.ErrorList
	expect := func(in map[string]any, key, want string, path *field.Path) {
		got, given := in[key]
		switch {
		case given && got != want:
			errs = append(errs, field.Invalid(path, got, fmt.Sprintf("must be %q here", want)))
		case !given && want != "":
			in[key] = want
		}
	}
	expect(object.Object, "apiVersion", policyv1alpha1.GroupVersion.String(), field.NewPath("apiVersion"))
	expect(object.Object, "kind", ref.Kind.Name, field.NewPath("kind"))
	expect(metadata, "name", ref.Name, field.NewPath("metadata", "name"))
	if ref.Namespace == "" {
		if given, ok := metadata["namespace"]; ok && given != "" {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "namespace"), given, "a "+ref.Kind.Name+" has no namespace"))
		}
		delete(metadata, "namespace")
	} else {
		expect(metadata, "namespace", ref.Namespace, field.NewPath("metadata", "namespace"))
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(metadata, &metav1.ObjectMeta{}, true); err != nil {
		return append(errs, field.Invalid(field.NewPath("metadata"), field.OmitValueType{}, strings.Join(strings.Fields(err.Error()), " ")))
	}
	dropOwn(ref.Kind, object)
	return errs
}

// dropOwn takes out the id, the finalizer and the trace of kubectl: they are not
// this writer's.
func dropOwn(kind Kind, object *unstructured.Unstructured) {
	if labels := object.GetLabels(); labels[kind.idLabel] != "" {
		delete(labels, kind.idLabel)
		object.SetLabels(labels)
	}
	if annotations := object.GetAnnotations(); annotations[lastApplied] != "" {
		delete(annotations, lastApplied)
		object.SetAnnotations(annotations)
	}
	var finalizers []string
	for _, finalizer := range object.GetFinalizers() {
		if finalizer != kind.finalizer {
			finalizers = append(finalizers, finalizer)
		}
	}
	object.SetFinalizers(finalizers)
}

// judge completes the spec as admission would, so that the answer to an edit
// does not depend on whether a field was left out or spelled out, and applies
// the rules of its kind to it.
func judge(ref Ref, schema *kindSchema, object *unstructured.Unstructured) field.ErrorList {
	path := field.NewPath("spec")
	if ref.Kind.idLabel != "" {
		return completeAndJudge(schema, object,
			func(spec *policyv1alpha1.PropagationSpec) { CompletePropagation(spec, ref.Namespace) },
			func(spec *policyv1alpha1.PropagationSpec) field.ErrorList {
				return ValidatePropagation(spec, ref.Namespace, path)
			})
	}
	return completeAndJudge(schema, object,
		func(spec *policyv1alpha1.OverrideSpec) { CompleteOverride(spec, ref.Namespace) },
		func(spec *policyv1alpha1.OverrideSpec) field.ErrorList { return ValidateOverride(spec, path) })
}

func completeAndJudge[S any](schema *kindSchema, object *unstructured.Unstructured, complete func(*S), validate func(*S) field.ErrorList) field.ErrorList {
	whole := func(err error) field.ErrorList {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), field.OmitValueType{}, err.Error())}
	}
	spec := new(S)
	content, _ := schema.withDefaults(object.Object)["spec"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, spec); err != nil {
		return whole(err)
	}
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return whole(err)
	}
	complete(spec)
	after, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return whole(err)
	}
	if given, ok := object.Object["spec"].(map[string]any); ok {
		carryOver(given, before, after)
	}
	return validate(spec)
}

// carryOver writes into given what is in after and was not so in before, and
// leaves the rest of it as it is.
func carryOver(given, before, after map[string]any) {
	for key, now := range after {
		then, had := before[key]
		switch value := now.(type) {
		case map[string]any:
			inner, ok := given[key].(map[string]any)
			if old, same := then.(map[string]any); ok && same {
				carryOver(inner, old, value)
				continue
			}
		case []any:
			list, ok := given[key].([]any)
			old, same := then.([]any)
			if ok && same && len(list) == len(value) && len(old) == len(value) {
				carryOverList(list, old, value)
				continue
			}
		}
		if !had || !equalJSON(then, now) {
			given[key] = now
		}
	}
}

func carryOverList(given, before, after []any) {
	for i := range after {
		inner, ok := given[i].(map[string]any)
		old, same := before[i].(map[string]any)
		if value, isMap := after[i].(map[string]any); ok && same && isMap {
			carryOver(inner, old, value)
		}
	}
}

// invalidPolicy is the fault of a policy that makes no sense.
func invalidPolicy(ref Ref, errs field.ErrorList) error {
	problem := fault.Senseless("%s cannot be accepted: %s", ref, errs[0].Error()).WithCode(codeInvalid)
	if len(errs) > 1 {
		problem.Message += fmt.Sprintf(", and %d more", len(errs)-1)
	}
	for _, err := range errs {
		message := err.ErrorBody()
		if err.Detail != "" {
			message = err.Detail
		}
		if err.Type == field.ErrorTypeRequired && err.Detail == "" {
			message = "is required"
		}
		problem.WithField(err.Field, message)
	}
	return problem
}
