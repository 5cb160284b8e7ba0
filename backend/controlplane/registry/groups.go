package registry

import (
	"context"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Options is what the typed groups need from outside.
type Options struct {
	// Proxy passes requests on to members. When nil, clusters/{name}/proxy answers 503.
	Proxy ProxyFunc
	// ProxyAll passes them on to all members at once. When nil, clusters/*/proxy answers 503.
	ProxyAll ProxyAllFunc
}

// Priority places a group and version among the others in discovery and in kubectl's resolution of short names; higher is preferred.
type Priority struct{ Group, Version int32 }

// APIServicePriorities returns the priorities of the typed group versions. Without one, the aggregator would not register them. Cluster
// has what Karmada's own APIService has; the others have what custom resources get.
func APIServicePriorities() map[schema.GroupVersion]Priority {
	return map[schema.GroupVersion]Priority{
		clusterv1alpha1.GroupVersion: {Group: 2000, Version: 10},
		workv1alpha2.GroupVersion:    {Group: 1000, Version: 100},
		workv1alpha1.GroupVersion:    {Group: 1000, Version: 100},
	}
}

// Groups are the typed groups.
type Groups struct {
	// Infos go to GenericAPIServer.InstallAPIGroups. Afterwards the web service of each group should be removed from the server, so that
	// custom resources can serve other versions of the group.
	Infos []*genericapiserver.APIGroupInfo
	kinds map[reflect.Type]*directKind
}

// Direct is the short way to the objects of the groups; admit judges what is written by it.
func (g *Groups) Direct(admit admission.Interface) *Direct { return newDirect(admit, g.kinds) }

// NewGroups builds the typed groups over the storage that getter gives.
func NewGroups(getter generic.RESTOptionsGetter, options Options) (*Groups, error) {
	clusters, err := newStores(getter, clusterKind(time.Now), naming[clusterv1alpha1.Cluster, clusterv1alpha1.ClusterList]{
		plural: clusterv1alpha1.ResourcePluralCluster, singular: clusterv1alpha1.ResourceSingularCluster, table: clusterTable(),
	})
	if err != nil {
		return nil, err
	}
	works, err := newStores(getter, workKind(), naming[workv1alpha1.Work, workv1alpha1.WorkList]{
		plural: workv1alpha1.ResourcePluralWork, singular: workv1alpha1.ResourceSingularWork, table: workTable(),
	})
	if err != nil {
		return nil, err
	}
	bindings, err := newStores(getter, resourceBindingKind(), naming[workv1alpha2.ResourceBinding, workv1alpha2.ResourceBindingList]{
		plural: workv1alpha2.ResourcePluralResourceBinding, singular: workv1alpha2.ResourceSingularResourceBinding, table: bindingTable(),
	})
	if err != nil {
		return nil, err
	}
	clusterBindings, err := newStores(getter, clusterResourceBindingKind(), naming[workv1alpha2.ClusterResourceBinding, workv1alpha2.ClusterResourceBindingList]{
		plural: workv1alpha2.ResourcePluralClusterResourceBinding, singular: workv1alpha2.ResourceSingularClusterResourceBinding, table: bindingTable(),
	})
	if err != nil {
		return nil, err
	}
	clusterGroup := newGroup(clusterv1alpha1.GroupName)
	clusterGroup.VersionedResourcesStorageMap[clusterv1alpha1.GroupVersion.Version] = map[string]rest.Storage{
		"clusters":        clusterStore{clusters.main},
		"clusters/status": clusters.status,
		"clusters/proxy":  &proxyREST{clusters: clusters.main, proxy: options.Proxy, all: options.ProxyAll},
	}
	workGroup := newGroup(workv1alpha1.GroupName)
	workGroup.VersionedResourcesStorageMap[workv1alpha1.GroupVersion.Version] = map[string]rest.Storage{
		"works": listed{works.main, "wk"}, "works/status": works.status,
		"resourcebindings": firstBindings{listed{bindings.main, "rb"}}, "resourcebindings/status": firstBindingStatus{bindings.status},
		"clusterresourcebindings": firstBindings{listed{clusterBindings.main, "crb"}}, "clusterresourcebindings/status": firstBindingStatus{clusterBindings.status},
	}
	workGroup.VersionedResourcesStorageMap[workv1alpha2.GroupVersion.Version] = map[string]rest.Storage{
		"resourcebindings": listed{bindings.main, "rb"}, "resourcebindings/status": bindings.status,
		"clusterresourcebindings": listed{clusterBindings.main, "crb"}, "clusterresourcebindings/status": clusterBindings.status,
	}
	all := &Groups{Infos: []*genericapiserver.APIGroupInfo{clusterGroup, workGroup}, kinds: map[reflect.Type]*directKind{}}
	for _, s := range []stores{clusters, works, bindings, clusterBindings} {
		all.kinds[reflect.TypeOf(s.main.New())] = s.direct
	}
	return all, nil
}

func newGroup(name string) *genericapiserver.APIGroupInfo {
	info := genericapiserver.NewDefaultAPIGroupInfo(name, Scheme, ParameterCodec, Codecs)
	info.NegotiatedSerializer = textOnly{Codecs}
	return &info
}

// naming names what stores of the kind T, listed as L, are made for.
type naming[T, L any] struct {
	plural, singular string
	table            table
}

// object is a pointer to a kind.
type object[T any] interface {
	*T
	runtime.Object
}

// stores serve a resource and its status.
type stores struct {
	main   *genericregistry.Store
	status *statusREST
	direct *directKind
}

func newStores[T, L, S, U any, PT object[T], PL object[L]](getter generic.RESTOptionsGetter, k kind[T, S, U], r naming[T, L]) (stores, error) {
	main := newStrategy(k)
	group := k.groupVersion.Group
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return PT(new(T)) },
		NewListFunc:               func() runtime.Object { return PL(new(L)) },
		DefaultQualifiedResource:  schema.GroupResource{Group: group, Resource: r.plural},
		SingularQualifiedResource: schema.GroupResource{Group: group, Resource: r.singular},
		CreateStrategy:            main,
		UpdateStrategy:            main,
		DeleteStrategy:            main,
		ResetFieldsStrategy:       main,
		TableConvertor:            r.table,
	}
	attributes := func(obj runtime.Object) (labels.Set, fields.Set, error) {
		meta, _, _ := k.parts(any(obj).(*T))
		return meta.Labels, generic.ObjectMetaFieldsSet(meta, k.namespaced), nil
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: getter, AttrFunc: attributes}); err != nil {
		return stores{}, fmt.Errorf("build store of %s: %w", r.plural, err)
	}
	status := *store
	statusRules := statusStrategy[T, S, U]{main}
	status.UpdateStrategy, status.ResetFieldsStrategy = statusRules, statusRules
	made := stores{main: store, status: &statusREST{store: &status}}
	kinds, _, err := Scheme.ObjectKinds(PT(new(T)))
	if err != nil {
		return stores{}, fmt.Errorf("name the kind of %s: %w", r.plural, err)
	}
	made.direct = newDirectKind[T, S, U, PT](k, kinds[0].Kind, r.plural, made)
	return made, nil
}

// listed adds a resource to the category karmada-io and gives it a short name.
type listed struct {
	*genericregistry.Store
	short string
}

// ShortNames returns what kubectl accepts in place of the resource's name.
func (l listed) ShortNames() []string { return []string{l.short} }

// Categories returns the categories that kubectl lists the resource under.
func (l listed) Categories() []string { return []string{apis.Category} }

// statusREST serves the status subresource of a kind.
type statusREST struct{ store *genericregistry.Store }

var (
	_ rest.Getter              = &statusREST{}
	_ rest.Updater             = &statusREST{}
	_ rest.ResetFieldsStrategy = &statusREST{}
	_ rest.TableConvertor      = &statusREST{}
)

// New returns an empty object of the kind.
func (r *statusREST) New() runtime.Object { return r.store.New() }

// Destroy does nothing: the storage is destroyed with the main resource.
func (r *statusREST) Destroy() {}

// Get returns the whole object.
func (r *statusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update changes the status of an object that exists.
func (r *statusREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, onCreate rest.ValidateObjectFunc, onUpdate rest.ValidateObjectUpdateFunc,
	_ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, info, onCreate, onUpdate, false, options)
}

// GetResetFields names what a write to the status cannot own.
func (r *statusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable prints objects as the main resource does.
func (r *statusREST) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, obj, options)
}
