package eviction

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
)

// BindingReconciler evicts the targets of bindings and ends evictions. A request
// without a namespace means a ClusterResourceBinding.
type BindingReconciler struct {
	hub    client.Client
	events events.EventRecorder
	deps   Deps
	pace   *rate.Limiter

	mu sync.Mutex
	// unhealthy is since when the application of a binding is, by cluster.
	unhealthy map[types.NamespacedName]map[string]time.Time
	// waiting is how many targets of a binding wait for their turn to be evicted.
	waiting map[types.NamespacedName]int
	state   speechless
}

// NewBindingReconciler returns the reconciler.
func NewBindingReconciler(hub client.Client, recorder events.EventRecorder, deps Deps) *BindingReconciler {
	deps.complete()
	return &BindingReconciler{
		hub: hub, events: recorder, deps: deps, pace: rate.NewLimiter(rate.Limit(deps.Rate), 1),
		unhealthy: map[types.NamespacedName]map[string]time.Time{}, waiting: map[types.NamespacedName]int{},
	}
}

// SetupWithManager starts the reconciler with the manager.
func (r *BindingReconciler) SetupWithManager(m ctrl.Manager) error {
	own := handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { r.enqueue(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { r.enqueue(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { r.forget(client.ObjectKeyFromObject(e.Object)) },
	}
	b := ctrl.NewControllerManagedBy(m).Named("eviction").
		Watches(&workv1alpha2.ResourceBinding{}, own).
		Watches(&workv1alpha2.ClusterResourceBinding{}, own).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4})
	if r.deps.Gates.Failover {
		clusters := handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) {
			evictions.Drop(clusterLabel, e.Object.GetName())
		}}
		if r.deps.evictsByTaint() {
			clusters.UpdateFunc = r.clusterChanged
		}
		b = b.Watches(&clusterv1alpha1.Cluster{}, clusters)
	}
	return b.Complete(r)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueue looks only at bindings that have something to look at: at rest there
// are none.
func (r *BindingReconciler) enqueue(object client.Object, q queue) {
	binding, ok := object.(workv1alpha2.Binding)
	if !ok {
		return
	}
	spec := binding.BindingSpec()
	if len(spec.GracefulEvictionTasks) > 0 || r.deps.Gates.Failover && len(spec.Clusters) > 0 {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	}
}

// clusterChanged looks at the bindings of a cluster whose taints changed.
func (r *BindingReconciler) clusterChanged(ctx context.Context, e event.UpdateEvent, q queue) {
	before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
	after, okAfter := e.ObjectNew.(*clusterv1alpha1.Cluster)
	executes := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }
	if !ok || !okAfter || before.Generation == after.Generation || !slices.ContainsFunc(after.Spec.Taints, executes) {
		return
	}
	targeted := func(b workv1alpha2.Binding) {
		if slices.ContainsFunc(b.BindingSpec().Clusters, func(t workv1alpha2.TargetCluster) bool { return t.Name == after.Name }) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
		}
	}
	var bindings workv1alpha2.ResourceBindingList
	if err := r.hub.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err == nil {
		for i := range bindings.Items {
			targeted(&bindings.Items[i])
		}
	}
	var clusterBindings workv1alpha2.ClusterResourceBindingList
	if err := r.hub.List(ctx, &clusterBindings, client.UnsafeDisableDeepCopy); err == nil {
		for i := range clusterBindings.Items {
			targeted(&clusterBindings.Items[i])
		}
	}
}

// forget drops what is known of a binding that went.
func (r *BindingReconciler) forget(key types.NamespacedName) {
	r.wait(key, 0)
	r.remember(key, nil)
}

// remember drops what is known of a binding in clusters that are no targets. Where
// it comes back to one of them, its time begins anew.
func (r *BindingReconciler) remember(key types.NamespacedName, targets []workv1alpha2.TargetCluster) {
	left := func(cluster string) bool {
		return !slices.ContainsFunc(targets, func(t workv1alpha2.TargetCluster) bool { return t.Name == cluster })
	}
	r.state.forget(key, left)
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.unhealthy[key], func(cluster string, _ time.Time) bool { return left(cluster) })
	if len(r.unhealthy[key]) == 0 {
		delete(r.unhealthy, key)
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *BindingReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var stored workv1alpha2.Binding = &workv1alpha2.ResourceBinding{}
	if request.Namespace == "" {
		stored = &workv1alpha2.ClusterResourceBinding{}
	}
	if err := r.hub.Get(ctx, request.NamespacedName, stored); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if stored.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, nil
	}
	wanted, ok := stored.DeepCopyObject().(workv1alpha2.Binding)
	if !ok {
		return ctrl.Result{}, fmt.Errorf("copy binding %s: not a binding", request.NamespacedName)
	}
	look := &look{now: r.deps.Clock.Now(), next: never}
	evicted, err := r.evict(ctx, look, wanted)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.wait(request.NamespacedName, look.postponed)
	r.tend(look, wanted)
	err = kube.Patch[client.Object](ctx, r.hub, stored, wanted)
	r.count(request.NamespacedName, evicted, wanted.BindingSpec().Resource.Kind, r.deps.Clock.Since(look.now), err)
	if err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return ctrl.Result{RequeueAfter: retryAfter}, nil
		}
		if len(evicted) > 0 {
			r.tell(stored, corev1.EventTypeWarning, eventEvictionFail, "the binding could not be written")
		}
		return ctrl.Result{}, fmt.Errorf("evict from binding %s: %w", request.NamespacedName, err)
	}
	for _, task := range evicted {
		r.tell(stored, corev1.EventTypeNormal, eventEvicted, "evicted from cluster "+task.FromCluster+": "+task.Reason)
	}
	if look.next == never {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(look.next, time.Millisecond)}, nil
}

// look is one look at a binding.
type look struct {
	now  time.Time
	next time.Duration // until something has to be looked at again
	// postponed is how many targets have to go and may not yet.
	postponed int
}

func (l *look) again(after time.Duration) {
	if after != never && (l.next == never || after < l.next) {
		l.next = after
	}
}

// evict takes out of a binding the targets that have to go and returns their
// tasks.
func (r *BindingReconciler) evict(ctx context.Context, l *look, b workv1alpha2.Binding) ([]workv1alpha2.GracefulEvictionTask, error) {
	if !r.deps.Gates.Failover {
		return nil, nil
	}
	spec := b.BindingSpec()
	r.remember(client.ObjectKeyFromObject(b), spec.Clusters)
	var tasks []workv1alpha2.GracefulEvictionTask
	for _, target := range slices.Clone(spec.Clusters) {
		task, due, err := r.due(ctx, l, b, target.Name)
		if err != nil {
			return nil, err
		}
		if !due {
			continue
		}
		if r.deps.Gates.StatefulFailoverInjection && !r.preserve(l, b, target.Name, &task) {
			continue
		}
		if reservation := r.pace.ReserveN(l.now, 1); reservation.DelayFrom(l.now) > 0 {
			l.again(reservation.DelayFrom(l.now))
			l.postponed++
			reservation.CancelAt(l.now)
			continue
		}
		if Evict(spec, target.Name, task) {
			task.FromCluster = target.Name
			tasks = append(tasks, task)
		}
	}
	return tasks, nil
}

// due says whether a target has to go now, and with which task.
func (r *BindingReconciler) due(ctx context.Context, l *look, b workv1alpha2.Binding, cluster string) (workv1alpha2.GracefulEvictionTask, bool, error) {
	spec := b.BindingSpec()
	if r.deps.evictsByTaint() {
		var object clusterv1alpha1.Cluster
		err := r.hub.Get(ctx, types.NamespacedName{Name: cluster}, &object)
		if client.IgnoreNotFound(err) != nil {
			return workv1alpha2.GracefulEvictionTask{}, false, fmt.Errorf("read cluster %s: %w", cluster, err)
		}
		left := Tolerated(object.Spec.Taints, tolerations(b), l.now)
		if left == 0 {
			return TaintTask(spec), true, nil
		}
		l.again(left)
	}
	if spec.Failover == nil || spec.Failover.Application == nil || !spec.PropagateDeps {
		return workv1alpha2.GracefulEvictionTask{}, false, nil
	}
	since, unhealthy := r.healthSeen(b, cluster, l.now)
	if !unhealthy {
		return workv1alpha2.GracefulEvictionTask{}, false, nil
	}
	left := since.Add(toleration(spec.Failover.Application)).Sub(l.now)
	if left <= 0 {
		return ApplicationTask(spec.Failover.Application), true, nil
	}
	l.again(left)
	return workv1alpha2.GracefulEvictionTask{}, false, nil
}

// tolerations are those of the placement that was scheduled.
func tolerations(b workv1alpha2.Binding) []corev1.Toleration {
	var placement policyv1alpha1.Placement
	if err := json.Unmarshal([]byte(b.GetAnnotations()[policyv1alpha1.AppliedPlacementAnnotation]), &placement); err == nil {
		return placement.ClusterTolerations
	}
	if b.BindingSpec().Placement != nil {
		return b.BindingSpec().Placement.ClusterTolerations
	}
	return nil
}

// healthSeen notes what a cluster says of an application, and since when it is
// unhealthy. Unknown ends nothing and begins nothing.
func (r *BindingReconciler) healthSeen(b workv1alpha2.Binding, cluster string, now time.Time) (since time.Time, unhealthy bool) {
	key := types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}
	health := workv1alpha2.ResourceUnknown
	for _, item := range b.BindingStatus().AggregatedStatus {
		if item.ClusterName == cluster {
			health = item.Health
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	since, unhealthy = r.unhealthy[key][cluster]
	switch {
	case health == workv1alpha2.ResourceHealthy:
		delete(r.unhealthy[key], cluster)
		return time.Time{}, false
	case health == workv1alpha2.ResourceUnhealthy && !unhealthy:
		if r.unhealthy[key] == nil {
			r.unhealthy[key] = map[string]time.Time{}
		}
		r.unhealthy[key][cluster] = now
		return now, true
	}
	return since, unhealthy
}

// tend stamps tasks that are new and drops those that are over.
func (r *BindingReconciler) tend(l *look, b workv1alpha2.Binding) {
	spec := b.BindingSpec()
	var kept []workv1alpha2.GracefulEvictionTask
	for i := range spec.GracefulEvictionTasks {
		task := spec.GracefulEvictionTasks[i]
		if task.CreationTimestamp == nil {
			stamp := metav1.NewTime(l.now).Rfc3339Copy()
			task.CreationTimestamp = &stamp
			kept = append(kept, task)
			l.again(retryAfter) // the scheduler answers first
			continue
		}
		left := Remaining(b, &task, l.now, r.deps.Timeout)
		if left == 0 {
			continue
		}
		l.again(left)
		kept = append(kept, task)
	}
	spec.GracefulEvictionTasks = kept
}

// retryAfter is when a look is repeated that met a newer object.
const retryAfter = time.Second
