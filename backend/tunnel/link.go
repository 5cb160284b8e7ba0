package tunnel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/fault"
)

// Liveness is told what the links show of clusters.
type Liveness interface {
	// Joined makes sure that the Cluster exists as the agent describes it. A
	// fault is shown to the agent's operator.
	Joined(ctx context.Context, cluster string, h agentapi.Hello, source string) error
	// Report takes over a cluster's inventory.
	Report(ctx context.Context, cluster string, status clusterv1alpha1.ClusterStatus) error
	// Beat says that the agent has been heard. It does not block.
	Beat(cluster string)
	// Lost says that the link is gone, and why.
	Lost(cluster string, why string, stopped bool)
}

// Store is where the link reads Works and Clusters: a cache of the hub's API.
// cache.Cache of controller-runtime is one.
type Store interface {
	client.Reader
	GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error)
}

// Options configure a Link.
type Options struct {
	// Client writes as the hub.
	Client client.Client
	// Store holds all Works and Clusters.
	Store    Store
	Liveness Liveness
	// Interpreters are what agents have to know about kinds; nil: nothing.
	Interpreters Interpreters
	// ManifestWorks lets members that were registered here carry out ManifestWorks.
	// The hub must have that kind, and ManagedCluster.
	ManifestWorks bool
	// Epoch names the hub's store: the same over restarts, another one after the
	// store has been replaced. Default: the UID of the hub's namespace kube-system.
	Epoch   string
	Version string
	Log     *slog.Logger
	// Heartbeat and Deadline set the pace of sessions. Default: those of agentapi.
	Heartbeat, Deadline time.Duration
}

// Link accepts the agents' WebSockets. It is the http.Handler of
// agentapi.LinkPath and must stand behind the hub's authentication.
type Link struct {
	options  Options
	upgrader websocket.Upgrader
	works    *ledger
	counter  atomic.Uint64 // of sessions
	writes   chan struct{} // as many tokens as writes may go on at once
	lessons  lessons
	learning sync.Mutex // one list of interpreters at a time

	mu         sync.Mutex
	running    context.Context // that of Start, once the store is filled
	epoch      string
	sessions   map[string]*session            // by cluster
	superseded map[string]map[string]struct{} // by cluster: instances that lost their place
	ending     sync.WaitGroup

	// doors keeps joining and leaving of one cluster in order. Clusters share
	// them by hash.
	doors [64]sync.Mutex
}

const (
	// parallelWrites bounds the writes of all sessions to the hub's store.
	parallelWrites = 64
	// maxSuperseded bounds the instances remembered for a cluster.
	maxSuperseded = 16
)

// NewLink returns a link. It accepts nobody before Start has filled it.
func NewLink(o Options) *Link {
	if o.Heartbeat == 0 {
		o.Heartbeat = agentapi.Heartbeat
	}
	if o.Deadline == 0 {
		o.Deadline = agentapi.Deadline
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Link{
		options: o,
		upgrader: websocket.Upgrader{
			HandshakeTimeout: agentapi.HelloTimeout,
			ReadBufferSize:   2048, WriteBufferSize: 4096, WriteBufferPool: new(sync.Pool),
			CheckOrigin: func(r *http.Request) bool { return r.Header.Get("Origin") == "" }, // agents are no browsers
		},
		works:    newLedger(),
		writes:   make(chan struct{}, parallelWrites),
		sessions: map[string]*session{}, superseded: map[string]map[string]struct{}{},
	}
}

// Start follows Works and Clusters and serves sessions until ctx ends; then it
// closes them, so that agents reconnect to whoever comes next.
func (l *Link) Start(ctx context.Context) error {
	if err := l.prepare(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("start the agents' link: %w", err)
	}
	<-ctx.Done()
	l.mu.Lock()
	open := make([]*session, 0, len(l.sessions))
	for _, s := range l.sessions {
		open = append(open, s)
	}
	l.mu.Unlock()
	for _, s := range open {
		s.end(websocket.CloseServiceRestart, "the hub stops")
	}
	l.ending.Wait()
	return nil
}

// Ready returns an error until sessions are accepted.
func (l *Link) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		return errors.New("the agents' link has not read the Works yet")
	}
	return nil
}

// prepare fills what sessions are served from. What is watched comes first, and at
// once: when it is there, the cache can be read.
func (l *Link) prepare(ctx context.Context) error {
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return l.followWorks(inner) })
	group.Go(func() error { return l.followManifestWorks(inner) })
	if err := group.Wait(); err != nil {
		return err
	}
	if err := l.follow(ctx); err != nil {
		return err
	}
	epoch := l.options.Epoch
	if epoch == "" {
		home := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
		if err := l.options.Client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, home); err != nil {
			return fmt.Errorf("read namespace %s: %w", metav1.NamespaceSystem, err)
		}
		epoch = string(home.UID)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, l.epoch = ctx, epoch
	return nil
}

// followWorks hears of Works and Clusters.
func (l *Link) followWorks(ctx context.Context) error {
	works, err := l.options.Store.GetInformer(ctx, &workv1alpha1.Work{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch works: %w", err)
	}
	clusters, err := l.options.Store.GetInformer(ctx, &clusterv1alpha1.Cluster{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch clusters: %w", err)
	}
	followed, err := works.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { l.workChanged(o) },
		UpdateFunc: func(_, o any) { l.workChanged(o) },
		DeleteFunc: l.workGone,
	})
	if err != nil {
		return fmt.Errorf("watch works: %w", err)
	}
	// A Cluster that goes or changes before it was listed is never heard of: sessions
	// wait for that list, too.
	known, err := clusters.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: l.clusterChanged, DeleteFunc: l.clusterGone})
	if err != nil {
		return fmt.Errorf("watch clusters: %w", err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), followed.HasSynced, known.HasSynced) {
		return ctx.Err()
	}
	return nil
}

// workChanged notes a Work and sends it to its agent if what the agent has to do
// has changed.
func (l *Link) workChanged(object any) {
	work, ok := object.(*workv1alpha1.Work)
	if !ok {
		return
	}
	cluster, ok := apis.ClusterOfExecutionSpace(work.Namespace)
	if !ok {
		return
	}
	if entry, changed := l.works.note(work); changed {
		if s := l.session(cluster); s != nil {
			s.enqueue(entry)
		}
	}
}

func (l *Link) workGone(object any) {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	work, ok := object.(*workv1alpha1.Work)
	if !ok {
		return
	}
	cluster, ok := apis.ClusterOfExecutionSpace(work.Namespace)
	if !ok || !l.works.drop(work) {
		return
	}
	if s := l.session(cluster); s != nil {
		s.enqueue(entry{name: work.Name, uid: work.UID, revision: revisionOf(work), forget: true})
	}
}

func (l *Link) clusterChanged(_, object any) {
	cluster, ok := object.(*clusterv1alpha1.Cluster)
	if !ok {
		return
	}
	if s := l.session(cluster.Name); s != nil {
		s.configure(cluster)
	}
}

func (l *Link) clusterGone(object any) {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	cluster, ok := object.(*clusterv1alpha1.Cluster)
	if !ok {
		return
	}
	if s := l.session(cluster.Name); s != nil && s.clusterUID == cluster.UID {
		s.tell(&agentapi.Removed{Message: "the cluster " + cluster.Name + " was removed from the hub"})
		s.end(agentapi.CloseRemoved, "the cluster was removed")
	}
}

func (l *Link) session(cluster string) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[cluster]
}

// ServeHTTP accepts one agent and serves its session until it ends.
func (l *Link) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cluster, ok := identify(r)
	if !ok {
		http.Error(w, "only agents, by their client certificate, may open a link", http.StatusForbidden)
		return
	}
	l.mu.Lock()
	ctx := l.running
	if ctx != nil && ctx.Err() == nil {
		l.ending.Add(1)
		defer l.ending.Done()
	}
	l.mu.Unlock()
	if ctx == nil || ctx.Err() != nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the hub is starting or stopping", http.StatusServiceUnavailable)
		return
	}
	conn, err := l.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	source, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		source = r.RemoteAddr
	}
	s := newSession(l, conn, cluster, source)
	s.serve(ctx)
}

// identify takes the cluster from the client certificate. The user the request
// is authenticated as must be the same: a certificate that the hub does not
// trust, an impersonated user or a token is not enough.
func identify(r *http.Request) (string, bool) {
	user, ok := request.UserFrom(r.Context())
	if !ok || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", false
	}
	subject := r.TLS.PeerCertificates[0].Subject
	if subject.CommonName != user.GetName() || !slices.Equal(subject.Organization, []string{apis.AgentGroup}) ||
		!slices.Contains(user.GetGroups(), apis.AgentGroup) {
		return "", false
	}
	return agentapi.ClusterOfUser(user.GetName())
}

// door returns the lock under which sessions of a cluster come and go.
func (l *Link) door(cluster string) *sync.Mutex {
	hash := uint32(2166136261) // FNV-1a
	for _, c := range []byte(cluster) {
		hash = (hash ^ uint32(c)) * 16777619
	}
	return &l.doors[hash%uint32(len(l.doors))]
}

// admit judges a hello and, if it is accepted, makes the session the cluster's
// current one. It returns the welcome, or the frame that says why not.
func (l *Link) admit(ctx context.Context, s *session, h *agentapi.Hello) (*agentapi.Welcome, agentapi.Frame) {
	if h.MinProtocol > agentapi.Protocol || h.Protocol < agentapi.MinProtocol {
		return nil, &agentapi.Refused{Code: agentapi.CodeProtocol, RetrySeconds: 60,
			Message: fmt.Sprintf("the agent speaks protocol %d to %d, this hub %d to %d", h.MinProtocol, h.Protocol, agentapi.MinProtocol, agentapi.Protocol),
			Fix:     "update the older of the two"}
	}
	door := l.door(s.cluster)
	door.Lock()
	defer door.Unlock()
	if current := l.session(s.cluster); current != nil && current.instance != h.Instance && l.wasSuperseded(s.cluster, h.Instance) {
		return nil, &agentapi.Refused{Code: agentapi.CodeSuperseded, RetrySeconds: 60,
			Message: "another agent with this identity, connected from " + current.source + ", has taken over",
			Fix:     "find the second one, such as a restored copy of the cluster, and register it under a name of its own"}
	}
	if removed, err := l.isRemoved(ctx, s.cluster, h); err != nil {
		return nil, l.refusal(s, err)
	} else if removed {
		return nil, &agentapi.Removed{Message: "the cluster " + s.cluster + " was removed from the hub while its agent was away"}
	}
	if err := l.options.Liveness.Joined(ctx, s.cluster, *h, s.source); err != nil {
		return nil, l.refusal(s, err)
	}
	cluster := &clusterv1alpha1.Cluster{}
	if err := l.options.Client.Get(ctx, client.ObjectKey{Name: s.cluster}, cluster); err != nil {
		return nil, l.refusal(s, err)
	}
	s.instance, s.clusterUID, s.number = h.Instance, cluster.UID, l.counter.Add(1)
	s.models = cluster.Spec.ResourceModels
	s.protocol = min(h.Protocol, agentapi.Protocol)
	resumed := h.Resume != nil && h.Resume.Epoch == l.epoch
	l.enter(s)
	return &agentapi.Welcome{
		Protocol: s.protocol, HubVersion: l.options.Version, Cluster: s.cluster, ClusterUID: cluster.UID,
		Session: s.number, Epoch: l.epoch, Resumed: resumed,
		HeartbeatSeconds: int(l.options.Heartbeat / time.Second), DeadlineSeconds: int(l.options.Deadline / time.Second),
		ResourceModels: cluster.Spec.ResourceModels,
	}, nil
}

// isRemoved says whether the Cluster that an agent was welcomed as is gone.
func (l *Link) isRemoved(ctx context.Context, name string, h *agentapi.Hello) (bool, error) {
	if h.ClusterUID == "" {
		return false, nil
	}
	cluster := &clusterv1alpha1.Cluster{}
	err := l.options.Client.Get(ctx, client.ObjectKey{Name: name}, cluster)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return cluster.UID != h.ClusterUID, err
}

// refusal words an error for the agent's operator. What is no fault is the hub's
// own trouble: its text stays here.
func (l *Link) refusal(s *session, err error) *agentapi.Refused {
	known, ok := fault.As(err)
	if !ok || known.Kind == fault.KindUnavailable {
		l.options.Log.Warn("agent not admitted", "cluster", s.cluster, "error", err)
		return &agentapi.Refused{Code: agentapi.CodeRefused, Message: "the hub cannot admit the agent now", Fix: "the agent tries again by itself"}
	}
	code := known.Code
	if code == "" {
		code = agentapi.CodeRefused
	}
	return &agentapi.Refused{Code: code, Message: known.Message, Fix: known.Fix, RetrySeconds: 30}
}

// enter makes a session the current one. The one it replaces is told, unless it
// is an earlier link of the same agent.
func (l *Link) enter(s *session) {
	l.mu.Lock()
	old := l.sessions[s.cluster]
	l.sessions[s.cluster] = s
	if old != nil && old.instance != s.instance {
		lost := l.superseded[s.cluster]
		if lost == nil || len(lost) >= maxSuperseded {
			lost = map[string]struct{}{}
			l.superseded[s.cluster] = lost
		}
		lost[old.instance] = struct{}{}
	}
	l.mu.Unlock()
	if old == nil {
		return
	}
	if old.instance == s.instance {
		old.end(agentapi.CloseSuperseded, "replaced by a newer link of the same agent")
		return
	}
	l.options.Log.Warn("a second agent took over", "cluster", s.cluster, "address", s.source, "former", old.source)
	old.tell(&agentapi.Refused{Code: agentapi.CodeSuperseded, RetrySeconds: 60,
		Message: "another agent with this identity connected from " + s.source + " and has taken over",
		Fix:     "find the second one, such as a restored copy of the cluster, and register it under a name of its own"})
	old.end(agentapi.CloseSuperseded, "another agent took over")
}

// leave ends a session's turn. Only the current one's end is a loss.
func (l *Link) leave(s *session, why string) {
	door := l.door(s.cluster)
	door.Lock()
	defer door.Unlock()
	l.mu.Lock()
	current := l.sessions[s.cluster] == s
	if current {
		delete(l.sessions, s.cluster)
		delete(l.superseded, s.cluster)
	}
	l.mu.Unlock()
	if current {
		l.options.Liveness.Lost(s.cluster, why, s.stopped())
	}
}

func (l *Link) wasSuperseded(cluster, instance string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.superseded[cluster][instance]
	return ok
}
