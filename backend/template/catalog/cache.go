package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// patience is how long kinds of which nothing comes hold up those who wait for
// the cache.
const patience = 10 * time.Second

// CacheOptions say what a Cache holds.
type CacheOptions struct {
	// Scope leaves objects out; nil leaves out only reserved namespaces.
	Scope *Scope
	// Log is where kinds that cannot be read are named; nil is the default logger.
	Log *slog.Logger
}

// Cache holds the templates of the hub: one watch for each kind that can be
// listed, watched and deleted, in its preferred version. Kinds come and go with
// what the hub serves. Objects lie in it without what only the API needs:
// managed fields, and the copy of itself that kubectl leaves in an annotation.
type Cache struct {
	scope     *Scope
	log       *slog.Logger
	client    dynamic.Interface
	discovery discovery.DiscoveryInterface
	mapper    mapper
	// poked has a value when the hub may serve other kinds than before, looked
	// when a kind was read for the first time.
	poked, looked chan struct{}
	synced        atomic.Bool

	mu          sync.RWMutex
	stores      map[typeKey]*store
	subscribers []func(ref Ref, old, current *unstructured.Unstructured)
}

// typeKey names a kind as its objects do.
type typeKey struct{ apiVersion, kind string }

// NewCache returns a cache of the API that config reaches; it is empty until it
// is started.
func NewCache(config *rest.Config, o CacheOptions) (*Cache, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{} // of deprecated kinds, which are templates like any other
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build client of templates: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build client of kinds: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Cache{
		scope: o.Scope, log: o.Log, client: objects, discovery: kinds,
		poked: make(chan struct{}, 1), looked: make(chan struct{}, 1), stores: map[typeKey]*store{},
	}, nil
}

// Start fills the cache and keeps it so until ctx ends.
func (c *Cache) Start(ctx context.Context) error {
	watches := watches{cache: c, running: map[kind]*running{}}
	defer watches.stop()
	watches.run(ctx)
	return nil
}

// Synced says whether every kind that was known at the start was read once. Kinds
// that cannot be read do not count, nor those of which nothing comes for a while; one
// that is only large is waited for.
func (c *Cache) Synced() bool { return c.synced.Load() }

// Initial says whether a kind that was known at the start is being read for the
// first time: what comes of it now is not new, the hub is.
func (c *Cache) Initial(apiVersion, kind string) bool {
	s := c.store(apiVersion, kind)
	return s != nil && s.initial.Load()
}

// Get returns a template, which must not be changed.
func (c *Cache) Get(ref Ref) (*unstructured.Unstructured, bool) {
	s := c.store(ref.APIVersion, ref.Kind)
	if s == nil {
		return nil, false
	}
	return s.get(ref.Namespace, ref.Name)
}

// List returns the templates of a kind, in every namespace if namespace is empty,
// in no order. They must not be changed.
func (c *Cache) List(apiVersion, kind, namespace string) []*unstructured.Unstructured {
	s := c.store(apiVersion, kind)
	if s == nil {
		return nil
	}
	return s.list(namespace)
}

// Each calls visit with every template, in no order, until it returns false.
func (c *Cache) Each(visit func(*unstructured.Unstructured) bool) {
	c.mu.RLock()
	stores := make([]*store, 0, len(c.stores))
	for _, s := range c.stores {
		stores = append(stores, s)
	}
	c.mu.RUnlock()
	for _, s := range stores {
		for _, o := range s.list("") {
			if !visit(o) {
				return
			}
		}
	}
}

// Subscribe has changed called for every template that comes (old is nil),
// changes or goes (current is nil), in order per template. It must not block.
// Who subscribes before the start misses nothing.
func (c *Cache) Subscribe(changed func(ref Ref, old, current *unstructured.Unstructured)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers = append(c.subscribers[:len(c.subscribers):len(c.subscribers)], changed)
}

// Mapper maps the kinds that the hub serves. What it says changes with them.
func (c *Cache) Mapper() meta.RESTMapper { return &c.mapper }

// Resource is the resource under which the API serves a kind of the cache.
func (c *Cache) Resource(apiVersion, kind string) (schema.GroupVersionResource, bool) {
	s := c.store(apiVersion, kind)
	if s == nil {
		return schema.GroupVersionResource{}, false
	}
	return s.kind.resource, true
}

// Readable says whether a kind is one of the cache's and could be read when it
// was last tried.
func (c *Cache) Readable(apiVersion, kind string) bool {
	s := c.store(apiVersion, kind)
	return s != nil && s.looked.Load() && !s.failing.Load()
}

func (c *Cache) store(apiVersion, kind string) *store {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.stores[typeKey{apiVersion, kind}]
}

func (c *Cache) notify(ref Ref, old, current *unstructured.Unstructured) {
	c.mu.RLock()
	subscribers := c.subscribers
	c.mu.RUnlock()
	for _, changed := range subscribers {
		changed(ref, old, current)
	}
}

// signal puts a value into a channel that has room for one.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
