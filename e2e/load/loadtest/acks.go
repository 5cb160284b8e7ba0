package loadtest

import (
	"context"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Acks counts acknowledged deliveries: Works of bindings whose condition Applied
// is True.
type Acks struct {
	mu      sync.Mutex
	applied map[string]struct{} // by key
	binding string              // prefix of the bindings' names that count
	last    time.Time
	events  int
	changed chan struct{} // closed and replaced at every new one
}

// FollowAcks follows the Works of a hub, from now until ctx ends, whose bindings'
// names begin with a prefix.
func FollowAcks(ctx context.Context, hub *rest.Config, binding string) (*Acks, error) {
	a := &Acks{applied: map[string]struct{}{}, binding: binding, changed: make(chan struct{})}
	path := "/apis/" + workv1alpha1.GroupVersion.String() + "/works"
	return a, Watch(ctx, hub, path, a.see)
}

func (a *Acks) see(e *Event) {
	if !strings.HasPrefix(e.Object.Metadata.Annotations[workv1alpha2.ResourceBindingNameAnnotation], a.binding) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events++
	if _, known := a.applied[e.Key()]; known || !e.True(workv1alpha1.WorkApplied) {
		return
	}
	a.applied[e.Key()] = struct{}{}
	a.last = time.Now()
	close(a.changed)
	a.changed = make(chan struct{})
}

// Await returns when so many deliveries had been acknowledged, as soon as that is
// the case.
func (a *Acks) Await(ctx context.Context, count int) (time.Time, error) {
	for {
		a.mu.Lock()
		seen, last, changed := len(a.applied), a.last, a.changed
		a.mu.Unlock()
		if seen >= count {
			return last, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return last, ctx.Err()
		}
	}
}

// Count is how many deliveries have been acknowledged, and Events how many writes
// there were to their Works.
func (a *Acks) Count() (acknowledged, events int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.applied), a.events
}
