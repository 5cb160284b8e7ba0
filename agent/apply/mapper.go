package apply

import (
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"
)

// resetEvery is the least time between two looks at the member's API list: a
// Work of an unknown kind is retried, and each look costs the member a discovery.
const resetEvery = 2 * time.Second

// errUnknownKind says that the member serves no such kind.
var errUnknownKind = errors.New("the cluster does not know the kind")

// mapper finds the resource of a kind. What the member serves is cached, and
// looked up anew when a kind is unknown: its CRD may be new.
type mapper struct {
	clock  clock.PassiveClock
	cached discovery.CachedDiscoveryInterface

	mu    sync.Mutex
	inner *restmapper.DeferredDiscoveryRESTMapper
	reset time.Time
}

func newMapper(d discovery.DiscoveryInterface, c clock.PassiveClock) *mapper {
	cached := memory.NewMemCacheClient(d)
	return &mapper{clock: c, cached: cached, inner: restmapper.NewDeferredDiscoveryRESTMapper(cached)}
}

func (m *mapper) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := m.inner.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) && m.refresh() {
		mapping, err = m.inner.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("%w: %s of %s", errUnknownKind, gvk.Kind, gvk.GroupVersion())
	}
	return mapping, err
}

// absent says whether a kind that could not be mapped is known not to be served,
// in contrast to one whose group does not answer.
func (m *mapper) absent(gv schema.GroupVersion, err error) bool {
	if !errors.Is(err, errUnknownKind) {
		return false
	}
	_, err = m.cached.ServerResourcesForGroupVersion(gv.String())
	return err == nil || apierrors.IsNotFound(err) || errors.Is(err, memory.ErrCacheNotFound)
}

func (m *mapper) refresh() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	if now.Sub(m.reset) < resetEvery {
		return false
	}
	m.reset = now
	m.inner.Reset()
	return true
}

// namespaced returns all resources that live in namespaces and can be listed, in
// a fresh look. It fails if any group does not answer, since then nobody can say
// what a namespace holds.
func (m *mapper) namespaced() ([]schema.GroupVersionResource, error) {
	m.cached.Invalidate()
	lists, err := discovery.ServerPreferredNamespacedResources(m.cached)
	if err != nil {
		return nil, fmt.Errorf("list the kinds of the cluster: %w", err)
	}
	all, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists))
	if err != nil {
		return nil, fmt.Errorf("list the kinds of the cluster: %w", err)
	}
	resources := make([]schema.GroupVersionResource, 0, len(all))
	for resource := range all {
		resources = append(resources, resource)
	}
	return resources, nil
}
