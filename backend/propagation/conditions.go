package propagation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"muster.dev/muster/backend/kube"
)

// Reasons of Events about bindings and their templates (contract section 3.8; the
// last is our own).
const (
	eventSyncWork          = "SyncWorkSucceed"
	eventSyncWorkFailed    = "SyncWorkFailed"
	eventCleanupFailed     = "CleanupWorkFailed"
	eventOverride          = "ApplyOverridePolicySucceed"
	eventOverrideFailed    = "ApplyOverridePolicyFailed"
	eventAggregate         = "AggregateStatusSucceed"
	eventAggregateFailed   = "AggregateStatusFailed"
	eventCollectStatus     = "CollectOverallStatusSucceed"
	eventCollectFailed     = "CollectOverallStatusFailed"
	eventOddConflict       = "UnknownConflictResolution"
	messageFullyApplied    = "Every cluster has what it should."
	messageNoClusterChosen = "No cluster is to have it."
)

// troubles remembers what does not work, by object and by what is being done, so
// that events tell of turns only.
type troubles struct {
	mu    sync.Mutex
	known map[trouble]string
}

type trouble struct {
	about types.NamespacedName
	of    string // an event's reason
}

func newTroubles() *troubles { return &troubles{known: map[trouble]string{}} }

// turn notes what does not work now, "" for nothing. It says whether that is news.
func (t *troubles) turn(about types.NamespacedName, of, what string) (news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := trouble{about, of}
	before := t.known[key]
	if what == "" {
		delete(t.known, key)
	} else {
		t.known[key] = what
	}
	return before != what
}

// tell makes an event of news about a binding, on it and on its template.
func (t *troubles) tell(recorder events.EventRecorder, about types.NamespacedName, good, bad, what string, on ...runtime.Object) {
	if !t.turn(about, bad, what) {
		return
	}
	for _, object := range on {
		switch {
		case object == nil:
		case what != "":
			kube.Tell(recorder, object, corev1.EventTypeWarning, bad, "Sync", what)
		case good != "":
			recorder.Eventf(object, nil, corev1.EventTypeNormal, good, "Sync", "works again")
		}
	}
}

// forget drops what is known about an object that went.
func (t *troubles) forget(about types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.known, func(key trouble, _ string) bool { return key.about == about })
}

// failures are the targets of a binding that could not be served, and why.
type failures map[string]error // by cluster

// messages are the texts by cluster.
func (f failures) messages() map[string]string {
	messages := make(map[string]string, len(f))
	for cluster, err := range f {
		messages[cluster] = err.Error()
	}
	return messages
}

// sentence names them, at most a few.
func (f failures) sentence() string {
	const most = 3
	clusters := slices.Sorted(maps.Keys(f))
	var parts []string
	for _, cluster := range clusters[:min(most, len(clusters))] {
		parts = append(parts, fmt.Sprintf("cluster %s: %s", cluster, f[cluster]))
	}
	if len(clusters) > most {
		parts = append(parts, fmt.Sprintf("and %d more clusters", len(clusters)-most))
	}
	return strings.Join(parts, "; ")
}

// Unserved are the targets of bindings that cannot be sent what they are to have
// now, and why: what their Works cannot tell, whether there is one or not. One
// controller tells it; the status of bindings and workloads show it.
type Unserved struct {
	mu        sync.Mutex
	byBinding map[types.NamespacedName]map[string]string // messages by cluster
	changed   func(binding types.NamespacedName)
}

// NewUnserved returns an empty Unserved.
func NewUnserved() *Unserved {
	return &Unserved{byBinding: map[types.NamespacedName]map[string]string{}}
}

// Follow has changed told of every change from now on. One may follow.
func (u *Unserved) Follow(changed func(binding types.NamespacedName)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changed = changed
}

// Set replaces what is known of a binding, messages by cluster, and says whether
// that is new. It owns them from then on.
func (u *Unserved) Set(binding types.NamespacedName, messages map[string]string) bool {
	u.mu.Lock()
	if maps.Equal(u.byBinding[binding], messages) {
		u.mu.Unlock()
		return false
	}
	if len(messages) == 0 {
		delete(u.byBinding, binding)
	} else {
		u.byBinding[binding] = messages
	}
	changed := u.changed
	u.mu.Unlock()
	if changed != nil {
		changed(binding)
	}
	return true
}

// Of is what is known of a binding. It must not be changed.
func (u *Unserved) Of(binding types.NamespacedName) map[string]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.byBinding[binding] // replaced, never changed
}

func byCluster[T any](name func(T) string) func(a, b T) int {
	return func(a, b T) int { return cmp.Compare(name(a), name(b)) }
}
