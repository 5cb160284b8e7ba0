package kube

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/backend/apis"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

const (
	// calm is how long the measure remembers an object.
	calm = time.Minute
	// rush is how far back it looks for a storm: who tries one thing after the other
	// makes some twenty objects in that time.
	rush = 20 * time.Second
	// newObjects and newWorks are how many objects of one namespace may have become
	// known within rush before it counts as a storm; a Work is one object in one
	// member, and belongs to the namespace of what is in it.
	newObjects, newWorks = 40, 60
	// namespacesTold is how many namespaces may be that lively at the same time.
	namespacesTold = 5
	// eventsAnObject bounds the Events about objects of one name while calm lasts.
	eventsAnObject = 60
	// objectsKept bounds what the measure remembers.
	objectsKept = 4096
)

// routine is the measures of the process. Each Event is a write to the same store:
// a storm must not cost more of them the longer it takes, as it would if they came
// back at a rate; who tries a few objects at a time must miss none, whatever
// others do in their namespaces.
var routine = newMeasures()

// measures are those of Works and of all else.
type measures struct{ works, others *measure }

func newMeasures() measures {
	return measures{works: newMeasure(newWorks), others: newMeasure(newObjects)}
}

// MayTell says whether an Event that something went well with an object is to be
// told. All are about an object that came in a calm time of its namespace, none about
// those that came in a storm.
func MayTell(regarding runtime.Object) bool { return routine.mayTell(regarding, time.Now()) }

func (m measures) mayTell(regarding runtime.Object, now time.Time) bool {
	var namespace, name, of string
	if reference, ok := regarding.(*corev1.ObjectReference); ok {
		namespace, name = reference.Namespace, reference.Name
	} else if object, err := meta.Accessor(regarding); err == nil {
		namespace, name = object.GetNamespace(), object.GetName()
		of = object.GetAnnotations()[workv1alpha2.ResourceBindingNamespaceAnnotation]
	}
	key := namespace + "/" + name
	if _, ok := apis.ClusterOfExecutionSpace(namespace); ok {
		return m.works.admit(of, key, now)
	}
	return m.others.admit(namespace, key, now)
}

// measure tells storms of new objects from calm.
type measure struct {
	storm int // so many within rush are one, in one namespace

	mu sync.Mutex
	// namespaces hold the latest new objects of each, everywhere those of all that
	// were told about.
	namespaces map[string]*arrivals
	everywhere arrivals
	// known are the objects that have come since began, before the ones of the time before that.
	known, before map[string]*admission
	began         time.Time
}

// admission is whether an object is told about, and how often it was.
type admission struct {
	open bool
	told int
}

func newMeasure(storm int) *measure {
	return &measure{storm: storm, namespaces: map[string]*arrivals{}, known: map[string]*admission{}}
}

func (m *measure) admit(namespace, key string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.began) >= calm || len(m.known) >= objectsKept {
		m.known, m.before, m.began = map[string]*admission{}, m.known, now
		maps.DeleteFunc(m.namespaces, func(_ string, a *arrivals) bool { return a.within(now) == 0 })
	}
	object := m.known[key]
	if object == nil {
		if object = m.before[key]; object == nil {
			object = &admission{open: m.arrive(namespace, now)}
		} else {
			object.told = 0
		}
		m.known[key] = object
	}
	object.told++
	return object.open && object.told <= eventsAnObject
}

// arrive notes a new object and says whether it comes in a calm time. A storm in
// one namespace takes no more of the others' share than was told of it.
func (m *measure) arrive(namespace string, now time.Time) bool {
	here := m.namespaces[namespace]
	if here == nil {
		here = &arrivals{}
		m.namespaces[namespace] = here
	}
	open := here.within(now) < m.storm && m.everywhere.within(now) < namespacesTold*m.storm
	here.add(now, m.storm)
	if open {
		m.everywhere.add(now, namespacesTold*m.storm)
	}
	return open
}

// arrivals are times at which objects came, in order.
type arrivals struct{ times []time.Time }

// within drops what is longer ago than rush and counts the rest.
func (a *arrivals) within(now time.Time) int {
	recent := slices.IndexFunc(a.times, func(t time.Time) bool { return now.Sub(t) < rush })
	if recent < 0 {
		recent = len(a.times)
	}
	a.times = slices.Delete(a.times, 0, recent)
	return len(a.times)
}

// add notes one and keeps the latest.
func (a *arrivals) add(now time.Time, most int) {
	if len(a.times) >= most {
		a.times = slices.Delete(a.times, 0, len(a.times)-most+1)
	}
	a.times = append(a.times, now)
}
