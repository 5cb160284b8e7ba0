package template

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// few is how many templates a change of a policy may bring into the queue
	// beside what users change; more of them wait behind that.
	few = 50
	// bulk is the priority of those.
	bulk = -10
	// readyPoll is how often a controller looks whether it can begin.
	readyPoll = 5 * time.Millisecond
)

// feed fills the queue of a controller from events that may come before the
// controller runs. The controller begins when ready says so.
type feed[T comparable] struct {
	ready func() bool

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[T]
	early map[T]struct{}
}

var _ source.TypedSyncingSource[Ref] = (*feed[Ref])(nil)

// add queues items. Many at once let others pass.
func (f *feed[T]) add(items ...T) {
	f.mu.Lock()
	queue := f.queue
	if queue == nil {
		if f.early == nil {
			f.early = map[T]struct{}{}
		}
		for _, item := range items {
			f.early[item] = struct{}{}
		}
	}
	f.mu.Unlock()
	if queue == nil || len(items) == 0 {
		return
	}
	if ordered, ok := queue.(priorityqueue.PriorityQueue[T]); ok && len(items) > few {
		priority := bulk
		ordered.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, items...)
		return
	}
	for _, item := range items {
		queue.Add(item)
	}
}

// Start implements source.TypedSource.
func (f *feed[T]) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[T]) error {
	f.mu.Lock()
	early := f.early
	f.queue, f.early = queue, nil
	f.mu.Unlock()
	for item := range early {
		queue.Add(item)
	}
	return nil
}

// WaitForSync implements source.TypedSyncingSource.
func (f *feed[T]) WaitForSync(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, readyPoll, true, func(context.Context) (bool, error) { return f.ready(), nil })
}
