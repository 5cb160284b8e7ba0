package work

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/apis/work/manifest"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// Marks are labels and annotations that the hub puts on an object.
type Marks struct {
	Labels, Annotations map[string]string
}

// Form is an encoded object from which the manifests of many Works are made: they
// differ in the marks that lead back to the Work, and in nothing else. The bytes
// are those that the hub's admission would write, so that a stored manifest can
// be compared with what is wanted as it is.
type Form struct {
	before, after       []byte         // around the metadata
	metadata            map[string]any // without labels and annotations
	labels, annotations map[string]string
	name                string // of the Work
}

// NewForm encodes an object once. The marks that lead back to its Work need not
// be among those given.
func NewForm(o *unstructured.Unstructured, m Marks) (*Form, error) {
	f := &Form{metadata: map[string]any{}, labels: with(o.GetLabels(), m.Labels), annotations: with(o.GetAnnotations(), m.Annotations),
		name: Name(o.GetNamespace(), o.GetName(), o.GetKind())}
	metadata, _ := o.Object["metadata"].(map[string]any)
	for key, value := range metadata {
		if key != "labels" && key != "annotations" {
			f.metadata[key] = value
		}
	}
	fields := slices.Sorted(maps.Keys(o.Object))
	if metadata == nil {
		return nil, fmt.Errorf("encode %s: it has no metadata", title(o))
	}
	var part bytes.Buffer
	separator := byte('{')
	for _, field := range fields {
		name, err := json.Marshal(field)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", title(o), err)
		}
		part.WriteByte(separator)
		part.Write(name)
		part.WriteByte(':')
		separator = ','
		if field == "metadata" {
			f.before = bytes.Clone(part.Bytes())
			part.Reset()
			continue
		}
		value, err := json.Marshal(o.Object[field])
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", title(o), err)
		}
		part.Write(value)
	}
	part.WriteByte('}')
	f.after = part.Bytes()
	return f, nil
}

// Name is that of the Work that carries the object.
func (f *Form) Name() string { return f.name }

// manifest is the object for the Work with this namespace and permanent id.
func (f *Form) manifest(namespace, workID string) ([]byte, error) {
	metadata := maps.Clone(f.metadata)
	metadata["labels"] = anyOf(f.labels)
	annotations := anyOf(f.annotations)
	annotations[workv1alpha1.WorkNamespaceAnnotation] = namespace
	annotations[workv1alpha1.WorkNameAnnotation] = f.name
	metadata["annotations"] = annotations
	marked := &unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}
	manifest.Mark(marked, workID)
	encoded, err := json.Marshal(marked.Object["metadata"])
	if err != nil {
		return nil, fmt.Errorf("encode the metadata of work %s: %w", f.name, err)
	}
	return slices.Concat(f.before, encoded, f.after), nil
}

func anyOf(m map[string]string) map[string]any {
	converted := make(map[string]any, len(m)+2)
	for key, value := range m {
		converted[key] = value
	}
	return converted
}

// SystemMarks are those of objects that belong to no binding.
func SystemMarks(uid string, labels ...string) Marks {
	m := Marks{Labels: map[string]string{apis.ManagedLabel: apis.LabelTrue}, Annotations: map[string]string{apis.TemplateUIDAnnotation: uid}}
	for _, label := range labels {
		m.Labels[label] = apis.LabelTrue
	}
	return m
}

func with(a, b map[string]string) map[string]string {
	joined := make(map[string]string, len(a)+len(b))
	maps.Copy(joined, a)
	maps.Copy(joined, b)
	return joined
}

// title names an object in messages: "Deployment default/nginx".
func title(o *unstructured.Unstructured) string {
	if namespace := o.GetNamespace(); namespace != "" {
		return o.GetKind() + " " + namespace + "/" + o.GetName()
	}
	return o.GetKind() + " " + o.GetName()
}
