package audit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	batchLimit = 256 // writes stored in one transaction
	lateLimit  = 10_000
	// storeLimit is how long an action waits for its intent to be stored.
	storeLimit = 5 * time.Second
	retryAfter = time.Second
	drainPause = 20 * time.Millisecond
	// retryFor is how long an outcome that cannot be stored is tried again.
	// Its entry stays open and becomes unknown at the next start.
	retryFor = 5 * time.Minute
)

// journal stores writes in the order they come, those that wait at the same
// time in one transaction: a commit costs a sync of the disk, however much it
// holds. Nobody is told "stored" before the commit. With SQLite on two cores and
// an ext4 disk, shared with other work, that is 700 to 1,000 recorded changes a
// second one after the other, and 5,000 to 7,500 from 64 at a time
// (BenchmarkService; a change is two rows).
//
//	intent:  refused when its commit fails
//	outcome: kept and tried again, for what it tells has happened
type journal struct {
	append func(ctx context.Context, rows []row) error

	mu      sync.Mutex
	pending []*write
	running bool
	idle    chan struct{} // closed while nothing runs
}

// write is one or two rows that are stored together.
type write struct {
	rows  []row
	done  chan error // has room for the one answer
	then  func()     // runs once the rows are stored; may be nil
	retry bool
	since time.Time
}

func newJournal(store func(context.Context, []row) error) *journal {
	idle := make(chan struct{})
	close(idle)
	return &journal{append: store, idle: idle}
}

// keep stores rows now or reports why not.
func (j *journal) keep(rows ...row) *write { return j.add(&write{rows: rows}) }

// keepLater stores rows as soon as it can, and then calls then, unless nil.
func (j *journal) keepLater(then func(), rows ...row) *write {
	return j.add(&write{rows: rows, then: then, retry: true})
}

func (j *journal) add(w *write) *write {
	w.done, w.since = make(chan error, 1), time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending = append(j.pending, w)
	j.startLocked()
	return w
}

func (j *journal) startLocked() {
	if j.running || len(j.pending) == 0 {
		return
	}
	j.running, j.idle = true, make(chan struct{})
	go j.run()
}

func (j *journal) run() {
	for {
		batch := j.take()
		if batch == nil {
			return
		}
		failed := j.commit(batch)
		if len(failed) > 0 {
			j.putBack(failed)
			return
		}
	}
}

// take removes the next batch; nil: nothing is left and run ends.
func (j *journal) take() []*write {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.pending) == 0 {
		j.stopLocked()
		return nil
	}
	size := min(len(j.pending), batchLimit)
	batch := j.pending[:size:size]
	j.pending = j.pending[size:]
	return batch
}

func (j *journal) stopLocked() {
	j.running = false
	close(j.idle)
}

// commit stores a batch and answers each write; it returns those to try again.
// If a batch fails, intents are tried without the outcomes, so that an outcome
// the database will not take holds up nobody.
func (j *journal) commit(batch []*write) (failed []*write) {
	err := j.appendAll(batch)
	if err == nil {
		answer(batch, nil)
		return nil
	}
	var intents []*write
	for _, w := range batch {
		if w.retry {
			failed = append(failed, w)
		} else {
			intents = append(intents, w)
		}
	}
	if len(failed) > 0 && len(intents) > 0 {
		err = j.appendAll(intents)
	}
	if err != nil && len(intents) > 0 {
		slog.Error("audit cannot be kept, changes are refused", "error", err)
	}
	answer(intents, err)
	return failed
}

func (j *journal) appendAll(batch []*write) error {
	var rows []row
	for _, w := range batch {
		rows = append(rows, w.rows...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
	defer cancel()
	return j.append(ctx, rows)
}

func answer(writes []*write, err error) {
	for _, w := range writes {
		w.done <- err
		if err == nil && w.then != nil {
			w.then()
		}
	}
}

// putBack queues what failed before what came since, and tries again after a
// while or when something new comes.
func (j *journal) putBack(failed []*write) {
	kept := failed[:0]
	for _, w := range failed {
		if time.Since(w.since) > retryFor || len(kept) >= lateLimit {
			slog.Error("audit outcome lost, it will show as unknown", "request", w.rows[0].RequestID)
			w.done <- errors.New("the outcome could not be stored")
			continue
		}
		kept = append(kept, w)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	news := len(j.pending) > 0
	j.pending = append(kept, j.pending...)
	j.stopLocked()
	if news {
		j.startLocked()
		return
	}
	time.AfterFunc(retryAfter, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.startLocked()
	})
}

// wait returns once w is stored, or why it is not; ctx bounds it.
func (w *write) wait(ctx context.Context) error {
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain waits until everything is stored; ctx bounds it.
func (j *journal) drain(ctx context.Context) error {
	for {
		j.mu.Lock()
		idle, empty := j.idle, !j.running && len(j.pending) == 0
		j.startLocked()
		if j.running {
			idle = j.idle
		}
		j.mu.Unlock()
		if empty {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-time.After(drainPause): // what failed is still there: no tight loop
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
