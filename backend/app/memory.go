package app

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// restPercent trades a little CPU for a third of the resting memory. While there
	// is much to do garbage may take workGarbage bytes, or that part of the machine's
	// memory, within what workPercent and mostPercent make of the live heap: memory
	// for a third of the CPU (figures in ARCHITECTURE.md). The environment's GOGC wins
	// over all of them.
	restPercent, workPercent, mostPercent = 50, 150, 400
	workGarbage                           = 400 << 20
	workShare                             = 16
	// startHeap is what the start may take before garbage is collected at all, in
	// bytes, and storedShare how much more for each byte that is stored: most of what
	// the start makes stays, and a dozen collections on the way there are a quarter of
	// its CPU.
	startHeap   = 400 << 20
	storedShare = 3
	// heapShare is which part of the machine's memory it is at most.
	heapShare = 4
	// usualPercent is the collector's own setting.
	usualPercent = 100
	// workCycle is the pace of collections that means much to do.
	workCycle = time.Second
	// settled is how long after the start, and after work, what was needed for it
	// can be given back.
	settled = 10 * time.Second
)

// letGrow lets the heap grow without a look at it, as far as what is stored, in
// bytes, makes it grow. The returned call ends that; so does the first collection.
func letGrow(stored int64) (end func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(growth(stored, machineMemory()))
	end = sync.OnceFunc(func() {
		debug.SetGCPercent(usualPercent)
		debug.SetMemoryLimit(math.MaxInt64)
	})
	runtime.AddCleanup(new([32]byte), func(end func()) { end() }, end)
	return end
}

// growth is how far the heap may grow at the start, where so much is stored, on a
// machine with so much memory, all in bytes; 0: nobody knows.
func growth(stored, machine int64) int64 {
	wanted := startHeap + storedShare*stored
	if most := machine / heapShare; wanted > most {
		wanted = max(most, startHeap)
	}
	return wanted
}

// keepSmall gives memory back to the machine once the start, which is let have
// what it likes, is over, and again after each time of much work. The start is over
// when the controllers are at work; what they are given to do may be much at once.
func keepSmall(ctx context.Context, working <-chan struct{}, grown func()) error {
	select {
	case <-working:
		grown()
	case <-ctx.Done():
		return nil
	}
	p := &pace{}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(restPercent)
		p.follow()
	}
	defer p.end()
	select {
	case <-time.After(settled):
		p.settle()
		dropCode()
	case <-ctx.Done():
		return nil
	}
	<-ctx.Done()
	return nil
}

// pace has the garbage collector take more memory while its cycles follow each
// other closely, and less when they no longer do.
type pace struct {
	mu      sync.Mutex
	last    time.Time   // the last cycle
	calm    time.Time   // cycles before are of our own making
	resting *time.Timer // ends the time of work; nil outside of it
	ended   bool
}

// follow has the cycles of the collector noticed: each frees an object whose end
// is told.
func (p *pace) follow() {
	runtime.AddCleanup(new([32]byte), func(p *pace) {
		if p.cycle(time.Now()) {
			p.follow()
		}
	}, p)
}

// cycle notices a cycle, and returns whether others should be noticed.
func (p *pace) cycle(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	busy := now.Sub(p.last) < workCycle && now.After(p.calm)
	p.last = now
	switch {
	case busy && p.resting == nil:
		debug.SetGCPercent(workingPercent(liveHeap(), machineMemory()))
		p.resting = time.AfterFunc(settled, p.rest)
	case busy:
		p.resting.Reset(settled)
	}
	return true
}

// workingPercent is the collector's setting for a time of work on a machine with
// so much memory (0: nobody knows), with so much in the live heap, both in bytes.
func workingPercent(live, machine int64) int {
	garbage := min(workGarbage, machine/workShare)
	return int(min(max(100*garbage/max(live, 1), workPercent), mostPercent))
}

// liveHeap is what the last cycle of the collector left, in bytes.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// rest ends a time of work.
func (p *pace) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.resting == nil {
		return
	}
	p.resting = nil
	debug.SetGCPercent(restPercent)
	p.giveBack()
}

// settle gives back what only the start needed; in a time of work, its end does.
func (p *pace) settle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resting == nil {
		p.giveBack()
	}
}

func (p *pace) giveBack() {
	debug.FreeOSMemory()
	p.calm = time.Now().Add(workCycle)
}

// end stops following.
func (p *pace) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.resting != nil {
		p.resting.Stop()
	}
}
