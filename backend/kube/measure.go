package kube

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/backend/apis"
)

const (
	// calm is how long the measure remembers an object.
	calm = time.Minute
	// rush is how far back it looks for a storm: who tries one thing after the other
	// makes some twenty objects in that time.
	rush = 20 * time.Second
	// newObjects and newWorks are how many objects may have become known within
	// rush before it counts as a storm; a Work is one object in one member.
	newObjects, newWorks = 40, 60
	// eventsAnObject bounds the Events about objects of one name while calm lasts.
	eventsAnObject = 60
	// objectsKept bounds what the measure remembers.
	objectsKept = 4096
)

// routine is the measures of the process. Each Event is a write to the same store:
// a storm must not cost more of them the longer it takes, as it would if they came
// back at a rate; who tries a few objects at a time must miss none.
var routine = newMeasures()

// measures are those of Works and of all else.
type measures struct{ works, others *measure }

func newMeasures() measures {
	return measures{works: newMeasure(newWorks), others: newMeasure(newObjects)}
}

// MayTell says whether an Event that something went well with an object is to be
// told. All are about an object that came in a calm time, none about those that
// came in a storm.
func MayTell(regarding runtime.Object) bool { return routine.mayTell(regarding, time.Now()) }

func (m measures) mayTell(regarding runtime.Object, now time.Time) bool {
	var namespace, name string
	if reference, ok := regarding.(*corev1.ObjectReference); ok {
		namespace, name = reference.Namespace, reference.Name
	} else if object, err := meta.Accessor(regarding); err == nil {
		namespace, name = object.GetNamespace(), object.GetName()
	}
	if _, ok := apis.ClusterOfExecutionSpace(namespace); ok {
		return m.works.admit(namespace+"/"+name, now)
	}
	return m.others.admit(namespace+"/"+name, now)
}

// measure tells storms of new objects from calm.
type measure struct {
	mu       sync.Mutex
	arrivals []time.Time // of the latest new objects, the oldest at next
	next     int
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
	return &measure{arrivals: make([]time.Time, storm), known: map[string]*admission{}}
}

func (m *measure) admit(key string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.began) >= calm || len(m.known) >= objectsKept {
		m.known, m.before, m.began = map[string]*admission{}, m.known, now
	}
	object := m.known[key]
	if object == nil {
		if object = m.before[key]; object == nil {
			object = &admission{open: m.arrive(now)}
		} else {
			object.told = 0
		}
		m.known[key] = object
	}
	object.told++
	return object.open && object.told <= eventsAnObject
}

// arrive notes a new object and says whether it comes in a calm time.
func (m *measure) arrive(now time.Time) bool {
	oldest := m.arrivals[m.next]
	m.arrivals[m.next] = now
	m.next = (m.next + 1) % len(m.arrivals)
	return now.Sub(oldest) >= rush
}
