package controlplane

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"

	"muster.dev/muster/backend/controlplane/registry"
)

// ownedKinds gives the garbage collector the metadata of the hub's own typed kinds
// from where they are stored. By the API it would have every Work written out and
// read again, of which it needs the owners.
type ownedKinds struct {
	informerfactory.InformerFactory // of all other kinds
	direct                          *registry.Direct

	mu      sync.Mutex
	made    map[schema.GroupVersionResource]cache.SharedIndexInformer
	started map[schema.GroupVersionResource]bool
}

func newOwnedKinds(others informerfactory.InformerFactory, direct *registry.Direct) *ownedKinds {
	return &ownedKinds{
		InformerFactory: others, direct: direct, made: map[schema.GroupVersionResource]cache.SharedIndexInformer{}, started: map[schema.GroupVersionResource]bool{},
	}
}

// ForResource implements informerfactory.InformerFactory.
func (k *ownedKinds) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	source, ok := k.direct.Metadata(resource)
	if !ok {
		return k.InformerFactory.ForResource(resource)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	informer := k.made[resource]
	if informer == nil {
		informer = cache.NewSharedIndexInformer(source, &metav1.PartialObjectMetadata{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		k.made[resource] = informer
	}
	return ownedInformer{informer, resource.GroupResource()}, nil
}

// Start implements informerfactory.InformerFactory.
func (k *ownedKinds) Start(stop <-chan struct{}) {
	k.InformerFactory.Start(stop)
	k.mu.Lock()
	defer k.mu.Unlock()
	for resource, informer := range k.made {
		if !k.started[resource] {
			k.started[resource] = true
			go informer.Run(stop)
		}
	}
}

// ownedInformer has the shape that a factory's informers have.
type ownedInformer struct {
	informer cache.SharedIndexInformer
	resource schema.GroupResource
}

// Informer implements informers.GenericInformer.
func (i ownedInformer) Informer() cache.SharedIndexInformer { return i.informer }

// Lister implements informers.GenericInformer.
func (i ownedInformer) Lister() cache.GenericLister {
	return cache.NewGenericLister(i.informer.GetIndexer(), i.resource)
}
