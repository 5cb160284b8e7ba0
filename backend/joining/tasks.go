package joining

import (
	"context"
	"sync"

	"muster.dev/muster/backend/fault"
)

// Tasks are joins and removals that outlive the request that asked for them,
// until the hub stops. The zero value begins none until Open.
type Tasks struct {
	mu       sync.Mutex
	base     context.Context // of Open; nil before
	stopping bool
	running  sync.WaitGroup
}

// Open lets tasks begin; they run under ctx.
func (t *Tasks) Open(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.base = ctx
}

// Begin runs a task, or fails with fault.Unavailable.
func (t *Tasks) Begin(task func(ctx context.Context)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.base == nil || t.stopping {
		return fault.Unavailable("the hub is starting or stopping").WithFix("try again in a moment")
	}
	base := t.base
	t.running.Go(func() { task(base) })
	return nil
}

// Go runs what a stop of the hub had interrupted. It belongs between Open and
// Close.
func (t *Tasks) Go(task func()) { t.running.Go(task) }

// Close begins no more tasks and waits for those that run.
func (t *Tasks) Close() {
	t.mu.Lock()
	t.stopping = true
	t.mu.Unlock()
	t.running.Wait()
}

// Ended says whether the hub has not started or is stopping.
func (t *Tasks) Ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.base == nil || t.base.Err() != nil
}
