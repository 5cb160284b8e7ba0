package registry

import (
	"fmt"
	"math"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// validateClusterName holds the first rule of contract section 1.2, and refuses the
// name of the helper identity.
func validateClusterName(name string) []string {
	messages := validation.IsDNS1123Label(name)
	if len(name) > clusterv1alpha1.MaxNameLength {
		messages = append(messages, validation.MaxLenError(clusterv1alpha1.MaxNameLength))
	}
	if name == apis.RBACGeneratorName { // its agent would be who registers clusters (section 3.9)
		messages = append(messages, "the name is reserved for registering clusters: choose another one")
	}
	return messages
}

// validateClusterSpec holds the other rules of contract section 1.2.
func validateClusterSpec(spec *clusterv1alpha1.ClusterSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(spec.ID) > clusterv1alpha1.MaxIDLength {
		errs = append(errs, field.TooLong(path.Child("id"), "", clusterv1alpha1.MaxIDLength))
	}
	switch spec.SyncMode {
	case clusterv1alpha1.Push, clusterv1alpha1.Pull:
	case "":
		errs = append(errs, field.Required(path.Child("syncMode"), "Push or Pull"))
	default:
		errs = append(errs, field.NotSupported(path.Child("syncMode"), spec.SyncMode, []clusterv1alpha1.ClusterSyncMode{clusterv1alpha1.Push, clusterv1alpha1.Pull}))
	}
	errs = append(errs, validateEndpoint(spec.APIEndpoint, path.Child("apiEndpoint"))...)
	errs = append(errs, validateProxyURL(spec.ProxyURL, path.Child("proxyURL"))...)
	errs = append(errs, validateSecretReference(spec.SecretRef, path.Child("secretRef"))...)
	errs = append(errs, validateSecretReference(spec.ImpersonatorSecretRef, path.Child("impersonatorSecretRef"))...)
	errs = append(errs, validatePlace(spec, path)...)
	errs = append(errs, validateTaints(spec.Taints, path.Child("taints"))...)
	return append(errs, validateModels(spec.ResourceModels, path.Child("resourceModels"))...)
}

func validateEndpoint(endpoint string, path *field.Path) field.ErrorList {
	if endpoint == "" {
		return nil
	}
	parsed, err := url.Parse(endpoint)
	if err != nil || parsed.Host == "" {
		return field.ErrorList{field.Invalid(path, endpoint, "must be a URL with a host, for example https://192.0.2.10:6443")}
	}
	var errs field.ErrorList
	if parsed.User != nil {
		errs = append(errs, field.Invalid(path, parsed.Redacted(), "must not carry a user or password"))
	}
	if parsed.Fragment != "" {
		errs = append(errs, field.Invalid(path, parsed.Redacted(), "must not have a fragment"))
	}
	if parsed.RawQuery != "" {
		errs = append(errs, field.Invalid(path, parsed.Redacted(), "must not have a query"))
	}
	return errs
}

func validateProxyURL(proxy string, path *field.Path) field.ErrorList {
	if proxy == "" {
		return nil
	}
	// The value may hold a password: it is shown redacted, or not at all.
	parsed, err := url.Parse(proxy)
	if err != nil {
		return field.ErrorList{field.Invalid(path, "", "must be a URL")}
	}
	if !slices.Contains([]string{"http", "https", "socks5"}, parsed.Scheme) {
		return field.ErrorList{field.Invalid(path, parsed.Redacted(), "the scheme must be http, https or socks5")}
	}
	return nil
}

func validateSecretReference(ref *clusterv1alpha1.LocalSecretReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if ref != nil && ref.Namespace == "" {
		errs = append(errs, field.Required(path.Child("namespace"), "names the Secret's namespace"))
	}
	if ref != nil && ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "names the Secret"))
	}
	return errs
}

func validatePlace(spec *clusterv1alpha1.ClusterSpec, path *field.Path) field.ErrorList {
	errs := labelValue(spec.Provider, path.Child("provider"))
	errs = append(errs, labelValue(spec.Region, path.Child("region"))...)
	errs = append(errs, labelValue(spec.Zone, path.Child("zone"))...)
	for i, zone := range spec.Zones {
		errs = append(errs, labelValue(zone, path.Child("zones").Index(i))...)
	}
	if spec.Zone != "" && len(spec.Zones) > 0 {
		errs = append(errs, field.TypeInvalid(path.Child("zone"), spec.Zone, "use zones alone"))
	}
	return errs
}

func labelValue(value string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, message := range validation.IsValidLabelValue(value) {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

func validateTaints(taints []corev1.Taint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[identity]bool{}
	for i, taint := range taints {
		at := path.Index(i)
		for _, message := range validation.IsQualifiedName(taint.Key) {
			errs = append(errs, field.Invalid(at.Child("key"), taint.Key, message))
		}
		errs = append(errs, labelValue(taint.Value, at.Child("value"))...)
		if taint.Effect != corev1.TaintEffectNoSchedule && taint.Effect != corev1.TaintEffectNoExecute {
			errs = append(errs, field.NotSupported(at.Child("effect"), taint.Effect, []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}))
		}
		if id := (identity{taint.Key, taint.Effect}); seen[id] {
			errs = append(errs, field.Duplicate(at, fmt.Sprintf("%s:%s", taint.Key, taint.Effect)))
		} else {
			seen[id] = true
		}
	}
	return errs
}

// validateModels asks for grades that cover the whole scale of each resource without gap or overlap.
func validateModels(models []clusterv1alpha1.ResourceModel, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	last := len(models) - 1
	for i, model := range models {
		at := path.Index(i)
		if i > 0 && model.Grade == models[i-1].Grade {
			errs = append(errs, field.Invalid(at.Child("grade"), model.Grade, "must differ from the other grades"))
		}
		if len(model.Ranges) != len(models[0].Ranges) {
			errs = append(errs, field.Invalid(at.Child("ranges"), len(model.Ranges), "every grade must have the same number of ranges"))
			continue
		}
		for j, span := range model.Ranges {
			span := span
			below := resource.NewQuantity(0, resource.DecimalSI)
			if i > 0 && len(models[i-1].Ranges) == len(model.Ranges) {
				below = &models[i-1].Ranges[j].Max
			}
			errs = append(errs, validateRange(span, models[0].Ranges[j].Name, *below, at.Child("ranges").Index(j))...)
			if i == last && span.Max.CmpInt64(math.MaxInt64) != 0 {
				errs = append(errs, field.Invalid(at.Child("ranges").Index(j).Child("max"), span.Max.String(), "the last grade must be open: use the largest 64-bit integer"))
			}
		}
	}
	return errs
}

// validateRange judges one range by the resource's name in the first grade and the end of the range below.
func validateRange(span clusterv1alpha1.ResourceModelRange, name corev1.ResourceName, below resource.Quantity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if span.Name != name {
		errs = append(errs, field.Invalid(path.Child("name"), span.Name, "every grade must list the same resources in the same order"))
	}
	if span.Max.Cmp(span.Min) <= 0 {
		errs = append(errs, field.Invalid(path, span.Max.String(), "max must be greater than min"))
	}
	if span.Min.Cmp(below) != 0 {
		errs = append(errs, field.Invalid(path.Child("min"), span.Min.String(), "must be "+below.String()+", where the grade below ends"))
	}
	return errs
}
