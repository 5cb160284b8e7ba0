package kube

import (
	"fmt"
	"hash/fnv"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

const (
	// routineRate and routineBurst bound the Events about what went well, of all
	// controllers, a second and at once.
	routineRate  = 1
	routineBurst = 100
)

// routine is the process's measure: each Event is a write to the same store, and
// a slow storm must not cost more of them than a fast one.
var routine = rate.NewLimiter(routineRate, routineBurst)

// Announcer makes Events for one controller. What went wrong is always told. What
// went well, once for each object in each member, is told as long as somebody
// could read it: of a thousand objects at once, the first few.
type Announcer struct {
	events.EventRecorder
}

// NewAnnouncer returns an Announcer over a recorder.
func NewAnnouncer(recorder events.EventRecorder) *Announcer {
	return &Announcer{EventRecorder: recorder}
}

// Routine makes an Event of type Normal about what went well, unless there were
// too many of late. Its arguments are those of Eventf.
func (a *Announcer) Routine(regarding, related runtime.Object, reason, action, note string, args ...any) {
	if MayTell(1) {
		a.Eventf(regarding, related, "Normal", reason, action, note, args...)
	}
}

// MayTell says whether there is room for as many Events about what went well, and
// takes it.
func MayTell(events int) bool { return routine.AllowN(time.Now(), events) }

// Tell makes an Event whose note matters. Recorders take Events that are alike in
// everything but the note for repetitions, and drop the later notes: of a changed
// trouble, or of the same in another cluster, nobody would read. The action, which
// people do not see, tells them apart.
func Tell(recorder events.EventRecorder, regarding runtime.Object, kind, reason, action, note string) {
	mark := fnv.New32a()
	mark.Write([]byte(note))
	recorder.Eventf(regarding, nil, kind, reason, fmt.Sprintf("%s-%08x", action, mark.Sum32()), "%s", note)
}
