package scheduling

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// queue is where bindings wait, ordered by their priority. A binding without a
// namespace is a ClusterResourceBinding.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueue puts a binding into the queue and counts what brought it there.
func enqueue(q queue, binding types.NamespacedName, priority int, why string) {
	incoming.WithLabelValues(why).Inc()
	request := reconcile.Request{NamespacedName: binding}
	if ordered, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		ordered.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, request)
		return
	}
	q.Add(request)
}

// bindingHandler enqueues bindings that were created or whose spec changed,
// unless it was the scheduler that changed it.
type bindingHandler struct {
	scheduler *Scheduler
	written   *ownWrites
}

var _ handler.EventHandler = bindingHandler{}

// Create implements handler.EventHandler. What was there when the hub started
// comes after what happens since.
func (h bindingHandler) Create(_ context.Context, e event.CreateEvent, q queue) {
	b, ok := e.Object.(workv1alpha2.Binding)
	if !ok {
		return
	}
	h.scheduler.enrol(b)
	if !h.scheduler.owns(b) {
		return
	}
	priority := h.scheduler.priority(b)
	if e.IsInInitialList {
		h.scheduler.assumed.recall(b)
		priority += handler.LowPriority
	}
	enqueue(q, keyOf(b), priority, eventBindingAdd)
}

// Update implements handler.EventHandler.
func (h bindingHandler) Update(_ context.Context, e event.UpdateEvent, q queue) {
	b, ok := e.ObjectNew.(workv1alpha2.Binding)
	if ok {
		h.scheduler.assumed.observe(b)
	}
	if !ok || b.GetGeneration() == e.ObjectOld.GetGeneration() && b.GetUID() == e.ObjectOld.GetUID() {
		return
	}
	h.scheduler.enrol(b)
	if before, ok := e.ObjectOld.(workv1alpha2.Binding); ok && regrouped(before.BindingSpec(), b.BindingSpec()) {
		h.wake(q, before, b)
	}
	if h.written.seen(b.GetUID(), b.GetGeneration()) || !h.scheduler.owns(b) {
		return
	}
	why := eventBindingUpdate
	if placementChanged(b) {
		why = eventPolicyChanged
	}
	enqueue(q, keyOf(b), h.scheduler.priority(b), why)
}

// Delete implements handler.EventHandler.
func (h bindingHandler) Delete(_ context.Context, e event.DeleteEvent, q queue) {
	h.written.drop(e.Object.GetUID())
	h.scheduler.revisits.Delete(e.Object.GetUID())
	if b, ok := e.Object.(workv1alpha2.Binding); ok {
		h.scheduler.assumed.forget(b)
		h.scheduler.strike(b)
		h.wake(q, b)
	}
}

// wake enqueues the bindings that wait for others of the groups of these.
func (h bindingHandler) wake(q queue, bindings ...workv1alpha2.Binding) {
	for key, priority := range h.scheduler.waiting(bindings...) {
		enqueue(q, key, priority, eventBindingUpdate)
	}
}

// regrouped says whether the groups of a binding, or where they are with it, are
// others than before.
func regrouped(before, after *workv1alpha2.ResourceBindingSpec) bool {
	return !slices.Equal(groupsOf(before), groupsOf(after)) || !sameTargets(before.Clusters, after.Clusters)
}

// Generic implements handler.EventHandler.
func (h bindingHandler) Generic(context.Context, event.GenericEvent, queue) {}

// ownWrites are the generations that the scheduler's own writes of a spec bring
// about and whose event has not come yet. The reconcile that writes a spec also
// writes the status of its generation or comes back, so that the event tells
// nothing new.
type ownWrites struct {
	mu          sync.Mutex
	generations map[types.UID]int64
}

func newOwnWrites() *ownWrites { return &ownWrites{generations: map[types.UID]int64{}} }

// expect is called before the write.
func (w *ownWrites) expect(uid types.UID, generation int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.generations[uid] = generation
}

// drop is called when the write failed, or the binding is gone.
func (w *ownWrites) drop(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.generations, uid)
}

// seen says whether a generation is an expected one, and expects it no more.
func (w *ownWrites) seen(uid types.UID, generation int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	expected, ok := w.generations[uid]
	if ok && generation >= expected {
		delete(w.generations, uid)
	}
	return ok && generation == expected
}
