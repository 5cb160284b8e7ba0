package registry

import (
	"errors"
	"fmt"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	etcdkubernetes "go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	flowcontrolrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// storageVersions says which version each resource is stored as.
var storageVersions = map[schema.GroupResource]schema.GroupVersion{
	clusterv1alpha1.Resource(clusterv1alpha1.ResourcePluralCluster):          clusterv1alpha1.GroupVersion,
	workv1alpha1.Resource(workv1alpha1.ResourcePluralWork):                   workv1alpha1.GroupVersion,
	workv1alpha2.Resource(workv1alpha2.ResourcePluralResourceBinding):        workv1alpha2.GroupVersion,
	workv1alpha2.Resource(workv1alpha2.ResourcePluralClusterResourceBinding): workv1alpha2.GroupVersion,
}

// restOptionsGetter gives every resource storage over one etcd client.
type restOptionsGetter struct {
	etcd    options.EtcdOptions
	client  *etcdkubernetes.Client
	tracker flowcontrolrequest.StorageObjectCountTracker
}

// NewRESTOptionsGetter returns storage for the typed resources over client, which may be an etcd client within the process: that saves
// gRPC and TLS on every request. Prefix, deletion workers and polling periods are those of etcd; the store's compaction is left to the
// API server, which compacts the same etcd for its own resources. The tracker, which may be nil, learns the number of objects.
//
// There is no watch cache: an agent's watch is a watch on one key or one namespace, for which etcd is as good, and the cache would hold
// every Work in memory. Encryption of stored objects is refused, because the API server's setting would not reach these resources.
func NewRESTOptionsGetter(etcd options.EtcdOptions, client *clientv3.Client, tracker flowcontrolrequest.StorageObjectCountTracker) (generic.RESTOptionsGetter, error) {
	if client == nil {
		return nil, errors.New("build storage: an etcd client is needed")
	}
	if etcd.EncryptionProviderConfigFilepath != "" {
		return nil, errors.New("build storage: encryption of stored objects is not supported for the karmada groups")
	}
	wrapped := &etcdkubernetes.Client{Client: client}
	wrapped.Kubernetes = wrapped
	return &restOptionsGetter{etcd: etcd, client: wrapped, tracker: tracker}, nil
}

// GetRESTOptions returns the storage of one resource.
func (g *restOptionsGetter) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	version, ok := storageVersions[resource]
	if !ok {
		return generic.RESTOptions{}, fmt.Errorf("build storage: %s is not a typed resource", resource)
	}
	config := g.etcd.StorageConfig.ForResource(resource)
	config.Codec = opaqueCodec{Codecs.LegacyCodec(version)}
	config.EncodeVersioner = version
	return generic.RESTOptions{
		StorageConfig:             config,
		Decorator:                 g.storage,
		EnableGarbageCollection:   g.etcd.EnableGarbageCollection,
		DeleteCollectionWorkers:   g.etcd.DeleteCollectionWorkers,
		ResourcePrefix:            resource.Group + "/" + resource.Resource,
		CountMetricPollPeriod:     g.etcd.StorageConfig.CountMetricPollPeriod,
		StorageObjectCountTracker: g.tracker,
	}, nil
}

// storage has the shape of generic.StorageDecorator, which fixes its long list of parameters.
func (g *restOptionsGetter) storage(config *storagebackend.ConfigForResource, resourcePrefix string, _ func(runtime.Object) (string, error),
	newFunc, newListFunc func() runtime.Object, _ storage.AttrFunc, _ storage.IndexerFuncs, _ *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
	versioner := storage.APIObjectVersioner{}
	store, err := etcd3.New(g.client, nil, config.Codec, newFunc, newListFunc, config.Prefix, resourcePrefix, config.GroupResource,
		identity.NewEncryptCheckTransformer(), config.LeaseManagerConfig, etcd3.NewDefaultDecoder(config.Codec, versioner), versioner)
	if err != nil {
		return nil, nil, fmt.Errorf("build storage of %s: %w", config.GroupResource, err)
	}
	// A store is shared by its subresources, each of which destroys it.
	return store, sync.OnceFunc(store.Close), nil
}
