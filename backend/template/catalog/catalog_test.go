package catalog_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/template/catalog"
)

// api is an API server that serves lists and watches of a few kinds and breaks
// as the test says.
type api struct {
	mu     sync.Mutex
	broken map[string]bool
	// events are sent to the watchers of configmaps.
	events chan any
}

var resources = []metav1.APIResource{
	{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"list", "watch", "delete"}},
	{Name: "gadgets", Kind: "Gadget", Namespaced: true, Verbs: metav1.Verbs{"list", "watch", "delete"}},
	{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
	{Name: "events", Kind: "Event", Namespaced: true, Verbs: metav1.Verbs{"list", "watch", "delete"}},
	{Name: "configmaps/status", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"list", "watch", "delete"}},
}

func (a *api) setBroken(resource string, broken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken[resource] = broken
}

func configMap(namespace, name, version string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"k": version},
		"metadata": map[string]any{
			"namespace": namespace, "name": name, "uid": name, "resourceVersion": version, "managedFields": []any{map[string]any{"manager": "m"}},
			"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "{}"},
		},
	}
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := func(code int, body any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	refuse := func(code int32) {
		answer(int(code), metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: code, Reason: metav1.StatusReasonInvalid})
	}
	resource := map[string]string{"/api/v1/configmaps": "configmaps", "/api/v1/gadgets": "gadgets"}[r.URL.Path]
	a.mu.Lock()
	broken := a.broken[resource]
	a.mu.Unlock()
	switch {
	case r.URL.Path == "/api":
		answer(http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		answer(http.StatusOK, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
	case r.URL.Path == "/api/v1":
		answer(http.StatusOK, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: resources})
	case resource == "":
		answer(http.StatusNotFound, nil)
	case broken:
		refuse(http.StatusInternalServerError)
	case r.URL.Query().Get("sendInitialEvents") != "":
		refuse(http.StatusUnprocessableEntity)
	case r.URL.Query().Get("watch") != "":
		a.watch(w, r, resource)
	case resource == "gadgets":
		answer(http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "GadgetList", "metadata": map[string]any{"resourceVersion": "9"}, "items": []any{}})
	default:
		answer(http.StatusOK, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMapList", "metadata": map[string]any{"resourceVersion": "9"},
			"items": []any{configMap("shop", "a", "1"), configMap("shop", "b", "2"), configMap("other", "a", "3"), configMap("karmada-system", "hidden", "4"), configMap("shop", "kube-root-ca.crt", "5")},
		})
	}
}

func (a *api) watch(w http.ResponseWriter, r *http.Request, resource string) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	events := a.events
	if resource != "configmaps" {
		events = nil
	}
	for {
		select {
		case event := <-events:
			_ = json.NewEncoder(w).Encode(event)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 90*time.Second, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("wait for %s: %v", what, err)
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	a := &api{broken: map[string]bool{"gadgets": true}, events: make(chan any)}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	scope, err := catalog.NewScope(catalog.DefaultSkippedNamespaces)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.NewCache(&rest.Config{Host: server.URL}, catalog.CacheOptions{Scope: scope, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 20)
	c.Subscribe(func(ref catalog.Ref, old, current *unstructured.Unstructured) {
		text := ref.String()
		if old == nil {
			text += " came"
		} else if current == nil {
			text += " went"
		}
		told <- text
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	// A kind that cannot be listed holds up nobody.
	await(t, "the cache", c.Synced)
	var names []string
	c.Each(func(o *unstructured.Unstructured) bool {
		names = append(names, catalog.RefOf(o).String())
		if o.GetManagedFields() != nil || len(o.GetAnnotations()) != 0 {
			t.Errorf("%s lies in the cache with %v", o.GetName(), o.Object["metadata"])
		}
		return true
	})
	slices.Sort(names)
	if want := []string{"ConfigMap other/a", "ConfigMap shop/a", "ConfigMap shop/b"}; !slices.Equal(names, want) {
		t.Errorf("the cache holds %v, want %v", names, want)
	}
	if got := len(c.List("v1", "ConfigMap", "shop")); got != 2 {
		t.Errorf("%d in shop", got)
	}
	if _, ok := c.Resource("v1", "Event"); ok {
		t.Error("events are watched")
	}
	if mapping, err := c.Mapper().RESTMapping(schema.GroupKind{Kind: "Gadget"}); err != nil || mapping.Resource.Resource != "gadgets" {
		t.Errorf("mapping %v, %v", mapping, err)
	}
	for range 3 {
		<-told
	}

	for _, step := range []struct {
		event any
		want  string
	}{
		{map[string]any{"type": "MODIFIED", "object": configMap("shop", "a", "10")}, "ConfigMap shop/a"},
		{map[string]any{"type": "ADDED", "object": configMap("shop", "c", "11")}, "ConfigMap shop/c came"},
		{map[string]any{"type": "DELETED", "object": configMap("shop", "b", "12")}, "ConfigMap shop/b went"},
	} {
		a.events <- step.event
		if got := <-told; got != step.want {
			t.Errorf("told %q, want %q", got, step.want)
		}
	}
	if o, ok := c.Get(catalog.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a"}); !ok || o.GetResourceVersion() != "10" {
		t.Errorf("shop/a is %v", o)
	}
	// The kind is read as soon as it can be.
	a.setBroken("gadgets", false)
	await(t, "the other kind", func() bool { return c.Readable("v1", "Gadget") })
}
