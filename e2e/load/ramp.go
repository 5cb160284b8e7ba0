package load

import (
	"context"
	"sync"
)

// Ramp lets some members begin at a time, and tells when all have begun.
type Ramp struct {
	doors   chan struct{} // as many tokens as members may be beginning at once
	pending sync.WaitGroup
}

// NewRamp returns a ramp for as many at once, one at least.
func NewRamp(atOnce int) *Ramp { return &Ramp{doors: make(chan struct{}, max(atOnce, 1))} }

// Expect counts one more that is to begin, before anybody waits for all.
func (r *Ramp) Expect() { r.pending.Add(1) }

// Enter waits for a turn; it is false if ctx ended before.
func (r *Ramp) Enter(ctx context.Context) bool {
	select {
	case r.doors <- struct{}{}:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Through is told once by each that entered: the next may.
func (r *Ramp) Through() {
	<-r.doors
	r.pending.Done()
}

// Await returns once all that are expected are through; it is false if ctx ended
// before.
func (r *Ramp) Await(ctx context.Context) bool {
	all := make(chan struct{})
	go func() {
		r.pending.Wait()
		close(all)
	}()
	select {
	case <-all:
		return true
	case <-ctx.Done():
		return false
	}
}
