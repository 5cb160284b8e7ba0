package controlplane_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/controlplane/registry"
)

// wholeBinding says much that v1alpha1 has no words for.
const wholeBinding = `{"apiVersion":"work.karmada.io/v1alpha2","kind":"ResourceBinding","metadata":{"name":"web-deployment","labels":{"app":"web"}},"spec":{
  "resource":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"default","name":"web","uid":"u-1","resourceVersion":"7"},"replicas":3,
  "replicaRequirements":{"resourceRequest":{"cpu":"100m"},"priorityClassName":"high","nodeClaim":{"nodeSelector":{"disk":"ssd"}}},
  "clusters":[{"name":"m1","replicas":2,"components":[{"name":"main","replicas":2}]},{"name":"m2","replicas":1}],
  "placement":{"clusterAffinity":{"clusterNames":["m1","m2"]}},"conflictResolution":"Overwrite","schedulerName":"default-scheduler","propagateDeps":true,
  "gracefulEvictionTasks":[{"fromCluster":"m3","reason":"TaintUntolerated","producer":"TaintManager"}]}}`

// oldClients are clients of one binding in both versions.
type oldClients struct {
	config        *rest.Config
	first, second dynamic.ResourceInterface
}

func startOldClients(t *testing.T) oldClients {
	t.Helper()
	config := rest.CopyConfig(embeddedPlane(t).Config())
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	in := func(version string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: "work.karmada.io", Version: version, Resource: "resourcebindings"}).Namespace(metav1.NamespaceDefault)
	}
	return oldClients{config: config, first: in("v1alpha1"), second: in("v1alpha2")}
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// stored is the spec and the status as they are stored.
func (c oldClients) stored(t *testing.T) map[string]any {
	t.Helper()
	object, err := c.second.Get(t.Context(), "web-deployment", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"spec": object.Object["spec"], "status": object.Object["status"]}
}

// TestFirstVersionOfBindings goes through what a client of v1alpha1 can do, on a
// binding of v1alpha2, which keeps all that v1alpha1 has no words for.
func TestFirstVersionOfBindings(t *testing.T) {
	c := startOldClients(t)
	ctx := t.Context()
	if _, err := c.second.Create(ctx, parsed(t, wholeBinding), metav1.CreateOptions{FieldManager: "scheduler"}); err != nil {
		t.Fatal(err)
	}
	status := `{"status":{"schedulerObservedGeneration":1,"aggregatedStatus":[{"clusterName":"m1","applied":true,"health":"Healthy","status":{"replicas":2}}]}}`
	if _, err := c.second.Patch(ctx, "web-deployment", types.MergePatchType, []byte(status), metav1.PatchOptions{FieldManager: "scheduler"}, "status"); err != nil {
		t.Fatal(err)
	}
	t.Run("shown", func(t *testing.T) { c.shown(t) })
	t.Run("written", func(t *testing.T) { c.written(t) })
	t.Run("owned", func(t *testing.T) { c.owned(t) })
	t.Run("made", func(t *testing.T) { c.made(t) })
	t.Run("discovered", func(t *testing.T) { discovered(t, c.config) })
	t.Run("printed", func(t *testing.T) { printed(t, c.config) })
}

func (c oldClients) shown(t *testing.T) {
	want := parsed(t, `{"spec":{
	  "resource":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"default","name":"web","resourceVersion":"7","replicas":3,"resourcePerReplicas":{"cpu":"100m"}},
	  "clusters":[{"name":"m1","replicas":2},{"name":"m2","replicas":1}]},
	  "status":{"aggregatedStatus":[{"clusterName":"m1","applied":true,"status":{"replicas":2}}]}}`).Object
	list, err := c.first.List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil || len(list.Items) != 1 || list.GetAPIVersion() != "work.karmada.io/v1alpha1" || list.GetKind() != "ResourceBindingList" {
		t.Fatalf("list: %+v, %v", list, err)
	}
	one, err := c.first.Get(t.Context(), "web-deployment", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, object := range map[string]*unstructured.Unstructured{"get": one, "list": &list.Items[0]} {
		if diff := cmp.Diff(want, map[string]any{"spec": object.Object["spec"], "status": object.Object["status"]}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if object.GetAPIVersion() != "work.karmada.io/v1alpha1" || object.GetKind() != "ResourceBinding" {
			t.Errorf("%s calls itself %s %s", name, object.GetAPIVersion(), object.GetKind())
		}
	}
}

// written changes the binding in every way a client of v1alpha1 has, each of which
// arrives at watchers of v1alpha1 too.
func (c oldClients) written(t *testing.T) {
	ctx := t.Context()
	start, err := c.first.Get(ctx, "web-deployment", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.first.Watch(ctx, metav1.ListOptions{ResourceVersion: start.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	want := c.stored(t)
	set := func(value any, path ...string) {
		if err := unstructured.SetNestedField(want, value, path...); err != nil {
			t.Fatal(err)
		}
	}
	changes := []struct {
		name string
		send func(context.Context) error
		want func()
	}{
		{"put", func(ctx context.Context) error {
			object := start.DeepCopy()
			if err := unstructured.SetNestedField(object.Object, int64(5), "spec", "resource", "replicas"); err != nil {
				return err
			}
			_, err := c.first.Update(ctx, object, metav1.UpdateOptions{})
			return err
		}, func() { set(int64(5), "spec", "replicas") }},
		{"merge patch of requests and clusters", func(ctx context.Context) error {
			return c.patch(ctx, types.MergePatchType, `{"spec":{"resource":{"resourcePerReplicas":null},"clusters":[{"name":"m2","replicas":4},{"name":"m1","replicas":1}]}}`)
		}, func() {
			unstructured.RemoveNestedField(want, "spec", "replicaRequirements", "resourceRequest")
			m1 := map[string]any{"name": "m1", "replicas": int64(1), "components": []any{map[string]any{"name": "main", "replicas": int64(2)}}}
			set([]any{map[string]any{"name": "m2", "replicas": int64(4)}, m1}, "spec", "clusters")
		}},
		{"patch of the status", func(ctx context.Context) error {
			return c.patch(ctx, types.MergePatchType, `{"status":{"aggregatedStatus":[{"clusterName":"m1","appliedMessage":"quota"},{"clusterName":"m2","applied":true}]}}`, "status")
		}, func() {
			set([]any{map[string]any{"clusterName": "m1", "appliedMessage": "quota", "health": "Healthy"}, map[string]any{"clusterName": "m2", "applied": true}}, "status", "aggregatedStatus")
		}},
		{"another template", func(ctx context.Context) error {
			return c.patch(ctx, types.JSONPatchType, `[{"op":"replace","path":"/spec/resource/name","value":"shop"}]`)
		}, func() {
			set("shop", "spec", "resource", "name")
			unstructured.RemoveNestedField(want, "spec", "resource", "uid")
		}},
		{"apply", func(ctx context.Context) error {
			return c.patch(ctx, types.ApplyPatchType, `{"apiVersion":"work.karmada.io/v1alpha1","kind":"ResourceBinding","metadata":{"name":"web-deployment"},
			  "spec":{"resource":{"apiVersion":"apps/v1","kind":"Deployment","name":"shop","replicas":9}}}`)
		}, func() { set(int64(9), "spec", "replicas") }},
	}
	for _, change := range changes {
		if err := change.send(ctx); err != nil {
			t.Fatalf("%s: %v", change.name, err)
		}
		change.want()
		if diff := cmp.Diff(want, c.stored(t)); diff != "" {
			t.Errorf("%s (-want +stored):\n%s", change.name, diff)
		}
		event := <-w.ResultChan()
		seen, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type != watch.Modified || seen.GetAPIVersion() != "work.karmada.io/v1alpha1" {
			t.Fatalf("%s: watched %s %+v", change.name, event.Type, event.Object)
		}
	}
	before := c.stored(t)
	if err := c.patch(ctx, types.MergePatchType, `{"spec":{"placement":{"clusterAffinity":{}}}}`); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, c.stored(t)); diff != "" {
		t.Errorf("a field that v1alpha1 does not have was written (-before +after):\n%s", diff)
	}
}

func (c oldClients) patch(ctx context.Context, kind types.PatchType, patch string, subresources ...string) error {
	options := metav1.PatchOptions{FieldManager: "old-client"}
	if kind == types.ApplyPatchType {
		force := true
		options.Force = &force
	}
	_, err := c.first.Patch(ctx, "web-deployment", kind, []byte(patch), options, subresources...)
	return err
}

// owned: who wrote what v1alpha1 cannot say is still said to have written it.
func (c oldClients) owned(t *testing.T) {
	object, err := c.second.Get(t.Context(), "web-deployment", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	byManager := map[string]string{}
	for _, entry := range object.GetManagedFields() {
		byManager[entry.Manager+" "+entry.APIVersion+" "+string(entry.Operation)] += entry.FieldsV1.GetRawString()
	}
	if fields := byManager["scheduler work.karmada.io/v1alpha2 Update"]; !strings.Contains(fields, "f:placement") || !strings.Contains(fields, "f:gracefulEvictionTasks") {
		t.Errorf("the writer of v1alpha2 owns %s", fields)
	}
	if fields := byManager["old-client work.karmada.io/v1alpha1 Apply"]; !strings.Contains(fields, "f:replicas") || strings.Contains(fields, "f:placement") {
		t.Errorf("the writer of v1alpha1 owns %s", fields)
	}
}

// made creates bindings in the words of v1alpha1, by POST and by apply.
func (c oldClients) made(t *testing.T) {
	object := `{"apiVersion":"work.karmada.io/v1alpha1","kind":"ResourceBinding","metadata":{"name":"NAME"},"spec":{"resource":{"apiVersion":"v1","kind":"ConfigMap","name":"c"}}}`
	if _, err := c.first.Create(t.Context(), parsed(t, strings.Replace(object, "NAME", "posted", 1)), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.first.Apply(t.Context(), "applied", parsed(t, strings.Replace(object, "NAME", "applied", 1)), metav1.ApplyOptions{FieldManager: "old-client"}); err != nil {
		t.Fatal(err)
	}
	want := parsed(t, `{"resource":{"apiVersion":"v1","kind":"ConfigMap","name":"c"},"conflictResolution":"Abort"}`).Object
	for _, name := range []string{"posted", "applied"} {
		made, err := c.second.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, made.Object["spec"]); diff != "" || made.GetGeneration() != 1 {
			t.Errorf("%s, generation %d (-want +got):\n%s", name, made.GetGeneration(), diff)
		}
		if err := c.first.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.first.Create(t.Context(), parsed(t, strings.Replace(object, `"name":"c"`, `"name":""`, 1)), metav1.CreateOptions{}); err == nil {
		t.Error("a binding without a template was accepted")
	}
}

// discovered: v1alpha2 is what clients choose that do not name a version.
func discovered(t *testing.T, config *rest.Config) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := client.ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups.Groups {
		if group.Name == "work.karmada.io" && (group.PreferredVersion.Version != "v1alpha2" || len(group.Versions) != 2 || group.Versions[0].Version != "v1alpha2") {
			t.Errorf("the group's versions are %+v", group)
		}
	}
	resources, err := client.ServerResourcesForGroupVersion("work.karmada.io/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, resource := range resources.APIResources {
		got = append(got, resource.Name+" "+resource.Kind+" "+strings.Join(resource.ShortNames, ""))
	}
	want := []string{"clusterresourcebindings ClusterResourceBinding crb", "clusterresourcebindings/status ClusterResourceBinding ", "resourcebindings ResourceBinding rb",
		"resourcebindings/status ResourceBinding ", "works Work wk", "works/status Work "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources of v1alpha1 (-want +got):\n%s", diff)
	}
	document, err := client.OpenAPISchema()
	if err != nil {
		t.Fatal(err)
	}
	var described bool
	for _, definition := range document.GetDefinitions().GetAdditionalProperties() {
		described = described || definition.GetName() == "io.karmada.work.v1alpha1.ResourceBinding"
	}
	if !described {
		t.Error("OpenAPI does not describe bindings of v1alpha1")
	}
}

// printed: kubectl's table has the columns that v1alpha1 has in the field.
func printed(t *testing.T, config *rest.Config) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/apis", &corev1.SchemeGroupVersion, registry.Codecs
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string][]string{"v1alpha1": {"Name", "Age"}, "v1alpha2": {"Name", "SCHEDULED", "FULLYAPPLIED", "AGE"}} {
		raw, err := client.Get().AbsPath("/apis/work.karmada.io", version, "namespaces/default/resourcebindings").
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var table metav1.Table
		if err := json.Unmarshal(raw, &table); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, column := range table.ColumnDefinitions {
			got = append(got, column.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(table.Rows) != 1 {
			t.Errorf("%s has %d rows, columns (-want +got):\n%s", version, len(table.Rows), diff)
		}
	}
}
