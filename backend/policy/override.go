package policy

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// CompleteOverride fills in what an override policy leaves open, in place. The namespace is the policy's, and empty for a
// ClusterOverridePolicy.
func CompleteOverride(spec *policyv1alpha1.OverrideSpec, namespace string) {
	completeSelectors(spec.ResourceSelectors, namespace)
}

// ValidateOverride judges an override policy (contract section 2.3).
func ValidateOverride(spec *policyv1alpha1.OverrideSpec, path *field.Path) field.ErrorList {
	errs := validateSelectors(spec.ResourceSelectors, path.Child("resourceSelectors"))
	if len(spec.OverrideRules) > 0 {
		if spec.TargetCluster != nil {
			errs = append(errs, field.Invalid(path.Child("targetCluster"), "", "cannot be given together with overrideRules"))
		}
		if overrides(&spec.Overriders) {
			errs = append(errs, field.Invalid(path.Child("overriders"), "", "cannot be given together with overrideRules"))
		}
	}
	errs = append(errs, ValidateAffinity(spec.TargetCluster, path.Child("targetCluster"))...)
	errs = append(errs, validateOverriders(&spec.Overriders, path.Child("overriders"))...)
	for i := range spec.OverrideRules {
		rule, at := &spec.OverrideRules[i], path.Child("overrideRules").Index(i)
		errs = append(errs, ValidateAffinity(rule.TargetCluster, at.Child("targetCluster"))...)
		errs = append(errs, validateOverriders(&rule.Overriders, at.Child("overriders"))...)
	}
	return errs
}

// overrides says whether the deprecated overriders are in use. It leaves field overriders out, as the contract does.
func overrides(o *policyv1alpha1.Overriders) bool {
	return len(o.Plaintext)+len(o.ImageOverrider)+len(o.CommandOverrider)+len(o.ArgsOverrider)+len(o.LabelsOverrider)+len(o.AnnotationsOverrider) > 0
}

func validateOverriders(overriders *policyv1alpha1.Overriders, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, image := range overriders.ImageOverrider {
		if image.Predicate != nil {
			errs = append(errs, pointer(image.Predicate.Path, path.Child("imageOverrider").Index(i).Child("predicate", "path"))...)
		}
	}
	for i, labels := range overriders.LabelsOverrider {
		errs = append(errs, metav1validation.ValidateLabels(labels.Value, path.Child("labelsOverrider").Index(i).Child("value"))...)
	}
	for i, annotations := range overriders.AnnotationsOverrider {
		errs = append(errs, apivalidation.ValidateAnnotations(annotations.Value, path.Child("annotationsOverrider").Index(i).Child("value"))...)
	}
	for i := range overriders.FieldOverrider {
		errs = append(errs, validateFieldOverrider(&overriders.FieldOverrider[i], path.Child("fieldOverrider").Index(i))...)
	}
	return errs
}

func validateFieldOverrider(overrider *policyv1alpha1.FieldOverrider, path *field.Path) field.ErrorList {
	errs := pointer(overrider.FieldPath, path.Child("fieldPath"))
	if (len(overrider.JSON) > 0) == (len(overrider.YAML) > 0) {
		errs = append(errs, field.Invalid(path, "", "exactly one of json and yaml must be given"))
	}
	errs = append(errs, validateOperations(overrider.JSON, path.Child("json"))...)
	return append(errs, validateOperations(overrider.YAML, path.Child("yaml"))...)
}

func validateOperations(operations []policyv1alpha1.FieldPatchOperation, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, operation := range operations {
		errs = append(errs, pointer(operation.SubPath, path.Index(i).Child("subPath"))...)
		errs = append(errs, patchValue(operation.Operator, operation.Value, path.Index(i).Child("value"))...)
	}
	return errs
}

// patchValue asks for a value where the operator needs one, and for none where it would be ignored.
func patchValue(operator policyv1alpha1.OverriderOperator, value *apiextensionsv1.JSON, path *field.Path) field.ErrorList {
	given := value != nil && len(value.Raw) > 0
	switch {
	case operator == policyv1alpha1.OverriderOpRemove && given:
		return field.ErrorList{field.Forbidden(path, "the operator remove takes no value")}
	case operator != policyv1alpha1.OverriderOpRemove && !given:
		return field.ErrorList{field.Required(path, "the operator "+string(operator)+" needs a value")}
	}
	return nil
}

// pointer judges a JSON pointer (RFC 6901): empty, or parts that begin with a slash, in which a tilde is followed by 0 or 1.
func pointer(value string, path *field.Path) field.ErrorList {
	if value != "" && !strings.HasPrefix(value, "/") {
		return field.ErrorList{field.Invalid(path, value, "must be a JSON pointer (RFC 6901), which begins with a slash")}
	}
	escapes := strings.NewReplacer("~0", "", "~1", "").Replace(value)
	if strings.Contains(escapes, "~") {
		return field.ErrorList{field.Invalid(path, value, "must be a JSON pointer (RFC 6901), where ~ is written ~0 and / inside a name ~1")}
	}
	return nil
}
