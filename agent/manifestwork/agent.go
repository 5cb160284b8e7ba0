package manifestwork

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"muster.dev/muster/agent/feed"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

const (
	// DefaultEvictionGrace is how long objects outlive a work that vanished.
	DefaultEvictionGrace = time.Hour
	// DefaultStatusInterval is how often objects are read that cannot be watched.
	DefaultStatusInterval = 10 * time.Second

	workers    = 8
	retryFirst = 100 * time.Millisecond
	retryMost  = 30 * time.Second
	// passTimeout bounds one pass over a work.
	passTimeout = 2 * time.Minute
)

// Options say whose works an agent carries out, and where.
type Options struct {
	// Cluster is the name of the member at the hub, and of its namespace there.
	Cluster string
	// AgentID tells records of this agent from those of others, across hubs.
	AgentID string
	// Server is the address by which the hub counts as the same one. Default: that
	// of Hub.
	Server string
	// Hub reaches the hub as the agent, Member the member.
	Hub, Member *rest.Config
	// Works are the works of the cluster. Default: those of the API that Hub reaches.
	Works Works
	// EvictionGrace and StatusInterval have the defaults above.
	EvictionGrace, StatusInterval time.Duration
	// RawFeedback tells values of any shape, not only numbers, texts and yes or no.
	RawFeedback bool
	Log         *slog.Logger
}

// Agent carries out the works of one member. Run may be called once.
type Agent struct {
	o        Options
	log      *slog.Logger
	hubHash  string
	hub      Works
	member   *member
	reporter *reporter
	now      func() time.Time

	queue   workqueue.TypedRateLimitingInterface[string] // names of works
	records workqueue.TypedRateLimitingInterface[string] // names of records

	mu      sync.Mutex
	works   map[string]*ocmworkv1.ManifestWork
	known   map[string]*ocmworkv1.AppliedManifestWork
	hubSeen bool // all works have been seen once
	// unheld are works that were, or are being, applied before the hub was known to hold
	// them.
	unheld map[string]struct{}
	// buried are objects that are gone: an answer to a request may come in after the
	// news of that.
	buried  map[types.UID]struct{}
	ours    chan struct{}
	once    sync.Once
	problem string
}

// New returns an agent. It does not connect.
func New(o Options) (*Agent, error) {
	if o.Cluster == "" || o.Hub == nil && (o.Works == nil || o.Server == "") || o.Member == nil {
		return nil, errors.New("an agent needs a cluster, a hub and a member")
	}
	if o.EvictionGrace == 0 {
		o.EvictionGrace = DefaultEvictionGrace
	}
	if o.StatusInterval == 0 {
		o.StatusInterval = DefaultStatusInterval
	}
	if o.Server == "" {
		o.Server = o.Hub.Host
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	sum := sha256.Sum256([]byte(o.Server))
	newQueue := func() workqueue.TypedRateLimitingInterface[string] {
		return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, retryMost))
	}
	a := &Agent{o: o, log: o.Log, hubHash: hex.EncodeToString(sum[:]), now: time.Now,
		queue: newQueue(), records: newQueue(), works: map[string]*ocmworkv1.ManifestWork{}, known: map[string]*ocmworkv1.AppliedManifestWork{}, buried: map[types.UID]struct{}{}, unheld: map[string]struct{}{},
		reporter: &reporter{expressions: newExpressions(), raw: o.RawFeedback, every: o.StatusInterval, now: time.Now}, ours: make(chan struct{})}
	if a.hub = o.Works; a.hub == nil {
		client, err := dynamic.NewForConfig(unlimited(o.Hub))
		if err != nil {
			return nil, fmt.Errorf("client of the hub: %w", err)
		}
		a.hub = worksOfAPI{client.Resource(manifestWorks).Namespace(o.Cluster)}
	}
	var err error
	if a.member, err = a.newMember(unlimited(o.Member)); err != nil {
		return nil, fmt.Errorf("client of the member: %w", err)
	}
	return a, nil
}

// unlimited copies a configuration without a limit of time, which would end
// watches, and without one of requests, unless it asks for one.
func unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout = 0
	if config.QPS == 0 {
		config.QPS = -1
	}
	return config
}

func (a *Agent) newMember(config *rest.Config) (*member, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &member{client: client, mapper: newMapper(d), executors: newExecutors(config, client, kube),
		kinds: newKinds(client, func(work string) { a.queue.Add(work) }, a.unwatched)}, nil
}

// unwatched is told that a kind cannot be watched.
func (a *Agent) unwatched(resource schema.GroupVersionResource, err error) {
	if !apierrors.IsForbidden(err) && !apierrors.IsMethodNotSupported(err) && !apierrors.IsNotFound(err) {
		return // it is going to be
	}
	a.log.Info("a kind cannot be watched; its objects are read now and then", "cluster", a.o.Cluster, "kind", resource.GroupResource().String(), "every", a.o.StatusInterval, "error", err)
	a.member.kinds.recheck(resource)
}

// Run carries out works until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	waitKinds := a.member.kinds.start(ctx)
	go func() { _, _ = a.member.mapper.mapping(ocmworkv1.GroupVersion.WithKind("AppliedManifestWork")) }() // reads the API list before it is needed
	running.Go(func() { a.watchHub(ctx) })
	running.Go(func() { a.watchMember(ctx) })
	select { // what was applied before has to be known first
	case <-a.ours:
	case <-ctx.Done():
	}
	for range workers {
		running.Go(func() { drain(ctx, a.queue, a.reconcile, a.complain) })
	}
	for range 2 {
		running.Go(func() { drain(ctx, a.records, a.reconcileRecord, a.complain) })
	}
	<-ctx.Done()
	a.queue.ShutDown()
	a.records.ShutDown()
	running.Wait()
	waitKinds()
	return nil
}

// Problem says why the hub or the member cannot be asked, "" if they can.
func (a *Agent) Problem() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.problem
}

func (a *Agent) complain(name string, err error) {
	if apierrors.IsConflict(err) {
		return
	}
	a.log.Debug("work not carried out, trying again", "cluster", a.o.Cluster, "name", name, "error", err)
}

// drain works a queue off until it is shut down.
func drain(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string], reconcile func(context.Context, string) error, complain func(string, error)) {
	for {
		name, shutdown := queue.Get()
		if shutdown {
			return
		}
		within, cancel := context.WithTimeout(ctx, passTimeout)
		err := reconcile(within, name)
		cancel()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			complain(name, err)
			queue.AddRateLimited(name)
		default:
			queue.Forget(name)
		}
		queue.Done(name)
	}
}

func (a *Agent) watchHub(ctx context.Context) {
	a.hub.Follow(ctx, feed.Funcs{
		OnIs:   func(o *unstructured.Unstructured) { a.sawWork(o) },
		OnGone: func(o *unstructured.Unstructured) { a.lostWork(o.GetName()) },
		OnAll: func(all []*unstructured.Unstructured) {
			there := map[string]struct{}{}
			for _, o := range all {
				there[o.GetName()] = struct{}{}
				a.sawWork(o)
			}
			a.mu.Lock()
			a.hubSeen = true
			var lost []string
			for name := range a.works {
				if _, ok := there[name]; !ok {
					lost = append(lost, name)
				}
			}
			records := make([]string, 0, len(a.known))
			for name := range a.known {
				records = append(records, name)
			}
			a.problem = ""
			a.mu.Unlock()
			for _, name := range lost {
				a.lostWork(name)
			}
			for _, name := range records {
				a.records.Add(name)
			}
		},
	}, a.failed)
}

func (a *Agent) failed(err error) {
	a.mu.Lock()
	first := a.problem == ""
	a.problem = err.Error()
	a.mu.Unlock()
	if first {
		a.log.Info("works cannot be watched, trying again", "cluster", a.o.Cluster, "error", err)
	}
}

// sawWork takes a work as the hub has it, unless a newer one is known.
func (a *Agent) sawWork(o *unstructured.Unstructured) *ocmworkv1.ManifestWork {
	work := &ocmworkv1.ManifestWork{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(strip(o).Object, work); err != nil {
		a.log.Warn("manifest work not understood", "cluster", a.o.Cluster, "name", o.GetName(), "error", err)
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.works[work.Name]
	if old != nil && old.UID == work.UID && !feed.Newer(work.ResourceVersion, old.ResourceVersion) {
		return old
	}
	if _, gone := a.buried[work.UID]; gone {
		return nil
	}
	a.works[work.Name] = work
	if old == nil || old.UID != work.UID || old.Generation != work.Generation || work.DeletionTimestamp != nil {
		a.queue.Forget(work.Name) // a new version deserves an immediate try
		a.queue.Add(work.Name)
	} else if len(work.Finalizers) != len(old.Finalizers) || !sameStatus(&old.Status, &work.Status) {
		a.queue.Add(work.Name) // somebody may have written what is ours
	}
	return work
}

func (a *Agent) lostWork(name string) {
	a.mu.Lock()
	if old := a.works[name]; old != nil {
		a.bury(old.UID)
	}
	delete(a.works, name)
	a.mu.Unlock()
	a.queue.Add(name)
	a.records.Add(a.recordName(name))
}

// bury remembers for a while that an object is gone. The lock is held.
func (a *Agent) bury(uid types.UID) {
	const most = 10_000
	if len(a.buried) >= most {
		clear(a.buried)
	}
	a.buried[uid] = struct{}{}
}

func (a *Agent) work(name string) *ocmworkv1.ManifestWork {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.works[name]
}

func (a *Agent) watchMember(ctx context.Context) {
	feed.Run(ctx, a.member.client.Resource(appliedWorks), feed.Funcs{
		OnIs:   func(o *unstructured.Unstructured) { a.sawRecord(o) },
		OnGone: a.lostRecord,
		OnAll: func(all []*unstructured.Unstructured) {
			there := map[string]struct{}{}
			for _, o := range all {
				there[o.GetName()] = struct{}{}
				a.sawRecord(o)
			}
			a.mu.Lock()
			var lost []*unstructured.Unstructured
			for name, record := range a.known {
				if _, ok := there[name]; !ok {
					gone := &unstructured.Unstructured{}
					gone.SetName(name)
					gone.SetUID(record.UID)
					lost = append(lost, gone)
				}
			}
			a.mu.Unlock()
			for _, o := range lost {
				a.lostRecord(o)
			}
			a.once.Do(func() { close(a.ours) })
		},
	}, feed.Options{Slowest: 5 * time.Second, Failed: a.failed})
}

// sawRecord takes a record as the member has it, unless a newer one is known.
func (a *Agent) sawRecord(o *unstructured.Unstructured) *ocmworkv1.AppliedManifestWork {
	record := &ocmworkv1.AppliedManifestWork{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(strip(o).Object, record); err != nil {
		a.log.Warn("applied manifest work not understood", "cluster", a.o.Cluster, "name", o.GetName(), "error", err)
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.known[record.Name]
	if old != nil && old.UID == record.UID && !feed.Newer(record.ResourceVersion, old.ResourceVersion) {
		return old
	}
	if _, gone := a.buried[record.UID]; gone {
		return record
	}
	a.known[record.Name] = record
	if record.DeletionTimestamp != nil || old == nil || a.hubSeen && a.works[record.Spec.ManifestWorkName] == nil {
		a.records.Add(record.Name)
	}
	return record
}

func (a *Agent) lostRecord(o *unstructured.Unstructured) {
	a.mu.Lock()
	old := a.known[o.GetName()]
	a.bury(o.GetUID())
	if old != nil && old.UID == o.GetUID() {
		delete(a.known, o.GetName())
	}
	a.mu.Unlock()
	if old != nil {
		a.queue.Add(old.Spec.ManifestWorkName) // it waits for that, or has to be applied anew
	}
}

func (a *Agent) record(name string) *ocmworkv1.AppliedManifestWork {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[name]
}

// String describes the load for logs.
func (a *Agent) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strconv.Itoa(len(a.works)) + " works"
}
