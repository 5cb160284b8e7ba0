package placement

import (
	"context"
	"reflect"
	"time"

	"muster.dev/muster/backend/live"
)

const (
	// setsRest is how long the rows of sets are left alone after they were read, and
	// setsShare how many times as long as that took at least: each is made of every
	// cluster, and a thousand may come at once.
	setsRest  = 200 * time.Millisecond
	setsShare = 20
)

// setFeed publishes those rows of sets that are other than before, however often
// what they are made of changes.
type setFeed struct {
	read    func(context.Context) ([]SetRow, error)
	publish func(live.Event)
	changed chan struct{} // has room for one
}

// touch says that something has changed that rows are made of.
func (f *setFeed) touch() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// run publishes until ctx ends.
func (f *setFeed) run(ctx context.Context) {
	told := map[string]SetRow{}
	for {
		select {
		case <-f.changed:
		case <-ctx.Done():
			return
		}
		begun := time.Now()
		if rows, err := f.read(ctx); err == nil {
			told = f.tell(told, rows)
		} else {
			f.touch() // the cache is not filled yet
		}
		select {
		case <-time.After(max(setsRest, setsShare*time.Since(begun))):
		case <-ctx.Done():
			return
		}
	}
}

// tell publishes what differs between the rows that were told and those of now, and
// returns these.
func (f *setFeed) tell(told map[string]SetRow, rows []SetRow) map[string]SetRow {
	now := make(map[string]SetRow, len(rows))
	for _, row := range rows {
		now[row.Name] = row
		if before, ok := told[row.Name]; !ok || !reflect.DeepEqual(before, row) {
			f.publish(live.Event{Op: live.OpUpsert, Key: row.Name, Row: row})
		}
	}
	for name := range told {
		if _, ok := now[name]; !ok {
			f.publish(live.Event{Op: live.OpDelete, Key: name})
		}
	}
	return now
}
