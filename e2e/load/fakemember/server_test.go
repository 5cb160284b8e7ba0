package main

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/e2e/load"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// startMember serves one member and returns how to reach it.
func startMember(t *testing.T) (*server, *rest.Config) {
	t.Helper()
	s := newServer("secret", "v1.36.3", map[string]*store{"one": seeded(2), "two": seeded(0)})
	served := httptest.NewTLSServer(s)
	t.Cleanup(served.Close)
	return s, &rest.Config{Host: served.URL + prefix + "one", BearerToken: "secret", QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

func clients(t *testing.T, config *rest.Config) (kubernetes.Interface, dynamic.ResourceInterface) {
	t.Helper()
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return typed, objects.Resource(configMaps).Namespace("default")
}

func configMap(name, text string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"app": name}}, "data": map[string]any{"text": text}}}
}

func TestMemberDescribesItself(t *testing.T) {
	t.Parallel()
	s, config := startMember(t)
	typed, _ := clients(t, config)
	version, err := typed.Discovery().ServerVersion()
	if err != nil || version.GitVersion != "v1.36.3" {
		t.Errorf("version is %v, %v", version, err)
	}
	legacy, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	legacy.UseLegacyDiscovery = true
	for _, d := range []discovery.DiscoveryInterface{typed.Discovery(), legacy} {
		_, lists, err := d.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		served := discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists)
		all, err := discovery.GroupVersionResources(served)
		if err != nil || len(all) != len(kinds) {
			t.Errorf("%d resources, want %d: %v", len(all), len(kinds), err)
		}
		if _, ok := all[schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}]; !ok {
			t.Error("no networkpolicies")
		}
	}
	nodes, err := typed.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 || nodes.Items[0].Status.Allocatable.Cpu().Value() != 64 {
		t.Errorf("nodes are %v, %v", nodes, err)
	}
	system := types.NamespacedName{Name: "kube-system"}
	if a, b := s.members["one"].get("namespaces", system), s.members["two"].get("namespaces", system); a.uid == b.uid {
		t.Error("two members have the same id")
	}
	anonymous, _ := clients(t, rest.AnonymousClientConfig(config))
	if _, err := anonymous.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("without the token: %v", err)
	}
}

func TestObjectsChange(t *testing.T) {
	t.Parallel()
	s, config := startMember(t)
	_, maps := clients(t, config)
	ctx := t.Context()
	stamped := configMap("a", "1")
	stamped.SetAnnotations(map[string]string{load.SentAnnotation: load.Stamp(time.Now().Add(-time.Second))})
	made, err := maps.Create(ctx, stamped, metav1.CreateOptions{})
	if err != nil || made.GetUID() == "" || made.GetGeneration() != 1 {
		t.Fatalf("created %v, %v", made, err)
	}
	if q := s.latency.Take(); q.Count != 1 || q.P50 < 1000 {
		t.Errorf("latency is %+v", q)
	}
	if _, err := maps.Create(ctx, configMap("a", "2"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second of the name: %v", err)
	}
	same, err := maps.Update(ctx, made.DeepCopy(), metav1.UpdateOptions{})
	if err != nil || same.GetResourceVersion() != made.GetResourceVersion() {
		t.Errorf("an update that changes nothing was written: %v", err)
	}
	changed := configMap("a", "2")
	changed.SetResourceVersion(made.GetResourceVersion())
	changed.SetFinalizers([]string{"example.com/hold"})
	newer, err := maps.Update(ctx, changed, metav1.UpdateOptions{})
	if err != nil || newer.GetUID() != made.GetUID() || newer.GetResourceVersion() == made.GetResourceVersion() {
		t.Fatalf("updated to %v, %v", newer, err)
	}
	if _, err := maps.Update(ctx, changed, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old version: %v", err)
	}
	if err := maps.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if left, err := maps.Get(ctx, "a", metav1.GetOptions{}); err != nil || left.GetDeletionTimestamp() == nil {
		t.Errorf("while a finalizer holds it: %v, %v", left, err)
	}
	if _, err := maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := maps.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its deletion: %v", err)
	}
	counts := s.report().Counts
	if counts["create configmaps"] != 2 || counts["update configmaps"] != 3 || counts["delete configmaps"] != 1 {
		t.Errorf("counted %v", counts)
	}
}

func TestCreateNeedsNamespace(t *testing.T) {
	t.Parallel()
	_, config := startMember(t)
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = objects.Resource(configMaps).Namespace("absent").Create(t.Context(), configMap("a", ""), metav1.CreateOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("in a namespace that does not exist: %v", err)
	}
}

// TestInformers watches as agents and hubs do: by label, and metadata only.
func TestInformers(t *testing.T) {
	t.Parallel()
	_, config := startMember(t)
	_, maps := clients(t, config)
	ctx := t.Context()
	if _, err := maps.Create(ctx, configMap("a", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 16)
	informer := dynamicinformer.NewFilteredDynamicInformer(objects, configMaps, "", 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = "app=a" }).Informer()
	name := func(verb string, o any) {
		if u, ok := o.(*unstructured.Unstructured); ok {
			told <- verb + " " + u.GetName()
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { name("add", o) }, UpdateFunc: func(_, o any) { name("update", o) }, DeleteFunc: func(o any) { name("delete", o) },
	}); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(ctx)
	expect(ctx, t, told, "add a")
	if _, err := maps.Create(ctx, configMap("b", "1"), metav1.CreateOptions{}); err != nil { // another label
		t.Fatal(err)
	}
	if _, err := maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"text":"2"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, told, "update a")
	if _, err := maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"c"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, told, "delete a")
	if _, err := maps.Patch(ctx, "b", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"a"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, told, "add b")

	slim, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	list, err := slim.Resource(configMaps).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 2 || !slices.Equal([]string{list.Items[0].Name, list.Items[1].Name}, []string{"a", "b"}) {
		t.Errorf("metadata is %v, %v", list, err)
	}
}

func expect(ctx context.Context, t *testing.T, told <-chan string, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	select {
	case got := <-told:
		if got != want {
			t.Fatalf("told %q, want %q", got, want)
		}
	case <-ctx.Done():
		t.Fatalf("waited in vain for %q", want)
	}
}
