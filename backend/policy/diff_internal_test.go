package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestDifference(t *testing.T) {
	const cop = `apiVersion: policy.karmada.io/v1alpha1, kind: ClusterOverridePolicy, metadata: {name: a}`
	rules := func(overriders string) string {
		return `{` + cop + `, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}], overrideRules: [{overriders: {` + overriders + `}}]}}`
	}
	const rule = "spec.overrideRules[0].overriders."
	many := func(value int) string {
		var labels []string
		for i := range 20 {
			labels = append(labels, fmt.Sprintf("l%02d: v%d", i, value))
		}
		return rules(`labelsOverrider: [{operator: add, value: {` + strings.Join(labels, ", ") + `}}]`)
	}
	long := strings.Repeat("x", 300)
	for name, test := range map[string]struct {
		before, after string
		want          map[string]string
	}{
		"nothing":  {rules(``), rules(``), map[string]string{}},
		"created":  {"", `{` + cop + `, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}}`, map[string]string{"spec.resourceSelectors[0].apiVersion": "none → v1", "spec.resourceSelectors[0].kind": "none → ConfigMap"}},
		"deleted":  {`{` + cop + `, spec: {targetCluster: {exclude: [m1]}}}`, "", map[string]string{"spec.targetCluster.exclude": `["m1"] → none`}},
		"image":    {rules(`imageOverrider: [{component: Tag, operator: replace, value: "1"}]`), rules(`imageOverrider: [{component: Tag, operator: replace, value: "2"}]`), map[string]string{rule + "imageOverrider[0].value": "1 → 2"}},
		"own keys": {`{apiVersion: x, kind: PropagationPolicy, metadata: {name: a, resourceVersion: "1", labels: {propagationpolicy.karmada.io/permanent-id: x}, annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}}`, `{apiVersion: x, kind: PropagationPolicy, metadata: {name: a, resourceVersion: "2", labels: {a.b/c: d}}}`, map[string]string{"metadata.labels[a.b/c]": "none → d"}},
		"a place for secrets": {rules(`plaintext: [{path: /spec/x, operator: add, value: 1}, {path: /data/pin, operator: add, value: "1"}]`), rules(`plaintext: [{path: /spec/x, operator: add, value: 2}, {path: /data/pin, operator: add, value: "2"}]`),
			map[string]string{rule + "plaintext[0].value": "1 → 2", rule + "plaintext[1].value": "(masked)"}},
		"words like secrets": {rules(`argsOverrider: [{containerName: a, operator: add, value: [--x]}]`), rules(`argsOverrider: [{containerName: a, operator: add, value: [--password=x]}]`),
			map[string]string{rule + "argsOverrider[0].value": "(masked)"}},
		"document for secrets": {rules(`fieldOverrider: [{fieldPath: /data/x, json: [{subPath: /a, operator: add, value: 1}]}]`), rules(`fieldOverrider: [{fieldPath: /data/x, json: [{subPath: /a, operator: add, value: 2}]}]`),
			map[string]string{rule + "fieldOverrider[0].json[0].value": "(masked)"}},
		"policy for secrets": {`{` + cop + `, spec: {overrideRules: [{overriders: {plaintext: [{path: /a, operator: add, value: {b: 1}}]}}]}}`, `{` + cop + `, spec: {overrideRules: [{overriders: {plaintext: [{path: /a, operator: add, value: {b: 2}}]}}]}}`,
			map[string]string{rule + "plaintext[0].value": "(masked)"}},
		"long": {rules(`plaintext: [{path: /a, operator: add, value: ` + long + `}]`), rules(`plaintext: [{path: /a, operator: add, value: b}]`), map[string]string{rule + "plaintext[0].value": long[:110] + "… → b"}},
	} {
		t.Run(name, func(t *testing.T) {
			kind := Kinds[3]
			if strings.Contains(test.before, "kind: PropagationPolicy") {
				kind = Kinds[0]
			}
			if diff := cmp.Diff(test.want, difference(kind, orNone(t, test.before), orNone(t, test.after))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	got := difference(Kinds[3], orNone(t, many(1)), orNone(t, many(2)))
	if len(got) != diffPaths+1 || got["more"] != "8 further changes" || len(got) > 16 {
		t.Errorf("%d pairs: %v", len(got), got)
	}
	for path, change := range got {
		if len(path) > 64 || len(change) > 256 {
			t.Errorf("too long for the audit: %s: %s", path, change)
		}
	}
}

// definitions are the custom resource definitions as the hub carries them.
var definitions = os.DirFS("../../deploy/crds")

func orNone(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestEditorSchema holds what an editor needs of a schema.
func TestEditorSchema(t *testing.T) {
	schemas, err := loadSchemas(definitions)
	if err != nil {
		t.Fatal(err)
	}
	document := schemas["propagationpolicies"].document
	at := func(path ...string) any {
		var value any = document
		for _, key := range path {
			object, ok := value.(map[string]any)
			if !ok {
				return nil
			}
			value = object[key]
		}
		return value
	}
	for path, want := range map[string]any{
		"$schema":                                       "http://json-schema.org/draft-07/schema#",
		"additionalProperties":                          false,
		"properties/kind/const":                         "PropagationPolicy",
		"properties/apiVersion/const":                   "policy.karmada.io/v1alpha1",
		"properties/metadata/properties/namespace/type": "string",
		"properties/spec/additionalProperties":          false,
		"properties/spec/properties/priority/default":   int64(0),
		"properties/spec/properties/preemption/enum":    []any{"Always", "Never"},
		"properties/spec/properties/placement/properties/clusterAffinity/properties/clusterNames/type": "array",
	} {
		if diff := cmp.Diff(want, at(strings.Split(path, "/")...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if _, namespaced := schemas["clusterpropagationpolicies"].document["properties"].(map[string]any)["metadata"].(map[string]any)["properties"].(map[string]any)["namespace"]; namespaced {
		t.Error("a cluster-scoped policy has a namespace")
	}
	if strings.Contains(fmt.Sprint(document), "x-kubernetes") {
		t.Error("the schema holds what editors do not know")
	}
	value := schemas["overridepolicies"].document["properties"].(map[string]any)["spec"].(map[string]any)["properties"].(map[string]any)["overriders"].(map[string]any)["properties"].(map[string]any)["plaintext"].(map[string]any)["items"].(map[string]any)["properties"].(map[string]any)["value"]
	if free, ok := value.(map[string]any); !ok || free["type"] != nil || free["additionalProperties"] == false {
		t.Errorf("the value of a patch is not free: %v", value)
	}
}
