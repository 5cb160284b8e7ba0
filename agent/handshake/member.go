package handshake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/feed"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
)

const (
	// probeEvery is how often the member's health is asked for, probeAgain how
	// often while it is doubtful, probeTimeout how long it may take to answer: a
	// member that hangs is one that is not healthy.
	probeEvery   = 10 * time.Second
	probeAgain   = 2 * time.Second
	probeTimeout = 5 * time.Second
	// doubt is how long a member that was healthy must fail before that is told.
	doubt = 8 * time.Second
)

// observation is what is seen of the member.
type observation struct {
	// healthy is nil before the first probe; problem says why it is not.
	healthy *bool
	problem string
	version string
	// capacity and allocatable are nil before the nodes have been seen.
	capacity, allocatable corev1.ResourceList
	// claims are nil before they have been seen, or if they are not to be told.
	claims []ocmv1.ManagedClusterClaim
	// namespaces says for each managed namespace why it is not there, "" if it is.
	namespaces map[string]string
}

// memberWatch watches the member.
type memberWatch struct {
	log     *slog.Logger
	ca      []byte
	claims  Claims
	probes  discovery.DiscoveryInterface
	kube    kubernetes.Interface
	dynamic dynamic.Interface
	now     func() time.Time

	mu        sync.Mutex
	seen      observation
	failing   time.Time // since when probes fail; zero if they do not
	nodes     map[string]*corev1.Node
	claimed   map[schema.GroupVersionResource]map[string]claim
	listeners map[chan struct{}]struct{}
}

func newMemberWatch(config *rest.Config, claims Claims, log *slog.Logger) (*memberWatch, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter, config.Timeout = -1, nil, 0
	m := &memberWatch{log: log, claims: claims, now: time.Now, nodes: map[string]*corev1.Node{},
		claimed: map[schema.GroupVersionResource]map[string]claim{}, listeners: map[chan struct{}]struct{}{}}
	m.ca = config.CAData
	if len(m.ca) == 0 && config.CAFile != "" {
		m.ca, _ = os.ReadFile(config.CAFile) // without it the hub is told no CA
	}
	var err error
	if m.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("client of the member: %w", err)
	}
	if m.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("client of the member: %w", err)
	}
	probing := rest.CopyConfig(config)
	probing.Timeout = probeTimeout
	if m.probes, err = discovery.NewDiscoveryClientForConfig(probing); err != nil {
		return nil, fmt.Errorf("client of the member: %w", err)
	}
	return m, nil
}

// run watches until ctx ends.
func (m *memberWatch) run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { m.probe(ctx) })
	running.Go(func() {
		feed.Run(ctx, m.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("nodes")), feed.Funcs{
			OnIs:   func(o *unstructured.Unstructured) { m.node(o, true) },
			OnGone: func(o *unstructured.Unstructured) { m.node(o, false) },
			OnAll:  m.allNodes,
		}, feed.Options{})
	})
	if m.claims.Enabled {
		running.Go(func() {
			m.watchClaims(ctx, ocmv1alpha1.GroupVersion.WithResource("clusterclaims"), "value")
		})
	}
	if m.claims.Enabled && m.claims.Properties {
		running.Go(func() {
			m.watchClaims(ctx, schema.GroupVersionResource{Group: "about.k8s.io", Version: "v1alpha1", Resource: "clusterproperties"}, "value")
		})
	}
	running.Wait()
}

// subscribe returns a channel that is written to when something has changed.
func (m *memberWatch) subscribe() (changed <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners[c] = struct{}{}
	return c, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.listeners, c)
	}
}

// observed returns what is seen now.
func (m *memberWatch) observed() observation {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.seen
	if seen.capacity != nil {
		seen.capacity, seen.allocatable = maps.Clone(seen.capacity), maps.Clone(seen.allocatable)
	}
	seen.namespaces = maps.Clone(seen.namespaces)
	return seen
}

// change changes what is seen and tells of it.
func (m *memberWatch) change(f func(*observation)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.seen)
	for c := range m.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (m *memberWatch) probe(ctx context.Context) {
	for ctx.Err() == nil {
		err := m.alive(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := probeEvery
		if m.judge(err) {
			pause = probeAgain
		}
		wait(ctx, pause)
	}
}

// judge takes the result of a probe. It says whether to look again soon.
func (m *memberWatch) judge(err error) (soon bool) {
	version := ""
	if err == nil {
		if v, err := m.probes.ServerVersion(); err == nil {
			version = v.GitVersion
		}
	}
	m.mu.Lock()
	now, known := m.now(), m.seen.healthy != nil
	before, problem := m.seen, ""
	if err == nil {
		m.failing = time.Time{}
	} else {
		problem = err.Error()
		if m.failing.IsZero() {
			m.failing = now
		}
	}
	lasting := err != nil && now.Sub(m.failing) >= doubt
	m.mu.Unlock()
	healthy := err == nil
	switch {
	case !healthy && !lasting && (!known || *before.healthy):
		return true // perhaps only for a moment
	case known && *before.healthy == healthy && (version == "" || before.version == version) && (healthy || before.problem == problem):
		return !healthy
	}
	m.change(func(o *observation) {
		o.healthy, o.problem = &healthy, problem
		if version != "" {
			o.version = version
		}
	})
	return !healthy
}

// alive asks the member's API whether it is well (contract 2.5).
func (m *memberWatch) alive(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	code, err := m.code(within, "/livez")
	if code == http.StatusNotFound || code == http.StatusForbidden {
		code, err = m.code(within, "/healthz")
	}
	switch {
	case code == http.StatusOK:
		return nil
	case code == http.StatusForbidden: // it answers, and keeps its health to itself
		return nil
	case errors.Is(within.Err(), context.DeadlineExceeded):
		return fmt.Errorf("status code: %d, no answer within %s", code, probeTimeout)
	}
	return fmt.Errorf("status code: %d, %w", code, err)
}

func (m *memberWatch) code(ctx context.Context, path string) (int, error) {
	code := 0
	err := m.probes.RESTClient().Get().AbsPath(path).MaxRetries(0).Do(ctx).StatusCode(&code).Error()
	return code, err
}

func (m *memberWatch) node(o *unstructured.Unstructured, there bool) {
	m.mu.Lock()
	delete(m.nodes, o.GetName())
	if node := nodeOf(o); there && node != nil {
		m.nodes[o.GetName()] = node
	}
	m.mu.Unlock()
	m.sum()
}

func (m *memberWatch) allNodes(all []*unstructured.Unstructured) {
	nodes := make(map[string]*corev1.Node, len(all))
	for _, o := range all {
		if node := nodeOf(o); node != nil {
			nodes[o.GetName()] = node
		}
	}
	m.mu.Lock()
	m.nodes = nodes
	m.mu.Unlock()
	m.sum()
}

// nodeOf keeps of a node what is counted.
func nodeOf(o *unstructured.Unstructured) *corev1.Node {
	node := &corev1.Node{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, node) != nil {
		return nil
	}
	return &corev1.Node{
		Spec:   corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable},
		Status: corev1.NodeStatus{Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable},
	}
}

// sum adds up what the nodes offer, and tells if it is something else than before.
func (m *memberWatch) sum() {
	m.mu.Lock()
	capacity, allocatable := sumNodes(maps.Values(m.nodes))
	same := m.seen.capacity != nil && sameResources(m.seen.capacity, capacity) && sameResources(m.seen.allocatable, allocatable)
	m.mu.Unlock()
	if !same {
		m.change(func(o *observation) { o.capacity, o.allocatable = capacity, allocatable })
	}
}

// absent says whether an error means that the member does not serve a kind.
func absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
