package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/backend/override"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/manifest"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	parsed := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &parsed.Object); err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestMasked(t *testing.T) {
	const applied = `metadata: {name: a, annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}`
	for name, test := range map[string]struct{ object, want string }{
		"secret": {
			`{apiVersion: v1, kind: Secret, type: Opaque, ` + applied + `, data: {a: YWJj, b: "not base64", c: ""}, stringData: {d: YWJj}}`,
			`{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: a}, data: {a: ••• (3 bytes), b: ••• (10 bytes), c: ••• (0 bytes)}, stringData: {d: ••• (4 bytes)}}`,
		},
		"odd secret": {
			`{apiVersion: v1, kind: Secret, metadata: {name: a}, data: [YWJj, 3, null]}`,
			`{apiVersion: v1, kind: Secret, metadata: {name: a}, data: [••• (3 bytes), •••, null]}`,
		},
		"other": {
			`{apiVersion: v1, kind: ConfigMap, ` + applied + `, data: {a: b}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}`,
		},
		"secret of another group": {
			`{apiVersion: x.io/v1, kind: Secret, data: {a: b}}`, `{apiVersion: x.io/v1, kind: Secret, data: {a: b}}`,
		},
		"annotations": {
			`{kind: ConfigMap, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: x, mine: y}}}`, `{kind: ConfigMap, metadata: {annotations: {mine: y}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			given := object(t, test.object)
			before := given.DeepCopy()
			if diff := cmp.Diff(object(t, test.want).Object, manifest.Masked(given).Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before.Object, given.Object); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

func TestCleaned(t *testing.T) {
	given := object(t, `{kind: X, status: {a: b}, metadata: {name: a, uid: u, resourceVersion: "1", generation: 2, creationTimestamp: x, managedFields: [], finalizers: [f]}}`)
	if diff := cmp.Diff(object(t, `{kind: X, metadata: {name: a, finalizers: [f]}}`).Object, manifest.Cleaned(given).Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChanges(t *testing.T) {
	const text = `apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    a/b: c
    x~y: z
spec:
  template:
    spec:
      containers:
      - args:
        - --one
        - --two
        image: nginx:1.20
      - image: other
`
	policy := override.PolicyRef{Kind: "OverridePolicy", Namespace: "default", Name: "p"}
	for path, line := range map[string]int{
		"/spec/template/spec/containers/0/image":  14,
		"/spec/template/spec/containers/0/args/1": 13,
		"/spec/template/spec/containers/1":        15,
		"/metadata/annotations/a~1b":              5,
		"/metadata/annotations/x~0y":              6,
		"/metadata/labels/gone":                   0,
		"/spec/template/spec/containers/7/image":  0,
		"/spec/template/spec/containers/x":        0,
		"/kind/deeper":                            0,
		"":                                        1,
	} {
		got, err := manifest.Changes(nil, []override.Change{{Policy: policy, Rule: 2, Overrider: "plaintext", Path: path, Before: "a", After: "b"}}, text, false)
		if err != nil {
			t.Fatal(err)
		}
		want := []manifest.Change{{Path: path, Line: line, Before: "a", After: "b", Rule: 2, Overrider: "plaintext", Policy: fact.PolicyOf("OverridePolicy", "default", "p")}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", path, diff)
		}
	}
}

func TestChangesOfSecrets(t *testing.T) {
	for path, want := range map[string]any{
		"/data/a":               "••• (3 bytes)",
		"/stringData/a":         "••• (4 bytes)",
		"/immutable":            "YWJj",
		"/metadata/labels/a":    "YWJj",
		"/metadata/annotations": "••• (4 bytes)",
		"":                      "••• (4 bytes)",
		"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration": "••• (4 bytes)",
		"/metadata/annotations/a": "YWJj",
	} {
		got, err := manifest.Changes([]manifest.Change{{Path: path, After: "YWJj"}}, nil, "a: b\n", true)
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Before != nil || got[0].After != want {
			t.Errorf("%q: %v becomes %v, want %v", path, got[0].Before, got[0].After, want)
		}
	}
}

func TestDifferences(t *testing.T) {
	got := map[string][2]any{}
	manifest.Differences("", object(t, `{a: {b: 1, c/d: [1], same: x}, gone: old}`).Object, object(t, `{a: {b: 2, c/d: [2], same: x, new: {z: 1}}}`).Object, func(path string, before, after any) {
		got[path] = [2]any{before, after}
	})
	want := map[string][2]any{
		"/a/b": {float64(1), float64(2)}, "/a/c~1d": {[]any{float64(1)}, []any{float64(2)}}, "/a/new": {nil, map[string]any{"z": float64(1)}}, "/gone": {"old", nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
