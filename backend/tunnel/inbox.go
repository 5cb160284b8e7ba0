package tunnel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// inbox holds what an agent has reported and the hub has yet to store: the
// newest status, and the newest ack of each Work. A goroutine stores while there
// is something to store, so that the reader never waits for the store.
type inbox struct {
	session *session

	mu       sync.Mutex
	storing  bool
	acks     map[string]*agentapi.Ack // by name
	highest  uint64                   // sequence received
	current  clusterv1alpha1.ClusterStatus
	complete bool // current began with a complete status
	reported bool // current has been handed on
	finished sync.WaitGroup
}

func newInbox(s *session) *inbox {
	return &inbox{session: s, acks: map[string]*agentapi.Ack{}, reported: true}
}

func (in *inbox) status(f *agentapi.Status) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !f.Complete && !in.complete {
		return // parts of something we have not seen
	}
	in.current, in.complete, in.reported = f.Merge(in.current), true, false
	in.wake()
}

func (in *inbox) ack(f *agentapi.Ack) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.acks[f.Name] = f
	in.highest = max(in.highest, f.Sequence)
	in.wake()
}

// wake starts storing if nobody does. The lock is held.
func (in *inbox) wake() {
	if !in.storing && in.session.ctx.Err() == nil {
		in.storing = true
		in.finished.Go(in.run)
	}
}

func (in *inbox) wait() { in.finished.Wait() }

// again paces storing while the store does not answer.
var again = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 5 * time.Second}

func (in *inbox) run() {
	backoff := again
	for {
		status, acks, highest := in.swap()
		if status == nil && acks == nil {
			return
		}
		if err := in.store(status, acks); err != nil {
			if in.session.ctx.Err() != nil {
				return
			}
			in.session.log.Warn("report not stored, trying again", "error", err)
			in.putBack(status, acks)
			select {
			case <-in.session.ctx.Done():
				return
			case <-time.After(backoff.Step()):
			}
			continue
		}
		backoff = again
		if acks != nil {
			in.session.outbox.confirm(highest)
		}
	}
}

// swap takes all that waits. With nothing waiting the goroutine is to end.
func (in *inbox) swap() (*clusterv1alpha1.ClusterStatus, map[string]*agentapi.Ack, uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.session.ctx.Err() != nil || in.reported && len(in.acks) == 0 {
		in.storing = false
		return nil, nil, 0
	}
	var status *clusterv1alpha1.ClusterStatus
	if !in.reported {
		status, in.reported = in.current.DeepCopy(), true
	}
	var acks map[string]*agentapi.Ack
	if len(in.acks) > 0 {
		acks, in.acks = in.acks, map[string]*agentapi.Ack{}
	}
	return status, acks, in.highest
}

// putBack returns what could not be stored, unless something newer waits.
func (in *inbox) putBack(status *clusterv1alpha1.ClusterStatus, acks map[string]*agentapi.Ack) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if status != nil {
		in.reported = false
	}
	for name, ack := range acks {
		if _, newer := in.acks[name]; !newer {
			in.acks[name] = ack
		}
	}
}

// store hands the status on and writes the acks, a few at a time.
func (in *inbox) store(status *clusterv1alpha1.ClusterStatus, acks map[string]*agentapi.Ack) error {
	s := in.session
	if status != nil {
		if err := s.link.options.Liveness.Report(s.ctx, s.cluster, *status); err != nil {
			return fmt.Errorf("report the inventory: %w", err)
		}
	}
	ordered := make([]*agentapi.Ack, 0, len(acks))
	for _, ack := range acks {
		ordered = append(ordered, ack)
	}
	slices.SortFunc(ordered, func(a, b *agentapi.Ack) int { return int(int64(a.Sequence) - int64(b.Sequence)) })
	group, ctx := errgroup.WithContext(s.ctx)
	group.SetLimit(8)
	for _, ack := range ordered {
		group.Go(func() error {
			select {
			case s.link.writes <- struct{}{}:
				defer func() { <-s.link.writes }()
			case <-ctx.Done():
				return ctx.Err()
			}
			return s.link.storeAck(ctx, s.cluster, ack)
		})
	}
	return group.Wait()
}

// errOtherWork says that an ack is not about the Work of its name.
var errOtherWork = errors.New("another work has the name")

// storeAck writes what an agent says of one of its Works. An ack of a Work that
// is gone, or was replaced, has no effect.
func (l *Link) storeAck(ctx context.Context, cluster string, ack *agentapi.Ack) error {
	key := client.ObjectKey{Namespace: apis.ExecutionSpace(cluster), Name: ack.Name}
	var reader client.Reader = l.options.Store
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		work := &workv1alpha1.Work{}
		if err := reader.Get(ctx, key, work); err != nil {
			return err
		}
		reader = l.options.Client // the cache was behind if we come here again
		if work.UID != ack.UID {
			return errOtherWork
		}
		if ack.Removed {
			return l.release(ctx, work)
		}
		next := mergeStatus(work, ack, metav1.Now().Rfc3339Copy())
		if sameStatus(work.Status, next) {
			return nil
		}
		after := *work
		after.Status = next
		return kube.PatchStatus(ctx, l.options.Client, work, &after)
	})
	if apierrors.IsNotFound(err) || errors.Is(err, errOtherWork) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store the ack of work %s: %w", ack.Name, err)
	}
	return nil
}

// release takes the finalizer off a Work that is being deleted. Of one that is
// not, an agent cannot have removed anything that it should have.
func (l *Link) release(ctx context.Context, work *workv1alpha1.Work) error {
	if work.DeletionTimestamp == nil || !holds(work) {
		return nil
	}
	released := work.DeepCopy()
	released.Finalizers = slices.DeleteFunc(released.Finalizers, func(f string) bool { return f == workv1alpha1.ExecutionControllerFinalizer })
	return l.options.Client.Patch(ctx, released, client.MergeFromWithOptions(work, client.MergeFromWithOptimisticLock{}))
}

// told are the conditions of a Work that its agent sets.
var told = []string{workv1alpha1.WorkApplied, workv1alpha1.WorkDispatching, workv1alpha1.WorkDegraded, workv1alpha1.WorkDrifted}

// mergeStatus returns a Work's status after an ack: the agent's conditions and
// its manifest statuses. Times are the hub's.
func mergeStatus(work *workv1alpha1.Work, ack *agentapi.Ack, now metav1.Time) workv1alpha1.WorkStatus {
	next := work.Status.DeepCopy()
	for _, c := range ack.Conditions {
		if !slices.Contains(told, c.Type) || c.ObservedGeneration > work.Generation {
			continue
		}
		c.LastTransitionTime = now
		if known := meta.FindStatusCondition(next.Conditions, c.Type); c.Type == workv1alpha1.WorkDrifted && known != nil && known.Message != c.Message {
			*known = c // it does not turn; its time is that of the last drift
		}
		meta.SetStatusCondition(&next.Conditions, c)
	}
	if drifted := meta.FindStatusCondition(next.Conditions, workv1alpha1.WorkDrifted); drifted != nil && drifted.ObservedGeneration != work.Generation {
		meta.RemoveStatusCondition(&next.Conditions, workv1alpha1.WorkDrifted) // of what the Work was before
	}
	next.ManifestStatuses = ack.ManifestStatuses
	return *next
}

func sameStatus(a, b workv1alpha1.WorkStatus) bool {
	if !equality.Semantic.DeepEqual(a.Conditions, b.Conditions) || len(a.ManifestStatuses) != len(b.ManifestStatuses) {
		return false
	}
	for i := range a.ManifestStatuses {
		x, y := &a.ManifestStatuses[i], &b.ManifestStatuses[i]
		if x.Identifier != y.Identifier || x.Health != y.Health || !sameJSON(x.Status, y.Status) {
			return false
		}
	}
	return true
}

// sameJSON compares raw JSON by meaning: white space and escapes may differ.
func sameJSON(a, b *runtime.RawExtension) bool {
	if a == nil || b == nil {
		return a == b
	}
	if bytes.Equal(a.Raw, b.Raw) {
		return true
	}
	var x, y any
	return json.Unmarshal(a.Raw, &x) == nil && json.Unmarshal(b.Raw, &y) == nil && equality.Semantic.DeepEqual(x, y)
}
