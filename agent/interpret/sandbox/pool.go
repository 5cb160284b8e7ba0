package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"
)

// Options configure a Pool.
type Options struct {
	// Children is how many calls may run at once. Default: 2.
	Children int
	// Deadline bounds one call. Default: 1 s. A call that had no share of the CPUs
	// meanwhile gets more, up to ten times as much.
	Deadline time.Duration
	// Memory bounds, in bytes, what a child may take beside what it needs to
	// start. Default: 128 MiB.
	Memory uint64
	// Idle is how long a child without work is kept. Default: 1 min.
	Idle time.Duration
	// Command is what a child is made of. Default: the running binary.
	Command []string
}

// memoryVariable tells a child its memory limit.
const memoryVariable = "MUSTER_SANDBOX_MEMORY"

// maxScripts bounds how many scripts a child keeps compiled; one with more is
// replaced.
const maxScripts = 512

// ErrClosed says that a pool was closed.
var ErrClosed = errors.New("the sandbox is closed")

// Pool runs calls in a few children, which it starts when they are needed.
type Pool struct {
	options Options
	slots   chan struct{}

	mu     sync.Mutex
	idle   []*child // the last one worked last
	closed bool
}

// NewPool returns a pool. It starts nothing yet.
func NewPool(o Options) *Pool {
	if o.Children == 0 {
		o.Children = 2
	}
	if o.Deadline == 0 {
		o.Deadline = time.Second
	}
	if o.Memory == 0 {
		o.Memory = 128 << 20
	}
	if o.Idle == 0 {
		o.Idle = time.Minute
	}
	return &Pool{options: o, slots: make(chan struct{}, o.Children)}
}

// Run carries out a call. Its error is a *Failure, ErrClosed or that of ctx.
func (p *Pool) Run(ctx context.Context, c Call) (*Output, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	key := keyOf(c.Name, c.Script)
	for {
		worker, used, err := p.take()
		if err != nil {
			return nil, err
		}
		out, err := worker.run(ctx, &c, key, p.options.Deadline)
		p.giveBack(worker)
		var failed *Failure
		if used && errors.As(err, &failed) && failed.Cause == CauseChild {
			continue // it had gone while it was idle
		}
		return out, err
	}
}

// Close ends all children that have nothing to do, and the others when they are
// done. Calls fail from then on.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		c.end()
	}
}

// take returns a child, the one that worked last if possible. used says that it
// is not a new one.
func (p *Pool) take() (c *child, used bool, err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, false, ErrClosed
	}
	for len(p.idle) > 0 {
		c = p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if c.timer.Stop() {
			p.mu.Unlock()
			return c, true, nil
		}
		// Its time was up this moment: the timer ends it.
	}
	p.mu.Unlock()
	c, err = start(&p.options)
	return c, false, err
}

// giveBack keeps a child for the next call, if it is fit for one.
func (p *Pool) giveBack(c *child) {
	if c.broken || len(c.known) > maxScripts {
		c.kill()
		c.wait()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		go c.end()
		return
	}
	c.timer = time.AfterFunc(p.options.Idle, func() {
		p.mu.Lock()
		p.idle = slices.DeleteFunc(p.idle, func(other *child) bool { return other == c })
		p.mu.Unlock()
		c.end()
	})
	p.idle = append(p.idle, c)
}

func keyOf(name, script string) string {
	sum := sha256.Sum256([]byte(name + "\n" + script))
	return hex.EncodeToString(sum[:16])
}
