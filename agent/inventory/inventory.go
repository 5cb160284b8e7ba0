package inventory

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

const (
	probeEvery   = 10 * time.Second
	probeAgain   = 2 * time.Second // while an observation is being held back
	probeTimeout = 5 * time.Second
	apisEvery    = time.Minute
	// apisSettle is how long after a change of a CRD or APIService its group is
	// looked up; once more after apisLater, since discovery lags behind.
	apisSettle = time.Second
	apisLater  = 5 * time.Second
	// coalesce is the least time between two reports that pods or nodes caused.
	coalesce = time.Second
	// firstWait is how long the first report of a ready member waits for its
	// nodes, pods and API list.
	firstWait = 2 * time.Second
	// requestTimeout bounds a request that is not a watch.
	requestTimeout = 10 * time.Second
	// defaultDamping is how long Ready must have changed before that is shown.
	defaultDamping = 10 * time.Second
)

// Options vary a Collector.
type Options struct {
	// Models are the Cluster's resource models; without any, no
	// allocatableModelings are reported.
	Models []clusterv1alpha1.ResourceModel
	// OnChange is called with the complete status whenever it has changed, from
	// one goroutine. It must not block and must not change its argument.
	OnChange func(clusterv1alpha1.ClusterStatus)
	// Last is what was reported before, if that is known: its times of transition
	// and, until the member is ready, its inventory are kept.
	Last clusterv1alpha1.ClusterStatus
	// Damping is how long a change of Ready must last before it is shown.
	// Default: 10 s.
	Damping time.Duration
	// Clock is for tests. Default: the real one.
	Clock clock.Clock
}

// Collector watches one member.
type Collector struct {
	options  Options
	kube     kubernetes.Interface         // for watches: no timeout
	metadata metadata.Interface           // likewise
	requests discovery.DiscoveryInterface // for probe and discovery
	models   atomic.Pointer[[]clusterv1alpha1.ResourceModel]

	dirty     chan struct{} // nodes, pods or models changed
	apisDirty chan struct{}

	// The rest belongs to the goroutine of Start.
	nodes, pods cache.SharedIndexInformer
	damper      damper
	status      clusterv1alpha1.ClusterStatus
	probed      bool           // status holds an observation of this process
	discovered  bool           // likewise of the API list
	discovering chan apiSurvey // set while a discovery is under way
	reported    bool
	last        clusterv1alpha1.ClusterStatus // what was reported last
}

// apiSurvey is the result of one discovery.
type apiSurvey struct {
	version string
	lists   []*metav1.APIResourceList
	err     error
}

// New returns a collector for the member that cfg reaches. It does not connect.
// The configuration is copied; its rate limits are lifted and its timeout does
// not apply to watches.
func New(cfg *rest.Config, o Options) (*Collector, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.RateLimiter, cfg.Timeout = -1, nil, 0
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("client of the member: %w", err)
	}
	objects, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("metadata client of the member: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = requestTimeout
	requests, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("discovery client of the member: %w", err)
	}
	if o.OnChange == nil {
		o.OnChange = func(clusterv1alpha1.ClusterStatus) {}
	}
	if o.Damping == 0 {
		o.Damping = defaultDamping
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	c := &Collector{
		options: o, kube: kube, metadata: objects, requests: requests,
		dirty: make(chan struct{}, 1), apisDirty: make(chan struct{}, 1),
		damper: damper{lasting: o.Damping}, status: *o.Last.DeepCopy(),
	}
	c.damper.shown = meta.FindStatusCondition(o.Last.DeepCopy().Conditions, clusterv1alpha1.ClusterConditionReady)
	if c.damper.shown != nil && c.damper.shown.Status == metav1.ConditionUnknown {
		c.damper.shown = nil // the hub's word for "not heard of": any observation is better
	}
	c.models.Store(&o.Models)
	return c, nil
}

// SetModels replaces the resource models. It may be called at any time.
func (c *Collector) SetModels(models []clusterv1alpha1.ResourceModel) {
	if equality.Semantic.DeepEqual(*c.models.Load(), models) {
		return
	}
	c.models.Store(&models)
	poke(c.dirty)
}

// Start watches and reports until ctx ends. It returns an error only if the
// watches could not be set up; a member that cannot be reached is a report.
func (c *Collector) Start(ctx context.Context) error {
	stop, err := c.watch(ctx)
	if err != nil {
		return err
	}
	defer stop()
	nodes, pods := c.nodes.HasSyncedChecker().Done(), c.pods.HasSyncedChecker().Done()

	probe := c.options.Clock.NewTimer(0)
	defer probe.Stop()
	apis := c.options.Clock.NewTimer(apisEvery)
	defer apis.Stop()
	flush := c.options.Clock.NewTimer(firstWait)
	defer flush.Stop()
	flushing := true // flush is set
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-probe.C():
			c.probe(ctx)
			probe.Reset(c.nextProbe())
		case <-nodes:
			nodes = nil
			c.sum()
		case <-pods:
			pods = nil
			c.sum()
		case <-c.apisDirty:
			apis.Reset(apisSettle)
		case <-apis.C():
			c.discover(ctx)
			apis.Reset(apisEvery)
		case survey := <-c.discovering:
			if c.take(survey) {
				apis.Reset(apisLater)
			}
		case <-c.dirty:
			if !flushing {
				flush.Reset(coalesce)
				flushing = true
			}
			continue
		case <-flush.C():
			flushing = false
			c.reported = c.reported || c.probed && c.emit()
			c.sum()
		}
		c.report()
	}
}

// watch starts the informers. The returned function waits for their end, which
// comes with that of ctx.
func (c *Collector) watch(ctx context.Context) (func(), error) {
	objects := informers.NewSharedInformerFactoryWithOptions(c.kube, 0, informers.WithTransform(trim))
	c.nodes = objects.Core().V1().Nodes().Informer()
	c.pods = objects.Core().V1().Pods().Informer()
	for _, informer := range []cache.SharedIndexInformer{c.nodes, c.pods} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { poke(c.dirty) },
			DeleteFunc: func(any) { poke(c.dirty) },
			UpdateFunc: func(before, after any) {
				if counts(before, after) {
					poke(c.dirty)
				}
			},
		}); err != nil {
			return nil, fmt.Errorf("watch the member: %w", err)
		}
	}
	types := metadatainformer.NewSharedInformerFactoryWithOptions(c.metadata, 0, metadatainformer.WithTransform(trimMetadata))
	for _, resource := range []schema.GroupVersionResource{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	} {
		if _, err := types.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(_ any, initial bool) {
				if !initial {
					poke(c.apisDirty)
				}
			},
			DeleteFunc: func(any) { poke(c.apisDirty) },
			UpdateFunc: func(any, any) { poke(c.apisDirty) },
		}); err != nil {
			return nil, fmt.Errorf("watch the member: %w", err)
		}
	}
	objects.Start(ctx.Done())
	types.Start(ctx.Done())
	return func() { objects.Shutdown(); types.Shutdown() }, nil
}

func trimMetadata(object any) (any, error) {
	if m, ok := object.(*metav1.PartialObjectMetadata); ok {
		return &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta, ObjectMeta: name(m.ObjectMeta)}, nil
	}
	return object, nil
}

func (c *Collector) nextProbe() time.Duration {
	if c.damper.waiting() {
		return probeAgain
	}
	return probeEvery
}

// probe asks whether the member is ready. One that turns ready is looked at anew.
func (c *Collector) probe(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	seen := probeReady(within, c.requests.RESTClient())
	if ctx.Err() != nil {
		return
	}
	was := c.probed && c.ready()
	c.probed = true
	c.setCondition(c.damper.observe(c.options.Clock.Now(), seen))
	if !was && c.ready() {
		c.discover(ctx)
		c.sum()
	}
}

func (c *Collector) ready() bool {
	return meta.IsStatusConditionTrue(c.status.Conditions, clusterv1alpha1.ClusterConditionReady)
}

// discover begins to read version and API list of a ready member, beside the
// probes, since a member that hangs would hold them up.
func (c *Collector) discover(ctx context.Context) {
	if !c.ready() || c.discovering != nil || ctx.Err() != nil {
		return
	}
	result := make(chan apiSurvey, 1)
	c.discovering = result
	go func() {
		var s apiSurvey
		version, err := c.requests.ServerVersion()
		if err == nil {
			s.version = version.GitVersion
			_, s.lists, err = c.requests.ServerGroupsAndResources()
		}
		s.err = err
		result <- s
	}()
}

// take puts the result of a discovery into the status. It says whether the API
// list changed: then it is worth another look soon.
func (c *Collector) take(s apiSurvey) bool {
	c.discovering, c.discovered = nil, true
	if !c.ready() {
		return false
	}
	if s.version != "" {
		c.status.KubernetesVersion = s.version
	}
	enablements := APIEnablements(s.lists)
	if len(enablements) == 0 && len(c.status.APIEnablements) > 0 && s.err != nil && apierrors.ReasonForError(s.err) == metav1.StatusReasonUnknown {
		return false // nobody answered: Ready will say so, and what the API list was still stands
	}
	c.setCondition(CompleteCondition(enablements, s.err))
	if len(enablements) == 0 || equality.Semantic.DeepEqual(c.status.APIEnablements, enablements) {
		return false
	}
	c.status.APIEnablements = enablements
	return true
}

// sum refreshes the node and resource summaries of a ready member.
func (c *Collector) sum() {
	if !c.nodes.HasSynced() || !c.pods.HasSynced() || !c.ready() {
		return
	}
	nodes := list[corev1.Node](c.nodes)
	pods := list[corev1.Pod](c.pods)
	c.status.NodeSummary = NodeSummary(nodes)
	c.status.ResourceSummary = ResourceSummary(nodes, pods, *c.models.Load())
}

func list[T any](informer cache.SharedIndexInformer) []*T {
	all := informer.GetStore().List()
	typed := make([]*T, 0, len(all))
	for _, object := range all {
		if t, ok := object.(*T); ok {
			typed = append(typed, t)
		}
	}
	return typed
}

// setCondition puts a condition in, in the order in which clients show them:
// CompleteAPIEnablements before Ready.
func (c *Collector) setCondition(condition metav1.Condition) {
	if condition.LastTransitionTime.IsZero() {
		condition.LastTransitionTime = metav1.NewTime(c.options.Clock.Now()).Rfc3339Copy()
		if old := meta.FindStatusCondition(c.status.Conditions, condition.Type); old != nil && old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
	}
	var ordered []metav1.Condition
	for _, t := range []string{clusterv1alpha1.ClusterConditionCompleteAPIEnablements, clusterv1alpha1.ClusterConditionReady} {
		if t == condition.Type {
			ordered = append(ordered, condition)
		} else if old := meta.FindStatusCondition(c.status.Conditions, t); old != nil {
			ordered = append(ordered, *old)
		}
	}
	c.status.Conditions = ordered
}

// report hands out the status if it has changed. The first report of a ready
// member waits until it is complete, or until firstWait is over.
func (c *Collector) report() {
	switch {
	case c.reported:
		if !equality.Semantic.DeepEqual(c.last, c.status) {
			c.emit()
		}
	case !c.probed:
	case !c.ready(), c.discovered && c.nodes.HasSynced() && c.pods.HasSynced():
		c.reported = c.emit()
	}
}

func (c *Collector) emit() bool {
	c.last = *c.status.DeepCopy()
	c.options.OnChange(*c.status.DeepCopy())
	return true
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
