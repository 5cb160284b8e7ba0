package aim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/template/catalog"
)

// Reasons of Events about a policy; no other component has them.
const (
	eventLost  = "MatchesNothing"
	eventFound = "MatchesObjects"
)

// lookAgain is how often it is looked what a policy misses that selects nothing:
// a kind that is installed meanwhile changes the cause.
const lookAgain = time.Minute

// Deps are what the controller works with.
type Deps struct {
	Templates *catalog.Cache
	// Scope says which namespaces nothing is propagated from.
	Scope *catalog.Scope
	// Misses takes in what policies miss; nil if nobody shows it.
	Misses *policy.Misses
}

// reconciler looks whether policies select anything.
type reconciler struct {
	hub       client.Reader
	templates templates
	synced    func() bool
	scope     *catalog.Scope
	misses    *policy.Misses
	events    *kube.Announcer
	clock     clock.PassiveClock

	mu     sync.Mutex
	queue  workqueue.TypedRateLimitingInterface[policy.Target]
	known  map[policy.Target]*aim
	byKind map[kindIn]map[policy.Target]*aim
}

// aim is a policy by what it selects.
type aim struct {
	selectors []policyv1alpha1.ResourceSelector
	state     state
}

type kindIn struct{ apiVersion, kind string }

// SetupWithManager adds the controller to a manager that does not run yet.
func SetupWithManager(m ctrl.Manager, d Deps) error {
	r := &reconciler{
		hub: m.GetCache(), templates: served{d.Templates}, synced: d.Templates.Synced, scope: d.Scope, misses: d.Misses,
		events: kube.NewAnnouncer(m.GetEventRecorder("policy-aim")), clock: clock.RealClock{},
		known: map[policy.Target]*aim{}, byKind: map[kindIn]map[policy.Target]*aim{},
	}
	if r.misses == nil {
		r.misses = policy.NewMisses()
	}
	d.Templates.Subscribe(func(_ catalog.Ref, old, current *unstructured.Unstructured) { r.templateChanged(old, current) })
	b := builder.TypedControllerManagedBy[policy.Target](m).Named("policy-aim").
		WatchesRawSource(source.TypedFunc[policy.Target](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[policy.Target]) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.queue = queue
			return nil
		}))
	for _, kind := range policy.Kinds {
		target := func(_ context.Context, o client.Object) []policy.Target {
			return []policy.Target{{Resource: kind.Resource, Namespace: o.GetNamespace(), Name: o.GetName()}}
		}
		b = b.Watches(kind.New(), handler.TypedEnqueueRequestsFromMapFunc(target), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("set up controller policy-aim: %w", err)
	}
	return nil
}

// Reconcile implements reconcile.TypedReconciler.
func (r *reconciler) Reconcile(ctx context.Context, target policy.Target) (ctrl.Result, error) {
	kind, err := policy.KindOf(target.Resource)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("look at %s: %w", target.Name, err)
	}
	object := kind.New()
	err = r.hub.Get(ctx, client.ObjectKey{Namespace: target.Namespace, Name: target.Name}, object)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("read %s %s: %w", kind.Name, target.Name, err)
	}
	if err != nil || object.GetDeletionTimestamp() != nil {
		r.drop(target)
		r.show(target, nil, false, verdict{})
		return ctrl.Result{}, nil
	}
	selectors := selectorsOf(object)
	r.watch(target, selectors) // before it is judged: an object may come while we look
	seen := verdict{unsure: true}
	if r.synced() {
		seen = judge(r.templates, selectors)
	}
	next := r.next(target, object, seen)
	r.show(target, selectors, next.told, seen)
	switch next.tell {
	case tellFound:
		kube.Tell(r.events, object, corev1.EventTypeNormal, eventFound, "Select", "the policy selects objects now")
	case tellLost:
		kube.Tell(r.events, object, corev1.EventTypeWarning, eventLost, "Select", policy.TellMisses(r.misses.Of(target)))
	}
	return ctrl.Result{RequeueAfter: next.again}, nil
}

// show has the dashboard say what a policy misses, if that is not what it says.
func (r *reconciler) show(target policy.Target, selectors []policyv1alpha1.ResourceSelector, told bool, seen verdict) {
	if told && seen.unsure {
		return // what was true last stands
	}
	var misses []policy.Miss
	if told {
		misses = explain(r.templates, r.scope, selectors)
	}
	if !slices.Equal(r.misses.Of(target), misses) {
		r.misses.Set(target, misses)
	}
}

// watch has changes of templates bring a policy back.
func (r *reconciler) watch(target policy.Target, selectors []policyv1alpha1.ResourceSelector) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.known[target]
	if a == nil {
		a = &aim{}
		r.known[target] = a
	}
	r.unindex(target, a)
	a.selectors = selectors
	for i := range selectors {
		kind := kindIn{selectors[i].APIVersion, selectors[i].Kind}
		if r.byKind[kind] == nil {
			r.byKind[kind] = map[policy.Target]*aim{}
		}
		r.byKind[kind][target] = a
	}
	if a.state.since.IsZero() {
		a.state.since = r.clock.Now() // until it is known to select something
	}
}

func (r *reconciler) unindex(target policy.Target, a *aim) {
	for i := range a.selectors {
		kind := kindIn{a.selectors[i].APIVersion, a.selectors[i].Kind}
		delete(r.byKind[kind], target)
		if len(r.byKind[kind]) == 0 {
			delete(r.byKind, kind)
		}
	}
}

func (r *reconciler) next(target policy.Target, object client.Object, seen verdict) outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[target].state.next(object.GetUID(), seen, r.clock.Now())
}

func (r *reconciler) drop(target policy.Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.known[target]; a != nil {
		r.unindex(target, a)
		delete(r.known, target)
	}
}

// templateChanged brings back the policies that the change of a template may
// bring from selecting something to nothing, or back.
func (r *reconciler) templateChanged(old, current *unstructured.Unstructured) {
	if old != nil && current != nil && maps.Equal(old.GetLabels(), current.GetLabels()) {
		return
	}
	one := current
	if one == nil {
		one = old
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queue == nil {
		return // every policy is looked at once the controller runs
	}
	for target, a := range r.byKind[kindIn{one.GetAPIVersion(), one.GetKind()}] {
		lost := !a.state.since.IsZero()
		if lost && current == nil || !lost && old == nil {
			continue
		}
		before, after := means(a.selectors, old), means(a.selectors, current)
		if lost && after || !lost && before && !after {
			r.queue.Add(target)
		}
	}
}

func means(selectors []policyv1alpha1.ResourceSelector, o *unstructured.Unstructured) bool {
	return o != nil && policy.MatchAny(selectors, o) != policy.MatchNone
}

// served adds to the templates which kinds there are.
type served struct{ *catalog.Cache }

// Served implements templates.
func (s served) Served(kind schema.GroupKind) (apiVersion string, known bool) {
	mappings, err := s.Mapper().RESTMappings(kind)
	for _, mapping := range mappings {
		version := mapping.GroupVersionKind.GroupVersion().String()
		if _, ok := s.Resource(version, kind.Kind); ok {
			return version, true
		}
	}
	return "", err == nil
}
