package propagation

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/propagation/work"
	"muster.dev/muster/backend/template"
)

// queue is what controllers of this package take their requests from.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

const (
	workers    = 16
	retryFirst = 100 * time.Millisecond
	retryMost  = time.Minute
)

// options are those of the controllers here. What fails is tried again soon, and
// then ever more seldom.
func options() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMost),
	}
}

// setup starts the reconciler with the manager.
func (r *BindingReconciler) setup(m ctrl.Manager) error {
	changed := builder.WithPredicates(bindingChanged)
	overrides := handler.Funcs{CreateFunc: r.onOverrideCreated, UpdateFunc: r.onOverrideChanged, DeleteFunc: r.onOverrideDeleted}
	return ctrl.NewControllerManagedBy(m).Named("binding").
		For(&workv1alpha2.ResourceBinding{}, changed).
		Watches(&workv1alpha2.ClusterResourceBinding{}, &handler.EnqueueRequestForObject{}, changed).
		Watches(&workv1alpha1.Work{}, handler.Funcs{CreateFunc: r.onWorkCreated, DeleteFunc: r.onWorkDeleted}).
		Watches(&policyv1alpha1.OverridePolicy{}, overrides, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&policyv1alpha1.ClusterOverridePolicy{}, overrides, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&clusterv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, cluster client.Object) []reconcile.Request {
			return r.requestsOf(ctx, cluster.GetName())
		}), builder.WithPredicates(clusterChanged)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, space client.Object) []reconcile.Request {
			cluster, _ := apis.ClusterOfExecutionSpace(space.GetName())
			return r.requestsOf(ctx, cluster)
		}), builder.WithPredicates(spaceCreated)).
		WatchesRawSource(r.external.source()).
		WithOptions(options()).
		Complete(r)
}

// bindingChanged drops the updates that Works do not depend on, status above all.
var bindingChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
		(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil) ||
		!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
}}

// clusterChanged keeps the events after which an override may mean a cluster that
// it did not mean, and the coming of clusters.
var clusterChanged = predicate.Funcs{
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
		after, okAfter := e.ObjectNew.(*clusterv1alpha1.Cluster)
		return ok && okAfter && (before.UID != after.UID || !maps.Equal(before.Labels, after.Labels) || before.Spec.Provider != after.Spec.Provider ||
			before.Spec.Region != after.Spec.Region || !slices.Equal(before.Spec.Zones, after.Spec.Zones))
	},
}

// spaceCreated keeps the coming of execution spaces.
var spaceCreated = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool {
		_, ok := apis.ClusterOfExecutionSpace(e.Object.GetName())
		return ok
	},
	UpdateFunc:  func(event.UpdateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

func (r *BindingReconciler) requestsOf(ctx context.Context, cluster string) []reconcile.Request {
	names, err := bindingsOf(ctx, r.hub, cluster)
	if err != nil {
		return nil // the cache is stopping
	}
	requests := make([]reconcile.Request, 0, len(names))
	for _, name := range names {
		requests = append(requests, reconcile.Request{NamespacedName: name})
	}
	return requests
}

func (r *BindingReconciler) onWorkCreated(_ context.Context, e event.CreateEvent, _ queue) {
	if binding, ok := work.BindingName(e.Object.GetAnnotations()); ok {
		r.unseen.saw(binding, client.ObjectKeyFromObject(e.Object))
	}
}

// onWorkDeleted lets bindings go on that wait for it. Others are left alone: a
// client that leaves deletes its Works, and must not get them back (contract
// section 6.7).
func (r *BindingReconciler) onWorkDeleted(_ context.Context, e event.DeleteEvent, q queue) {
	binding, ok := work.BindingName(e.Object.GetAnnotations())
	if !ok {
		return
	}
	r.unseen.saw(binding, client.ObjectKeyFromObject(e.Object))
	if r.awaits(binding) {
		q.Add(reconcile.Request{NamespacedName: binding})
	}
}

func (r *BindingReconciler) onOverrideCreated(ctx context.Context, e event.CreateEvent, q queue) {
	r.enqueueMeant(ctx, q, e.Object)
}

func (r *BindingReconciler) onOverrideChanged(ctx context.Context, e event.UpdateEvent, q queue) {
	r.enqueueMeant(ctx, q, e.ObjectOld, e.ObjectNew)
}

func (r *BindingReconciler) onOverrideDeleted(ctx context.Context, e event.DeleteEvent, q queue) {
	r.enqueueMeant(ctx, q, e.Object)
}

// enqueueMeant looks again at the bindings whose templates one of the override
// policies means.
func (r *BindingReconciler) enqueueMeant(ctx context.Context, q queue, policies ...client.Object) {
	var specs []*policyv1alpha1.OverrideSpec
	lists := []client.ObjectList{&workv1alpha2.ResourceBindingList{}}
	var within []client.ListOption
	for _, p := range policies {
		switch p := p.(type) {
		case *policyv1alpha1.OverridePolicy:
			specs, within = append(specs, &p.Spec), []client.ListOption{client.InNamespace(p.Namespace)}
		case *policyv1alpha1.ClusterOverridePolicy:
			specs, lists = append(specs, &p.Spec), []client.ObjectList{&workv1alpha2.ResourceBindingList{}, &workv1alpha2.ClusterResourceBindingList{}}
		}
	}
	for _, list := range lists {
		if err := r.hub.List(ctx, list, append(within, client.UnsafeDisableDeepCopy)...); err != nil {
			return // the cache is stopping
		}
		for _, b := range bindingsIn(list) {
			if o, ok := r.templates.Get(refOf(&b.BindingSpec().Resource)); ok && meansAny(specs, o) {
				q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
			}
		}
	}
}

func meansAny(specs []*policyv1alpha1.OverrideSpec, o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(specs, func(spec *policyv1alpha1.OverrideSpec) bool { return policy.MatchOverride(spec, o) != policy.MatchNone })
}

// feed puts requests into a controller's queue from outside. What comes before the
// controller runs is left out: everything is looked at then anyway.
type feed struct {
	mu sync.Mutex
	to queue
}

func (f *feed) add(name types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.to != nil {
		f.to.Add(reconcile.Request{NamespacedName: name})
	}
}

func (f *feed) source() source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.to = q
		return nil
	})
}

// followTemplates looks again at the bindings of templates that change. Bindings
// that were made from a change come by their own event as well; this one is for
// those that waited for the cache. The status is written anew to templates that
// come: it may have changed while the hub was down.
func followTemplates(templates Templates, bindings, status *feed) {
	templates.Subscribe(func(ref template.Ref, old, current *unstructured.Unstructured) {
		name := types.NamespacedName{Namespace: ref.Namespace, Name: template.BindingName(ref.Name, ref.Kind)}
		if current != nil && significant(old, current) {
			bindings.add(name)
		}
		if current != nil && old == nil {
			status.add(name)
		}
	})
}

// relearn looks again at bindings whose kinds are understood differently.
type relearn struct {
	hub         client.Reader
	interpreter interface {
		OnChange(changed func(affects func(schema.GroupVersionKind) bool)) (stop func())
	}
	feeds []*feed
}

// Start follows the interpreter until ctx ends.
func (r *relearn) Start(ctx context.Context) error {
	changes := make(chan func(schema.GroupVersionKind) bool)
	defer r.interpreter.OnChange(func(affects func(schema.GroupVersionKind) bool) {
		select {
		case changes <- affects:
		case <-ctx.Done():
		}
	})()
	for {
		select {
		case <-ctx.Done():
			return nil
		case affects := <-changes:
			r.enqueue(ctx, affects)
		}
	}
}

func (r *relearn) enqueue(ctx context.Context, affects func(schema.GroupVersionKind) bool) {
	for _, list := range []client.ObjectList{&workv1alpha2.ResourceBindingList{}, &workv1alpha2.ClusterResourceBindingList{}} {
		if err := r.hub.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return // the cache is stopping
		}
		for _, b := range bindingsIn(list) {
			if resource := b.BindingSpec().Resource; !affects(schema.FromAPIVersionAndKind(resource.APIVersion, resource.Kind)) {
				continue
			}
			for _, f := range r.feeds {
				f.add(client.ObjectKeyFromObject(b))
			}
		}
	}
}

// statusChanged says whether two Works report differently.
func statusChanged(before, after *workv1alpha1.Work) bool {
	return before.Generation != after.Generation || !maps.Equal(before.Annotations, after.Annotations) || !equality.Semantic.DeepEqual(before.Status, after.Status)
}
