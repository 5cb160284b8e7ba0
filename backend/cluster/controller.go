package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/liveness"
	"muster.dev/muster/backend/registration"
)

// sweepAfter is how long an execution namespace may exist without its Cluster. A
// registration that takes longer makes it again.
const sweepAfter = time.Hour

// Purger empties and releases a namespace that is being deleted; it returns what
// still holds it.
type Purger interface {
	Purge(ctx context.Context, namespace string) (held []string, err error)
}

// Reconciler keeps what every Cluster has on the hub (contract section 7.6):
// finalizer, execution namespace, the roles of an agent, taints by its Ready
// condition. When a Cluster is removed, it takes all of that away in order; see
// remove.
type Reconciler struct {
	hub      client.Client
	live     client.Reader
	purger   Purger
	presence liveness.Presence
	revoked  *identity.Revocations
	events   events.EventRecorder
	clock    clock.PassiveClock

	poker    liveness.Poker
	mu       sync.Mutex
	memories map[string]*memory // by cluster
}

// memory is what the Reconciler knows of a Cluster beyond the hub's objects. It
// serves speed and tact, not correctness: a restart may lose it. Its fields
// belong to the one Reconcile of the Cluster.
type memory struct {
	uid types.UID
	// The rest is about a removal: bindings name the cluster no more, since when
	// something is waited for, and when that was last said.
	unbound            bool
	waitsSince, saidAt time.Time
}

// ReconcilerDeps are what a Reconciler works with.
type ReconcilerDeps struct {
	// Live reads from the API itself.
	Live client.Reader
	// Purger finishes execution namespaces.
	Purger Purger
	// Presence tells whether a member can still be cleaned.
	Presence liveness.Presence
	// Revocations remember removed clusters.
	Revocations *identity.Revocations
	// Clock is the real one unless a test says otherwise.
	Clock clock.PassiveClock
}

// NewReconciler returns the reconciler of Clusters.
func NewReconciler(hub client.Client, recorder events.EventRecorder, deps ReconcilerDeps) *Reconciler {
	if deps.Clock == nil {
		deps.Clock = clock.RealClock{}
	}
	return &Reconciler{
		hub: hub, live: deps.Live, purger: deps.Purger, presence: deps.Presence, revoked: deps.Revocations, events: recorder, clock: deps.Clock,
		memories: map[string]*memory{},
	}
}

// SetupWithManager starts the reconciler with the manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("cluster").
		For(&clusterv1alpha1.Cluster{}).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(clusterOfNamespace)).
		Watches(&workv1alpha1.Work{}, handler.EnqueueRequestsFromMapFunc(clusterOfNamespace), builder.WithPredicates(goingOrGone)).
		WatchesRawSource(r.poker.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16}).
		Complete(r)
}

// Poke looks at a Cluster again, because its agent came or went.
func (r *Reconciler) Poke(cluster string) { r.poker.Poke(cluster) }

// clusterOfNamespace leads from an execution namespace, or an object in one, to
// its cluster.
func clusterOfNamespace(_ context.Context, object client.Object) []reconcile.Request {
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = object.GetName()
	}
	cluster, ok := apis.ClusterOfExecutionSpace(namespace)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: cluster}}}
}

// goingOrGone keeps the events of Works that are being deleted, and drops those
// of the many that are not.
var goingOrGone = predicate.Funcs{
	CreateFunc:  func(e event.CreateEvent) bool { return e.Object.GetDeletionTimestamp() != nil },
	UpdateFunc:  func(e event.UpdateEvent) bool { return e.ObjectNew.GetDeletionTimestamp() != nil },
	DeleteFunc:  func(event.DeleteEvent) bool { return true },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// scope is one look at a Cluster. cluster is what is being changed, stored what
// the hub holds; Reconcile sets all fields.
type scope struct {
	cluster, stored *clusterv1alpha1.Cluster
	memory          *memory
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s := &scope{stored: new(clusterv1alpha1.Cluster)}
	err := r.hub.Get(ctx, request.NamespacedName, s.stored)
	if apierrors.IsNotFound(err) {
		return r.sweep(ctx, request.Name)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read cluster %s: %w", request.Name, err)
	}
	s.cluster, s.memory = s.stored.DeepCopy(), r.remember(s.stored)
	if s.stored.DeletionTimestamp != nil {
		return r.remove(ctx, s)
	}
	result, err := r.ensure(ctx, s)
	tainted := !equality.Semantic.DeepEqual(s.stored.Spec.Taints, s.cluster.Spec.Taints)
	patched := kube.Patch(ctx, r.hub, s.stored, s.cluster)
	if tainted {
		r.tellTaints(s.stored, patched)
	}
	if client.IgnoreNotFound(patched) != nil && err == nil {
		err = fmt.Errorf("update cluster %s: %w", request.Name, patched)
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{}, nil // the change that got in between comes back as an event
	}
	return result, err
}

// ensure runs the steps of a living Cluster. Finalizer and taints are written
// by the one patch at the end: agents wait for the first (contract section 7.2).
func (r *Reconciler) ensure(ctx context.Context, s *scope) (ctrl.Result, error) {
	for _, step := range []func(context.Context, *scope) (ctrl.Result, error){r.ensureFinalizer, r.ensureTaints, r.ensureSpace} {
		if result, err := step(ctx, s); err != nil || !result.IsZero() {
			return result, err
		}
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) ensureFinalizer(_ context.Context, s *scope) (ctrl.Result, error) {
	if !slices.Contains(s.cluster.Finalizers, clusterv1alpha1.ClusterControllerFinalizer) {
		s.cluster.Finalizers = append(s.cluster.Finalizers, clusterv1alpha1.ClusterControllerFinalizer)
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) ensureTaints(_ context.Context, s *scope) (ctrl.Result, error) {
	ready := meta.FindStatusCondition(s.stored.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
	wanted := readinessTaints(s.stored.Spec.Taints, ready, metav1.NewTime(r.clock.Now()).Rfc3339Copy())
	if !equality.Semantic.DeepEqual(wanted, s.stored.Spec.Taints) {
		s.cluster.Spec.Taints = wanted
	}
	return ctrl.Result{}, nil
}

// tellTaints says what came of writing taints. What overtook the write comes back as
// an event.
func (r *Reconciler) tellTaints(about *clusterv1alpha1.Cluster, err error) {
	switch {
	case err == nil:
		kube.NewAnnouncer(r.events).Routine(about, nil, EventTaintCluster, "Taint", "the taints follow the cluster's readiness")
	case !apierrors.IsConflict(err) && !apierrors.IsNotFound(err):
		kube.Tell(r.events, about, corev1.EventTypeWarning, EventTaintClusterFailed, "Taint",
			"the taints that follow the cluster's readiness could not be written: "+err.Error())
	}
}

// readinessTaints are the taints of a Cluster with this Ready condition: ours by
// the condition, the users' as they are (contract section 7.6). One that is new
// carries the time.
func readinessTaints(current []corev1.Taint, ready *metav1.Condition, now metav1.Time) []corev1.Taint {
	wanted := clusterv1alpha1.TaintClusterNotReady
	switch {
	case ready != nil && ready.Status == metav1.ConditionTrue:
		wanted = ""
	case ready != nil && ready.Status == metav1.ConditionUnknown:
		wanted = clusterv1alpha1.TaintClusterUnreachable
	}
	var taints []corev1.Taint
	for _, taint := range current {
		ours := taint.Effect == corev1.TaintEffectNoSchedule &&
			(taint.Key == clusterv1alpha1.TaintClusterNotReady || taint.Key == clusterv1alpha1.TaintClusterUnreachable)
		if ours && taint.Key != wanted {
			continue
		}
		if ours {
			wanted = ""
		}
		taints = append(taints, taint)
	}
	if wanted != "" {
		taints = append(taints, corev1.Taint{Key: wanted, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &now})
	}
	return taints
}

// identity.EnsureSpace makes the execution namespace and, for an unmodified agent, the
// roles that go with it. A namespace left by an earlier Cluster of the name goes
// first.
func (r *Reconciler) ensureSpace(ctx context.Context, s *scope) (ctrl.Result, error) {
	name := s.stored.Name
	var space corev1.Namespace
	err := r.hub.Get(ctx, client.ObjectKey{Name: apis.ExecutionSpace(name)}, &space)
	switch {
	case apierrors.IsNotFound(err):
		// A namespace with roles beside it is marked until those are made.
		if err := identity.EnsureSpace(ctx, r.hub, name, registration.HasForeignAgent(s.stored)); err != nil {
			r.events.Eventf(s.stored, nil, corev1.EventTypeWarning, EventCreateExecutionSpaceFailed, "Create", "the execution namespace could not be made")
			return ctrl.Result{}, err
		}
		kube.NewAnnouncer(r.events).Routine(s.stored, nil, EventCreateExecutionSpace, "Create", "the execution namespace was made")
		return ctrl.Result{}, nil // its event leads on
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("read namespace of cluster %s: %w", name, err)
	case space.DeletionTimestamp != nil:
		_, err := r.emptySpace(ctx, name, nil)
		return ctrl.Result{RequeueAfter: recheckRemoval}, err
	case space.Annotations[identity.AnnotationPreparedFor] == "" && space.Labels[apis.SystemLabel] == apis.LabelTrue:
		return ctrl.Result{}, nil
	}
	if registration.HasForeignAgent(s.stored) {
		if err := identity.EnsureAccess(ctx, r.hub, r.live, name, s.stored); err != nil {
			return ctrl.Result{}, err
		}
	}
	adopted := space.DeepCopy()
	delete(adopted.Annotations, identity.AnnotationPreparedFor)
	metav1.SetMetaDataLabel(&adopted.ObjectMeta, apis.SystemLabel, apis.LabelTrue)
	return ctrl.Result{}, kube.Patch(ctx, r.hub, &space, adopted)
}

// remember returns the memory of a Cluster, a new one for a new Cluster.
func (r *Reconciler) remember(c *clusterv1alpha1.Cluster) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.memories[c.Name]
	if known == nil || known.uid != c.UID {
		known = &memory{uid: c.UID}
		r.memories[c.Name] = known
	}
	return known
}

func (r *Reconciler) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memories, name)
}

// known tells that a Cluster of the name existed and was not removed by us.
func (r *Reconciler) known(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memories[name] != nil
}
