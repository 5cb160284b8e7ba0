package app

import (
	"runtime/debug"
	"testing"
	"time"
)

// percent is the collector's setting.
func percent() int {
	now := debug.SetGCPercent(restPercent)
	debug.SetGCPercent(now)
	return now
}

func TestPace(t *testing.T) {
	before := debug.SetGCPercent(restPercent)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	p := &pace{}
	t.Cleanup(p.end)
	at := time.Now().Add(time.Hour) // no true cycle comes between
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, restPercent}, {2 * workCycle, restPercent}, {workCycle / 2, workPercent}, {2 * workCycle, workPercent}} {
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
