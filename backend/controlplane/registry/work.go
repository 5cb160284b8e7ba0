package registry

import (
	"encoding/json"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// workKind treats Works as a custom resource with a status subresource would be treated.
func workKind() kind[workv1alpha1.Work, workv1alpha1.WorkSpec, workv1alpha1.WorkStatus] {
	return kind[workv1alpha1.Work, workv1alpha1.WorkSpec, workv1alpha1.WorkStatus]{
		groupVersion: workv1alpha1.GroupVersion,
		namespaced:   true,
		parts: func(w *workv1alpha1.Work) (*metav1.ObjectMeta, *workv1alpha1.WorkSpec, *workv1alpha1.WorkStatus) {
			return &w.ObjectMeta, &w.Spec, &w.Status
		},
		validateName:   subdomainName,
		validateSpec:   validateWorkSpec,
		validateStatus: validateWorkStatus,
	}
}

func subdomainName(name string) []string { return apivalidation.NameIsDNSSubdomain(name, false) }

// manifestHead is what every manifest must have.
type manifestHead struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
	} `json:"metadata"`
}

func headOf(manifest *workv1alpha1.Manifest) (manifestHead, error) {
	var head manifestHead
	raw, err := manifestBytes(manifest)
	if err != nil {
		return head, err
	}
	return head, json.Unmarshal(raw, &head)
}

func validateWorkSpec(spec *workv1alpha1.WorkSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	manifests := path.Child("workload", "manifests")
	for i := range spec.Workload.Manifests {
		at := manifests.Index(i)
		head, err := headOf(&spec.Workload.Manifests[i])
		if err != nil {
			// The manifest may be a Secret: nothing of it is shown.
			errs = append(errs, field.Invalid(at, "", "must be an object of any kind, as JSON"))
			continue
		}
		errs = append(errs, required(head.APIVersion, at.Child("apiVersion"))...)
		errs = append(errs, required(head.Kind, at.Child("kind"))...)
		errs = append(errs, required(head.Metadata.Name+head.Metadata.GenerateName, at.Child("metadata", "name"))...)
	}
	return errs
}

func validateWorkStatus(status *workv1alpha1.WorkStatus, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))
	for i, manifest := range status.ManifestStatuses {
		at := path.Child("manifestStatuses").Index(i)
		errs = append(errs, required(manifest.Identifier.Version, at.Child("identifier", "version"))...)
		errs = append(errs, required(manifest.Identifier.Kind, at.Child("identifier", "kind"))...)
		errs = append(errs, required(manifest.Identifier.Name, at.Child("identifier", "name"))...)
		errs = append(errs, oneOf(manifest.Health, at.Child("health"), workv1alpha1.ResourceHealthy, workv1alpha1.ResourceUnhealthy, workv1alpha1.ResourceUnknown)...)
	}
	return errs
}

func required(value string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return nil
}

// oneOf accepts the empty value: absence is judged elsewhere.
func oneOf[V ~string](value V, path *field.Path, allowed ...V) field.ErrorList {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}
