package thirdparty_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// kindCase is one entry of testdata/cases.yaml. What is nil is not looked at.
type kindCase struct {
	Name         string
	Object       json.RawMessage
	Replicas     *int32
	Need         *workv1alpha2.ReplicaRequirements
	Revised      map[string]any
	Components   []workv1alpha2.Component
	Health       *bool
	Dependencies []string
	Reflected    map[string]any
	Other        json.RawMessage
	Aggregated   map[string]any
}

func TestKinds(t *testing.T) {
	text, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []kindCase
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}
	i := interpret.New(interpret.Options{Sandbox: interpret.OwnSandbox()})
	t.Cleanup(i.Close)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			if err := o.UnmarshalJSON(c.Object); err != nil {
				t.Fatal(err)
			}
			scale(t, i, o, &c)
			observe(t, i, o, &c)
			needs(t, i, o, &c)
			aggregate(t, i, o, &c)
		})
	}
}

func scale(t *testing.T, i *interpret.Interpreter, o *unstructured.Unstructured, c *kindCase) {
	t.Helper()
	n, need, workload, err := i.Replicas(t.Context(), o)
	if err != nil || workload != (c.Replicas != nil) || workload && n != *c.Replicas {
		t.Errorf("replicas %d, %v, %v", n, workload, err)
	}
	if need != nil {
		if need.Namespace != o.GetNamespace() {
			t.Errorf("replicas need namespace %q", need.Namespace)
		}
		need.Namespace = "" // cases do not repeat it
	}
	equal(t, "need", c.Need, need)
	if c.Revised != nil {
		revised, err := i.Revise(t.Context(), o, 9)
		if err != nil {
			t.Fatal(err)
		}
		spec, _, _ := unstructured.NestedMap(revised.Object, "spec")
		for field := range spec {
			if _, wanted := c.Revised[field]; !wanted && field != "replicas" && field != "parallelism" {
				delete(spec, field)
			}
		}
		equal(t, "revised", c.Revised, spec)
	}
	parts, _, err := i.Components(t.Context(), o)
	if err != nil {
		t.Errorf("components: %v", err)
	}
	equal(t, "components", c.Components, parts)
}

func observe(t *testing.T, i *interpret.Interpreter, o *unstructured.Unstructured, c *kindCase) {
	t.Helper()
	health, err := i.Health(t.Context(), o)
	if err != nil || c.Health == nil || *c.Health != (health == workv1alpha1.ResourceHealthy) {
		t.Errorf("health %s, %v", health, err)
	}
	status, err := i.Reflect(t.Context(), o)
	if err != nil {
		t.Errorf("reflect: %v", err)
	}
	if c.Reflected != nil {
		equal(t, "reflected", c.Reflected, status)
	}
	observed := o.DeepCopy()
	_ = unstructured.SetNestedField(observed.Object, true, "spec", "suspend")
	if _, err := i.Retain(t.Context(), o, observed); err != nil {
		t.Errorf("retain: %v", err)
	}
}

func needs(t *testing.T, i *interpret.Interpreter, o *unstructured.Unstructured, c *kindCase) {
	t.Helper()
	list, err := i.Dependencies(t.Context(), o)
	if err != nil {
		t.Errorf("dependencies: %v", err)
	}
	var got []string
	for _, d := range list {
		if d.APIVersion != "v1" || d.Namespace != "shop" {
			t.Errorf("dependency %+v", d)
		}
		got = append(got, d.Kind+"/"+d.Name)
	}
	equal(t, "dependencies", c.Dependencies, got)
}

func aggregate(t *testing.T, i *interpret.Interpreter, o *unstructured.Unstructured, c *kindCase) {
	t.Helper()
	status, err := i.Reflect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	template := o.DeepCopy()
	delete(template.Object, "status")
	if generation, _, _ := unstructured.NestedFieldCopy(o.Object, "metadata", "annotations", "resourcetemplate.karmada.io/generation"); generation != nil {
		var n int64
		if err := json.Unmarshal([]byte(generation.(string)), &n); err != nil {
			t.Fatal(err)
		}
		template.SetGeneration(n)
	}
	items := []workv1alpha2.AggregatedStatusItem{{ClusterName: "a", Applied: true, Status: status}, {ClusterName: "b", Applied: true, Status: status}}
	if c.Other != nil {
		items[1].Status = &runtime.RawExtension{Raw: c.Other}
	}
	changed, aggregates, err := i.Aggregate(t.Context(), template, items)
	if err != nil || !aggregates {
		t.Fatalf("aggregate: %v, %v", aggregates, err)
	}
	if c.Aggregated == nil {
		return
	}
	if changed == nil {
		t.Fatal("nothing is aggregated")
	}
	equal(t, "aggregated", c.Aggregated, changed.Object["status"])
	if again, _, err := i.Aggregate(t.Context(), changed, items); again != nil || err != nil {
		t.Errorf("not stable: %v, %v", again, err)
	}
	if _, _, err := i.Aggregate(t.Context(), template, nil); err != nil {
		t.Errorf("without members: %v", err)
	}
	if _, _, err := i.Aggregate(t.Context(), template, []workv1alpha2.AggregatedStatusItem{{ClusterName: "a"}}); err != nil {
		t.Errorf("a member without status: %v", err)
	}
}

// equal compares as JSON.
func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	plain := func(v any) any {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}
