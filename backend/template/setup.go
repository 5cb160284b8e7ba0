package template

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/template/aim"
)

const (
	// detectorWorkers is how many templates are handled side by side.
	detectorWorkers = 16
	// policyWorkers is how many changes of policies are.
	policyWorkers = 4
	// retryFirst and retryMost bound the wait before a template that could not be
	// handled is tried again.
	retryFirst = 5 * time.Millisecond
	retryMost  = time.Minute
)

// Interpreter knows kinds. *interpret.Interpreter is one.
type Interpreter interface {
	Replicas(ctx context.Context, o *unstructured.Unstructured) (n int32, need *workv1alpha2.ReplicaRequirements, workload bool, err error)
	Components(ctx context.Context, o *unstructured.Unstructured) (parts []workv1alpha2.Component, known bool, err error)
	Dependencies(ctx context.Context, o *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error)
	OnChange(changed func(affects func(schema.GroupVersionKind) bool)) (stop func())
}

// Placer schedules a binding that is about to be created. *scheduling.Scheduler
// is one.
type Placer interface {
	Place(b workv1alpha2.Binding)
}

// Deps are what the controllers of this package work with.
type Deps struct {
	// Config reaches the hub.
	Config      *rest.Config
	Interpreter Interpreter
	Scheduler   Placer
	// SkippedNamespaces are regular expressions for whole names; nil stands for
	// DefaultSkippedNamespaces.
	SkippedNamespaces []string
	Gates             policy.Gates
	// Misses takes in which policies select nothing; nil if nobody shows it.
	Misses *policy.Misses
	// Troubles takes in which templates cannot be propagated; nil if nobody shows it.
	Troubles *Troubles
}

// SetupWithManager adds the cache and the controllers of this package to the
// manager.
func SetupWithManager(m ctrl.Manager, d Deps) (*Cache, error) {
	if d.SkippedNamespaces == nil {
		d.SkippedNamespaces = DefaultSkippedNamespaces
	}
	scope, err := NewScope(d.SkippedNamespaces)
	if err != nil {
		return nil, err
	}
	templates, err := NewCache(d.Config, CacheOptions{Scope: scope, Log: slog.Default()})
	if err != nil {
		return nil, err
	}
	if err := setupControllers(m, d, templates); err != nil {
		return nil, err
	}
	if err := aim.SetupWithManager(m, aim.Deps{Templates: templates, Scope: scope, Misses: d.Misses}); err != nil {
		return nil, err
	}
	return templates, m.Add(templates)
}

func newDetector(m ctrl.Manager, deps Deps, templates *Cache) (*detector, error) {
	config := rest.CopyConfig(deps.Config)
	config.QPS = -1
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build client of templates: %w", err)
	}
	return &detector{
		cache: templates, hub: m.GetClient(), live: m.GetAPIReader(), metadata: objects,
		interpreter: deps.Interpreter, scheduler: deps.Scheduler, gates: deps.Gates,
		policies: newPolicies(), troubles: newTroubles(deps.Troubles, m.GetEventRecorder("resource-detector")),
		changes: map[Ref]change{}, claimed: map[string]map[Ref]struct{}{}, blocked: map[types.NamespacedName]map[Ref]struct{}{},
	}, nil
}

func setupControllers(m ctrl.Manager, deps Deps, templates *Cache) error {
	d, err := newDetector(m, deps, templates)
	if err != nil {
		return err
	}
	dependents := &distributor{detector: d, parents: newParents()}
	templates.Subscribe(d.templateChanged)
	if deps.Gates.PropagateDeps {
		templates.Subscribe(dependents.templateChanged)
	}
	deps.Interpreter.OnChange(func(affects func(schema.GroupVersionKind) bool) { // for good: it lives as long
		relearned := d.relearned(affects)
		if deps.Gates.PropagateDeps {
			dependents.relearned(relearned)
		}
	})
	ears := &listening{cache: m.GetCache(), told: map[client.Object]func(o client.Object, gone bool){
		&policyv1alpha1.PropagationPolicy{}:        d.tellPolicy,
		&policyv1alpha1.ClusterPropagationPolicy{}: d.tellPolicy,
		&policyv1alpha1.OverridePolicy{}:           d.tellOverride,
		&policyv1alpha1.ClusterOverridePolicy{}:    d.tellOverride,
		&workv1alpha2.ClusterResourceBinding{}:     d.tellBinding,
		&workv1alpha2.ResourceBinding{}: func(o client.Object, gone bool) {
			d.tellBinding(o, gone)
			if b, ok := o.(*workv1alpha2.ResourceBinding); ok && deps.Gates.PropagateDeps {
				dependents.bindingChanged(b, gone)
			}
		},
	}}
	ready := func() bool { return ears.heard() && templates.Synced() }
	d.templates.ready, d.policyChanges.ready, dependents.requests.ready = ready, ready, ready
	if err := m.Add(ears); err != nil {
		return err
	}
	if err := start(m, "detector", d, &d.templates, detectorWorkers); err != nil {
		return err
	}
	if err := start(m, "propagation-policy", &policyController{d}, &d.policyChanges, policyWorkers); err != nil {
		return err
	}
	if deps.Gates.PropagateDeps {
		if err := start(m, "dependencies-distributor", dependents, &dependents.requests, dependencyWorkers); err != nil {
			return err
		}
	}
	return (&rebalancer{hub: m.GetClient(), clock: clock.RealClock{}}).setupWithManager(m)
}

// start adds a controller that a feed fills to the manager.
func start[T comparable](m ctrl.Manager, name string, r reconcile.TypedReconciler[T], from *feed[T], workers int) error {
	c, err := controller.NewTyped(name, m, controller.TypedOptions[T]{
		Reconciler: r, MaxConcurrentReconciles: workers,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[T](retryFirst, retryMost),
	})
	if err == nil {
		err = c.Watch(from)
	}
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", name, err)
	}
	return nil
}

func (d *detector) tellPolicy(o client.Object, gone bool) {
	if gone {
		d.policyChanged(keyOf(o), nil)
		return
	}
	d.policyChanged(keyOf(o), o)
}

func (d *detector) tellOverride(o client.Object, gone bool) {
	if !gone {
		d.overrideMade(keyOf(o))
	}
}

func (d *detector) tellBinding(o client.Object, gone bool) {
	b, ok := o.(workv1alpha2.Binding)
	switch {
	case !ok:
	case gone:
		d.bindingGone(b)
	default:
		d.bindingSeen(b)
	}
}
