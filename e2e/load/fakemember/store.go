package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// keptEvents bounds the events of a resource that a watch may start behind.
const keptEvents = 8192

// store holds the objects of one member.
type store struct {
	mu       sync.RWMutex
	revision uint64
	tables   map[string]*table // by resource.group
}

// table holds the objects of one resource, and what happened to them lately.
type table struct {
	objects map[types.NamespacedName]*object
	events  []event
	forgot  uint64        // events up to here are no longer kept
	changed chan struct{} // closed and replaced at every event
}

// object is kept as it is sent.
type object struct {
	types.NamespacedName
	uid      types.UID
	revision uint64
	labels   labels.Set
	json     []byte
}

// event tells of one change. before are the labels the object had, nil if there
// was none.
type event struct {
	*object
	gone   bool
	before labels.Set
}

func newStore() *store { return &store{tables: map[string]*table{}} }

// table returns that of a resource. The lock is held for writing.
func (s *store) table(resource string) *table {
	t := s.tables[resource]
	if t == nil {
		t = &table{objects: map[types.NamespacedName]*object{}, changed: make(chan struct{})}
		s.tables[resource] = t
	}
	return t
}

// get returns an object, nil if there is none.
func (s *store) get(resource string, name types.NamespacedName) *object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t := s.tables[resource]; t != nil {
		return t.objects[name]
	}
	return nil
}

// list returns the objects of a resource in order of their names, with the
// revision at which that was so. An empty namespace means all.
func (s *store) list(resource, namespace string, fits labels.Selector) ([]*object, uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []*object
	if t := s.tables[resource]; t != nil {
		for o := range maps.Values(t.objects) {
			if (namespace == "" || o.Namespace == namespace) && fits.Matches(o.labels) {
				found = append(found, o)
			}
		}
	}
	slices.SortFunc(found, func(a, b *object) int {
		if a.Namespace != b.Namespace {
			return strings.Compare(a.Namespace, b.Namespace)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return found, s.revision
}

// since returns the events of a resource after a revision, and a channel that is
// closed at the next one. It is false if they are no longer kept.
func (s *store) since(resource string, revision uint64) ([]event, <-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.table(resource)
	if revision < t.forgot {
		return nil, nil, false
	}
	at, _ := slices.BinarySearchFunc(t.events, revision+1, func(e event, r uint64) int { return int(int64(e.revision) - int64(r)) })
	return slices.Clone(t.events[at:]), t.changed, true
}

// create stores a new object and completes it. It is false if the name is taken.
func (s *store) create(resource string, o *unstructured.Unstructured) (*object, bool) {
	o.SetUID(uuid.NewUUID())
	o.SetCreationTimestamp(metav1.NewTime(time.Now()))
	o.SetGeneration(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.table(resource)
	if _, taken := t.objects[nameOf(o)]; taken {
		return nil, false
	}
	return s.put(t, o, nil), true
}

// replace stores another content of an object, provided that it is still the one
// the content was made from. It is false if it is not.
func (s *store) replace(resource string, old *object, o *unstructured.Unstructured) (*object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.table(resource)
	if t.objects[old.NamespacedName] != old {
		return nil, false
	}
	return s.put(t, o, old), true
}

// put writes an object. The lock is held.
func (s *store) put(t *table, o *unstructured.Unstructured, old *object) *object {
	s.revision++
	o.SetResourceVersion(strconv.FormatUint(s.revision, 10))
	made := &object{NamespacedName: nameOf(o), uid: o.GetUID(), revision: s.revision, labels: o.GetLabels(), json: encode(o.Object)}
	t.objects[made.NamespacedName] = made
	e := event{object: made}
	if old != nil {
		e.before = old.labels
		if e.before == nil {
			e.before = labels.Set{}
		}
	}
	t.tell(e)
	return made
}

// remove deletes an object, provided that it is still the same. It is false if
// it is not.
func (s *store) remove(resource string, old *object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.table(resource)
	if t.objects[old.NamespacedName] != old {
		return false
	}
	delete(t.objects, old.NamespacedName)
	s.revision++
	last := *old
	last.revision = s.revision
	o := last.decode()
	o.SetResourceVersion(strconv.FormatUint(s.revision, 10))
	last.json = encode(o.Object)
	t.tell(event{object: &last, gone: true, before: old.labels})
	return true
}

// release deletes an object, or marks it for deletion while finalizers hold it,
// and returns what it was or is. It is false if the object has changed.
func (s *store) release(resource string, old *object) (*object, bool) {
	o := old.decode()
	if len(o.GetFinalizers()) == 0 {
		return old, s.remove(resource, old)
	}
	if o.GetDeletionTimestamp() != nil {
		return old, true
	}
	now := metav1.NewTime(time.Now())
	o.SetDeletionTimestamp(&now)
	return s.replace(resource, old, o)
}

func (t *table) tell(e event) {
	if len(t.events) >= 2*keptEvents {
		t.forgot = t.events[keptEvents-1].revision
		t.events = slices.Clone(t.events[keptEvents:])
	}
	t.events = append(t.events, e)
	close(t.changed)
	t.changed = make(chan struct{})
}

func nameOf(o *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// decode returns the content, which is the caller's.
func (o *object) decode() *unstructured.Unstructured {
	content := map[string]any{}
	if err := json.Unmarshal(o.json, &content); err != nil {
		panic(err) // we have encoded it
	}
	return &unstructured.Unstructured{Object: content}
}
