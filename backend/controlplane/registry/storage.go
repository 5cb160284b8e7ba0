package registry

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/server/options"
	flowcontrolrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"

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

// restOptionsGetter gives every resource storage in one backend.
type restOptionsGetter struct {
	etcd    options.EtcdOptions
	backend *Backend
	tracker flowcontrolrequest.StorageObjectCountTracker
}

// NewRESTOptionsGetter returns storage for the typed resources in backend. Prefix, deletion workers and polling periods are those of
// etcd. The tracker, which may be nil, learns the number of objects.
//
// There is no watch cache: an agent's watch is a watch on one key or one namespace, for which etcd is as good, and the cache would hold
// every Work in memory. Encryption of stored objects is refused, because the API server's setting would not reach these resources.
func NewRESTOptionsGetter(etcd options.EtcdOptions, backend *Backend, tracker flowcontrolrequest.StorageObjectCountTracker) (generic.RESTOptionsGetter, error) {
	if etcd.EncryptionProviderConfigFilepath != "" {
		return nil, errors.New("build storage: encryption of stored objects is not supported for the karmada groups")
	}
	return &restOptionsGetter{etcd: etcd, backend: backend, tracker: tracker}, nil
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
		Decorator:                 g.backend.raw,
		EnableGarbageCollection:   g.etcd.EnableGarbageCollection,
		DeleteCollectionWorkers:   g.etcd.DeleteCollectionWorkers,
		ResourcePrefix:            resource.Group + "/" + resource.Resource,
		CountMetricPollPeriod:     g.etcd.StorageConfig.CountMetricPollPeriod,
		StorageObjectCountTracker: g.tracker,
	}, nil
}
