package apply

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"muster.dev/muster/backend/agentapi"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

const (
	workers    = 8
	retryFirst = 100 * time.Millisecond
	retryMost  = time.Minute
)

// Worker carries out what the hub delivers and keeps what the hub has not
// confirmed. Works and acks are held in memory only: an agent that starts anew
// gets everything again and finds the member as it should be.
//
//	Deliver ──► works ──► queue ──► Applier ──► ack ──► outbox ──► send
//	               ▲                              ▲        │
//	            drift (Watch)                 same again?  └─ until Confirmed
//
// It writes to the member only while it is open: between Open and Close.
type Worker struct {
	applier *Applier
	log     *slog.Logger
	queue   workqueue.TypedRateLimitingInterface[string]
	send    func(*agentapi.Ack)

	mu       sync.Mutex
	open     bool
	works    map[string]*delivered // by name
	parked   map[string]struct{}   // taken from the queue while closed
	outbox   map[string]*agentapi.Ack
	sequence uint64
	epoch    string
	revision uint64                 // synced up to here; 0: everything is to be sent
	fresh    map[types.UID]struct{} // what a session that is not resumed has delivered; nil afterwards
}

// delivered is a Work as the hub last sent it.
type delivered struct {
	op       agentapi.Op
	work     *workv1alpha1.Work
	revision uint64
	// acked is the status last handed to the outbox for this revision.
	acked *workv1alpha1.WorkStatus
	done  bool // removed from the member and acked
}

// NewWorker returns a worker in front of an applier. send hands an ack to the
// link; it must not block, and may drop it while there is no link: acks are sent
// again with the next session.
func NewWorker(applier *Applier, log *slog.Logger, send func(*agentapi.Ack)) *Worker {
	return &Worker{
		applier: applier, log: log, send: send,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, retryMost)),
		works: map[string]*delivered{}, parked: map[string]struct{}{}, outbox: map[string]*agentapi.Ack{},
	}
}

// Start works until ctx ends.
func (w *Worker) Start(ctx context.Context) error {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for w.next(ctx) {
			}
		})
	}
	watch := make(chan error, 1)
	go func() { watch <- w.applier.Watch(ctx, w.drifted) }()
	<-ctx.Done()
	w.queue.ShutDown()
	running.Wait()
	return <-watch
}

// Resume says from where the hub should go on, nil if it has to send everything.
func (w *Worker) Resume() *agentapi.Resume {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.revision == 0 {
		return nil
	}
	return &agentapi.Resume{Epoch: w.epoch, Revision: w.revision}
}

// Begin starts a session: the worker may write again, and what the hub has not
// confirmed is sent once more.
func (w *Worker) Begin(welcome *agentapi.Welcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.epoch = welcome.Epoch
	w.fresh = nil
	if !welcome.Resumed {
		w.revision = 0
		w.fresh = map[types.UID]struct{}{}
	}
	w.open = true
	for name := range w.parked {
		w.queue.Add(name)
	}
	clear(w.parked)
	pending := make([]*agentapi.Ack, 0, len(w.outbox))
	for _, ack := range w.outbox {
		pending = append(pending, ack)
	}
	slices.SortFunc(pending, func(a, b *agentapi.Ack) int { return int(int64(a.Sequence) - int64(b.Sequence)) })
	for _, ack := range pending {
		w.send(ack)
	}
}

// Close stops writing to the member until the next Begin. What is under way is
// finished.
func (w *Worker) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = false
}

// Deliver takes one delivery of the hub. An error means that the frame makes no
// sense.
func (w *Worker) Deliver(f *agentapi.Work) error {
	if f.Op == agentapi.OpForget {
		w.forget(f.Name, f.UID)
		return nil
	}
	work, err := f.Object()
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fresh != nil {
		w.fresh[f.UID] = struct{}{}
	}
	d := &delivered{op: f.Op, work: work, revision: f.Revision}
	if old := w.works[f.Name]; old != nil && old.work.UID == f.UID {
		if f.Revision < old.revision {
			return nil
		}
		work.Status.ManifestStatuses = old.work.Status.ManifestStatuses
		if old.acked != nil {
			work.Status = *old.acked
		}
		d.done = old.done && f.Op == agentapi.OpRemove
	}
	w.works[f.Name] = d
	w.queue.Forget(f.Name) // a new version deserves an immediate try
	w.queue.Add(f.Name)
	return nil
}

// Synced notes that everything up to a revision has been delivered. It is false
// if the worker holds other Works than the hub: the link has to be opened anew,
// without resuming.
func (w *Worker) Synced(f *agentapi.Synced) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fresh != nil {
		for name, d := range w.works {
			if _, ok := w.fresh[d.work.UID]; !ok {
				w.drop(name, d)
			}
		}
		w.fresh = nil
	}
	if f.Digest != "" && f.Digest != w.digest(true) && f.Digest != w.digest(false) {
		w.revision = 0
		return false
	}
	w.revision = f.Revision
	return true
}

// digest covers the Works the hub should still have. Whether it has those whose
// removal it has not confirmed depends on where the last session broke off.
func (w *Worker) digest(unconfirmed bool) string {
	uids := make([]types.UID, 0, len(w.works))
	for _, d := range w.works {
		if unconfirmed || !d.done {
			uids = append(uids, d.work.UID)
		}
	}
	return agentapi.Digest(uids)
}

// Confirmed drops the acks that the hub has stored.
func (w *Worker) Confirmed(f *agentapi.Confirmed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, ack := range w.outbox {
		if ack.Sequence > f.Sequence {
			continue
		}
		delete(w.outbox, name)
		if d := w.works[name]; d != nil && d.done && ack.Removed && d.work.UID == ack.UID {
			delete(w.works, name)
		}
	}
}

func (w *Worker) forget(name string, uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.works[name]; d != nil && d.work.UID == uid {
		w.drop(name, d)
	}
}

// drop stops looking after a Work. The lock is held.
func (w *Worker) drop(name string, d *delivered) {
	delete(w.works, name)
	delete(w.outbox, name)
	w.applier.Forget(d.work)
}

// drifted is told when an object of a Work has changed in the member.
func (w *Worker) drifted(namespace, name string) {
	w.mu.Lock()
	d := w.works[name]
	w.mu.Unlock()
	if d != nil && d.work.Namespace == namespace {
		w.queue.Add(name)
	}
}

func (w *Worker) next(ctx context.Context) bool {
	name, shutdown := w.queue.Get()
	if shutdown {
		return false
	}
	defer w.queue.Done(name)
	w.mu.Lock()
	d := w.works[name]
	if d != nil && !w.open {
		w.parked[name] = struct{}{}
		d = nil
	}
	w.mu.Unlock()
	if d == nil || d.done {
		w.queue.Forget(name)
		return true
	}
	if err := w.carryOut(ctx, name, d); err != nil && ctx.Err() == nil {
		w.log.Debug("work not carried out, trying again", "name", name, "error", err)
		w.queue.AddRateLimited(name)
		return true
	}
	w.queue.Forget(name)
	return true
}

func (w *Worker) carryOut(ctx context.Context, name string, d *delivered) error {
	if d.op == agentapi.OpRemove {
		if _, err := w.applier.Remove(ctx, d.work); err != nil {
			// The hub is told why it waits.
			failed := workv1alpha1.WorkStatus{Conditions: []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionFalse,
				Reason: workv1alpha1.ReasonAppliedFailed, ObservedGeneration: d.work.Generation, Message: brief(fmt.Errorf("not removed: %w", err))}}}
			w.ack(name, d, &failed)
			return err
		}
		w.ack(name, d, nil)
		return nil
	}
	status, err := w.applier.Apply(ctx, w.current(d))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.ack(name, d, &status)
	return err
}

// current returns the Work of a delivery with the status last told of it: parts
// stay where an object cannot be interpreted for the moment.
func (w *Worker) current(d *delivered) *workv1alpha1.Work {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.acked == nil {
		return d.work
	}
	work := *d.work
	work.Status = *d.acked
	return &work
}

// ack puts what became of a Work into the outbox, unless the hub has been told
// the same before. A nil status means that it has been removed.
func (w *Worker) ack(name string, d *delivered, status *workv1alpha1.WorkStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.works[name] != d {
		return // a newer version has arrived meanwhile
	}
	if status != nil && d.acked != nil && sameStatus(d.acked, status) {
		return
	}
	d.acked, d.done = status, status == nil
	w.sequence++
	ack := &agentapi.Ack{Sequence: w.sequence, Name: name, UID: d.work.UID, Revision: d.revision, Removed: status == nil}
	if status != nil {
		ack.Conditions, ack.ManifestStatuses = status.Conditions, bounded(status.ManifestStatuses)
	}
	w.outbox[name] = ack
	if w.open {
		w.send(ack)
	}
}

// sameStatus compares without times: applying again sets none.
func sameStatus(a, b *workv1alpha1.WorkStatus) bool {
	if len(a.Conditions) != len(b.Conditions) || !equality.Semantic.DeepEqual(a.ManifestStatuses, b.ManifestStatuses) {
		return false
	}
	for i, c := range a.Conditions {
		c.LastTransitionTime = b.Conditions[i].LastTransitionTime
		if c != b.Conditions[i] {
			return false
		}
	}
	return true
}

// bounded leaves out reflected statuses from where an ack would become too
// large; health stays.
func bounded(statuses []workv1alpha1.ManifestStatus) []workv1alpha1.ManifestStatus {
	const room = agentapi.MaxAck / 2 // the rest is for conditions and identifiers
	total := 0
	for i := range statuses {
		if statuses[i].Status == nil {
			continue
		}
		if total += len(statuses[i].Status.Raw); total > room {
			statuses = slices.Clone(statuses)
			statuses[i].Status = nil
		}
	}
	return statuses
}

// String describes the worker's load for logs.
func (w *Worker) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strconv.Itoa(len(w.works)) + " works, " + strconv.Itoa(len(w.outbox)) + " unconfirmed acks"
}
