package workload

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/propagation"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/author"
	"muster.dev/muster/backend/workload/draft"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/pods"
	"muster.dev/muster/backend/workload/preview"
)

// Topic carries the live rows of workloads; below Topic+"/" there is a topic of
// each workload's detail, under its id. Viewers may read them.
const Topic = "workloads"

// EffectTopic says, without a row, that objects or Works have changed, and so may
// have the effect of a policy: more than rows tell, such as drift that was mended.
const EffectTopic = "effects"

const (
	// together is how long changes of rows wait for others.
	together = 100 * time.Millisecond
	// detailEvery is how often details that are read are brought up to date.
	detailEvery = 500 * time.Millisecond
)

// Cache reads policies, bindings, Works and clusters from memory and tells of
// their changes; the manager's cache is one.
type Cache interface {
	client.Reader
	GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error)
}

// Templates are the objects of the hub that policies may mean; *template.Cache
// is one.
type Templates interface {
	preview.Objects
	Synced() bool
	Subscribe(func(ref template.Ref, old, current *unstructured.Unstructured))
}

// Troubles are the templates that cannot be propagated as they are now;
// *template.Troubles is one.
type Troubles interface {
	Of(ref template.Ref) (template.Trouble, bool)
	Follow(changed func(template.Ref))
}

// Unserved are the clusters of bindings that cannot be sent what they are to have
// now, and why; *propagation.Unserved is one.
type Unserved interface {
	Of(binding types.NamespacedName) map[string]string
	Follow(changed func(binding types.NamespacedName))
}

// Publisher brings changes to browsers; *live.Hub is one.
type Publisher interface {
	Publish(topic string, event live.Event)
	Seq(topic string) (epoch string, seq uint64)
	// Watched says whether anybody reads the topic now.
	Watched(topic string) bool
}

// ServiceOptions are what a Service works with.
type ServiceOptions struct {
	// Cache is shared by all readers; whoever may view may see all of it.
	Cache     Cache
	Templates Templates
	// Troubles and Unserved tell what is stuck on the hub; nil: nobody tells.
	Troubles  Troubles
	Unserved  Unserved
	Scheduler preview.Scheduler
	// Quotas tell which placements are refused; nil: none.
	Quotas preview.Quotas
	// Interpreter knows the replicas of kinds.
	Interpreter *interpret.Interpreter
	// Clients gives the hub API as the actor sees it; it is asked for events, and
	// which kinds the actor may list.
	Clients func(actor access.Actor) (client.Client, error)
	// Audit records what is written.
	Audit author.Auditor
	Live  Publisher
	// Members reaches members as the hub, to look at pods.
	Members pods.Members
	// CRDs holds the definitions of the policies' kinds, by which drafts are judged.
	CRDs fs.FS
	// KeepEmpty is that of the scheduler.
	KeepEmpty bool
	// Gates are the features that are switched on; preview and controllers must
	// have the same.
	Gates policy.Gates
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Service tells what runs where, to whoever acts in ctx.
type Service struct {
	ServiceOptions
	projection *projection
	pages      *pages
	saved      draft.Saved
	previewer  *preview.Previewer
	pods       *pods.Reader
	author     *author.Author

	mu    sync.Mutex
	ready bool // the first rows are made
}

// NewService returns a Service; Start fills it. It must be made before the
// template cache starts.
func NewService(options ServiceOptions) *Service {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Troubles == nil {
		options.Troubles = template.NewTroubles()
	}
	if options.Unserved == nil {
		options.Unserved = propagation.NewUnserved()
	}
	s := &Service{
		ServiceOptions: options, projection: newProjection(options.Templates, options.Troubles, options.Unserved), pages: newPages(options.Now), saved: draft.Saved{Cache: options.Cache},
		pods:   pods.NewReader(pods.Options{Members: options.Members, Now: options.Now}),
		author: author.New(author.Options{Clients: options.Clients, Audit: options.Audit}),
	}
	s.previewer = preview.New(preview.Options{
		Objects: options.Templates, Known: s.projection, Scheduler: options.Scheduler, Quotas: options.Quotas, Interpreter: options.Interpreter, Saved: s.saved,
		Schemas: draft.NewSchemas(options.CRDs), Clients: options.Clients, Gates: options.Gates, KeepEmpty: options.KeepEmpty, Now: options.Now,
	})
	options.Templates.Subscribe(s.projection.templateChanged) // before they are there, so that none is missed
	options.Troubles.Follow(s.projection.troubleChanged)
	options.Unserved.Follow(s.projection.bindingTold)
	return s
}

// Start follows templates, bindings, Works and clusters and publishes what
// changes, until ctx ends.
func (s *Service) Start(ctx context.Context) error {
	leave, synced, err := s.follow(ctx)
	defer leave()
	if err != nil && ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return err
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), append(synced, s.Templates.Synced)...) {
		return nil
	}
	s.projection.refresh() // whoever looks from now on gets these rows as a page
	s.mu.Lock()
	s.ready = true
	s.mu.Unlock()
	s.publish(ctx)
	return nil
}

// follow subscribes to everything that rows are made of. The returned leave is
// never nil.
func (s *Service) follow(ctx context.Context) (leave func(), synced []toolscache.InformerSynced, err error) {
	var leaves []func()
	leave = func() {
		for _, one := range leaves {
			one()
		}
	}
	for _, object := range []client.Object{
		&workv1alpha2.ResourceBinding{}, &workv1alpha2.ClusterResourceBinding{}, &workv1alpha1.Work{}, &clusterv1alpha1.Cluster{},
	} {
		informer, err := s.Cache.GetInformer(ctx, object)
		if err != nil {
			return leave, nil, fmt.Errorf("follow %T: %w", object, err)
		}
		handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { s.told(object, false) },
			UpdateFunc: s.updated,
			DeleteFunc: func(object any) { s.told(object, true) },
		})
		if err != nil {
			return leave, nil, fmt.Errorf("follow %T: %w", object, err)
		}
		synced = append(synced, handler.HasSynced)
		leaves = append(leaves, func() {
			if err := informer.RemoveEventHandler(handler); err != nil {
				slog.Debug("workload events could not be left", "error", err)
			}
		})
	}
	return leave, synced, nil
}

// updated leaves out resyncs.
func (s *Service) updated(old, object any) {
	before, wasObject := old.(client.Object)
	current, isObject := object.(client.Object)
	if wasObject && isObject && before.GetResourceVersion() == current.GetResourceVersion() {
		return
	}
	s.told(object, false)
}

// told hands an event to what it is about.
func (s *Service) told(object any, gone bool) {
	if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	switch changed := object.(type) {
	case workv1alpha2.Binding:
		s.projection.bindingChanged(changed, gone)
	case *workv1alpha1.Work:
		s.projection.workChanged(changed, gone)
	case *clusterv1alpha1.Cluster:
		s.pages.allBehind() // any of them may name the cluster
	}
}

// publish brings changes to readers: rows together, details where they are read.
func (s *Service) publish(ctx context.Context) {
	var pending <-chan time.Time
	timer := time.NewTimer(together)
	timer.Stop()
	defer timer.Stop()
	details := time.NewTicker(detailEvery)
	defer details.Stop()
	for {
		select {
		case <-s.projection.wake:
			if pending == nil {
				timer.Reset(together)
				pending = timer.C
			}
		case <-pending:
			pending = nil
			s.publishRows()
		case <-details.C:
			s.publishDetails(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) publishRows() {
	changes, touched := s.projection.refresh()
	for _, ref := range touched {
		s.pages.behind(ref)
	}
	if len(touched) > 0 && s.Live.Watched(EffectTopic) {
		s.Live.Publish(EffectTopic, live.Event{Op: live.OpUpsert, Key: "any"})
	}
	for _, changed := range changes {
		event := live.Event{Op: live.OpDelete, Key: fact.ID(changed.ref)}
		if changed.row != nil {
			event.Op, event.Row = live.OpUpsert, changed.row
		}
		s.Live.Publish(Topic, event)
	}
}

// Ready says whether workloads can be listed.
func (s *Service) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		return fault.Unavailable("the hub is starting").WithFix("try again in a moment")
	}
	return nil
}

// open lets in who may view, once there is something to see.
func (s *Service) open(ctx context.Context) error {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return err
	}
	return s.Ready()
}

// List returns a page of workloads. Everybody who is signed in may.
func (s *Service) List(ctx context.Context, query Query) (Listing, error) {
	if err := s.open(ctx); err != nil {
		return Listing{}, err
	}
	if err := query.prepare(); err != nil {
		return Listing{}, err
	}
	return query.apply(s.projection.rows()), nil
}

// find looks a workload up. It fails with fault.NotFound.
func (s *Service) find(key fact.Key) (view, error) { return s.lookUp(key.Ref()) }

func (s *Service) lookUp(ref template.Ref) (view, error) {
	if seen, known := s.projection.look(ref); known && seen.lasts() {
		return seen, nil
	}
	if isPlain(ref) {
		if object, there := s.Templates.Get(ref); there {
			return view{ref: ref, template: object}, nil
		}
	}
	return view{}, fault.NotFound("there is no workload %s", fact.ID(ref)).
		WithFix("objects appear here once a policy has taken them; look under all for those that no policy holds")
}

// Preview tells what a policy would do if it were saved now. It changes nothing;
// everybody who is signed in may ask.
func (s *Service) Preview(ctx context.Context, asked preview.Draft) (preview.Preview, error) {
	if err := s.open(ctx); err != nil {
		return preview.Preview{}, err
	}
	return s.previewer.Preview(ctx, asked)
}
