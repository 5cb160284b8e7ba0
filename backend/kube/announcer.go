package kube

import (
	"fmt"
	"hash/fnv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Announcer makes Events for one controller. What went wrong is always told. What
// went well, once for each object in each member, is told as long as somebody
// could read it: of a thousand objects at once, all about the first few.
type Announcer struct {
	events.EventRecorder
}

// NewAnnouncer returns an Announcer over a recorder.
func NewAnnouncer(recorder events.EventRecorder) *Announcer {
	return &Announcer{EventRecorder: recorder}
}

// Routine makes an Event of type Normal about what went well, unless too many
// objects had some of late. Its arguments are those of Eventf.
func (a *Announcer) Routine(regarding, related runtime.Object, reason, action, note string, args ...any) {
	if MayTell(regarding) {
		a.Eventf(regarding, related, "Normal", reason, action, note, args...)
	}
}

// Tell makes an Event whose note matters. Recorders take Events that are alike in
// everything but the note for repetitions, and drop the later notes: of a changed
// trouble, or of the same in another cluster, nobody would read. The action, which
// people do not see, tells them apart.
func Tell(recorder events.EventRecorder, regarding runtime.Object, kind, reason, action, note string) {
	mark := fnv.New32a()
	mark.Write([]byte(note))
	recorder.Eventf(regarding, nil, kind, reason, fmt.Sprintf("%s-%08x", action, mark.Sum32()), "%s", note)
}
