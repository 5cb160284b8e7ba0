package manifestwork

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"muster.dev/muster/agent/feed"
)

// refreshEvery is the least time between two looks at the member's API list.
const refreshEvery = time.Second

// mapper finds the resource of a kind. A kind that is unknown is looked up anew:
// its definition may have come a moment ago.
type mapper struct {
	mu    sync.Mutex
	inner *restmapper.DeferredDiscoveryRESTMapper
	reset time.Time
}

func newMapper(d discovery.DiscoveryInterface) *mapper {
	return &mapper{inner: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}
}

func (m *mapper) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := m.inner.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) && m.refresh() {
		mapping, err = m.inner.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the server doesn't have a resource type %q", kind.Kind)
	}
	return mapping, err
}

func (m *mapper) refresh() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.reset) < refreshEvery {
		return false
	}
	m.reset = time.Now()
	m.inner.Reset()
	return true
}

// place is where an object is in the member.
type place struct {
	resource  schema.GroupVersionResource
	namespace string
	name      string
}

// sight is what is known of an object that works are about.
type sight struct {
	works map[string]struct{}
	// object is as last seen, nil if it is not there; known says whether that is so,
	// or nobody has looked.
	object *unstructured.Unstructured
	known  bool
	memo   memo
	// repairs bounds how often the object is put right against somebody who keeps
	// changing it.
	repairs *rate.Limiter
}

// kindWatch is the feed of one kind.
type kindWatch struct {
	sights map[types.NamespacedName]*sight
	stop   context.CancelFunc
	// problem says why the kind cannot be watched; the objects are read instead.
	problem error
}

// kinds watches the kinds that works use and keeps what it sees of their objects.
type kinds struct {
	client dynamic.Interface
	notify func(work string)
	broken func(resource schema.GroupVersionResource, err error)

	mu      sync.Mutex
	ctx     context.Context // of the feeds; nil before start
	watches map[schema.GroupVersionResource]*kindWatch
	running sync.WaitGroup
}

func newKinds(client dynamic.Interface, notify func(string), broken func(schema.GroupVersionResource, error)) *kinds {
	return &kinds{client: client, notify: notify, broken: broken, watches: map[schema.GroupVersionResource]*kindWatch{}}
}

// start lets feeds run until ctx ends; wait returns when they have.
func (k *kinds) start(ctx context.Context) (wait func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ctx = ctx
	return k.running.Wait
}

// use notes that a work is about an object, whose kind is watched from then on.
func (k *kinds) use(p place, work string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.watches[p.resource]
	if w == nil {
		w = &kindWatch{sights: map[types.NamespacedName]*sight{}}
		k.watches[p.resource] = w
		if k.ctx != nil && k.ctx.Err() == nil {
			var ctx context.Context
			ctx, w.stop = context.WithCancel(k.ctx)
			k.running.Go(func() { k.run(ctx, p.resource, w) })
		}
	}
	s := w.sights[key(p)]
	if s == nil {
		s = &sight{works: map[string]struct{}{}, repairs: rate.NewLimiter(rate.Every(5*time.Second), 8)}
		w.sights[key(p)] = s
	}
	s.works[work] = struct{}{}
}

func key(p place) types.NamespacedName {
	return types.NamespacedName{Namespace: p.namespace, Name: p.name}
}

func (k *kinds) run(ctx context.Context, resource schema.GroupVersionResource, w *kindWatch) {
	listener := &kindListener{kinds: k, watch: w}
	feed.Run(ctx, k.client.Resource(resource), listener, feed.Options{Slowest: 30 * time.Second, Failed: func(err error) {
		k.mu.Lock()
		first := w.problem == nil
		w.problem = err
		k.mu.Unlock()
		if first {
			k.broken(resource, err)
		}
	}})
}

// forget ends what a work is about, but for the places in keep. Feeds that nobody
// needs end.
func (k *kinds) forget(work string, keep map[place]struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for resource, w := range k.watches {
		for name, s := range w.sights {
			if _, kept := keep[place{resource, name.Namespace, name.Name}]; kept {
				continue
			}
			delete(s.works, work)
			if len(s.works) == 0 {
				delete(w.sights, name)
			}
		}
		if len(w.sights) == 0 {
			if w.stop != nil {
				w.stop()
			}
			delete(k.watches, resource)
		}
	}
}

// recheck has the works of a kind looked at that turns out not to be watched: from now
// on they are read now and then.
func (k *kinds) recheck(resource schema.GroupVersionResource) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.watches[resource]; w != nil {
		for _, s := range w.sights {
			for work := range s.works {
				k.notify(work)
			}
		}
	}
}

// watched says whether a feed keeps what is known of a place right.
func (k *kinds) watched(p place) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.watches[p.resource]
	return w != nil && w.problem == nil
}

// look returns an object as last seen, nil if it is not there. known is false if
// it has to be read.
func (k *kinds) look(p place) (o *unstructured.Unstructured, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.watches[p.resource]
	if w == nil || w.problem != nil || w.sights[key(p)] == nil {
		return nil, false
	}
	s := w.sights[key(p)]
	return s.object, s.known
}

// saw notes what reading or writing an object has shown; nil: it is not there.
func (k *kinds) saw(p place, o *unstructured.Unstructured) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.watches[p.resource]; w != nil {
		if s := w.sights[key(p)]; s != nil {
			s.take(strip(o))
		}
	}
}

// memory returns what was remembered of an object.
func (k *kinds) memory(p place) memo {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.watches[p.resource]; w != nil {
		if s := w.sights[key(p)]; s != nil {
			return s.memo
		}
	}
	return memo{}
}

func (k *kinds) remember(p place, m memo) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.watches[p.resource]; w != nil {
		if s := w.sights[key(p)]; s != nil {
			s.memo = m
		}
	}
}

// mayRepair says whether an object may be put right once more, just now.
func (k *kinds) mayRepair(p place) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.watches[p.resource]; w != nil {
		if s := w.sights[key(p)]; s != nil {
			return s.repairs.Allow()
		}
	}
	return true
}

// take takes what is seen, unless it is older than what is known. It says whether
// that is anything new.
func (s *sight) take(o *unstructured.Unstructured) bool {
	if o != nil && s.object != nil && s.object.GetUID() == o.GetUID() && !feed.Newer(o.GetResourceVersion(), s.object.GetResourceVersion()) {
		return false
	}
	fresh := !s.known || (o == nil) != (s.object == nil) || o != nil
	s.object, s.known = o, true
	return fresh
}

// strip takes off what nobody asks for.
func strip(o *unstructured.Unstructured) *unstructured.Unstructured {
	if o != nil {
		unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
	}
	return o
}

// kindListener keeps the sights of one kind.
type kindListener struct {
	*kinds
	watch *kindWatch
}

// Is implements feed.Listener.
func (l *kindListener) Is(o *unstructured.Unstructured) { l.hear(o, o) }

// Gone implements feed.Listener.
func (l *kindListener) Gone(o *unstructured.Unstructured) { l.hear(o, nil) }

func (l *kindListener) hear(named metav1.Object, o *unstructured.Unstructured) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch.problem = nil
	s := l.watch.sights[types.NamespacedName{Namespace: named.GetNamespace(), Name: named.GetName()}]
	if s == nil || o == nil && s.object != nil && s.object.GetUID() != named.GetUID() { // another of that name is there by now
		return
	}
	if s.take(strip(o)) {
		l.tell(s)
	}
}

// All implements feed.Listener.
func (l *kindListener) All(all []*unstructured.Unstructured) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch.problem = nil
	there := make(map[types.NamespacedName]*unstructured.Unstructured, len(l.watch.sights))
	for _, o := range all {
		name := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		if l.watch.sights[name] != nil {
			there[name] = o
		}
	}
	for name, s := range l.watch.sights {
		// What was written while the list was on its way is no news, and not undone:
		// a change after the list comes by itself.
		if o := there[name]; o != nil && s.take(strip(o)) || o == nil && s.object != nil && s.take(nil) {
			l.tell(s)
		}
	}
}

// tell has the works of an object looked at. The lock is held.
func (l *kindListener) tell(s *sight) {
	for work := range s.works {
		l.notify(work)
	}
}
