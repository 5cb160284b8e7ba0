package admission

import (
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
)

// Policies are custom resources: admission sees them as unstructured content, after the defaults of the schema and before its rules.

// propagation returns the rules of one kind of propagation policy.
func (a *Admission) propagation(idLabel, finalizer string) rules {
	return rules{
		admit: func(attributes admission.Attributes) error {
			object, ok := attributes.GetObject().(*unstructured.Unstructured)
			if !ok {
				return nil
			}
			if attributes.GetOperation() == admission.Create {
				// A given id is replaced: a copied policy must not claim what the original has claimed.
				setLabel(object, idLabel, a.newID())
				if !slices.Contains(object.GetFinalizers(), finalizer) {
					object.SetFinalizers(append(object.GetFinalizers(), finalizer))
				}
			}
			return complete(object, func(spec *policyv1alpha1.PropagationSpec) { policy.CompletePropagation(spec, object.GetNamespace()) })
		},
		validate: func(attributes admission.Attributes) error { return validatePropagation(attributes, idLabel) },
	}
}

func admitOverride(attributes admission.Attributes) error {
	object, ok := attributes.GetObject().(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	return complete(object, func(spec *policyv1alpha1.OverrideSpec) { policy.CompleteOverride(spec, object.GetNamespace()) })
}

func validatePropagation(attributes admission.Attributes, idLabel string) error {
	object, spec, err := read[policyv1alpha1.PropagationSpec](attributes.GetObject())
	if object == nil || err != nil {
		return err
	}
	path := field.NewPath("spec")
	errs := policy.ValidatePropagation(spec, object.GetNamespace(), path)
	id, at := object.GetLabels()[idLabel], field.NewPath("metadata", "labels").Key(idLabel)
	if id == "" {
		errs = append(errs, field.Required(at, "the permanent id may not be removed"))
	}
	if attributes.GetOperation() == admission.Update {
		old, oldSpec, err := read[policyv1alpha1.PropagationSpec](attributes.GetOldObject())
		if old == nil || err != nil {
			return err
		}
		if oldID := old.GetLabels()[idLabel]; id != "" && oldID != "" && id != oldID {
			errs = append(errs, field.Invalid(at, id, "the permanent id may not be changed"))
		}
		errs = append(errs, policy.ValidatePropagationUpdate(spec, oldSpec, path)...)
	}
	return invalid(attributes, errs)
}

// validating judges the spec of a custom resource by a rule.
func validating[S any](rule func(spec *S, path *field.Path) field.ErrorList) func(admission.Attributes) error {
	return func(attributes admission.Attributes) error {
		object, spec, err := read[S](attributes.GetObject())
		if object == nil || err != nil {
			return err
		}
		return invalid(attributes, rule(spec, field.NewPath("spec")))
	}
}

// complete applies a rule to the spec of a custom resource and writes the spec back if that changed it.
func complete[S any](object *unstructured.Unstructured, rule func(*S)) error {
	_, spec, err := read[S](object)
	if err != nil {
		return nil // the schema refuses it, and says why
	}
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	rule(spec)
	after, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if !reflect.DeepEqual(before, after) {
		object.Object["spec"] = after
	}
	return nil
}

// read returns a custom resource with its spec as a Go value; the object is nil when obj is none.
func read[S any](obj runtime.Object) (*unstructured.Unstructured, *S, error) {
	object, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, nil, nil
	}
	spec := new(S)
	content, ok := object.Object["spec"].(map[string]any)
	if !ok {
		return object, spec, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, spec); err != nil {
		return object, nil, apierrors.NewBadRequest("the spec does not have the shape of its kind: " + err.Error())
	}
	return object, spec, nil
}

func invalid(attributes admission.Attributes, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(attributes.GetKind().GroupKind(), attributes.GetName(), errs)
}
