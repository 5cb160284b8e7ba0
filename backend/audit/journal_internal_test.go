package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// disk is a store whose appends can be held up and made to fail.
type disk struct {
	mu      sync.Mutex
	batches [][]row
	refuse  func(rows []row) error
	hold    chan struct{} // nil: not held
}

func (d *disk) append(_ context.Context, rows []row) error {
	d.mu.Lock()
	hold := d.hold
	d.mu.Unlock()
	if hold != nil {
		<-hold
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil {
		if err := d.refuse(rows); err != nil {
			return err
		}
	}
	d.batches = append(d.batches, rows)
	return nil
}

func (d *disk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *disk) rows() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := map[string]int{}
	for _, batch := range d.batches {
		for _, one := range batch {
			found[one.Key+" "+one.Phase]++
		}
	}
	return found
}

func intent(key string) row  { return row{Key: key, Phase: phaseIntent} }
func outcome(key string) row { return row{Key: key, Phase: phaseOutcome} }

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestJournalStoresTogetherWhatWaitsTogether(t *testing.T) {
	d := &disk{hold: make(chan struct{})}
	j := newJournal(d.append)
	first := j.keep(intent("first"))
	var waiting []*write
	for i := range 100 {
		waiting = append(waiting, j.keep(intent(fmt.Sprint(i))))
	}
	select {
	case <-first.done:
		t.Fatal("an intent was called stored before it was")
	default:
	}
	close(d.hold)
	for _, w := range append(waiting, first) {
		if err := w.wait(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.batches) > 3 || len(d.rows()) != 101 {
		t.Errorf("%d rows took %d transactions", len(d.rows()), len(d.batches))
	}
}

func TestJournalRefusesIntentsAndRetriesOutcomes(t *testing.T) {
	full := errors.New("disk full")
	d := &disk{refuse: func([]row) error { return full }}
	j := newJournal(d.append)
	told := make(chan struct{})
	kept := j.keepLater(func() { close(told) }, outcome("a"))
	if err := j.keep(intent("b")).wait(within(t)); !errors.Is(err, full) {
		t.Fatalf("got %v, want the disk's error", err)
	}
	d.set(func() { d.refuse = nil })
	if err := kept.wait(within(t)); err != nil {
		t.Fatal(err)
	}
	<-told
	if rows := d.rows(); rows["a outcome"] != 1 || rows["b intent"] != 0 {
		t.Errorf("stored %v", rows)
	}
}

// A row that the database never takes must not hold up others.
func TestJournalPoison(t *testing.T) {
	d := &disk{refuse: func(rows []row) error {
		for _, one := range rows {
			if one.Key == "poison" {
				return errors.New("no")
			}
		}
		return nil
	}}
	j := newJournal(d.append)
	j.keepLater(nil, outcome("poison"))
	for i := range 20 {
		if err := j.keep(intent(fmt.Sprint(i))).wait(within(t)); err != nil {
			t.Fatalf("intent %d: %v", i, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := j.drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("drain got %v while something is left", err)
	}
}

func TestJournalDrains(t *testing.T) {
	d := &disk{hold: make(chan struct{})}
	j := newJournal(d.append)
	if err := j.drain(within(t)); err != nil {
		t.Fatalf("with nothing to do: %v", err)
	}
	for i := range 600 {
		j.keepLater(nil, outcome(fmt.Sprint(i)))
	}
	close(d.hold)
	if err := j.drain(within(t)); err != nil {
		t.Fatal(err)
	}
	if len(d.rows()) != 600 {
		t.Errorf("%d of 600 stored", len(d.rows()))
	}
}
