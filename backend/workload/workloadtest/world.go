// Package workloadtest is a hub in memory for tests of workloads: caches that
// tell of changes at once, templates, clusters, and roles.
package workloadtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/propagation"
	"muster.dev/muster/backend/scheduling"
	"muster.dev/muster/backend/template"
)

// World is a hub in memory. It is a cache of our kinds, of templates, and a
// scheduler; Clients gives its API.
type World struct {
	t testing.TB

	mu        sync.Mutex
	version   int
	objects   map[string]client.Object // ours, by kind/namespace/name
	templates map[template.Ref]*unstructured.Unstructured
	handlers  map[string][]toolscache.ResourceEventHandler // by kind
	told      []func(template.Ref, *unstructured.Unstructured, *unstructured.Unstructured)
	snapshot  *scheduling.Snapshot
	estimates map[string]int32 // by cluster
	events    []corev1.Event
	unlisted  []string // resources that viewers may not list
	troubles  *template.Troubles
	unserved  *propagation.Unserved
}

// New returns an empty world.
func New(t testing.TB) *World {
	return &World{
		t: t, objects: map[string]client.Object{}, templates: map[template.Ref]*unstructured.Unstructured{},
		handlers: map[string][]toolscache.ResourceEventHandler{}, snapshot: scheduling.NewSnapshot(nil),
		troubles: template.NewTroubles(), unserved: propagation.NewUnserved(),
	}
}

// Load puts every document of a YAML file into the world.
func (w *World) Load(path string) {
	w.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
	defer documents.Close() //nolint:errcheck // it reads from memory
	buffer := make([]byte, len(data)+1)
	for {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			w.t.Fatal(err)
		}
		w.YAML(string(buffer[:n]))
	}
}

// YAML puts one object into the world: of our kinds typed, else a template.
func (w *World) YAML(text string) {
	w.t.Helper()
	content := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &content.Object); err != nil {
		w.t.Fatal(err)
	}
	if content.Object == nil {
		return
	}
	data, err := content.MarshalJSON()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := content.UnmarshalJSON(data); err != nil { // integers as an API gives them
		w.t.Fatal(err)
	}
	if !strings.HasSuffix(content.GroupVersionKind().Group, ".karmada.io") {
		w.Put(content)
		return
	}
	typed, err := kube.Scheme().New(content.GroupVersionKind())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, typed); err != nil {
		w.t.Fatalf("%s %s: %v", content.GetKind(), content.GetName(), err)
	}
	object, ok := typed.(client.Object)
	if !ok {
		w.t.Fatalf("%T is no object", typed)
	}
	w.Put(object)
}

// Put stores an object and tells of it. The world owns it from then on.
func (w *World) Put(object client.Object) {
	w.mu.Lock()
	w.version++
	object.SetResourceVersion(strconv.Itoa(w.version))
	if plain, ok := object.(*unstructured.Unstructured); ok {
		ref := template.RefOf(plain)
		old := w.templates[ref]
		w.templates[ref] = plain
		told := slices.Clone(w.told)
		w.mu.Unlock()
		for _, tell := range told {
			tell(ref, old, plain)
		}
		return
	}
	key, kind := w.key(object)
	old := w.objects[key]
	w.objects[key] = object
	w.noteCluster(object)
	handlers := slices.Clone(w.handlers[kind])
	w.mu.Unlock()
	for _, handler := range handlers {
		if old == nil {
			handler.OnAdd(object, false)
		} else {
			handler.OnUpdate(old, object)
		}
	}
}

// Delete takes an object away and tells of it.
func (w *World) Delete(object client.Object) {
	w.mu.Lock()
	if plain, ok := object.(*unstructured.Unstructured); ok {
		ref := template.RefOf(plain)
		old := w.templates[ref]
		delete(w.templates, ref)
		told := slices.Clone(w.told)
		w.mu.Unlock()
		for _, tell := range told {
			tell(ref, old, nil)
		}
		return
	}
	key, kind := w.key(object)
	old := w.objects[key]
	delete(w.objects, key)
	if _, cluster := object.(*clusterv1alpha1.Cluster); cluster {
		w.snapshot = w.snapshot.Without(object.GetName())
	}
	handlers := slices.Clone(w.handlers[kind])
	w.mu.Unlock()
	for _, handler := range handlers {
		handler.OnDelete(old)
	}
}

func (w *World) noteCluster(object client.Object) {
	if cluster, ok := object.(*clusterv1alpha1.Cluster); ok {
		w.snapshot = w.snapshot.With(cluster)
	}
}

// SetClusters puts many clusters into the world at once, telling nobody.
func (w *World) SetClusters(clusters []*clusterv1alpha1.Cluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cluster := range clusters {
		key, _ := w.key(cluster)
		w.objects[key] = cluster
	}
	w.snapshot = scheduling.NewSnapshot(clusters)
}

// Edit copies an object, changes the copy and puts it in place.
func Edit[T client.Object](w *World, namespace, name string, change func(T)) {
	w.t.Helper()
	var empty T
	found, ok := reflect.New(reflect.TypeOf(empty).Elem()).Interface().(T)
	if !ok {
		w.t.Fatalf("%T is no object", empty)
	}
	if err := w.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, found); err != nil {
		w.t.Fatal(err)
	}
	copied, ok := found.DeepCopyObject().(T)
	if !ok {
		w.t.Fatalf("copy %T", found)
	}
	change(copied)
	w.Put(copied)
}

// EditTemplate copies a template, changes the copy and puts it in place.
func (w *World) EditTemplate(ref template.Ref, change func(*unstructured.Unstructured)) {
	w.t.Helper()
	found, ok := w.Templates().Get(ref)
	if !ok {
		w.t.Fatalf("there is no %s", ref)
	}
	copied := found.DeepCopy()
	change(copied)
	w.Put(copied)
}

// Event adds an event to those that the hub API lists.
func (w *World) Event(event corev1.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, event)
}

// Troubles are the templates that cannot be propagated.
func (w *World) Troubles() *template.Troubles { return w.troubles }

// Unserved are the clusters that cannot be sent what they are to have.
func (w *World) Unserved() *propagation.Unserved { return w.unserved }

// Unlisted says which resources viewers may not list.
func (w *World) Unlisted(resources ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlisted = resources
}

// Snapshot implements preview.Scheduler.
func (w *World) Snapshot() *scheduling.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.snapshot
}

// Inquire implements preview.Scheduler: members say what SetEstimates was told.
func (w *World) Inquire(_ context.Context, in scheduling.Input) scheduling.Input {
	w.mu.Lock()
	defer w.mu.Unlock()
	in.Estimates = w.estimates
	return in
}

// SetEstimates says how many more replicas members can run.
func (w *World) SetEstimates(estimates map[string]int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.estimates = estimates
}

func (w *World) key(object client.Object) (key, kind string) {
	gvk, err := apiutil.GVKForObject(object, kube.Scheme())
	if err != nil {
		w.t.Fatal(err)
	}
	return gvk.Kind + "/" + object.GetNamespace() + "/" + object.GetName(), gvk.Kind
}

// Get implements client.Reader. As a cache does, it hands out what it holds.
func (w *World) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(into, kube.Scheme())
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.objects[gvk.Kind+"/"+name.Namespace+"/"+name.Name]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind)}, name.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}

// List implements client.Reader.
func (w *World) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	gvk, err := apiutil.GVKForObject(list, kube.Scheme())
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []runtime.Object
	for key, object := range w.objects {
		if strings.HasPrefix(key, strings.TrimSuffix(gvk.Kind, "List")+"/") && (asked.Namespace == "" || object.GetNamespace() == asked.Namespace) {
			found = append(found, object)
		}
	}
	return meta.SetList(list, found)
}

// GetInformer implements workload.Cache.
func (w *World) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	_, kind := w.key(object)
	return informer{world: w, kind: kind}, nil
}

type informer struct {
	cache.Informer
	world *World
	kind  string
}

// AddEventHandler implements cache.Informer.
func (i informer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.world.mu.Lock()
	var known []client.Object
	for key, object := range i.world.objects {
		if strings.HasPrefix(key, i.kind+"/") {
			known = append(known, object)
		}
	}
	i.world.handlers[i.kind] = append(i.world.handlers[i.kind], handler)
	i.world.mu.Unlock()
	for _, object := range known {
		handler.OnAdd(object, true)
	}
	return registration{}, nil
}

// RemoveEventHandler implements cache.Informer.
func (i informer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error { return nil }

type registration struct{}

// HasSynced implements toolscache.ResourceEventHandlerRegistration.
func (registration) HasSynced() bool { return true }

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (registration) HasSyncedChecker() toolscache.DoneChecker { return nil }

// Clients gives the hub API as an actor sees it: events, and what the role may
// list.
func (w *World) Clients(actor access.Actor) (client.Client, error) {
	return hub{world: w, actor: actor}, nil
}

type hub struct {
	client.Client
	world *World
	actor access.Actor
}

// Create answers access reviews.
func (h hub) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	review, ok := object.(*authorizationv1.SelfSubjectAccessReview)
	if !ok {
		return fmt.Errorf("nobody creates a %T here", object)
	}
	h.world.mu.Lock()
	defer h.world.mu.Unlock()
	review.Status.Allowed = h.actor.Role == access.RoleAdmin || !slices.Contains(h.world.unlisted, review.Spec.ResourceAttributes.Resource)
	return nil
}

// List lists events about one object.
func (h hub) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	found, ok := list.(*corev1.EventList)
	if !ok {
		return fmt.Errorf("nobody lists a %T here", list)
	}
	var asked client.ListOptions
	asked.ApplyOptions(options)
	h.world.mu.Lock()
	defer h.world.mu.Unlock()
	for i := range h.world.events {
		about := h.world.events[i].InvolvedObject
		if asked.FieldSelector.Matches(fieldsOf{"involvedObject.kind": about.Kind, "involvedObject.name": about.Name}) && h.world.events[i].Namespace == asked.Namespace {
			found.Items = append(found.Items, h.world.events[i])
		}
	}
	return nil
}

type fieldsOf map[string]string

// Has implements fields.Fields.
func (f fieldsOf) Has(field string) bool { _, ok := f[field]; return ok }

// Get implements fields.Fields.
func (f fieldsOf) Get(field string) string { return f[field] }
