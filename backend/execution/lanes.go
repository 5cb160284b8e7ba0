package execution

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// laneWorkers is how many Works of one member are executed side by side.
	laneWorkers = 8
	retryFirst  = 100 * time.Millisecond
	retryMost   = time.Minute
)

// lanes hands Works to the workers of their member: one lane a member, named
// after its execution space. A Work is executed by one worker at a time; what is
// added meanwhile is executed again. Workers exist while their lane has work.
//
//	add ──► waiting ──► active ──► gone, or
//	           ▲           ├─ added meanwhile ──► waiting
//	           └── timer ◄─┴─ failed, or asked for later
type lanes struct {
	// work executes one Work. failures says how often it has failed in a row. It
	// is executed again after a while if that is not zero.
	work  func(ctx context.Context, key types.NamespacedName, failures int) (after time.Duration, err error)
	clock clock.WithDelayedExecution

	mu      sync.Mutex
	open    bool
	ctx     context.Context //nolint:containedctx // that of Start, for the workers
	lanes   map[string]*lane
	running sync.WaitGroup
}

type lane struct {
	waiting []string // names, first come first
	items   map[string]*item
	busy    int
}

type item struct {
	waiting, active, again bool
	failures               int
	timer                  clock.Timer
}

func newLanes(work func(context.Context, types.NamespacedName, int) (time.Duration, error)) *lanes {
	return &lanes{work: work, clock: clock.RealClock{}, lanes: map[string]*lane{}}
}

// Start lets the workers begin and waits for their end.
func (l *lanes) Start(ctx context.Context) error {
	l.mu.Lock()
	l.open, l.ctx = true, ctx
	for space, one := range l.lanes {
		l.hire(space, one)
	}
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	l.open = false
	for _, one := range l.lanes {
		for _, it := range one.items {
			it.stopTimer()
		}
	}
	l.mu.Unlock()
	l.running.Wait()
	return nil
}

// add has a Work executed.
func (l *lanes) add(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.lanes[key.Namespace]
	if one == nil {
		one = &lane{items: map[string]*item{}}
		l.lanes[key.Namespace] = one
	}
	it := one.items[key.Name]
	if it == nil {
		it = &item{}
		one.items[key.Name] = it
	}
	it.stopTimer()
	switch {
	case it.active:
		it.again = true
		return
	case it.waiting:
		return
	}
	one.put(key.Name, it)
	l.hire(key.Namespace, one)
}

func (o *lane) put(name string, it *item) {
	it.waiting = true
	o.waiting = append(o.waiting, name)
}

func (i *item) stopTimer() {
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}

// hire starts workers for what waits. The lock is held.
func (l *lanes) hire(space string, one *lane) {
	if !l.open {
		return
	}
	for n := min(laneWorkers-one.busy, len(one.waiting)); n > 0; n-- {
		one.busy++
		l.running.Go(func() { l.serve(space, one) })
	}
}

// serve executes what waits in a lane until nothing does.
func (l *lanes) serve(space string, one *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.open && len(one.waiting) > 0 {
		name := one.waiting[0]
		one.waiting = one.waiting[1:]
		it := one.items[name]
		it.waiting, it.active = false, true
		ctx, failures := l.ctx, it.failures
		l.mu.Unlock()
		after, err := l.work(ctx, types.NamespacedName{Namespace: space, Name: name}, failures)
		l.mu.Lock()
		it.active = false
		l.settle(types.NamespacedName{Namespace: space, Name: name}, one, it, after, err)
	}
	one.busy--
	if one.busy == 0 && len(one.items) == 0 && l.lanes[space] == one {
		delete(l.lanes, space)
	}
}

// settle decides how it goes on with a Work that was executed. The lock is held.
func (l *lanes) settle(key types.NamespacedName, one *lane, it *item, after time.Duration, err error) {
	if err != nil {
		after = backoff(it.failures)
		it.failures++
	} else {
		it.failures = 0
	}
	switch {
	case it.again:
		it.again = false
		one.put(key.Name, it)
	case after == 0:
		delete(one.items, key.Name)
	case l.open:
		it.timer = l.clock.AfterFunc(after, func() { l.add(key) })
	}
}

func backoff(failures int) time.Duration {
	if failures > 10 {
		return retryMost
	}
	return min(retryMost, retryFirst<<failures)
}
