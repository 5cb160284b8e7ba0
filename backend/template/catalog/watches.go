package catalog

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// rediscover is how often the kinds are looked up without a reason.
	rediscover = 30 * time.Second
	// settleFirst and settleMost bound the wait between looks for a kind that was
	// installed and is not served yet.
	settleFirst = 50 * time.Millisecond
	settleMost  = 5 * time.Second
	// backoffFirst and backoffMost bound the wait before a kind is read again.
	backoffFirst = 50 * time.Millisecond
	backoffMost  = 30 * time.Second
)

// The kinds whose objects say which kinds there are.
const (
	definitionVersion, definitionKind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	serviceVersion, serviceKind       = "apiregistration.k8s.io/v1", "APIService"
)

// watches are the running watches of a Cache, one a kind. All is done by the
// goroutine of run.
type watches struct {
	cache   *Cache
	running map[kind]*running
	now     *served       // nil: not known yet
	wait    time.Duration // before the next look
}

// running is the watch of one kind.
type running struct {
	store *store
	stop  context.CancelFunc
	done  sync.WaitGroup
	came  int64 // of the store, when patience ended last
	lost  bool  // nothing came since the time before
}

// run looks up kinds until ctx ends: at once, when a definition or an API server
// behind the hub changes, and every now and then.
func (w *watches) run(ctx context.Context) {
	w.cache.Subscribe(func(ref Ref, _, _ *unstructured.Unstructured) {
		if ref.Kind == definitionKind && ref.APIVersion == definitionVersion || ref.Kind == serviceKind && ref.APIVersion == serviceVersion {
			signal(w.cache.poked)
		}
	})
	impatient := time.NewTicker(patience)
	defer impatient.Stop()
	w.look(ctx)
	for ctx.Err() == nil {
		timer := time.NewTimer(w.wait)
		select {
		case <-ctx.Done():
		case <-impatient.C:
			w.lose()
			w.judge()
		case <-w.cache.looked:
			w.judge()
		case <-w.cache.poked:
			w.wait = 0
			w.look(ctx)
		case <-timer.C:
			w.look(ctx)
		}
		timer.Stop()
	}
}

// look brings the watches in line with what the hub serves now.
func (w *watches) look(ctx context.Context) {
	now, err := readKinds(w.cache.discovery, w.cache.scope)
	if err != nil {
		w.cache.log.Warn("kinds of templates cannot be listed", "error", err)
		w.wait = settle(w.wait)
		return
	}
	first := w.now == nil
	w.now = now
	w.cache.mapper.replace(now.mapper)
	for k, r := range w.running {
		if !contains(now.kinds, k) && !contains(now.silent, k.resource.Group) {
			w.end(k, r)
		}
	}
	for k := range now.kinds {
		if w.running[k] == nil {
			w.begin(ctx, k, first)
		}
	}
	w.judge()
}

// lose counts kinds as looked at of which nothing came while the cache was patient.
func (w *watches) lose() {
	for _, r := range w.running {
		came := r.store.came.Load()
		r.lost, r.came = came == r.came, came
	}
}

// judge says when to look again, and whether every kind was looked at.
func (w *watches) judge() {
	if w.now == nil {
		return
	}
	looked := true
	for _, r := range w.running {
		looked = looked && (r.lost || r.store.looked.Load())
	}
	if looked {
		w.cache.synced.Store(true)
	}
	for _, definition := range w.cache.List(definitionVersion, definitionKind, "") {
		if w.now.missing(definition) {
			w.wait = settle(w.wait)
			return
		}
	}
	w.wait = rediscover
}

func settle(last time.Duration) time.Duration {
	if last < settleFirst || last >= rediscover {
		return settleFirst
	}
	return min(2*last, settleMost)
}

func (w *watches) begin(ctx context.Context, k kind, atStart bool) {
	ctx, stop := context.WithCancel(klog.NewContext(ctx, logr.Discard())) // the store tells what matters
	r := &running{store: newStore(w.cache, k), stop: stop}
	r.store.initial.Store(atStart)
	w.running[k] = r
	w.cache.mu.Lock()
	w.cache.stores[typeKey{k.apiVersion, k.name}] = r.store
	w.cache.mu.Unlock()
	quiet := logr.Discard()
	reflector := cache.NewReflectorWithOptions(r.store.source(), &unstructured.Unstructured{}, r.store, cache.ReflectorOptions{
		Name: "templates", TypeDescription: k.resource.String(), Logger: &quiet,
		Backoff: &wait.Backoff{Duration: backoffFirst, Factor: 2, Jitter: 0.5, Steps: 10, Cap: backoffMost},
	})
	r.done.Go(func() { reflector.RunWithContext(ctx) })
}

func (w *watches) end(k kind, r *running) {
	r.stop()
	r.done.Wait()
	delete(w.running, k)
	w.cache.mu.Lock()
	if key := (typeKey{k.apiVersion, k.name}); w.cache.stores[key] == r.store {
		delete(w.cache.stores, key)
	}
	w.cache.mu.Unlock()
	r.store.clear()
}

// stop ends every watch; what was read stays.
func (w *watches) stop() {
	for _, r := range w.running {
		r.stop()
	}
	for _, r := range w.running {
		r.done.Wait()
	}
}

// source reads a kind from the API and takes note of how that goes.
func (s *store) source() cache.ListerWatcher {
	client := s.cache.client.Resource(s.kind.resource)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := client.List(ctx, o)
			s.note(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			events, err := client.Watch(ctx, o)
			if err == nil {
				s.note(ctx, nil)
			}
			return events, err
		},
	}
}

// note keeps whether the kind can be read. One that cannot is tried again later
// and holds up no other.
func (s *store) note(ctx context.Context, err error) {
	if err == nil {
		s.came.Add(1)
		s.failing.Store(false)
		return
	}
	if ctx.Err() != nil {
		return
	}
	if !s.failing.Swap(true) {
		s.cache.log.Warn("templates of a kind cannot be read", "kind", s.kind.resource.GroupResource().String(), "error", err)
	}
	if !s.looked.Swap(true) {
		signal(s.cache.looked)
	}
}
