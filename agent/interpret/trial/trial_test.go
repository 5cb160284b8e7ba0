package trial_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/agent/interpret/trial"
)

func TestMain(m *testing.M) {
	interpret.RunSandboxIfAsked()
	os.Exit(m.Run())
}

// lab is the customization of the recording.
const lab = `apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata:
  name: lab-customization
spec:
  target:
    apiVersion: apps/v1
    kind: Deployment
  customizations:
    replicaResource:
      luaScript: |
        function GetReplicas(obj)
          return obj.spec.replicas, nil
        end
    healthInterpretation:
      luaScript: |
        function InterpretHealth(observedObj)
          return observedObj.status.readyReplicas == observedObj.spec.replicas
        end
`

// documented is the customization that users find in the API's documentation.
const documented = `apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata:
  name: declarative-configuration-example
spec:
  target: {apiVersion: apps/v1, kind: Deployment}
  customizations:
    replicaResource:
      luaScript: >
        local kube = require("kube")
        function GetReplicas(obj)
          replica = obj.spec.replicas
          requirement = kube.accuratePodRequirements(obj.spec.template)
          return replica, requirement
        end
    replicaRevision:
      luaScript: >
        function ReviseReplica(obj, desiredReplica)
          obj.spec.replicas = desiredReplica
          return obj
        end
    retention:
      luaScript: >
        function Retain(desiredObj, observedObj)
          desiredObj.spec.paused = observedObj.spec.paused
          return desiredObj
        end
    statusAggregation:
      luaScript: >
        function AggregateStatus(desiredObj, statusItems)
          if statusItems == nil then
            return desiredObj
          end
          if desiredObj.status == nil then
            desiredObj.status = {}
          end
          replicas = 0
          for i = 1, #statusItems do
            if statusItems[i].status ~= nil and statusItems[i].status.replicas ~= nil then
              replicas = replicas + statusItems[i].status.replicas
            end
          end
          desiredObj.status.replicas = replicas
          return desiredObj
        end
    statusReflection:
      luaScript: >
        function ReflectStatus (observedObj)
          print("reflecting", observedObj.metadata.name)
          return observedObj.status
        end
    dependencyInterpretation:
      luaScript: >
        local kube = require("kube")
        function GetDependencies(desiredObj)
          return kube.getPodDependencies(desiredObj.spec.template, desiredObj.metadata.namespace)
        end
`

const web = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 4}, status: {readyReplicas: 4}}`

const observed = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx, namespace: shop}
spec:
  replicas: 3
  paused: true
  template:
    spec:
      nodeSelector: {foo: bar}
      serviceAccountName: test-sa
      containers: [{image: nginx, name: nginx, resources: {limits: {cpu: 100m}}}]
status: {readyReplicas: 2, replicas: 2}`

const desired = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: nginx, namespace: shop}, spec: {replicas: 3, paused: false}}`

func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func newTrial(t *testing.T) (tr *trial.Trial, out, log *bytes.Buffer) {
	t.Helper()
	i := interpret.New(interpret.Options{Sandbox: interpret.OwnSandbox()})
	t.Cleanup(i.Close)
	out, log = &bytes.Buffer{}, &bytes.Buffer{}
	return &trial.Trial{Interpreter: i, Out: out, Log: log}, out, log
}

func TestCheck(t *testing.T) {
	dir := files(t, map[string]string{"ric.yaml": lab, "bad.yaml": strings.Replace(lab, "InterpretHealth(observedObj)", "InterpretHealth(", 1), "pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: x}}",
		"dir/a.yaml": documented, "dir/deeper/b.yml": lab, "dir/note.txt": "no yaml: ["})
	tr, out, _ := newTrial(t)
	tr.Sources.Customizations = []string{filepath.Join(dir, "ric.yaml")}
	if err := tr.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = `-----------------------------------
SOURCE: lab-customization
TARGET: apps/v1 Deployment   
RULERS:
    Retain:                  UNSET
    InterpretReplica:        PASS
    InterpretComponent:      UNSET
    ReviseReplica:           UNSET
    InterpretStatus:         UNSET
    AggregateStatus:         UNSET
    InterpretHealth:         PASS
    InterpretDependency:     UNSET
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("as recorded: %s", diff)
	}
	for name, c := range map[string]struct {
		recursive bool
		says      string
		sources   int
	}{"bad.yaml": {false, "ERROR: ", 1}, "pod.yaml": {false, "", 0}, "dir": {false, "declarative-configuration-example", 1}, "none": {false, "", 0}} {
		tr, out, _ := newTrial(t)
		tr.Sources = trial.Sources{Customizations: []string{filepath.Join(dir, name)}, Recursive: c.recursive}
		if err := tr.Check(t.Context()); (err == nil) != (name == "dir") || !strings.Contains(out.String(), c.says) || strings.Count(out.String(), "SOURCE") != c.sources {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	tr, out, _ = newTrial(t)
	tr.Sources = trial.Sources{Customizations: []string{filepath.Join(dir, "dir")}, Recursive: true}
	if err := tr.Check(t.Context()); err != nil || strings.Count(out.String(), "SOURCE") != 2 {
		t.Errorf("recursive: %v\n%s", err, out)
	}
	tr, out, _ = newTrial(t)
	tr.Sources = trial.Sources{Customizations: []string{"-"}, In: strings.NewReader(lab + "---\n" + documented)}
	if err := tr.Check(t.Context()); err != nil || strings.Count(out.String(), "SOURCE") != 2 {
		t.Errorf("standard input: %v\n%s", err, out)
	}
}

func TestExecute(t *testing.T) {
	dir := files(t, map[string]string{"lab.yaml": lab, "doc.yaml": documented, "web.yaml": web, "observed.yaml": observed, "desired.yaml": desired,
		"status.yaml": "clusterName: a\nstatus: {replicas: 2}\n---\nclusterName: b\n", "list.yaml": "[{clusterName: a, status: {replicas: 2}}, {clusterName: b, status: {replicas: 5}}]"})
	for name, c := range map[string]struct {
		file, operation, desired, observed, status string
		want, printed                              string
	}{
		"health, as recorded":   {"lab", "InterpretHealth", "", "web", "", "---\n# [1/1] healthy:\ntrue\n", ""},
		"replicas, as recorded": {"lab", "InterpretReplica", "", "web", "", "---\n# [1/2] replica:\n4\n---\n# [2/2] requires:\nnull\n", ""},
		"in another case":       {"lab", "interpretReplica", "web", "", "", "---\n# [1/2] replica:\n4\n---\n# [2/2] requires:\nnull\n", ""},
		"requirements":          {"doc", "InterpretReplica", "", "observed", "", "---\n# [1/2] replica:\n3\n---\n# [2/2] requires:\nnodeClaim:\n  nodeSelector:\n    foo: bar\n", ""},
		"dependencies":          {"doc", "interpretDependency", "", "observed", "", "---\n# [1/1] dependencies:\n- apiVersion: v1\n  kind: ServiceAccount\n  name: test-sa\n  namespace: shop\n", ""},
		"status":                {"doc", "InterpretStatus", "", "observed", "", "---\n# [1/1] status:\nreadyReplicas: 2\nreplicas: 2\n", "reflecting\tnginx\n"},
		"retain":                {"doc", "Retain", "desired", "observed", "", "---\n# [1/1] retained:\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: nginx\n  namespace: shop\nspec:\n  paused: true\n  replicas: 3\n", ""},
		"revise":                {"doc", "ReviseReplica", "desired", "", "", "---\n# [1/1] revised:\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: nginx\n  namespace: shop\nspec:\n  paused: false\n  replicas: 2\n", ""},
		"aggregate":             {"doc", "AggregateStatus", "desired", "", "status", "---\n# [1/1] aggregatedStatus:\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: nginx\n  namespace: shop\nspec:\n  paused: false\n  replicas: 3\nstatus:\n  replicas: 2\n", ""},
		"aggregate a list":      {"doc", "AggregateStatus", "desired", "", "list", "---\n# [1/1] aggregatedStatus:\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: nginx\n  namespace: shop\nspec:\n  paused: false\n  replicas: 3\nstatus:\n  replicas: 7\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			place := func(name string) string {
				if name == "" {
					return ""
				}
				return filepath.Join(dir, name+".yaml")
			}
			tr, out, log := newTrial(t)
			tr.Sources = trial.Sources{Customizations: []string{place(c.file)}, Desired: place(c.desired), Observed: place(c.observed), Status: place(c.status)}
			if err := tr.Execute(t.Context(), c.operation, 2); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Error(diff)
			}
			if log.String() != c.printed {
				t.Errorf("printed %q", log)
			}
		})
	}
}

func TestExecuteRefuses(t *testing.T) {
	dir := files(t, map[string]string{"lab.yaml": lab, "web.yaml": web, "two.yaml": web + "\n---\n" + web, "pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: x}}"})
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, c := range map[string]struct {
		operation, desired, observed, says string
	}{
		"unknown operation": {"Guess", "", in("web.yaml"), "there are Retain, InterpretReplica"},
		"no object":         {"InterpretHealth", "", "", "--desired-file or --observed-file"},
		"two objects":       {"InterpretHealth", in("web.yaml"), in("web.yaml"), "one of"},
		"two in a file":     {"InterpretHealth", "", in("two.yaml"), "holds 2"},
		"retain one":        {"Retain", "", in("web.yaml"), "needs both"},
		"another kind":      {"InterpretHealth", "", in("pod.yaml"), "none of the customizations has a rule for InterpretHealth of v1 Pod"},
		"no such rule":      {"ReviseReplica", "", in("web.yaml"), "none of the customizations"},
		"no such file":      {"InterpretHealth", "", in("none.yaml"), "no such file"},
	} {
		tr, out, _ := newTrial(t)
		tr.Sources = trial.Sources{Customizations: []string{in("lab.yaml")}, Desired: c.desired, Observed: c.observed}
		if err := tr.Execute(t.Context(), c.operation, 0); err == nil || !strings.Contains(err.Error(), c.says) || out.Len() > 0 {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}

func TestURL(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/web.yaml" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(web))
	}))
	defer s.Close()
	tr, out, _ := newTrial(t)
	tr.Sources = trial.Sources{Customizations: []string{"-"}, In: strings.NewReader(lab), Observed: s.URL + "/web.yaml"}
	if err := tr.Execute(t.Context(), "InterpretHealth", 0); err != nil || !strings.Contains(out.String(), "true") {
		t.Errorf("%v, %s", err, out)
	}
	tr.Sources.Observed = s.URL + "/none.yaml"
	if err := tr.Execute(t.Context(), "InterpretHealth", 0); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
}

func TestEdit(t *testing.T) {
	replace := func(old, new string) trial.Editor {
		return func(_ context.Context, file string) error {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(file, bytes.Replace(text, []byte(old), []byte(new), 1), 0o600)
		}
	}
	broken, mended := replace("GetReplicas(obj)\n", "GetReplicas(\n"), replace("GetReplicas(\n", "GetReplicas(obj)\n")
	nothing := func(context.Context, string) error { return nil }
	for name, c := range map[string]struct {
		editors []trial.Editor
		want    string
		says    string
	}{
		"nothing":           {[]trial.Editor{nothing}, lab, "cancelled"},
		"a change":          {[]trial.Editor{replace("spec.replicas, nil", "spec.replicas")}, strings.Replace(lab, "spec.replicas, nil", "spec.replicas", 1), "edited"},
		"broken, given up":  {[]trial.Editor{broken, nothing}, lab, "cancelled"},
		"broken, undone":    {[]trial.Editor{broken, mended}, lab, "cancelled"},
		"broken and mended": {[]trial.Editor{broken, replace("GetReplicas(\n", "GetReplicas(o)\n")}, strings.Replace(lab, "GetReplicas(obj)", "GetReplicas(o)", 1), "edited"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(files(t, map[string]string{"ric.yaml": lab}), "ric.yaml")
			tr, out, _ := newTrial(t)
			tr.Sources.Customizations = []string{file}
			turn := 0
			err := tr.Edit(t.Context(), func(ctx context.Context, draft string) error {
				text, err := os.ReadFile(draft)
				if err != nil {
					return err
				}
				if !strings.Contains(string(text), "function GetReplicas(obj) ") || strings.Contains(string(text), "cannot be saved") != (turn > 0) {
					t.Errorf("turn %d shows\n%s", turn, text)
				}
				turn++
				return c.editors[turn-1](ctx, draft)
			}, true)
			if err != nil || turn != len(c.editors) || !strings.Contains(out.String(), c.says) {
				t.Errorf("%v after %d turns: %s", err, turn, out)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
