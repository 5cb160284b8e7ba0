package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/apis/work/manifest"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// wanted decodes one manifest of a Work into the object to apply, with the
// marks that lead back to the Work.
func wanted(work *workv1alpha1.Work, i int) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(work.Spec.Workload.Manifests[i].Raw); err != nil {
		return nil, fmt.Errorf("manifest %d is not an object: %w", i, err)
	}
	if o.GetAPIVersion() == "" || o.GetName() == "" || o.IsList() {
		return nil, fmt.Errorf("manifest %d is not an object with apiVersion and name", i)
	}
	for _, marks := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(o.Object, "metadata", marks); err != nil {
			return nil, fmt.Errorf("manifest %d: %s are not text", i, marks)
		}
	}
	manifest.Prune(o)
	setLabel(o, apis.ManagedLabel, apis.LabelTrue)
	setAnnotation(o, workv1alpha1.WorkNamespaceAnnotation, work.Namespace)
	setAnnotation(o, workv1alpha1.WorkNameAnnotation, work.Name)
	return o, nil
}

func setLabel(o *unstructured.Unstructured, key, value string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	o.SetLabels(labels)
}

func setAnnotation(o *unstructured.Unstructured, key, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}

// managed says whether an object of the member is ours.
func managed(o *unstructured.Unstructured) bool {
	return o.GetLabels()[apis.ManagedLabel] == apis.LabelTrue
}

// of says whether a managed object belongs to a Work. Objects that do not name
// their Work count as its own.
func of(o *unstructured.Unstructured, work *workv1alpha1.Work) bool {
	a := o.GetAnnotations()
	namespace, name := a[workv1alpha1.WorkNamespaceAnnotation], a[workv1alpha1.WorkNameAnnotation]
	return name == "" || namespace == work.Namespace && name == work.Name
}

// title names an object in messages: "Deployment default/nginx".
func title(o *unstructured.Unstructured) string {
	if ns := o.GetNamespace(); ns != "" {
		return o.GetKind() + " " + ns + "/" + o.GetName()
	}
	return o.GetKind() + " " + o.GetName()
}

func identifier(o *unstructured.Unstructured, ordinal int) workv1alpha1.ResourceIdentifier {
	gvk := o.GroupVersionKind()
	return workv1alpha1.ResourceIdentifier{Ordinal: ordinal, Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
		Namespace: o.GetNamespace(), Name: o.GetName()}
}

// markDomains are the domains of the labels and annotations by which hubs mark
// what they put into members. markKeys are further keys, of a domain in which
// users set marks of their own.
var (
	markDomains = []string{"propagationpolicy.karmada.io", "clusterpropagationpolicy.karmada.io", "resourcebinding.karmada.io",
		"clusterresourcebinding.karmada.io", "work.karmada.io"}
	markKeys = []string{apis.ManagedLabel, apis.TemplateUIDAnnotation, apis.TemplateGenerationAnnotation,
		apis.ManagedLabelsAnnotation, apis.ManagedAnnotationsAnnotation}
)

// unmark returns the merge patch that takes our marks off an object which stays
// in the member, nil if it has none.
func unmark(o *unstructured.Unstructured) ([]byte, error) {
	strip := func(marks map[string]string) map[string]any {
		gone := map[string]any{}
		for key := range marks {
			domain, _, _ := strings.Cut(key, "/")
			if slices.Contains(markKeys, key) || slices.Contains(markDomains, domain) {
				gone[key] = nil
			}
		}
		return gone
	}
	labels, annotations := strip(o.GetLabels()), strip(o.GetAnnotations())
	if len(labels)+len(annotations) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "labels": labels, "annotations": annotations}})
}
