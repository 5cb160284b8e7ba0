package controlplane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/controlplane/registry"
)

// storedPoll is how often a source looks whether storage can be read.
const storedPoll = 5 * time.Millisecond

// storedKinds are those of Kubernetes' own kinds of which each cluster brings some.
// The API server's authorizer and admission, Kubernetes' controllers and the hub's
// each keep all of them; by the API each would have them encoded, encrypted and
// decoded once more, at the start and at each change.
var storedKinds = map[client.Object]schema.GroupVersionResource{
	&corev1.Namespace{}:          corev1.SchemeGroupVersion.WithResource("namespaces"),
	&rbacv1.Role{}:               rbacv1.SchemeGroupVersion.WithResource("roles"),
	&rbacv1.RoleBinding{}:        rbacv1.SchemeGroupVersion.WithResource("rolebindings"),
	&rbacv1.ClusterRole{}:        rbacv1.SchemeGroupVersion.WithResource("clusterroles"),
	&rbacv1.ClusterRoleBinding{}: rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"),
}

// readStored has the caches of a factory that has none of these kinds yet filled
// from where they are stored; those that clusters own once after is closed, unless
// it is nil.
func readStored(factory informers.SharedInformerFactory, backend *registry.Backend, after <-chan struct{}) {
	for kind, resource := range storedKinds {
		factory.InformerFor(kind, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			source := newStoredSource(backend, resource)
			if resource.Group == rbacv1.GroupName {
				source.after = after
			}
			return cache.NewSharedIndexInformer(source, kind, resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		})
	}
}

// storedSource reads a resource of Kubernetes' own from the API server's watch cache.
// Its objects share what they point to with that cache: as in any cache, nobody may
// change them.
type storedSource struct {
	cache.ListWatch
	backend  *registry.Backend
	resource schema.GroupVersionResource
	after    <-chan struct{} // closed when it may be read; nil: from the start on
}

func newStoredSource(backend *registry.Backend, resource schema.GroupVersionResource) *storedSource {
	s := &storedSource{backend: backend, resource: resource}
	s.ListWithContextFunc, s.WatchFuncWithContext = s.list, s.watch
	return s
}

// IsWatchListSemanticsUnSupported tells a reflector, by this name, that a list is
// had at less cost than a stream of all objects.
func (s *storedSource) IsWatchListSemanticsUnSupported() bool { return true }

// stored returns where the resource is stored, once that can be read: a watch cache
// that is not filled yet would have its readers wait for a second.
func (s *storedSource) stored(ctx context.Context) (registry.Stored, error) {
	if s.after != nil {
		select {
		case <-s.after:
		case <-ctx.Done():
			return registry.Stored{}, ctx.Err()
		}
	}
	found, ok := s.backend.Stored(s.resource.GroupResource())
	if !ok {
		return found, apierrors.NewNotFound(s.resource.GroupResource(), "")
	}
	err := wait.PollUntilContextCancel(ctx, storedPoll, true, func(context.Context) (bool, error) { return found.Storage.ReadinessCheck() == nil, nil })
	return found, err
}

func (s *storedSource) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	from, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	list := from.NewList()
	if err := from.Storage.GetList(ctx, from.Root, s.options(options), list); err != nil {
		return nil, err
	}
	return s.convert(list)
}

func (s *storedSource) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	from, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	events, err := from.Storage.Watch(ctx, from.Root, s.options(options))
	if err != nil {
		return nil, err
	}
	return watch.Filter(events, s.converted), nil
}

func (s *storedSource) options(options metav1.ListOptions) apistorage.ListOptions {
	all := apistorage.Everything
	all.Limit, all.Continue, all.AllowWatchBookmarks = options.Limit, options.Continue, options.AllowWatchBookmarks
	return apistorage.ListOptions{
		ResourceVersion: options.ResourceVersion, ResourceVersionMatch: options.ResourceVersionMatch, Predicate: all, Recursive: true,
		SendInitialEvents: options.SendInitialEvents,
	}
}

// converted is an event as the API would tell it.
func (s *storedSource) converted(event watch.Event) (watch.Event, bool) {
	if event.Type == watch.Error {
		return event, true
	}
	if shared, ok := event.Object.(runtime.CacheableObject); ok {
		event.Object = shared.GetObject()
	}
	object, err := s.convert(event.Object)
	if err != nil {
		status := apierrors.NewInternalError(err).Status()
		return watch.Event{Type: watch.Error, Object: &status}, true
	}
	event.Object = object
	return event, true
}

// convert gives an object or list the version that clients know.
func (s *storedSource) convert(object runtime.Object) (runtime.Object, error) {
	converted, err := legacyscheme.Scheme.UnsafeConvertToVersion(object, s.resource.GroupVersion())
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", s.resource.Resource, err)
	}
	return converted, nil
}
