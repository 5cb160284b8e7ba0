package join_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/join"
	"muster.dev/muster/backend/agentapi"
)

var templateFile = filepath.Join("..", "..", "deploy", "join", agentapi.ManifestTemplate)

// TestTemplate: the shipped template is the one the objects give.
func TestTemplate(t *testing.T) {
	want, err := join.Template()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(templateFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(templateFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run go test ./agent/join -run TestTemplate -update (-want +got)\n%s", diff)
	}
}

func render(t *testing.T, m agentapi.Manifest) map[string]*unstructured.Unstructured {
	t.Helper()
	template, err := os.ReadFile(templateFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.Render(string(template))
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for _, part := range strings.Split(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(part), &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, part)
		}
		objects[o.GetKind()] = o
	}
	return objects
}

func manifest() agentapi.Manifest {
	return agentapi.Manifest{Hub: "hub.example:6443", CA: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", Token: "abcdef.0123456789abcdef",
		ClusterName: "edge-7", Image: "muster/agent:v1"}
}

func TestRender(t *testing.T) {
	m := manifest()
	m.Provider, m.Region, m.Zones = `ac"me`, "eu\n- --evil", []string{"a", "b"}
	objects := render(t, m)
	for kind := range map[string]bool{"Namespace": true, "Secret": true, "ServiceAccount": true, "ClusterRole": true, "ClusterRoleBinding": true, "Deployment": true} {
		if objects[kind] == nil {
			t.Fatalf("no %s", kind)
		}
	}
	data, _, _ := unstructured.NestedStringMap(objects["Secret"].Object, "stringData")
	if diff := cmp.Diff(map[string]string{"hub": m.Hub, "ca.crt": m.CA, "token": m.Token, "cluster-name": "edge-7"}, data); diff != "" {
		t.Error(diff)
	}
	containers, _, _ := unstructured.NestedSlice(objects["Deployment"].Object, "spec", "template", "spec", "containers")
	want := []any{"run", "--namespace=muster-system", `--cluster-provider=ac"me`, "--cluster-region=eu\n- --evil", "--cluster-zones=a,b", "--bootstrap"}
	if diff := cmp.Diff(want, containers[0].(map[string]any)["args"]); diff != "" {
		t.Error(diff)
	}
	if got := render(t, manifest())["Deployment"]; !strings.Contains(mustYAML(t, got), "- --bootstrap") || strings.Contains(mustYAML(t, got), "--cluster-region") {
		t.Errorf("without a description:\n%s", mustYAML(t, got))
	}
}

func mustYAML(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRenderRefuses(t *testing.T) {
	for name, change := range map[string]func(*agentapi.Manifest){
		"no name":  func(m *agentapi.Manifest) { m.ClusterName = "" },
		"bad name": func(m *agentapi.Manifest) { m.ClusterName = "a\nb" },
		"no token": func(m *agentapi.Manifest) { m.Token = "" },
		"no CA":    func(m *agentapi.Manifest) { m.CA = "" },
	} {
		m := manifest()
		change(&m)
		if _, err := m.Render("x"); err == nil {
			t.Errorf("%s: rendered", name)
		}
	}
}
