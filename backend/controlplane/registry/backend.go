package registry

import (
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	etcdkubernetes "go.etcd.io/etcd/client/v3/kubernetes"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Backend stores resources through etcd clients that may be within the process.
// The API server by itself makes a connection and two dozen goroutines for every
// resource.
type Backend struct {
	connect   func() *clientv3.Client
	shared    *etcdkubernetes.Client
	compactor etcd3.Compactor
	stop      func()

	mu     sync.Mutex
	stored map[schema.GroupResource]Stored
}

// Stored is how a resource is stored.
type Stored struct {
	Storage storage.Interface
	// Root begins the keys of all objects, NewList makes an empty list of them.
	Root    string
	NewList func() runtime.Object
}

// Stored returns how a resource with a watch cache is stored; it is known once the
// API server has been built.
func (b *Backend) Stored(resource schema.GroupResource) (s Stored, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok = b.stored[resource]
	return s, ok
}

// NewBackend returns a backend over clients of connect that forgets every
// compaction what was before the last one; 0: never.
func NewBackend(connect func() *clientv3.Client, compaction time.Duration) *Backend {
	shared := connect()
	compactor := etcd3.NewCompactor(shared, compaction, clock.RealClock{}, nil)
	return &Backend{connect: connect, shared: wrapped(shared), compactor: compactor, stop: compactor.Stop, stored: map[schema.GroupResource]Stored{}}
}

func wrapped(client *clientv3.Client) *etcdkubernetes.Client {
	w := &etcdkubernetes.Client{Client: client}
	w.Kubernetes = w
	return w
}

// Stop ends compaction; it belongs before the end of etcd.
func (b *Backend) Stop() { b.stop() }

// Cached keeps getter's options and stores its resources in the backend, behind
// the API server's watch cache. Events, which nobody lists twice, have none.
func (b *Backend) Cached(getter generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return redirected{getter, func(resource schema.GroupResource) generic.StorageDecorator {
		if resource == corev1.Resource("events") || resource == eventsv1.Resource("events") {
			return b.raw
		}
		return b.cached
	}}
}

// Uncached keeps getter's options and stores its resources in the backend, without
// a watch cache: one that has just been made refuses watches and asks for patience,
// at least a second, which the first informer of each custom resource would pay,
// and it holds every object once more beside the controllers' own caches.
func (b *Backend) Uncached(getter generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	return redirected{getter, func(schema.GroupResource) generic.StorageDecorator { return b.raw }}
}

// redirected replaces what a getter says of where resources are stored.
type redirected struct {
	generic.RESTOptionsGetter
	decorator func(schema.GroupResource) generic.StorageDecorator
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (r redirected) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := r.RESTOptionsGetter.GetRESTOptions(resource, example)
	options.Decorator = r.decorator(resource)
	return options, err
}

// raw has the shape of generic.StorageDecorator, which fixes its long list of
// parameters.
func (b *Backend) raw(config *storagebackend.ConfigForResource, resourcePrefix string, _ func(runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object, _ storage.AttrFunc, _ storage.IndexerFuncs, _ *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
	return b.store(b.shared, config, resourcePrefix, newFunc, newListFunc)
}

func (b *Backend) store(client *etcdkubernetes.Client, config *storagebackend.ConfigForResource, resourcePrefix string,
	newFunc, newListFunc func() runtime.Object) (storage.Interface, factory.DestroyFunc, error) {
	versioner := storage.APIObjectVersioner{}
	transformer := config.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	store, err := etcd3.New(client, b.compactor, config.Codec, newFunc, newListFunc, config.Prefix, resourcePrefix, config.GroupResource,
		transformer, config.LeaseManagerConfig, etcd3.NewDefaultDecoder(config.Codec, versioner), versioner)
	if err != nil {
		return nil, nil, fmt.Errorf("build storage of %s: %w", config.GroupResource, err)
	}
	// A store is shared by its subresources, each of which destroys it.
	return store, sync.OnceFunc(store.Close), nil
}

// cached is raw behind a watch cache. Each has a client of its own: a list waits
// until the cache is as new as etcd, which etcd tells a client only when all its
// watches are.
func (b *Backend) cached(config *storagebackend.ConfigForResource, resourcePrefix string, keyFunc func(runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
	client := b.connect()
	store, destroy, err := b.store(wrapped(client), config, resourcePrefix, newFunc, newListFunc)
	if err != nil {
		return nil, nil, err
	}
	watched, err := cacher.NewCacherFromConfig(cacher.Config{
		Storage: store, Versioner: storage.APIObjectVersioner{}, GroupResource: config.GroupResource, EventsHistoryWindow: config.EventsHistoryWindow,
		ResourcePrefix: resourcePrefix, KeyFunc: keyFunc, NewFunc: newFunc, NewListFunc: newListFunc, GetAttrsFunc: attributes,
		IndexerFuncs: triggers, Indexers: indexers, Codec: config.Codec,
	})
	if err != nil {
		destroy()
		return nil, nil, fmt.Errorf("build watch cache of %s: %w", config.GroupResource, err)
	}
	delegator := cacher.NewCacheDelegator(watched, store)
	b.mu.Lock()
	b.stored[config.GroupResource] = Stored{delegator, resourcePrefix, newListFunc}
	b.mu.Unlock()
	return delegator, sync.OnceFunc(func() {
		delegator.Stop()
		watched.Stop()
		destroy()
		_ = client.Close() // nothing of it is open any more
	}), nil
}
