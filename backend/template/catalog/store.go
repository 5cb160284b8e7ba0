package catalog

import (
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// store holds the templates of one kind. A reflector fills it, from one
// goroutine: that is what keeps the order of the events.
type store struct {
	cache *Cache
	kind  kind
	// apiVersion and kindName are shared by all objects of the store.
	apiVersion, kindName any
	// looked is set once the kind was read, or could not be.
	looked atomic.Bool
	// came counts what came of it: pages of its list, objects of its stream.
	came atomic.Int64
	// initial says that the kind was there at the start and was not read yet.
	initial atomic.Bool
	// failing says that the kind could not be read when it was last tried.
	failing atomic.Bool

	mu      sync.RWMutex
	objects map[string]map[string]*unstructured.Unstructured // by namespace, by name
}

var _ cache.TransformingStore = (*store)(nil)

func newStore(c *Cache, k kind) *store {
	return &store{cache: c, kind: k, apiVersion: k.apiVersion, kindName: k.name, objects: map[string]map[string]*unstructured.Unstructured{}}
}

func (s *store) get(namespace, name string) (*unstructured.Unstructured, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.objects[namespace][name]
	return o, ok
}

func (s *store) list(namespace string) []*unstructured.Unstructured {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []*unstructured.Unstructured
	for in, objects := range s.objects {
		if namespace != "" && in != namespace {
			continue
		}
		for _, o := range objects {
			all = append(all, o)
		}
	}
	return all
}

// Transformer implements cache.TransformingStore.
func (s *store) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		s.came.Add(1)
		if o, ok := object.(*unstructured.Unstructured); ok {
			s.strip(o)
		}
		return object, nil
	}
}

// strip takes away what nobody reads here.
func (s *store) strip(o *unstructured.Unstructured) {
	if o.Object == nil {
		return
	}
	o.Object["apiVersion"], o.Object["kind"] = s.apiVersion, s.kindName
	metadata, ok := o.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	delete(metadata, "managedFields")
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
}

func (s *store) refOf(o *unstructured.Unstructured) Ref {
	return Ref{APIVersion: s.kind.apiVersion, Kind: s.kind.name, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Add implements cache.ReflectorStore.
func (s *store) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s *store) Update(object any) error {
	if o, ok := object.(*unstructured.Unstructured); ok {
		s.strip(o)
		s.set(o)
	}
	return nil
}

func (s *store) set(o *unstructured.Unstructured) {
	ref := s.refOf(o)
	if s.cache.scope.Skips(ref) {
		return
	}
	s.mu.Lock()
	old := s.objects[ref.Namespace][ref.Name]
	if s.objects[ref.Namespace] == nil {
		s.objects[ref.Namespace] = map[string]*unstructured.Unstructured{}
	}
	s.objects[ref.Namespace][ref.Name] = o
	s.mu.Unlock()
	switch {
	case old != nil && old.GetUID() != o.GetUID():
		// The watch was interrupted while the object was replaced.
		s.cache.notify(ref, old, nil)
		s.cache.notify(ref, nil, o)
	case old == nil || old.GetResourceVersion() != o.GetResourceVersion():
		s.cache.notify(ref, old, o)
	}
}

// Delete implements cache.ReflectorStore.
func (s *store) Delete(object any) error {
	if o, ok := object.(*unstructured.Unstructured); ok {
		s.remove(s.refOf(o))
	}
	return nil
}

func (s *store) remove(ref Ref) {
	s.mu.Lock()
	old := s.objects[ref.Namespace][ref.Name]
	delete(s.objects[ref.Namespace], ref.Name)
	if len(s.objects[ref.Namespace]) == 0 {
		delete(s.objects, ref.Namespace)
	}
	s.mu.Unlock()
	if old != nil {
		s.cache.notify(ref, old, nil)
	}
}

// Replace implements cache.ReflectorStore.
func (s *store) Replace(list []any, _ string) error {
	kept := make(map[Ref]struct{}, len(list))
	for _, object := range list {
		if o, ok := object.(*unstructured.Unstructured); ok {
			s.strip(o)
			kept[s.refOf(o)] = struct{}{}
			s.set(o)
		}
	}
	for _, o := range s.list("") {
		if ref := s.refOf(o); !contains(kept, ref) {
			s.remove(ref)
		}
	}
	s.initial.Store(false)
	if !s.looked.Swap(true) {
		signal(s.cache.looked)
	}
	return nil
}

func contains[K comparable](set map[K]struct{}, key K) bool {
	_, ok := set[key]
	return ok
}

// Resync implements cache.ReflectorStore. There is nothing to do.
func (s *store) Resync() error { return nil }

// clear removes everything, because the kind is no longer served.
func (s *store) clear() {
	for _, o := range s.list("") {
		s.remove(s.refOf(o))
	}
}
