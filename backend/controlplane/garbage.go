package controlplane

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/controlplane/registry"
)

// clusters own most of what has an owner on a hub.
var clusters = clusterv1alpha1.GroupVersion.WithResource("clusters")

// ownedKinds gives the garbage collector the metadata of the hub's own typed kinds
// from where they are stored. By the API it would have every Work written out and
// read again, of which it needs the owners.
//
// Clusters come first. The collector asks the API for each object that it meets
// before its owner, and for the owner: eight requests a cluster, at each start.
type ownedKinds struct {
	informerfactory.InformerFactory // of all other kinds
	direct                          *registry.Direct
	// owners is closed once the clusters were read.
	owners chan struct{}

	mu      sync.Mutex
	made    map[schema.GroupVersionResource]cache.SharedIndexInformer
	started map[schema.GroupVersionResource]bool
}

func newOwnedKinds(others informerfactory.InformerFactory, direct *registry.Direct) *ownedKinds {
	return &ownedKinds{
		InformerFactory: others, direct: direct, owners: make(chan struct{}), made: map[schema.GroupVersionResource]cache.SharedIndexInformer{}, started: map[schema.GroupVersionResource]bool{},
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
		if k.started[resource] {
			continue
		}
		k.started[resource] = true
		if resource == clusters {
			go informer.Run(stop)
			go k.await(informer, stop)
			continue
		}
		go func() {
			select {
			case <-k.owners:
				informer.Run(stop)
			case <-stop:
			}
		}()
	}
}

// await says when the clusters were read.
func (k *ownedKinds) await(informer cache.SharedIndexInformer, stop <-chan struct{}) {
	if cache.WaitForCacheSync(stop, informer.HasSynced) {
		close(k.owners)
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
