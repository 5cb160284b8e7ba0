package controlplane

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
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
//
// Custom kinds go. The collector forgets them, but an informer of a common factory
// would ask for them as long as the hub runs, and say each time that they are not
// found: theirs end with the kind.
type ownedKinds struct {
	shared informers.SharedInformerFactory // of Kubernetes' own kinds
	meta   metadata.Interface              // for custom kinds
	direct *registry.Direct
	// owners is closed once the clusters were read.
	owners chan struct{}

	mu      sync.Mutex
	made    map[schema.GroupVersionResource]cache.SharedIndexInformer
	started map[schema.GroupVersionResource]bool
	custom  map[schema.GroupVersionResource]*customKind
}

var _ informerfactory.InformerFactory = (*ownedKinds)(nil)

// customKind is the informer of a kind that may go.
type customKind struct {
	informers.GenericInformer
	started bool
	gone    chan struct{}
}

func newOwnedKinds(shared informers.SharedInformerFactory, meta metadata.Interface, direct *registry.Direct) *ownedKinds {
	return &ownedKinds{
		shared: shared, meta: meta, direct: direct, owners: make(chan struct{}),
		made: map[schema.GroupVersionResource]cache.SharedIndexInformer{}, started: map[schema.GroupVersionResource]bool{},
		custom: map[schema.GroupVersionResource]*customKind{},
	}
}

// ForResource implements informerfactory.InformerFactory.
func (k *ownedKinds) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	source, ok := k.direct.Metadata(resource)
	if !ok {
		return k.forOther(resource), nil
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

func (k *ownedKinds) forOther(resource schema.GroupVersionResource) informers.GenericInformer {
	if typed, err := k.shared.ForResource(resource); err == nil {
		return typed
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	kind := k.custom[resource]
	if kind == nil {
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		kind = &customKind{metadatainformer.NewFilteredMetadataInformer(k.meta, resource, metav1.NamespaceAll, 0, indexers, nil), false, make(chan struct{})}
		k.custom[resource] = kind
	}
	return kind
}

// keep ends what watches custom kinds that are not among present.
func (k *ownedKinds) keep(present map[schema.GroupVersionResource]struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for resource, kind := range k.custom {
		if _, ok := present[resource]; !ok {
			close(kind.gone)
			delete(k.custom, resource)
		}
	}
}

// Start implements informerfactory.InformerFactory.
func (k *ownedKinds) Start(stop <-chan struct{}) {
	k.shared.Start(stop)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, kind := range k.custom {
		if !kind.started {
			kind.started = true
			go kind.run(stop)
		}
	}
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

// run follows the kind until it is gone or stop is closed.
func (c *customKind) run(stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-c.gone:
		case <-stop:
		case <-ctx.Done():
		}
	}()
	c.Informer().Run(ctx.Done())
}

// presentKinds is discovery as the collector asks it; the kinds hear what there is.
type presentKinds struct {
	discovery.ServerResourcesInterface
	kinds *ownedKinds
}

// ServerPreferredResources implements discovery.ServerResourcesInterface.
func (p presentKinds) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	lists, err := p.ServerResourcesInterface.ServerPreferredResources()
	if err != nil {
		return lists, err // what is missing may be there
	}
	present, err := discovery.GroupVersionResources(lists)
	if err != nil {
		return lists, err
	}
	p.kinds.keep(present)
	return lists, nil
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
