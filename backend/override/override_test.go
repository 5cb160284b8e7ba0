package override_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/override"
)

// parse reads YAML as the API server would hold it: with int64 numbers.
func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := kjson.Unmarshal(data, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func typed[T any](t testing.TB, text string) *T {
	t.Helper()
	into := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
	return into
}

func cluster(name string, labels map[string]string) *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// one is a policy with one rule for all clusters.
func one(t testing.TB, overriders string) override.Policies {
	t.Helper()
	return override.Policies{Cluster: []*policyv1alpha1.ClusterOverridePolicy{
		typed[policyv1alpha1.ClusterOverridePolicy](t, `{metadata: {name: p}, spec: {overrideRules: [{overriders: {`+overriders+`}}]}}`),
	}}
}

const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {app: web, tier: back}}, spec: {replicas: 2, template: {spec: {
  initContainers: [{name: init, image: "busybox:1"}],
  containers: [{name: web, image: "registry.example:5000/team/web:1.2", command: [run, --fast, --fast]}, {name: side, image: nginx}]}}}}`

// change is Change without the policy, for comparison.
type change struct {
	Overrider     string
	Index         int
	Path          string
	Before, After any
}

func changes(list []override.Change) []change {
	var short []change
	for _, c := range list {
		short = append(short, change{c.Overrider, c.Index, c.Path, c.Before, c.After})
	}
	return short
}

func list(values ...string) []any {
	made := []any{}
	for _, v := range values {
		made = append(made, v)
	}
	return made
}

// TestOverriders goes through the rows of contract section 10.2.
func TestOverriders(t *testing.T) {
	const (
		web, side = "/spec/template/spec/containers/0", "/spec/template/spec/containers/1"
		private   = "registry.example:5000/team/web:1.2"
	)
	for name, test := range map[string]struct {
		overriders, object string
		want               []change
	}{
		"tag of all containers": {`imageOverrider: [{component: Tag, operator: replace, value: "1.20"}]`, deployment,
			[]change{{"imageOverrider", 0, web + "/image", private, "registry.example:5000/team/web:1.20"}, {"imageOverrider", 0, side + "/image", "nginx", "nginx:1.20"}}},
		"two image overriders": {`imageOverrider: [{component: Registry, operator: replace, value: mirror.example}, {component: Repository, operator: add, value: -slim}]`,
			`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: "nginx:1"}]}}`,
			[]change{{"imageOverrider", 0, "/spec/containers/0/image", "nginx:1", "mirror.example/nginx:1"},
				{"imageOverrider", 1, "/spec/containers/0/image", "mirror.example/nginx:1", "mirror.example/nginx-slim:1"}}},
		"image of another kind": {`imageOverrider: [{component: Tag, operator: replace, value: "2"}]`,
			`{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: nginx}]}}}}}}`, nil},
		"image by predicate": {`imageOverrider: [{predicate: {path: /spec/template/spec/initContainers/0/image}, component: Tag, operator: replace, value: "2"}]`, deployment,
			[]change{{"imageOverrider", 0, "/spec/template/spec/initContainers/0/image", "busybox:1", "busybox:2"}}},
		"image of a custom kind": {`imageOverrider: [{predicate: {path: /spec/images/my~1app}, component: Registry, operator: add, value: mirror.example}]`,
			`{apiVersion: x/v1, kind: X, metadata: {name: a}, spec: {images: {my/app: app}}}`,
			[]change{{"imageOverrider", 0, "/spec/images/my~1app", "app", "mirror.example/app"}}},
		"image that cannot be a tag": {`imageOverrider: [{component: Tag, operator: replace, value: "not a tag"}]`, deployment, nil},
		"container without image":    {`imageOverrider: [{component: Tag, operator: replace, value: "2"}]`, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a}]}}`, nil},
		"command added": {`commandOverrider: [{containerName: web, operator: add, value: [--safe]}, {containerName: side, operator: add, value: [sleep]}]`, deployment,
			[]change{{"commandOverrider", 0, web + "/command", list("run", "--fast", "--fast"), list("run", "--fast", "--fast", "--safe")},
				{"commandOverrider", 1, side + "/command", nil, list("sleep")}}},
		"every equal word removed": {`commandOverrider: [{containerName: web, operator: remove, value: [--fast, other]}]`, deployment,
			[]change{{"commandOverrider", 0, web + "/command", list("run", "--fast", "--fast"), list("run")}}},
		"args": {`argsOverrider: [{containerName: web, operator: add, value: [-v]}, {containerName: web, operator: remove, value: [-v]}]`, deployment,
			[]change{{"argsOverrider", 0, web + "/args", nil, list("-v")}, {"argsOverrider", 1, web + "/args", list("-v"), list()}}},
		"no such container":     {`argsOverrider: [{containerName: init, operator: add, value: [x]}]`, deployment, nil},
		"args of another kind":  {`argsOverrider: [{containerName: a, operator: add, value: [x]}]`, `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {containers: [{name: a}]}}`, nil},
		"labels added":          {`labelsOverrider: [{operator: add, value: {tier: front, a/b: c}}]`, deployment, []change{{"labelsOverrider", 0, "/metadata/labels/a~1b", nil, "c"}, {"labelsOverrider", 0, "/metadata/labels/tier", "back", "front"}}},
		"only present replaced": {`labelsOverrider: [{operator: replace, value: {tier: front, zone: x}}]`, deployment, []change{{"labelsOverrider", 0, "/metadata/labels/tier", "back", "front"}}},
		"removed by key":        {`labelsOverrider: [{operator: remove, value: {tier: whatever, zone: x}}]`, deployment, []change{{"labelsOverrider", 0, "/metadata/labels/tier", "back", nil}}},
		"annotations created":   {`annotationsOverrider: [{operator: add, value: {a~b/c: d}}]`, deployment, []change{{"annotationsOverrider", 0, "/metadata/annotations/a~0b~1c", nil, "d"}}},
		"no annotations":        {`annotationsOverrider: [{operator: replace, value: {a: b}}, {operator: remove, value: {a: b}}]`, deployment, nil},
		"JSON in a field": {`fieldOverrider: [{fieldPath: /data/c.json, json: [{subPath: /a/b, operator: replace, value: 2}, {subPath: /l/-, operator: add, value: x}, {subPath: /gone, operator: remove}]}]`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {c.json: '{"gone":1,"a":{"b":1},"l":[]}'}}`,
			[]change{{"fieldOverrider", 0, "/data/c.json", `{"gone":1,"a":{"b":1},"l":[]}`, `{"a":{"b":2},"l":["x"]}`}}},
		"YAML in a field": {`fieldOverrider: [{fieldPath: /data/c.yaml, yaml: [{subPath: /db/host, operator: replace, value: eu.example}, {subPath: /db/pool, operator: add, value: {max: 5}}]}]`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {c.yaml: "db:\n  host: us.example\n"}}`,
			[]change{{"fieldOverrider", 0, "/data/c.yaml", "db:\n  host: us.example\n", "db:\n  host: eu.example\n  pool:\n    max: 5\n"}}},
		"plaintext": {`plaintext: [{path: /spec/replicas, operator: replace, value: 5}, {path: /spec/paused, operator: add, value: true}, {path: /metadata/labels/tier, operator: remove},
		  {path: /spec/selector, operator: add, value: {matchLabels: {a: b}}}]`, deployment,
			[]change{{"plaintext", 0, "/spec/replicas", int64(2), int64(5)}, {"plaintext", 1, "/spec/paused", nil, true}, {"plaintext", 2, "/metadata/labels/tier", "back", nil},
				{"plaintext", 3, "/spec/selector", nil, map[string]any{"matchLabels": map[string]any{"a": "b"}}}}},
		"plaintext in lists": {`plaintext: [{path: /spec/l/-, operator: add, value: 9}, {path: /spec/l/0, operator: add, value: 8}, {path: /spec/l/1, operator: remove}, {path: /spec/l/-1, operator: replace, value: 7}]`,
			`{apiVersion: x/v1, kind: X, metadata: {name: a}, spec: {l: [1, 2]}}`,
			[]change{{"plaintext", 0, "/spec/l/2", nil, int64(9)}, {"plaintext", 1, "/spec/l/0", nil, int64(8)}, {"plaintext", 2, "/spec/l/1", int64(1), nil}, {"plaintext", 3, "/spec/l/2", int64(9), int64(7)}}},
		"added over what is there": {`plaintext: [{path: /metadata/labels/app, operator: add, value: api}]`, deployment, []change{{"plaintext", 0, "/metadata/labels/app", "web", "api"}}},
		"same value again":         {`plaintext: [{path: /spec/replicas, operator: replace, value: 2}]`, deployment, nil},
		"value left out":           {`plaintext: [{path: /spec/replicas, operator: replace}]`, deployment, []change{{"plaintext", 0, "/spec/replicas", int64(2), nil}}},
		"another name": {`plaintext: [{path: /metadata/name, operator: replace, value: other}, {path: /kind, operator: replace, value: StatefulSet}]`, deployment,
			[]change{{"plaintext", 0, "/metadata/name", "web", "other"}, {"plaintext", 1, "/kind", "Deployment", "StatefulSet"}}},
		"large numbers": {`plaintext: [{path: /spec/n, operator: add, value: 9007199254740993}]`, `{apiVersion: x/v1, kind: X, metadata: {name: a}, spec: {m: 9007199254740993}}`,
			[]change{{"plaintext", 0, "/spec/n", nil, int64(9007199254740993)}}},
	} {
		t.Run(name, func(t *testing.T) {
			object := parse(t, test.object)
			result, err := override.Apply(object, cluster("m1", nil), one(t, test.overriders))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, changes(result.Changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(parse(t, test.object), object); diff != "" {
				t.Errorf("the object handed in was changed:\n%s", diff)
			}
			accountFor(t, object, result)
		})
	}
}

// accountFor checks that there are changes if, and only if, the object is
// another one.
func accountFor(t *testing.T, object *unstructured.Unstructured, result override.Result) {
	t.Helper()
	if diff := cmp.Diff(object.Object, result.Object.Object); (diff == "") != (len(result.Changes) == 0) {
		t.Errorf("%d changes for this difference:\n%s", len(result.Changes), diff)
	}
}

// TestOrder holds image → command → args → labels → annotations → field →
// plaintext within a rule, whatever the policy's own order, and rules in order.
func TestOrder(t *testing.T) {
	p := typed[policyv1alpha1.ClusterOverridePolicy](t, `{metadata: {name: p}, spec: {overrideRules: [
	  {overriders: {
	    plaintext: [{path: /spec/template/spec/containers/0/image, operator: replace, value: "plain:1"}, {path: /metadata/annotations/doc, operator: replace, value: "{}"}],
	    fieldOverrider: [{fieldPath: /metadata/annotations/doc, json: [{subPath: /a, operator: add, value: 1}]}],
	    annotationsOverrider: [{operator: add, value: {doc: "{}"}}], labelsOverrider: [{operator: add, value: {app: x}}],
	    argsOverrider: [{containerName: web, operator: add, value: [a]}], commandOverrider: [{containerName: web, operator: add, value: [c]}],
	    imageOverrider: [{component: Tag, operator: replace, value: "9"}]}},
	  {overriders: {imageOverrider: [{component: Tag, operator: replace, value: "10"}]}}]}}`)
	result, err := override.Apply(parse(t, deployment), cluster("m1", nil), override.Policies{Cluster: []*policyv1alpha1.ClusterOverridePolicy{p}})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, c := range result.Changes {
		order = append(order, strings.Repeat("rule ", c.Rule)+c.Overrider)
	}
	want := []string{"imageOverrider", "imageOverrider", "commandOverrider", "argsOverrider", "labelsOverrider", "annotationsOverrider", "fieldOverrider", "plaintext", "plaintext",
		"rule imageOverrider", "rule imageOverrider"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	containers, _, _ := unstructured.NestedSlice(result.Object.Object, "spec", "template", "spec", "containers")
	if image := containers[0].(map[string]any)["image"]; image != "plain:10" {
		t.Errorf("the later rule did not win: %v", image)
	}
}

func TestSelect(t *testing.T) {
	cops := `[{metadata: {name: z-kind}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]}},
	  {metadata: {name: b-name}, spec: {resourceSelectors: [{apiVersion: v1, kind: Secret}, {apiVersion: apps/v1, kind: Deployment, name: web}]}},
	  {metadata: {name: a-labels}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: web}}}]}},
	  {metadata: {name: all}, spec: {}}, {metadata: {name: other}, spec: {resourceSelectors: [{apiVersion: v1, kind: Service}]}},
	  {metadata: {name: a-name}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]}}]`
	ops := `[{metadata: {name: b, namespace: shop}, spec: {}}, {metadata: {name: a, namespace: shop}, spec: {}}, {metadata: {name: c, namespace: other}, spec: {}}]`
	all := override.Policies{}
	for _, p := range *typed[[]policyv1alpha1.ClusterOverridePolicy](t, cops) {
		all.Cluster = append(all.Cluster, &p)
	}
	for _, p := range *typed[[]policyv1alpha1.OverridePolicy](t, ops) {
		all.Namespaced = append(all.Namespaced, &p)
	}
	names := func(p override.Policies) (list []string) {
		for _, c := range p.Cluster {
			list = append(list, c.Name)
		}
		for _, n := range p.Namespaced {
			list = append(list, n.Namespace+"/"+n.Name)
		}
		return list
	}
	given := names(all)
	for name, test := range map[string]struct {
		object string
		want   []string
	}{
		"weakest first, then by name":  {deployment, []string{"all", "z-kind", "a-labels", "a-name", "b-name", "shop/a", "shop/b"}},
		"cluster-scoped":               {`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`, []string{"all"}},
		"another version is no match":  {`{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: web, namespace: x}}`, []string{"all"}},
		"namespaced, no policy has it": {`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: other}}`, []string{"all", "other", "other/c"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, names(override.Select(all, parse(t, test.object)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(given, names(all)); diff != "" {
		t.Errorf("Select reordered its argument:\n%s", diff)
	}
}

// TestClusters holds targets, the deprecated form, signatures and the record.
func TestClusters(t *testing.T) {
	rules := typed[policyv1alpha1.ClusterOverridePolicy](t, `{metadata: {name: rules, generation: 3}, spec: {overrideRules: [
	  {targetCluster: {clusterNames: [m1, m2]}, overriders: {labelsOverrider: [{operator: add, value: {from: first}}]}},
	  {targetCluster: {labelSelector: {matchLabels: {tier: edge}}}, overriders: {labelsOverrider: [{operator: add, value: {from: second}}]}}]}}`)
	deprecated := typed[policyv1alpha1.OverridePolicy](t, `{metadata: {name: old, namespace: shop}, spec: {targetCluster: {exclude: [m3]},
	  overriders: {annotationsOverrider: [{operator: add, value: {from: old}}]}}}`)
	ignored := typed[policyv1alpha1.OverridePolicy](t, `{metadata: {name: older, namespace: shop}, spec: {targetCluster: {exclude: [m1]}, overriders: {},
	  overrideRules: [{overriders: {fieldOverrider: []}}]}}`)
	none := typed[policyv1alpha1.OverridePolicy](t, `{metadata: {name: none, namespace: shop}, spec: {overriders: {}}}`)
	selected := override.Policies{Cluster: []*policyv1alpha1.ClusterOverridePolicy{rules}, Namespaced: []*policyv1alpha1.OverridePolicy{none, deprecated, ignored}}
	edge := map[string]string{"tier": "edge"}
	signatures := map[string]string{}
	for _, test := range []struct {
		name                string
		labels              map[string]string
		from, old           string
		cluster, namespaced string
		like                string
	}{
		{"m1", nil, "first", "old", `[{"policyName":"rules","overriders":{"labelsOverrider":[{"operator":"add","value":{"from":"first"}}]}}]`,
			`[{"policyName":"old","overriders":{"annotationsOverrider":[{"operator":"add","value":{"from":"old"}}]}},{"policyName":"older","overriders":{}}]`, ""},
		{"m2", nil, "first", "old", "", "", "m1"},
		{"m1", edge, "second", "old", "", "", ""},
		{"m3", nil, "", "", `null`, `[{"policyName":"older","overriders":{}}]`, ""},
		{"m4", edge, "second", "old", "", "", ""},
		{"m5", nil, "", "old", "", "", ""},
		{"m6", nil, "", "old", "", "", "m5"},
	} {
		c := cluster(test.name, test.labels)
		result, err := override.Apply(parse(t, deployment), c, selected)
		if err != nil {
			t.Fatal(err)
		}
		if from := result.Object.GetLabels()["from"]; from != test.from {
			t.Errorf("%s: label from %q, want %q", test.name, from, test.from)
		}
		if old := result.Object.GetAnnotations()["from"]; old != test.old {
			t.Errorf("%s: annotation from %q, want %q", test.name, old, test.old)
		}
		if test.cluster != "" {
			if diff := cmp.Diff(test.cluster, text(t, result.Cluster)); diff != "" {
				t.Errorf("%s: record (-want +got):\n%s", test.name, diff)
			}
			if diff := cmp.Diff(test.namespaced, text(t, result.Namespaced)); diff != "" {
				t.Errorf("%s: record (-want +got):\n%s", test.name, diff)
			}
		}
		signature := override.Signature(c, selected)
		for other, known := range signatures {
			if (known == signature) != (other == test.like) {
				t.Errorf("%s %v and %s: signatures %q and %q", test.name, test.labels, other, signature, known)
			}
		}
		if test.like == "" {
			signatures[test.name+test.labels["tier"]] = signature
		}
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestErrors holds that an error says what, where and how to mend it.
func TestErrors(t *testing.T) {
	const secret = `{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {image: "TOP:SECRET:VALUE", doc: "{TOP SECRET"}}`
	for name, test := range map[string]struct {
		overriders, object string
		field, path        string
		says               []string
	}{
		"predicate at nothing": {`imageOverrider: [{predicate: {path: /spec/image}, component: Tag, operator: replace}]`, deployment, "imageOverrider[0]", "/spec/image", []string{"nothing at /spec/image of Deployment", "leave predicate out"}},
		"predicate at a map":   {`imageOverrider: [{predicate: {path: /spec/template}, component: Tag, operator: replace}]`, deployment, "imageOverrider[0]", "/spec/template", []string{"no string"}},
		"predicate at all":     {`imageOverrider: [{predicate: {path: ""}, component: Tag, operator: replace}]`, deployment, "imageOverrider[0]", "", []string{"no string"}},
		"predicate no pointer": {`imageOverrider: [{predicate: {path: spec.image}, component: Tag, operator: replace}]`, deployment, "imageOverrider[0]", "spec.image", []string{"slash"}},
		"no image":             {`imageOverrider: [{component: Tag, operator: replace, value: "1"}]`, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: Big/Name}]}}`, "imageOverrider[0]", "/spec/containers/0/image", []string{`"Big/Name"`, "lower case"}},
		"unknown component":    {`imageOverrider: [{component: Path, operator: replace}]`, deployment, "imageOverrider[0]", "/spec/template/spec/containers/0/image", []string{`"Path"`, "Registry"}},
		"image of a secret":    {`imageOverrider: [{predicate: {path: /stringData/image}, component: Tag, operator: replace}]`, secret, "imageOverrider[0]", "/stringData/image", []string{"a value of a Secret"}},
		"command replaced":     {`commandOverrider: [{containerName: web, operator: replace, value: [a]}]`, deployment, "commandOverrider[0]", "/spec/template/spec/containers/0/command", []string{"remove the old ones"}},
		"no field":             {`fieldOverrider: [{fieldPath: /data/x, json: [{subPath: /a, operator: remove}]}]`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, "fieldOverrider[0]", "/data/x", []string{"no string at /data/x of ConfigMap"}},
		"field is no string":   {`fieldOverrider: [{fieldPath: /spec/replicas, json: [{subPath: /a, operator: remove}]}]`, deployment, "fieldOverrider[0]", "/spec/replicas", []string{"no string"}},
		"field is no JSON":     {`fieldOverrider: [{fieldPath: /stringData/doc, json: [{subPath: /a, operator: remove}]}]`, secret, "fieldOverrider[0]", "/stringData/doc", []string{"no JSON"}},
		"field is no YAML":     {`fieldOverrider: [{fieldPath: /stringData/doc, yaml: [{subPath: /a, operator: remove}]}]`, secret, "fieldOverrider[0]", "/stringData/doc", []string{"no YAML"}},
		"field is empty":       {`fieldOverrider: [{fieldPath: /data/x, yaml: [{subPath: /b, operator: add, value: 1}, {subPath: /a, operator: remove}]}]`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: ""}}`, "fieldOverrider[0]", "/data/x", []string{"is empty"}},
		"operation fails":      {`fieldOverrider: [{fieldPath: /data/x, yaml: [{subPath: /b, operator: add, value: 1}, {subPath: /a, operator: remove}]}]`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "{}"}}`, "fieldOverrider[0]", "/data/x", []string{"cannot remove /a (operation 1 on /data/x)"}},
		"removed is missing":   {`plaintext: [{path: /spec/replicas, operator: replace, value: 1}, {path: /spec/gone, operator: remove}]`, deployment, "plaintext[1]", "/spec/gone", []string{"cannot remove /spec/gone: it is not there", "correct the path"}},
		"replaced is missing":  {`plaintext: [{path: /spec/gone, operator: replace, value: 1}]`, deployment, "plaintext[0]", "/spec/gone", []string{"use add"}},
		"parent is missing":    {`plaintext: [{path: /spec/gone/too, operator: add, value: 1}]`, deployment, "plaintext[0]", "/spec/gone/too", []string{"add the parent first"}},
		"beyond a list":        {`plaintext: [{path: /spec/template/spec/containers/7, operator: add, value: 1}]`, deployment, "plaintext[0]", "/spec/template/spec/containers/7", []string{"no such position"}},
		"no pointer":           {`plaintext: [{path: spec, operator: add, value: 1}]`, deployment, "plaintext[0]", "spec", []string{"slash"}},
		"unknown operator":     {`plaintext: [{path: /spec/x, operator: move, value: 1}]`, deployment, "plaintext[0]", "/spec/x", []string{`no operator "move"`}},
		"whole object":         {`plaintext: [{path: "", operator: replace, value: 1}]`, deployment, "plaintext[0]", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := override.Apply(parse(t, test.object), cluster("m1", nil), one(t, test.overriders))
			var refused *override.Error
			if !errors.As(err, &refused) {
				t.Fatalf("got %v", err)
			}
			if want := "spec.overrideRules[0].overriders." + test.field; refused.Field() != want || refused.Path != test.path {
				t.Errorf("at %s %q, want %s %q", refused.Field(), refused.Path, want, test.path)
			}
			for _, part := range append(test.says, "ClusterOverridePolicy p") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "TOP") {
				t.Errorf("a secret's value is told: %v", err)
			}
		})
	}
	top := typed[policyv1alpha1.OverridePolicy](t, `{metadata: {name: old, namespace: shop}, spec: {overriders: {plaintext: [{path: /gone, operator: remove}]}}}`)
	_, err := override.Apply(parse(t, deployment), cluster("m1", nil), override.Policies{Namespaced: []*policyv1alpha1.OverridePolicy{top}})
	if err == nil || !strings.Contains(err.Error(), "OverridePolicy shop/old, spec.overriders.plaintext[0]: ") {
		t.Errorf("deprecated form: %v", err)
	}
}
