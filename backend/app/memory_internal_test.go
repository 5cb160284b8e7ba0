package app

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// percent is the collector's setting.
func percent() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

func TestPace(t *testing.T) {
	before := debug.SetGCPercent(restPercent)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	p := &pace{}
	t.Cleanup(p.end)
	at := time.Now().Add(time.Hour) // no true cycle comes between
	working := workingPercent(liveHeap(), machineMemory())
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, restPercent}, {2 * workCycle, restPercent}, {workCycle / 2, working}, {2 * workCycle, working}} {
		at = at.Add(step.after)
		p.cycle(at)
		if got := percent(); got != step.want {
			t.Fatalf("%s after the last cycle: %d%%, want %d%%", step.after, got, step.want)
		}
	}
	p.rest()
	if got := percent(); got != restPercent {
		t.Errorf("at rest: %d%%", got)
	}
}

func TestWorkCanBeginWithTheStart(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(usualPercent)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	ctx, cancel := context.WithCancel(t.Context())
	working, ended := make(chan struct{}), make(chan error, 1)
	close(working)
	go func() { ended <- keepSmall(ctx, working, func() {}) }()
	for deadline := time.Now().Add(settled / 2); percent() < workPercent; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("%d%% although cycles follow each other", percent())
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestSettleLeavesWorkAlone(t *testing.T) {
	p := &pace{}
	t.Cleanup(p.end)
	p.settle()
	if p.calm.IsZero() {
		t.Error("nothing was given back at rest")
	}
	before := debug.SetGCPercent(restPercent)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	p.calm = time.Time{}
	at := time.Now()
	p.cycle(at)
	p.cycle(at.Add(workCycle / 2))
	if p.settle(); !p.calm.IsZero() {
		t.Error("memory was given back amid work")
	}
}

func TestWorkingPercent(t *testing.T) {
	for _, c := range []struct {
		name          string
		live, machine int64
		want          int
	}{
		{"a small hub", 50 << 20, 16 << 30, mostPercent},
		{"a hub of middle size", 200 << 20, 16 << 30, 200},
		{"a large hub", 2 << 30, 16 << 30, workPercent},
		{"a small machine", 100 << 20, 2 << 30, workPercent},
		{"an unknown machine", 100 << 20, 0, workPercent},
		{"no cycle yet", 0, 16 << 30, mostPercent},
	} {
		if got := workingPercent(c.live, c.machine); got != c.want {
			t.Errorf("%s: %d%%, want %d%%", c.name, got, c.want)
		}
	}
	if runtime.GC(); liveHeap() <= 0 {
		t.Error("nothing lives")
	}
}

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		name                  string
		stored, machine, want int64
	}{
		{"nothing is stored", 0, 16 << 30, startHeap},
		{"much is stored", 500 << 20, 16 << 30, startHeap + storedShare*500<<20},
		{"more is stored than the machine has memory for", 4 << 30, 8 << 30, 2 << 30},
		{"a small machine", 0, 1 << 30, startHeap},
		{"an unknown machine", 500 << 20, 0, startHeap},
	} {
		if got := growth(c.stored, c.machine); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
	if runtime.GOOS == "linux" && machineMemory() <= 0 {
		t.Error("the machine has no memory")
	}
}
