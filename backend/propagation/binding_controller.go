package propagation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/override"
	"muster.dev/muster/backend/propagation/work"
	"muster.dev/muster/backend/template"
)

const (
	// sendLimit is how many Works of one binding are written side by side.
	sendLimit = 16
	// goneRetry is when a binding is looked at again that waits for a Work to go,
	// in case its end makes no event.
	goneRetry = 5 * time.Second
)

// Templates are the objects of the hub. *template.Cache is one.
type Templates interface {
	Get(ref template.Ref) (*unstructured.Unstructured, bool)
	Subscribe(changed func(ref template.Ref, old, current *unstructured.Unstructured))
}

// BindingReconciler makes the Works of bindings (contract sections 11.1 to 11.3):
// one for each target, and none elsewhere.
//
//	binding ──► orphans deleted ──► rendered once per distinct result
//	        ──► Works written side by side, those that say it already left alone
type BindingReconciler struct {
	hub         client.Client
	writer      work.Writer
	templates   Templates
	interpreter Interpreter
	events      *kube.Announcer
	metrics     *metrics

	unseen   *unseen
	settling *settling
	troubles *troubles
	unserved *Unserved
	// external feeds bindings that have to be looked at again, status those whose
	// status has.
	external, status *feed

	mu sync.Mutex
	// awaiting are bindings that go on when a Work of theirs is gone.
	awaiting map[types.NamespacedName]bool
}

func newBindingReconciler(hub client.Client, live client.Reader, d Deps, recorder events.EventRecorder) *BindingReconciler {
	unserved := d.Unserved
	if unserved == nil {
		unserved = NewUnserved()
	}
	return &BindingReconciler{
		hub: hub, writer: work.Writer{Hub: hub, Live: live}, templates: d.Templates, interpreter: d.Interpreter, events: kube.NewAnnouncer(recorder), metrics: shared,
		unseen: newUnseen(), settling: newSettling(clock.RealClock{}), troubles: newTroubles(), unserved: unserved,
		external: &feed{}, status: &feed{}, awaiting: map[types.NamespacedName]bool{},
	}
}

// round is one look at one binding. The objects are the cache's.
type round struct {
	*BindingReconciler
	name    types.NamespacedName
	binding work.Binding
	works   map[types.NamespacedName]bool // every Work of the binding; whether it is going already
	// template is set by findTemplate.
	template *unstructured.Unstructured
}

// Reconcile implements reconcile.Reconciler. A request without a namespace means
// a ClusterResourceBinding.
func (r *BindingReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	b := &round{BindingReconciler: r, name: request.NamespacedName, binding: work.NewBinding(request.NamespacedName), works: map[types.NamespacedName]bool{}}
	if err := r.hub.Get(ctx, b.name, b.binding, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(b.name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if _, id := b.binding.PermanentID(); id == "" {
		return ctrl.Result{}, nil // admission gives it one; that is an event
	}
	began := time.Now()
	result, err := b.run(ctx)
	r.metrics.synced(time.Since(began), err)
	return result, err
}

func (b *round) run(ctx context.Context) (ctrl.Result, error) {
	b.await(b.name, false)
	if err := b.findWorks(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if b.binding.GetDeletionTimestamp() != nil {
		return b.remove(ctx)
	}
	for _, step := range []func(context.Context) (ctrl.Result, bool, error){b.hold, b.dropOrphans, b.leaveFirst, b.findTemplate, b.settle} {
		if result, ends, err := step(ctx); err != nil || ends {
			return result, err
		}
	}
	return b.send(ctx)
}

// findWorks lists the Works of the binding, with those that the cache does not
// know yet.
func (b *round) findWorks(ctx context.Context) error {
	_, id := b.binding.PermanentID()
	known, err := works(ctx, b.hub, worksByBinding, id)
	if err != nil {
		return err
	}
	for i := range known {
		work := client.ObjectKeyFromObject(&known[i])
		b.works[work] = known[i].DeletionTimestamp != nil
		b.unseen.saw(b.name, work)
	}
	for _, work := range b.unseen.of(b.name) {
		b.works[work] = false
	}
	return nil
}

// finalizer is the one that holds the binding until its Works are deleted.
func (b *round) finalizer() string {
	if b.name.Namespace == "" {
		return workv1alpha2.ClusterResourceBindingControllerFinalizer
	}
	return workv1alpha2.BindingControllerFinalizer
}

// hold puts the finalizer on bindings that were made without.
func (b *round) hold(ctx context.Context) (ctrl.Result, bool, error) {
	finalizers := b.binding.GetFinalizers()
	if slices.Contains(finalizers, b.finalizer()) {
		return ctrl.Result{}, false, nil
	}
	result, err := kube.RetryStale(b.setFinalizers(ctx, append(slices.Clone(finalizers), b.finalizer())))
	return result, err != nil || !result.IsZero(), err
}

func (b *round) setFinalizers(ctx context.Context, finalizers []string) error {
	before, after := work.NewBinding(b.name), work.NewBinding(b.name)
	for _, o := range []work.Binding{before, after} {
		o.SetNamespace(b.name.Namespace)
		o.SetName(b.name.Name)
		o.SetResourceVersion(b.binding.GetResourceVersion())
	}
	before.SetFinalizers(b.binding.GetFinalizers())
	after.SetFinalizers(finalizers)
	if err := kube.Patch(ctx, b.hub, client.Object(before), client.Object(after)); err != nil {
		return fmt.Errorf("set finalizers of binding %s: %w", b.name, err)
	}
	return nil
}

// remove deletes the Works of a binding that goes, and lets it go. The Works go
// on by themselves once their objects have left the members.
func (b *round) remove(ctx context.Context) (ctrl.Result, error) {
	at := slices.Index(b.binding.GetFinalizers(), b.finalizer())
	if at < 0 {
		return ctrl.Result{}, nil
	}
	if err := b.delete(ctx, func(types.NamespacedName) bool { return true }); err != nil {
		return ctrl.Result{}, err
	}
	return kube.RetryStale(b.setFinalizers(ctx, slices.Delete(slices.Clone(b.binding.GetFinalizers()), at, at+1)))
}

// dropOrphans deletes the Works of clusters that are to have the template no
// longer, before others get it.
func (b *round) dropOrphans(ctx context.Context) (ctrl.Result, bool, error) {
	kept := Kept(b.binding.BindingSpec())
	return ctrl.Result{}, false, b.delete(ctx, func(work types.NamespacedName) bool {
		cluster, ok := apis.ClusterOfExecutionSpace(work.Namespace)
		return !ok || !kept[cluster]
	})
}

// delete deletes some of the binding's Works, unless they are going already.
func (b *round) delete(ctx context.Context, which func(types.NamespacedName) bool) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(sendLimit)
	for work, going := range b.works {
		if going || !which(work) {
			continue
		}
		group.Go(func() error {
			err := b.hub.Delete(inner, &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: work.Namespace, Name: work.Name}})
			if err == nil || apierrors.IsNotFound(err) {
				b.unseen.saw(b.name, work)
				return nil
			}
			return fmt.Errorf("delete work %s: %w", work, err)
		})
	}
	err := group.Wait()
	what := ""
	if err != nil {
		what = err.Error()
	}
	b.troubles.tell(b.events, b.name, "", eventCleanupFailed, what, b.binding)
	return err
}

// leaveFirst waits for the end of Works in clusters that are being left at once:
// the new copies may not run beside the old ones.
func (b *round) leaveFirst(context.Context) (ctrl.Result, bool, error) {
	leaving, kept := purged(b.binding.BindingSpec()), Kept(b.binding.BindingSpec())
	for work := range b.works {
		if cluster, _ := apis.ClusterOfExecutionSpace(work.Namespace); leaving[cluster] && !kept[cluster] {
			b.await(b.name, true)
			return ctrl.Result{RequeueAfter: goneRetry}, true, nil
		}
	}
	return ctrl.Result{}, false, nil
}

// findTemplate ends the round while there is no template, or another one under
// the name: its event leads on, or the binding goes with it.
func (b *round) findTemplate(context.Context) (ctrl.Result, bool, error) {
	found, ok := b.templates.Get(refOf(&b.binding.BindingSpec().Resource))
	if uid := b.binding.BindingSpec().Resource.UID; !ok || uid != "" && uid != found.GetUID() {
		return ctrl.Result{}, true, nil
	}
	b.template = template.Claimed(found, b.binding)
	return ctrl.Result{}, false, nil
}

func refOf(o *workv1alpha2.ObjectReference) template.Ref {
	return template.Ref{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

func (b *round) settle(ctx context.Context) (ctrl.Result, bool, error) {
	replicas := b.binding.BindingSpec().Replicas
	if isWorkload(b.binding.BindingSpec()) {
		n, _, known, err := b.interpreter.Replicas(ctx, b.template)
		if err == nil && known {
			replicas = n
		}
	}
	if unsettled(b.binding, b.template, replicas) == "" {
		b.settling.done(b.name)
		return ctrl.Result{}, false, nil
	}
	left := b.settling.left(b.name, settleLimit)
	return ctrl.Result{RequeueAfter: left}, left > 0, nil
}

// send writes the Works of all targets. One that fails stops no other.
func (b *round) send(ctx context.Context) (ctrl.Result, error) {
	overrides, err := overridesFor(ctx, b.hub, b.template.GetNamespace())
	if err != nil {
		return ctrl.Result{}, err
	}
	renderer := NewRenderer(Source{Template: b.template, Binding: b.binding, Overrides: overrides}, b.interpreter)
	b.troubles.tell(b.events, b.name, "", eventOddConflict, renderer.oddConflictResolution(), b.template)
	var mu sync.Mutex
	failed, stuck, news := failures{}, false, sent{}
	standing := map[string]string{} // the names of Works by their namespace
	var group errgroup.Group
	group.SetLimit(sendLimit)
	for _, target := range Targets(b.binding.BindingSpec()) {
		group.Go(func() error {
			s, err := b.serve(ctx, renderer, target)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[target.Cluster] = err
				return nil
			}
			stuck = stuck || s.done == work.Blocked
			if s.done == work.Written || s.done == work.Same {
				standing[s.work.Namespace] = s.work.Name
			}
			if s.done == work.Written {
				news.clusters = append(news.clusters, target.Cluster)
				news.overridden = news.overridden || s.overridden
			}
			return nil
		})
	}
	_ = group.Wait() // never fails: what failed is noted
	b.report(failed, news)
	// A Work is called after its object. Where overrides give that another name, the
	// one by the old name is nobody's any more.
	err = b.delete(ctx, func(work types.NamespacedName) bool {
		name, stands := standing[work.Namespace]
		return stands && name != work.Name
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if stuck {
		b.await(b.name, true)
	}
	if len(failed) > 0 {
		return ctrl.Result{}, fmt.Errorf("make works of binding %s: %s", b.name, failed.sentence())
	}
	if stuck {
		return ctrl.Result{RequeueAfter: goneRetry}, nil
	}
	return ctrl.Result{}, nil
}

// serve writes the Work of one target. A cluster that is not there, or going,
// gets none: its coming makes an event.
func (b *round) serve(ctx context.Context, renderer *Renderer, target Target) (served, error) {
	var cluster clusterv1alpha1.Cluster
	err := b.hub.Get(ctx, types.NamespacedName{Name: target.Cluster}, &cluster, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || err == nil && cluster.DeletionTimestamp != nil {
		return served{done: work.Waiting}, nil
	}
	if err != nil {
		return served{}, fmt.Errorf("read cluster %s: %w", target.Cluster, err)
	}
	rendered, err := renderer.Render(ctx, target, &cluster)
	if err != nil {
		return served{}, err
	}
	wanted, err := renderer.task(target, rendered)
	if err != nil {
		return served{}, err
	}
	wanted.Known = b.unseen.get(b.name, wanted.Key())
	done, err := b.writer.Send(ctx, wanted)
	if done == work.Written && err == nil {
		if _, known := b.works[wanted.Key()]; !known {
			b.unseen.add(b.name, wanted.Known)
		}
	}
	return served{work: wanted.Key(), done: done, overridden: len(rendered.Cluster)+len(rendered.Namespaced) > 0}, err
}

// served is what became of one target.
type served struct {
	work       types.NamespacedName
	done       work.Outcome
	overridden bool
}

// sent are the clusters that were sent something new.
type sent struct {
	clusters   []string
	overridden bool // at least for one of them
}

// report tells of targets that could not be served, and once they can; and, in
// measure, of those that were.
func (b *round) report(failed failures, done sent) {
	overridden, others := failures{}, failures{}
	for cluster, err := range failed {
		var policy *overrideError
		if errors.As(err, &policy) {
			overridden[cluster] = err
		} else {
			others[cluster] = err
		}
	}
	b.troubles.tell(b.events, b.name, eventOverride, eventOverrideFailed, overridden.sentence(), b.template)
	b.troubles.tell(b.events, b.name, eventSyncWork, eventSyncWorkFailed, failed.sentence(), b.binding, b.template)
	if b.unserved.Set(b.name, failed.messages()) {
		b.status.add(b.name)
	}
	if len(done.clusters) == 0 {
		return
	}
	slices.Sort(done.clusters)
	clusters := strings.Join(done.clusters, ", ")
	for _, about := range []runtime.Object{b.binding, b.template} {
		b.events.Routine(about, nil, eventSyncWork, "Sync", "sent to %s", clusters)
	}
	if done.overridden {
		b.events.Routine(b.template, nil, eventOverride, "Sync", "override policies were applied for %s", clusters)
	}
}

// overridesFor returns the override policies that may mean objects of a namespace.
// They are the cache's.
func overridesFor(ctx context.Context, hub client.Reader, namespace string) (override.Policies, error) {
	var policies override.Policies
	var cluster policyv1alpha1.ClusterOverridePolicyList
	if err := hub.List(ctx, &cluster, client.UnsafeDisableDeepCopy); err != nil {
		return policies, fmt.Errorf("list cluster override policies: %w", err)
	}
	for i := range cluster.Items {
		policies.Cluster = append(policies.Cluster, &cluster.Items[i])
	}
	if namespace == "" {
		return policies, nil
	}
	var namespaced policyv1alpha1.OverridePolicyList
	if err := hub.List(ctx, &namespaced, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return policies, fmt.Errorf("list override policies of namespace %s: %w", namespace, err)
	}
	for i := range namespaced.Items {
		policies.Namespaced = append(policies.Namespaced, &namespaced.Items[i])
	}
	return policies, nil
}

func (r *BindingReconciler) forget(binding types.NamespacedName) {
	r.settling.done(binding)
	r.troubles.forget(binding)
	r.unserved.Set(binding, nil)
	r.await(binding, false)
}

func (r *BindingReconciler) await(binding types.NamespacedName, awaits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if awaits {
		r.awaiting[binding] = true
	} else {
		delete(r.awaiting, binding)
	}
}

func (r *BindingReconciler) awaits(binding types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.awaiting[binding]
}
