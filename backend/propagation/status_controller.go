package propagation

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/propagation/work"
)

const (
	// gatherFor is how long the status of a binding waits for more of the same
	// burst once something changed.
	gatherFor = 20 * time.Millisecond
	// completeWithin is how long it waits for the rest of its clusters when some
	// have not answered to the latest change: one write tells of all. What they told
	// is told then, whoever is missing.
	completeWithin = 3 * time.Second
	// stormWithin is how long both wait while more than stormSize bindings do: then
	// a member has simply not got to it yet. One that does not answer at all counts
	// as away before.
	stormWithin = time.Minute
	stormSize   = 10
	// startWithin is how long a new binding waits for the first of them: that none
	// has answered yet is no news.
	startWithin = 5 * time.Second
)

// StatusReconciler tells on bindings, and on their templates, what the clusters
// report (contract section 11.6). It is the only writer of FullyApplied and
// aggregatedStatus. A burst of reports makes one write, and reports that change
// nothing make none.
type StatusReconciler struct {
	hub         client.Client
	templates   Templates
	interpreter Interpreter
	events      *kube.Announcer
	troubles    *troubles
	unserved    *Unserved
	// starting and gathering remember since when bindings wait for a first report,
	// and for the rest of them.
	starting, gathering *settling
	external            *feed
}

func newStatusReconciler(hub client.Client, d Deps, bindings *BindingReconciler, recorder events.EventRecorder) *StatusReconciler {
	return &StatusReconciler{
		hub: hub, templates: d.Templates, interpreter: d.Interpreter, events: kube.NewAnnouncer(recorder),
		troubles: newTroubles(), unserved: bindings.unserved, starting: newSettling(clock.RealClock{}), gathering: newSettling(clock.RealClock{}), external: bindings.status,
	}
}

// setup starts the reconciler with the manager.
func (r *StatusReconciler) setup(m ctrl.Manager) error {
	changed := builder.WithPredicates(bindingChanged)
	return ctrl.NewControllerManagedBy(m).Named("binding-status").
		For(&workv1alpha2.ResourceBinding{}, changed).
		Watches(&workv1alpha2.ClusterResourceBinding{}, &handler.EnqueueRequestForObject{}, changed).
		Watches(&workv1alpha1.Work{}, handler.Funcs{CreateFunc: r.onWorkCreated, UpdateFunc: r.onWorkChanged, DeleteFunc: r.onWorkDeleted}).
		WatchesRawSource(r.external.source()).
		WithOptions(options()).
		Complete(r)
}

func (r *StatusReconciler) onWorkCreated(_ context.Context, e event.CreateEvent, q queue) {
	if w, ok := e.Object.(*workv1alpha1.Work); ok && len(w.Status.Conditions) > 0 {
		gather(w, q)
	}
}

func (r *StatusReconciler) onWorkChanged(_ context.Context, e event.UpdateEvent, q queue) {
	before, ok := e.ObjectOld.(*workv1alpha1.Work)
	after, okAfter := e.ObjectNew.(*workv1alpha1.Work)
	if ok && okAfter && statusChanged(before, after) {
		gather(after, q)
	}
}

func (r *StatusReconciler) onWorkDeleted(_ context.Context, e event.DeleteEvent, q queue) {
	if w, ok := e.Object.(*workv1alpha1.Work); ok {
		gather(w, q)
	}
}

func gather(reported *workv1alpha1.Work, q queue) {
	if binding, ok := work.BindingName(reported.Annotations); ok {
		q.AddAfter(reconcile.Request{NamespacedName: binding}, gatherFor)
	}
}

// Reconcile implements reconcile.Reconciler. A request without a namespace means
// a ClusterResourceBinding.
func (r *StatusReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	name := request.NamespacedName
	b := work.NewBinding(name)
	if err := r.hub.Get(ctx, name, b, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.troubles.forget(name)
			r.starting.done(name)
			r.gathering.done(name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	_, id := b.PermanentID()
	if id == "" || b.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, nil
	}
	known, err := works(ctx, r.hub, worksByBinding, id)
	if err != nil {
		return ctrl.Result{}, err
	}
	told := summarize(b, known, r.unserved.Of(name), func(cluster string) bool { return r.away(ctx, cluster) })
	wanted := told.apply(b.BindingStatus())
	if wanted != nil {
		if left := r.patience(name, b, &told); left > 0 {
			return ctrl.Result{RequeueAfter: left}, nil
		}
	}
	r.starting.done(name)
	r.gathering.done(name)
	if wanted != nil {
		if err := r.write(ctx, name, b, wanted); err != nil {
			return kube.RetryStale(err)
		}
		r.announce(b, wanted)
	}
	if told.applied == nil {
		return ctrl.Result{}, nil // never scheduled
	}
	return r.aggregate(ctx, name, b, told.items)
}

// announce tells, in measure, that a status has been summed up for the first time.
func (r *StatusReconciler) announce(b work.Binding, wanted *workv1alpha2.ResourceBindingStatus) {
	if len(b.BindingStatus().AggregatedStatus) > 0 || len(wanted.AggregatedStatus) == 0 {
		return
	}
	r.events.Routine(b, nil, eventAggregate, "AggregateStatus", "what the clusters report is summed up")
	if template, ok := r.templates.Get(refOf(&b.BindingSpec().Resource)); ok {
		r.events.Routine(template, nil, eventAggregate, "AggregateStatus", "what the clusters report is summed up")
	}
}

// away says whether a cluster cannot answer now.
func (r *StatusReconciler) away(ctx context.Context, name string) bool {
	var cluster clusterv1alpha1.Cluster
	err := r.hub.Get(ctx, types.NamespacedName{Name: name}, &cluster, client.UnsafeDisableDeepCopy)
	return err != nil || !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
}

// patience is how long a report waits for more.
func (r *StatusReconciler) patience(name types.NamespacedName, b work.Binding, told *report) time.Duration {
	first := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.FullyApplied) == nil
	switch {
	case told.complete:
		return 0
	case first && !told.any:
		return r.starting.patience(name, startWithin)
	}
	return r.gathering.patience(name, completeWithin)
}

// write sends the status. It goes by what the cache knows; if that is outdated
// the API refuses.
func (r *StatusReconciler) write(ctx context.Context, name types.NamespacedName, b work.Binding, wanted *workv1alpha2.ResourceBindingStatus) error {
	before, after := work.NewBinding(name), work.NewBinding(name)
	for _, o := range []work.Binding{before, after} {
		o.SetNamespace(name.Namespace)
		o.SetName(name.Name)
		o.SetResourceVersion(b.GetResourceVersion())
	}
	*before.BindingStatus(), *after.BindingStatus() = *b.BindingStatus(), *wanted
	if err := kube.PatchStatus(ctx, r.hub, client.Object(before), client.Object(after)); err != nil {
		return fmt.Errorf("write status of binding %s: %w", name, err)
	}
	return nil
}

// aggregate writes the sum onto the template, for kinds that have one.
func (r *StatusReconciler) aggregate(ctx context.Context, name types.NamespacedName, b work.Binding, items []workv1alpha2.AggregatedStatusItem) (ctrl.Result, error) {
	ref := refOf(&b.BindingSpec().Resource)
	found, ok := r.templates.Get(ref)
	if uid := b.BindingSpec().Resource.UID; !ok || uid != "" && uid != found.GetUID() || found.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, nil
	}
	changed, aggregates, err := r.interpreter.Aggregate(ctx, found, items)
	if err == nil && aggregates && changed != nil {
		err = r.writeTemplate(ctx, found, changed)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return kube.RetryStale(err)
	}
	what := ""
	if err != nil {
		what = err.Error()
		err = fmt.Errorf("aggregate status of %s: %w", ref, err)
	}
	r.troubles.tell(r.events, name, eventAggregate, eventAggregateFailed, what, b, found)
	return ctrl.Result{}, err
}

// writeTemplate writes a template's status, if it differs, and nothing else of it:
// the cache does not hold all of a template's metadata, and a PUT of the status
// would take annotations away. A kind without a status subresource keeps its
// status to itself: writing it would be a change of the template, to be carried to
// every cluster again.
func (r *StatusReconciler) writeTemplate(ctx context.Context, stored, wanted *unstructured.Unstructured) error {
	if equality.Semantic.DeepEqual(stored.Object["status"], wanted.Object["status"]) {
		return nil
	}
	slim := func(status any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": stored.GetAPIVersion(), "kind": stored.GetKind()}}
		o.SetNamespace(stored.GetNamespace())
		o.SetName(stored.GetName())
		o.SetResourceVersion(stored.GetResourceVersion())
		if status != nil {
			o.Object["status"] = status
		}
		return o
	}
	before := slim(stored.Object["status"])
	return r.hub.Status().Patch(ctx, slim(wanted.Object["status"]), client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
