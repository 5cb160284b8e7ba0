package placement

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster.dev/muster/backend/live"
)

// TestSetFeed has rows change far more often than they are to be read.
func TestSetFeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			rows   []SetRow
			refuse = errors.New("the cache is not filled")
			reads  int
			told   []string
		)
		f := &setFeed{changed: make(chan struct{}, 1), publish: func(e live.Event) { told = append(told, string(e.Op)+" "+e.Key) }}
		f.read = func(context.Context) ([]SetRow, error) { reads++; return rows, refuse }
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { f.run(ctx); close(done) }()
		passes := func(span time.Duration) {
			timer := time.NewTimer(span)
			<-timer.C
			synctest.Wait()
		}
		is := func(what, want string) {
			t.Helper()
			if got := strings.Join(told, ", "); got != want {
				t.Errorf("%s: told %q, want %q", what, got, want)
			}
			told = nil
		}

		f.touch()
		passes(time.Millisecond)
		is("before the cache is filled", "")
		rows, refuse = []SetRow{{Name: "default", Clusters: 1}, {Name: "edge", Clusters: 1}}, nil
		passes(2 * setsRest)
		is("without another change", "upsert default, upsert edge")

		reads = 0
		for i := range 1000 {
			rows = []SetRow{{Name: "default", Clusters: 2 + i}, {Name: "edge", Clusters: 1}}
			f.touch()
			passes(time.Millisecond)
		}
		passes(2 * setsRest)
		if most := int(time.Second/setsRest) + 2; reads > most || reads < 2 {
			t.Errorf("rows were read %d times in a second, want up to %d", reads, most)
		}
		if got := strings.Join(told, ", "); strings.Contains(got, "edge") || len(told) != reads {
			t.Errorf("told %q in %d reads", got, reads)
		}
		told = nil

		rows = rows[:1]
		f.touch()
		passes(2 * setsRest)
		is("a set that is gone", "delete edge")
		stop()
		<-done
	})
}
