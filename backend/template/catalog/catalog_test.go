package catalog_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/backend/template/catalog"
)

// api is an API server that serves lists and watches of a few kinds and breaks
// as the test says.
type api struct {
	mu     sync.Mutex
	broken map[string]bool
	// silent resources never answer.
	silent map[string]bool
	// pages are empty pages of the list of configmaps before the one that holds
	// them, which take each of time.
	pages int
	each  time.Duration
	// events are sent to the watchers of configmaps.
	events chan any
}

var resources = []metav1.APIResource{
	{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"list", "watch", "delete"}},
	{Name: "gadgets", Kind: "Gadget", Namespaced: true, Verbs: metav1.Verbs{"list", "watch", "delete"}},
	{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: metav1.Verbs{"list", "watch", "delete"}},
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
	resource, _ := strings.CutPrefix(r.URL.Path, "/api/v1/")
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
	case !slices.ContainsFunc(resources, func(one metav1.APIResource) bool { return one.Name == resource }):
		answer(http.StatusNotFound, nil)
	case a.silent[resource]:
		<-r.Context().Done()
	case broken:
		refuse(http.StatusInternalServerError)
	case r.URL.Query().Get("sendInitialEvents") != "":
		refuse(http.StatusUnprocessableEntity)
	case r.URL.Query().Get("watch") != "":
		a.watch(w, r, resource)
	case resource != "configmaps":
		answer(http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": "9"}, "items": []any{}})
	case a.another(r):
		answer(http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": map[string]any{"resourceVersion": "9", "continue": "more"}, "items": []any{}})
	default:
		answer(http.StatusOK, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMapList", "metadata": map[string]any{"resourceVersion": "9"},
			"items": []any{configMap("shop", "a", "1"), configMap("shop", "b", "2"), configMap("other", "a", "3"), configMap("karmada-system", "hidden", "4"), configMap("shop", "kube-root-ca.crt", "5")},
		})
	}
}

// another says, after the time that it takes, whether an empty page comes first.
func (a *api) another(r *http.Request) bool {
	select {
	case <-time.After(a.each):
	case <-r.Context().Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pages--
	return a.pages >= 0
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

// newCache returns a cache of what a serves, over connections in memory.
func newCache(t *testing.T, a *api) *catalog.Cache {
	t.Helper()
	listener := membertest.NewPipes()
	server := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
	scope, err := catalog.NewScope(catalog.DefaultSkippedNamespaces)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.NewCache(&rest.Config{Host: "http://api", Dial: listener.Dial}, catalog.CacheOptions{Scope: scope, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func start(t *testing.T, c *catalog.Cache) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A kind that never answers holds up nobody for long; one that is large does,
// because what it lacks would be taken for gone, and what comes later for new.
func TestCacheWaitsForLargeKinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pages, each = 12, 4 * time.Second
		a := &api{silent: map[string]bool{"widgets": true}, pages: pages, each: each}
		c := newCache(t, a)
		initial := make(chan bool, 10)
		c.Subscribe(func(ref catalog.Ref, _, _ *unstructured.Unstructured) { initial <- c.Initial(ref.APIVersion, ref.Kind) })
		begun := time.Now()
		start(t, c)
		await(t, "the cache", c.Synced)
		if took := time.Since(begun); took < pages*each || took > pages*each+25*time.Second {
			t.Errorf("the cache counts as read after %s, the kind takes %s", took, pages*each)
		}
		if got := len(c.List("v1", "ConfigMap", "shop")); got != 2 {
			t.Errorf("%d in shop", got)
		}
		if !<-initial {
			t.Error("what was there at the start is told of as new")
		}
		if c.Initial("v1", "ConfigMap") {
			t.Error("the kind counts as unread")
		}
	})
}

func TestCache(t *testing.T) {
	t.Parallel()
	a := &api{broken: map[string]bool{"gadgets": true}, events: make(chan any)}
	c := newCache(t, a)
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
	start(t, c)

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
