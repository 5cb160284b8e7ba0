// Package manifest shows objects as YAML, without what servers add and without
// the values of Secrets, and says which lines a change is about.
package manifest

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// hidden is what stands for the value of a Secret.
const hidden = "•••"

// IsSecret says whether the values of an object are not to be shown.
func IsSecret(object *unstructured.Unstructured) bool {
	return object.GetAPIVersion() == "v1" && object.GetKind() == "Secret"
}

// Cleaned is a copy of an object without what servers add and without secrets.
func Cleaned(object *unstructured.Unstructured) *unstructured.Unstructured {
	shown := Masked(object)
	for _, path := range [][]string{
		{"status"}, {"metadata", "managedFields"}, {"metadata", "resourceVersion"}, {"metadata", "uid"}, {"metadata", "creationTimestamp"},
		{"metadata", "generation"}, {"metadata", "selfLink"},
	} {
		unstructured.RemoveNestedField(shown.Object, path...)
	}
	return shown
}

// Masked is a copy of an object without secrets: of a Secret's values only their
// length is shown. What kubectl applied last repeats the whole object, so that it
// is left out of every one.
func Masked(object *unstructured.Unstructured) *unstructured.Unstructured {
	shown := object.DeepCopy()
	unstructured.RemoveNestedField(shown.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	if annotations, found, err := unstructured.NestedMap(shown.Object, "metadata", "annotations"); err == nil && found && len(annotations) == 0 {
		unstructured.RemoveNestedField(shown.Object, "metadata", "annotations")
	}
	if !IsSecret(object) {
		return shown
	}
	for _, field := range []string{"data", "stringData"} {
		if value, found := shown.Object[field]; found {
			shown.Object[field] = maskedValue(value, field == "data")
		}
	}
	return shown
}

// maskedValue hides all texts in a value. encoded texts are base64, whose length
// is that of what they stand for.
func maskedValue(value any, encoded bool) any {
	switch shown := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(shown))
		for key, inner := range shown {
			copied[key] = maskedValue(inner, encoded)
		}
		return copied
	case []any:
		copied := make([]any, 0, len(shown))
		for _, inner := range shown {
			copied = append(copied, maskedValue(inner, encoded))
		}
		return copied
	case string:
		length := len(shown)
		if decoded, err := base64.StdEncoding.DecodeString(shown); encoded && err == nil {
			length = len(decoded)
		}
		return hidden + " (" + strconv.Itoa(length) + " bytes)"
	case nil:
		return nil
	}
	return hidden
}

// maskedChange hides what an override changed in a Secret, if it is not of its
// metadata.
func maskedChange(path string, value any) any {
	switch {
	case strings.HasPrefix(path, "/metadata/annotations/"):
		if strings.HasSuffix(path, "last-applied-configuration") {
			return maskedValue(value, false)
		}
		return value
	case path == "/type", path == "/kind", path == "/apiVersion", path == "/immutable", strings.HasPrefix(path, "/metadata/labels"),
		path == "/metadata/name", path == "/metadata/namespace":
		return value
	}
	return maskedValue(value, strings.HasPrefix(path, "/data"))
}

// YAML writes an object as YAML.
func YAML(object *unstructured.Unstructured) (string, error) {
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		return "", fmt.Errorf("write %s as YAML: %w", object.GetName(), err)
	}
	return string(text), nil
}

// lines finds the lines of a YAML text that JSON pointers lead to.
type lines struct{ root *yamlnode.Node }

func linesOf(text string) (lines, error) {
	var document yamlnode.Node
	if err := yamlnode.Unmarshal([]byte(text), &document); err != nil {
		return lines{}, fmt.Errorf("read YAML: %w", err)
	}
	if len(document.Content) == 0 {
		return lines{}, nil
	}
	return lines{document.Content[0]}, nil
}

// at is the line, from 1, of what a pointer leads to; 0: it is not there.
func (l lines) at(pointer string) int {
	node, line := l.root, 1
	if node == nil {
		return 0
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if node, line = inside(node, step); node == nil {
			return 0
		}
	}
	return line
}

// inside is the node that a step leads to, and the line it begins at.
func inside(node *yamlnode.Node, step string) (*yamlnode.Node, int) {
	switch node.Kind {
	case yamlnode.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1], node.Content[i].Line
			}
		}
	case yamlnode.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line
		}
	}
	return nil, 0
}
