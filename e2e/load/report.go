package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Report is one line of a program.
type Report struct {
	// Counts are those since the start, by a name that the program explains.
	Counts map[string]uint64 `json:"counts"`
	// Latency is the time from the stamps of objects to their coming into a member.
	Latency Quantiles `json:"latency"`
}

// Counters count by name. Their methods may be called side by side.
type Counters struct {
	mu     sync.Mutex
	counts map[string]uint64
}

// Add counts one more.
func (c *Counters) Add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]uint64{}
	}
	c.counts[name]++
}

// Counts returns a copy.
func (c *Counters) Counts() map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		return map[string]uint64{}
	}
	return maps.Clone(c.counts)
}

// Reports listens for SIGUSR1 from its creation on.
type Reports struct {
	out     io.Writer
	count   func() Report
	signals chan os.Signal
}

// NewReports returns reports that write what count returns to out, as JSON lines.
func NewReports(out io.Writer, count func() Report) *Reports {
	r := &Reports{out: out, count: count, signals: make(chan os.Signal, 1)}
	signal.Notify(r.signals, syscall.SIGUSR1)
	return r
}

// Print writes one line.
func (r *Reports) Print() error {
	line, err := json.Marshal(r.count())
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	_, err = r.out.Write(append(line, '\n'))
	return err
}

// Start writes a line on every SIGUSR1 until ctx ends, then a last one.
func (r *Reports) Start(ctx context.Context) error {
	defer signal.Stop(r.signals)
	for {
		select {
		case <-ctx.Done():
			return r.Print()
		case <-r.signals:
			if err := r.Print(); err != nil {
				return err
			}
		}
	}
}

// StartAfter writes a line once all of a ramp are through, and goes on as Start does.
func (r *Reports) StartAfter(ctx context.Context, ramp *Ramp) error {
	if ramp.Await(ctx) {
		if err := r.Print(); err != nil {
			return err
		}
	}
	return r.Start(ctx)
}
