package interpret

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Pauses after costly failures.
const (
	pauseFirst = 2 * time.Second
	pauseMost  = time.Minute
)

// breaker spares everybody a script or webhook that has just cost a lot of time:
// after such a failure its error is given at once for a while, then one call may
// try again. The error is always the same text, so that nobody takes it for news.
//
//	closed ──costly failure──► open ──pause is over──► one call tries
//	  ▲                         ▲                         │      │
//	  └──────── answered ───────┼─────────────────────────┘      │
//	                            └──────── costly failure, longer ┘
type breaker struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	last   error
	pause  time.Duration
	until  time.Time
	trying bool
}

// refuse returns the last error if a call would only cost again.
func (b *breaker) refuse() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		return nil
	}
	if b.trying || b.clock.Now().Before(b.until) {
		return b.last
	}
	b.trying = true
	return nil
}

// done notes how a call ended; costly is nil if it was answered, with an error or
// not, without costing much.
func (b *breaker) done(costly error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	if costly == nil {
		b.last, b.pause = nil, 0
		return
	}
	b.last = costly
	b.pause = min(max(2*b.pause, pauseFirst), pauseMost)
	b.until = b.clock.Now().Add(b.pause)
}

// abandoned notes that a call was given up by its caller.
func (b *breaker) abandoned() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
}
