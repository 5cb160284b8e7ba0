package kube

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/reference"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// eventDelay is how long Events wait. One object on its way into two members is
// told about by some sixteen of them, each a request to the hub's own API: told at
// once, they take the processors from the delivery that they tell about.
const eventDelay = 250 * time.Millisecond

// unhurried is a manager whose controllers act first and tell later.
type unhurried struct {
	manager.Manager
	later *later
}

// GetEventRecorder implements cluster.Cluster. The recorders of one manager keep
// the order in which Events were made.
func (u *unhurried) GetEventRecorder(name string) events.EventRecorder {
	return &unhurriedRecorder{scheme: u.GetScheme(), later: u.later, told: u.Manager.GetEventRecorder(name)}
}

type unhurriedRecorder struct {
	scheme *runtime.Scheme
	later  *later
	told   events.EventRecorder
}

// Eventf implements events.EventRecorder. What the arguments say now is told, not
// what they say by then.
func (r *unhurriedRecorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	regarding, related = r.snapshot(regarding), r.snapshot(related)
	text := fmt.Sprintf(note, args...)
	r.later.do(func() { r.told.Eventf(regarding, related, kind, reason, action, "%s", text) })
}

// snapshot is all that an Event keeps of an object. What cannot be referred to is
// left to the recorder to complain about.
func (r *unhurriedRecorder) snapshot(o runtime.Object) runtime.Object {
	if o == nil {
		return nil
	}
	reference, err := reference.GetReference(r.scheme, o)
	if err != nil {
		return o
	}
	return reference
}

// later does things in their order, after eventDelay at the latest.
type later struct {
	mu      sync.Mutex
	waiting []func()
	// doing keeps two rounds from overtaking each other.
	doing sync.Mutex
}

func (l *later) do(what func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, what)
	if len(l.waiting) == 1 {
		time.AfterFunc(eventDelay, l.flush)
	}
}

func (l *later) flush() {
	l.doing.Lock()
	defer l.doing.Unlock()
	l.mu.Lock()
	due := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	for _, what := range due {
		what()
	}
}
