package interpret_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

func TestMain(m *testing.M) {
	interpret.RunSandboxIfAsked()
	os.Exit(m.Run())
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return o
}

func interpreter(t *testing.T, o interpret.Options) *interpret.Interpreter {
	t.Helper()
	if o.Sandbox == nil {
		o.Sandbox = interpret.OwnSandbox()
	}
	i := interpret.New(o)
	t.Cleanup(i.Close)
	return i
}

// customization returns one for a kind, its scripts by operation.
func customization(name, apiVersion, kind string, scripts map[interpret.Operation]string) configv1alpha1.ResourceInterpreterCustomization {
	c := configv1alpha1.ResourceInterpreterCustomization{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.Target = configv1alpha1.CustomizationTarget{APIVersion: apiVersion, Kind: kind}
	r := &c.Spec.Customizations
	for operation, code := range scripts {
		switch operation {
		case configv1alpha1.InterpreterOperationRetain:
			r.Retention = &configv1alpha1.LocalValueRetention{LuaScript: code}
		case configv1alpha1.InterpreterOperationInterpretReplica:
			r.ReplicaResource = &configv1alpha1.ReplicaResourceRequirement{LuaScript: code}
		case configv1alpha1.InterpreterOperationInterpretComponent:
			r.ComponentResource = &configv1alpha1.ComponentResourceRequirement{LuaScript: code}
		case configv1alpha1.InterpreterOperationReviseReplica:
			r.ReplicaRevision = &configv1alpha1.ReplicaRevision{LuaScript: code}
		case configv1alpha1.InterpreterOperationInterpretStatus:
			r.StatusReflection = &configv1alpha1.StatusReflection{LuaScript: code}
		case configv1alpha1.InterpreterOperationAggregateStatus:
			r.StatusAggregation = &configv1alpha1.StatusAggregation{LuaScript: code}
		case configv1alpha1.InterpreterOperationInterpretHealth:
			r.HealthInterpretation = &configv1alpha1.HealthInterpretation{LuaScript: code}
		case configv1alpha1.InterpreterOperationInterpretDependency:
			r.DependencyInterpretation = &configv1alpha1.DependencyInterpretation{LuaScript: code}
		}
	}
	return c
}

const thing = `
apiVersion: example.com/v1
kind: Thing
metadata: {name: a, namespace: shop, generation: 3, labels: {}}
spec:
  size: 4
  secret: pass
  pod: {spec: {containers: [{name: c, resources: {requests: {cpu: 100m}}}]}}
status: {ready: 2}`

var thingScripts = map[interpret.Operation]string{
	configv1alpha1.InterpreterOperationInterpretReplica: `
local kube = require("kube")
function GetReplicas(obj) return obj.spec.size, kube.accuratePodRequirements(obj.spec.pod) end`,
	configv1alpha1.InterpreterOperationInterpretComponent: `
function GetComponents(obj) return {{name = "main", replicas = obj.spec.size, replicaRequirements = {resourceRequest = {cpu = "1"}}}} end`,
	configv1alpha1.InterpreterOperationReviseReplica: `
function ReviseReplica(obj, desiredReplica) obj.spec.size = desiredReplica return obj end`,
	configv1alpha1.InterpreterOperationRetain: `
function Retain(desiredObj, observedObj) desiredObj.spec.size = observedObj.spec.size return desiredObj end`,
	configv1alpha1.InterpreterOperationInterpretStatus: `
function ReflectStatus(observedObj) return {ready = observedObj.status.ready, generation = observedObj.metadata.generation} end`,
	configv1alpha1.InterpreterOperationAggregateStatus: `
function AggregateStatus(desiredObj, statusItems)
  local ready = 0
  for i = 1, #statusItems do
    if statusItems[i].status ~= nil then ready = ready + statusItems[i].status.ready end
  end
  desiredObj.status = {ready = ready}
  return desiredObj
end`,
	configv1alpha1.InterpreterOperationInterpretHealth: `
function InterpretHealth(observedObj) return observedObj.status.ready == observedObj.spec.size end`,
	configv1alpha1.InterpreterOperationInterpretDependency: `
function GetDependencies(desiredObj)
  local dependencies = {}
  dependencies[1] = {apiVersion = "v1", kind = "Secret", name = desiredObj.spec.secret, namespace = desiredObj.metadata.namespace}
  dependencies[2] = dependencies[1]
  return dependencies
end`,
}

// results asks everything about an object and prints the answers.
func results(t *testing.T, i *interpret.Interpreter, o *unstructured.Unstructured) map[string]string {
	t.Helper()
	ctx := t.Context()
	before := o.DeepCopy()
	text := func(v any, err error) string {
		if err != nil {
			return "error: " + err.Error()
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	got := map[string]string{}
	n, need, workload, err := i.Replicas(ctx, o)
	got["replicas"] = text([]any{n, need, workload}, err)
	parts, known, err := i.Components(ctx, o)
	got["components"] = text([]any{parts, known}, err)
	revised, err := i.Revise(ctx, o, 9)
	if err == nil {
		got["revised"] = text(revised.Object["spec"].(map[string]any)["size"], nil)
	} else {
		got["revised"] = text(nil, err)
	}
	status, err := i.Reflect(ctx, o)
	got["status"] = text(status, err)
	health, err := i.Health(ctx, o)
	got["health"] = text(health, err)
	dependencies, err := i.Dependencies(ctx, o)
	got["dependencies"] = text(dependencies, err)
	if diff := cmp.Diff(before.Object, o.Object); diff != "" {
		t.Errorf("the object was changed: %s", diff)
	}
	return got
}

func TestCustomization(t *testing.T) {
	i := interpreter(t, interpret.Options{})
	i.SetCustomizations([]configv1alpha1.ResourceInterpreterCustomization{customization("things", "example.com/v1", "Thing", thingScripts)})
	o := object(t, thing)
	want := map[string]string{
		"replicas":     `[4,{"resourceRequest":{"cpu":"100m"},"namespace":"shop"},true]`,
		"components":   `[[{"name":"main","replicas":4,"replicaRequirements":{"resourceRequest":{"cpu":"1"}}}],true]`,
		"revised":      `9`,
		"status":       `{"generation":3,"ready":2}`,
		"health":       `"Unhealthy"`,
		"dependencies": `[{"apiVersion":"v1","kind":"Secret","namespace":"shop","name":"pass"}]`,
	}
	if diff := cmp.Diff(want, results(t, i, o)); diff != "" {
		t.Error(diff)
	}
	desired, observed := o.DeepCopy(), o.DeepCopy()
	_ = unstructured.SetNestedField(observed.Object, int64(7), "spec", "size")
	observed.SetResourceVersion("5")
	retained, err := i.Retain(t.Context(), desired, observed)
	if err != nil {
		t.Fatal(err)
	}
	if size, _, _ := unstructured.NestedInt64(retained.Object, "spec", "size"); size != 7 || retained.GetResourceVersion() != "5" {
		t.Errorf("retained %v", retained.Object)
	}
	items := []workv1alpha2.AggregatedStatusItem{{ClusterName: "a", Applied: true, Status: &runtime.RawExtension{Raw: []byte(`{"ready":2}`)}}, {ClusterName: "b"},
		{ClusterName: "c", Applied: true, Status: &runtime.RawExtension{Raw: []byte(`{"ready":3}`)}}}
	changed, aggregates, err := i.Aggregate(t.Context(), o, items)
	if err != nil || !aggregates || changed == nil {
		t.Fatalf("aggregate: %v %v %v", changed, aggregates, err)
	}
	if ready, _, _ := unstructured.NestedInt64(changed.Object, "status", "ready"); ready != 5 {
		t.Errorf("aggregated %v", changed.Object)
	}
	if changed, aggregates, err = i.Aggregate(t.Context(), changed, items); changed != nil || !aggregates || err != nil {
		t.Errorf("aggregated again: %v %v %v", changed, aggregates, err)
	}
}

// TestTwoCustomizations: what an object needs is what all say, once each; for the
// rest the first by name counts. A script that is taken away does not count.
func TestTwoCustomizations(t *testing.T) {
	needs := func(name, kind, replicas string, more ...string) configv1alpha1.ResourceInterpreterCustomization {
		list := ""
		for _, one := range append([]string{kind}, more...) {
			list += `{apiVersion = "v1", kind = "` + one + `", name = "x", namespace = "shop"},`
		}
		return customization(name, "example.com/v1", "Thing", map[interpret.Operation]string{
			configv1alpha1.InterpreterOperationInterpretDependency: "function GetDependencies(o) return {" + list + "} end",
			configv1alpha1.InterpreterOperationInterpretReplica:    "function GetReplicas(o) return " + replicas + ", nil end",
		})
	}
	i := interpreter(t, interpret.Options{})
	told := 0
	i.OnChange(func(affects func(schema.GroupVersionKind) bool) {
		if affects(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}) {
			told++
		}
	})
	both := []configv1alpha1.ResourceInterpreterCustomization{needs("b", "ConfigMap", "2", "Secret"), needs("a", "Secret", "1")}
	for step, c := range []struct {
		list     []configv1alpha1.ResourceInterpreterCustomization
		needed   string
		replicas int32
		told     int
	}{{both, "Secret ConfigMap", 1, 1}, {both, "Secret ConfigMap", 1, 1}, {both[:1], "ConfigMap Secret", 2, 2}, {both[1:], "Secret", 1, 3}} {
		i.SetCustomizations(c.list)
		list, err := i.Dependencies(t.Context(), object(t, thing))
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, d := range list {
			kinds = append(kinds, d.Kind)
		}
		n, _, _, err := i.Replicas(t.Context(), object(t, thing))
		if got := strings.Join(kinds, " "); err != nil || got != c.needed || n != c.replicas || told != c.told {
			t.Errorf("step %d: needs %s, %d replicas (%v), told %d times", step, got, n, err, told)
		}
	}
	i.SetCustomizations(append(both[:1:1], customization("c", "example.com/v1", "Thing", map[interpret.Operation]string{
		configv1alpha1.InterpreterOperationInterpretDependency: "function GetDependencies(o) return 1 + nil end"})))
	if list, err := i.Dependencies(t.Context(), object(t, thing)); err == nil || !strings.Contains(err.Error(), "customization c") {
		t.Errorf("a part that fails: %v %v", list, err)
	}
}

func TestNoCustomization(t *testing.T) {
	want := map[string]string{"replicas": `[0,null,false]`, "components": `[null,false]`, "revised": `4`, "status": `{"ready":2}`, "health": `"Healthy"`, "dependencies": `null`}
	i := interpreter(t, interpret.Options{})
	i.SetCustomizations([]configv1alpha1.ResourceInterpreterCustomization{customization("others", "example.com/v2", "Thing", thingScripts)})
	for name, i := range map[string]*interpret.Interpreter{"native": interpret.Native(), "of another version": i} {
		if diff := cmp.Diff(want, results(t, i, object(t, thing))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, aggregates, err := interpret.Native().Aggregate(t.Context(), object(t, thing), nil); aggregates || err != nil {
		t.Errorf("aggregates %v, %v", aggregates, err)
	}
}

// TestBrokenScripts: each error names the customization, the operation, the
// object, the cause and what helps; nothing else suffers.
func TestBrokenScripts(t *testing.T) {
	health := configv1alpha1.InterpreterOperationInterpretHealth
	replicas := configv1alpha1.InterpreterOperationInterpretReplica
	revise := configv1alpha1.InterpreterOperationReviseReplica
	for name, c := range map[string]struct {
		operation interpret.Operation
		script    string
		says      []string
	}{
		"no Lua":           {health, "function InterpretHealth(", []string{"customization broken, InterpretHealth of example.com/v1 Thing shop/a: ", "muster interpret -f FILE --check"}},
		"missing":          {health, "function Health() end", []string{"no function InterpretHealth", "give the function that name"}},
		"raises":           {health, "function InterpretHealth(o)\n  return o.status.x.y\nend", []string{"broken:2:", "--operation InterpretHealth"}},
		"no verdict":       {health, "function InterpretHealth(o) end", []string{"must return true or false, not null"}},
		"a wrong verdict":  {health, `function InterpretHealth(o) return "yes" end`, []string{`not "yes"`}},
		"loops":            {health, "function InterpretHealth(o) while true do end end", []string{"ran for more than 1s", "look for a loop"}},
		"no number":        {replicas, "function GetReplicas(o) return nil end", []string{"must first return a whole number, not null"}},
		"half a replica":   {replicas, "function GetReplicas(o) return 1.5 end", []string{"whole number, not 1.5"}},
		"odd requirements": {replicas, "function GetReplicas(o) return 1, {resourceRequest = 3} end", []string{"shape of replicaRequirements"}},
		"no object":        {revise, "function ReviseReplica(o, n) end", []string{"must return the object: it returned nothing"}},
		"another object":   {revise, "function ReviseReplica(o, n) o.metadata.name = 'b' return o end", []string{"it made another object of it: example.com/v1 Thing shop/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := interpreter(t, interpret.Options{})
			i.SetCustomizations([]configv1alpha1.ResourceInterpreterCustomization{customization("broken", "example.com/v1", "Thing", map[interpret.Operation]string{c.operation: c.script})})
			ask := func() error {
				switch c.operation {
				case health:
					verdict, err := i.Health(t.Context(), object(t, thing))
					if verdict != workv1alpha1.ResourceUnknown {
						t.Errorf("health %s", verdict)
					}
					return err
				case replicas:
					_, _, _, err := i.Replicas(t.Context(), object(t, thing))
					return err
				}
				_, err := i.Revise(t.Context(), object(t, thing), 1)
				return err
			}
			err := ask()
			var told *interpret.Error
			if !errors.As(err, &told) || told.Fix == "" {
				t.Fatalf("got %v", err)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
			if again := ask(); again == nil || again.Error() != err.Error() {
				t.Errorf("another text the second time: %v", again)
			}
			if status, err := i.Reflect(t.Context(), object(t, thing)); err != nil || string(status.Raw) != `{"ready":2}` {
				t.Errorf("other operations: %s, %v", status.Raw, err)
			}
		})
	}
}

// TestRunawayIsSpared: a script that has just cost a deadline is not run again at
// once, until it has changed.
func TestRunawayIsSpared(t *testing.T) {
	i := interpreter(t, interpret.Options{})
	loop := customization("c", "example.com/v1", "Thing", map[interpret.Operation]string{
		configv1alpha1.InterpreterOperationInterpretHealth: "function InterpretHealth(o) if o.spec.size == 4 then while true do end end return true end"})
	i.SetCustomizations([]configv1alpha1.ResourceInterpreterCustomization{loop})
	o := object(t, thing)
	if _, err := i.Health(t.Context(), o); err == nil {
		t.Fatal("no error")
	}
	fine := o.DeepCopy()
	_ = unstructured.SetNestedField(fine.Object, int64(1), "spec", "size")
	if _, err := i.Health(t.Context(), fine); err == nil {
		t.Error("it was run again at once")
	}
	i.SetCustomizations([]configv1alpha1.ResourceInterpreterCustomization{loop}) // nothing new
	if _, err := i.Health(t.Context(), fine); err == nil {
		t.Error("it was run again after a list without news")
	}
	loop.Spec.Customizations.HealthInterpretation.LuaScript = "function InterpretHealth(o) return true end"
	i.SetCustomizations([]configv1alpha1.ResourceInterpreterCustomization{loop})
	if health, err := i.Health(t.Context(), o); err != nil || health != workv1alpha1.ResourceHealthy {
		t.Errorf("changed: %s, %v", health, err)
	}
}

func TestOnChange(t *testing.T) {
	i := interpreter(t, interpret.Options{})
	kinds := []schema.GroupVersionKind{{Group: "example.com", Version: "v1", Kind: "Thing"}, {Group: "example.com", Version: "v1", Kind: "Other"}, {Version: "v1", Kind: "Pod"}}
	var got []string
	stop := i.OnChange(func(affects func(schema.GroupVersionKind) bool) {
		text := ""
		for _, kind := range kinds {
			if affects(kind) {
				text += kind.Kind + " "
			}
		}
		got = append(got, text)
	})
	health := map[interpret.Operation]string{configv1alpha1.InterpreterOperationInterpretHealth: "function InterpretHealth(o) return true end"}
	things, others := customization("a", "example.com/v1", "Thing", health), customization("b", "example.com/v1", "Other", health)
	set := func(list ...configv1alpha1.ResourceInterpreterCustomization) { i.SetCustomizations(list) }
	set(things)
	set(things, others)
	set(things, others)
	set(others)
	hook := configv1alpha1.ResourceInterpreterWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "w"}, Webhooks: []configv1alpha1.ResourceInterpreterWebhook{{Name: "w",
		Rules: []configv1alpha1.RuleWithOperations{{Operations: []interpret.Operation{"InterpretHealth"}, Rule: configv1alpha1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"*"}, Kinds: []string{"*"}}}}}}}
	i.SetWebhooks([]configv1alpha1.ResourceInterpreterWebhookConfiguration{hook})
	i.SetWebhooks([]configv1alpha1.ResourceInterpreterWebhookConfiguration{hook})
	stop()
	set()
	if diff := cmp.Diff([]string{"Thing ", "Other ", "", "Thing ", "Thing Other ", ""}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFed(t *testing.T) {
	i := interpreter(t, interpret.Options{Fed: true})
	done := make(chan error, 1)
	go func() {
		_, err := i.Health(context.Background(), object(t, thing))
		done <- err
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := i.Health(ctx, object(t, thing)); !errors.Is(err, context.Canceled) {
		t.Errorf("not fed: %v", err)
	}
	i.SetCustomizations(nil)
	select {
	case err := <-done:
		t.Errorf("answered before the webhooks came: %v", err)
	default:
	}
	i.SetWebhooks(nil)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	i := interpreter(t, interpret.Options{})
	c := customization("lab", "apps/v1", "Deployment", map[interpret.Operation]string{
		configv1alpha1.InterpreterOperationInterpretHealth:  "function InterpretHealth(o) return true end",
		configv1alpha1.InterpreterOperationInterpretReplica: "function Replicas(o) return 1 end",
		configv1alpha1.InterpreterOperationRetain:           "function (",
	})
	got := map[interpret.Operation]string{}
	for _, f := range i.Check(t.Context(), &c) {
		switch {
		case f.Err != nil:
			got[f.Operation] = "error"
		case f.Set:
			got[f.Operation] = "pass"
		}
	}
	want := map[interpret.Operation]string{"InterpretHealth": "pass", "InterpretReplica": "error", "Retain": "error"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
