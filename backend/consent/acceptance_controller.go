package consent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// replacedRecheck is when a role is made anew that is still on its way out.
const replacedRecheck = 20 * time.Millisecond

// AcceptanceReconciler makes of spec.hubAcceptsClient what it means (contract
// sections 2.4 and 2.8).
//
//	never accepted ──► untouched
//	accepted       ──► namespace, finalizer, role ──► bindings ──► condition True
//	denied         ──► roles shrink ──► works gone? ──► work RoleBinding let go ──► condition False
//	                                             └────► condition HubDenied says which are not
//	name not free  ──► nothing, condition False says so
//	being deleted  ──► roles gone ──► works gone? ──► work RoleBinding let go ──► finalizer off
//
// It writes the condition HubAcceptedManagedCluster, and HubDeniedManagedCluster as
// long as works hold a denial up, and nobody else does.
type AcceptanceReconciler struct {
	roles
	rules    Rules
	audit    Auditor
	watches  *Watches
	recorder events.EventRecorder
	waiting  *poker
	now      func() time.Time
	// told are the versions that this reconciler's own conditions made of clusters:
	// until the cache has them, a look at it is a look back.
	told sync.Map
}

// SetupWithManager starts the reconciler with the manager.
func (r *AcceptanceReconciler) SetupWithManager(m ctrl.Manager) error {
	labelled := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetLabels()[ocmv1.ClusterNameLabel] != "" })
	byLabel := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return requestFor(object.GetLabels()[ocmv1.ClusterNameLabel])
	})
	bySpace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, work client.Object) []reconcile.Request {
		return requestFor(work.GetNamespace())
	})
	// A new work holds up what waits for works: its cluster's denial names it then.
	comes := predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	gone := predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(m).Named("acceptance").
		For(&ocmv1.ManagedCluster{}).
		Watches(&corev1.Namespace{}, byLabel, builder.WithPredicates(labelled)).
		Watches(&rbacv1.ClusterRole{}, byLabel, builder.WithPredicates(labelled)).
		Watches(&rbacv1.ClusterRoleBinding{}, byLabel, builder.WithPredicates(labelled)).
		Watches(&rbacv1.RoleBinding{}, byLabel, builder.WithPredicates(labelled)).
		Watches(&ocmworkv1.ManifestWork{}, bySpace, builder.WithPredicates(gone)).
		Watches(&ocmworkv1.ManifestWork{}, handler.EnqueueRequestsFromMapFunc(r.heldUp), builder.WithPredicates(comes)).
		WatchesRawSource(r.waiting.source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 8}).
		Complete(r)
}

// heldUp leads from a work to its cluster if that waits for works to go.
func (r *AcceptanceReconciler) heldUp(ctx context.Context, work client.Object) []reconcile.Request {
	cluster := new(ocmv1.ManagedCluster)
	err := r.hub.Get(ctx, client.ObjectKey{Name: work.GetNamespace()}, cluster, client.UnsafeDisableDeepCopy)
	if err != nil || meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionHubDenied) == nil {
		return nil
	}
	return requestFor(cluster.Name)
}

func requestFor(name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
}

// Reconcile implements reconcile.Reconciler.
func (r *AcceptanceReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := new(ocmv1.ManagedCluster)
	err := r.hub.Get(ctx, request.NamespacedName, cluster)
	if err == nil && r.behind(cluster) {
		return ctrl.Result{}, nil // our own write comes back as an event
	}
	switch {
	case apierrors.IsNotFound(err):
		r.told.Delete(request.Name)
		err = r.forget(ctx, request.Name)
	case err != nil:
		err = fmt.Errorf("read managed cluster %s: %w", request.Name, err)
	case registration.Mirrored(cluster):
		if cluster.DeletionTimestamp == nil { // no agent of the field serves it
			err = r.ensureSpace(ctx, cluster.Name, true)
		}
	case cluster.DeletionTimestamp != nil:
		err = r.withdraw(ctx, cluster)
	case checkName(cluster.Name) != "":
		err = r.refuse(ctx, cluster)
	case cluster.Spec.HubAcceptsClient:
		err = r.accept(ctx, cluster)
	case wasAccepted(cluster):
		err = r.deny(ctx, cluster)
	case mayAcceptItself(cluster):
		err = r.acceptByRule(ctx, cluster)
	}
	if errors.Is(err, errReplaced) {
		return ctrl.Result{RequeueAfter: replacedRecheck}, nil
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{}, nil // the change that got in between comes back as an event
	}
	return ctrl.Result{}, err
}

// behind says whether the cache has an older cluster than this reconciler has
// written.
func (r *AcceptanceReconciler) behind(cluster *ocmv1.ManagedCluster) bool {
	told, ok := r.told.Load(cluster.Name)
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cluster.ResourceVersion, told.(string))
	if err == nil && order < 0 {
		return true
	}
	r.told.Delete(cluster.Name)
	return false
}

// accept prepares the hub for a cluster's agents, side by side as far as one thing
// does not need the other. A cluster that goes before its finalizer is on loses its
// roles all the same; see forget.
func (r *AcceptanceReconciler) accept(ctx context.Context, cluster *ocmv1.ManagedCluster) error {
	var group errgroup.Group
	name := cluster.Name
	group.Go(func() error { return r.ensureSpace(ctx, name, false) })
	group.Go(func() error { return r.ensure(ctx, clusterRole(name, acceptedRules(name))) })
	held := r.putFinalizer(ctx, cluster)
	err := group.Wait()
	if held != nil {
		return held
	}
	if err == nil {
		err = r.bind(ctx, name)
	}
	switch {
	case apierrors.IsConflict(err), errors.Is(err, errReplaced):
		return err
	case err != nil:
		return errors.Join(r.tell(ctx, cluster, acceptErrorCondition(err)), err)
	}
	return r.tell(ctx, cluster, acceptedCondition(cluster))
}

// putFinalizer holds a cluster until its roles are gone again.
func (r *AcceptanceReconciler) putFinalizer(ctx context.Context, cluster *ocmv1.ManagedCluster) error {
	before := cluster.DeepCopy()
	if !controllerutil.AddFinalizer(cluster, ocmv1.ManagedClusterFinalizer) {
		return nil
	}
	if err := kube.Patch(ctx, r.hub, before, cluster); err != nil {
		return fmt.Errorf("hold managed cluster %s: %w", cluster.Name, err)
	}
	return nil
}

// deny takes the rights of a cluster's agents. It tells of it once all are gone,
// and does not go by a cache that may not show yet what was just given.
func (r *AcceptanceReconciler) deny(ctx context.Context, cluster *ocmv1.ManagedCluster) error {
	known := meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionHubAccepted)
	if known != nil && known.Reason == ocmv1.ReasonDenied {
		return r.shrink(ctx, cluster.Name)
	}
	exact := roles{hub: identity.NewLiveWriter(r.hub, r.live), live: r.live}
	if err := exact.shrink(ctx, cluster.Name); err != nil {
		return err
	}
	r.watches.Recheck(cluster.Name)
	left, err := r.releaseWork(ctx, cluster.Name)
	if err != nil {
		return err
	}
	if len(left.names) > 0 {
		return r.tell(ctx, cluster, heldCondition(cluster.Name, left)) // the end of a work brings us back
	}
	r.watches.Recheck(cluster.Name) // the one of works, too
	return r.tell(ctx, cluster, deniedCondition())
}

// refuse gives nothing to a cluster whose name is not free, and takes what it was
// given. Admission lets none in; an existing API may have had it before it asked.
func (r *AcceptanceReconciler) refuse(ctx context.Context, cluster *ocmv1.ManagedCluster) error {
	if err := r.revoke(ctx, cluster.Name); err != nil {
		return err
	}
	if _, err := r.releaseWork(ctx, cluster.Name); err != nil || !cluster.Spec.HubAcceptsClient {
		return err
	}
	return r.tell(ctx, cluster, acceptErrorCondition(errors.New(checkName(cluster.Name))))
}

// withdraw takes everything that a cluster's agents were given, when it goes.
func (r *AcceptanceReconciler) withdraw(ctx context.Context, cluster *ocmv1.ManagedCluster) error {
	if !controllerutil.ContainsFinalizer(cluster, ocmv1.ManagedClusterFinalizer) {
		return nil
	}
	if err := r.revoke(ctx, cluster.Name); err != nil {
		return err
	}
	left, err := r.releaseWork(ctx, cluster.Name)
	if err != nil || len(left.names) > 0 {
		return err
	}
	before := cluster.DeepCopy()
	controllerutil.RemoveFinalizer(cluster, ocmv1.ManagedClusterFinalizer)
	if err := kube.Patch(ctx, r.hub, before, cluster); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("let managed cluster %s go: %w", cluster.Name, err)
	}
	return nil
}

// forget takes what is left of a cluster that is gone, however it went.
func (r *AcceptanceReconciler) forget(ctx context.Context, cluster string) error {
	if cluster == "" {
		return nil
	}
	if err := r.revoke(ctx, cluster); err != nil {
		return err
	}
	r.watches.Recheck(cluster)
	binding := new(rbacv1.RoleBinding)
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: cluster, Name: workBindingName(cluster)}, binding)
	if apierrors.IsNotFound(err) {
		return r.dropSpace(ctx, cluster)
	}
	if err == nil {
		_, err = r.releaseWork(ctx, cluster)
	}
	return err
}

// acceptByRule accepts a cluster if a rule says so, once, and goes on to what that
// means. It looks at the cluster as it is by then: others write to one that is new,
// and a decision is recorded once, not once a try.
func (r *AcceptanceReconciler) acceptByRule(ctx context.Context, known *ocmv1.ManagedCluster) error {
	if r.rules == nil {
		return nil
	}
	rule, ok := r.rules.Accepts(known, known.Annotations[AnnotationCreator])
	if !ok {
		return nil
	}
	cluster := new(ocmv1.ManagedCluster)
	action := audit.Action{Verb: "accept", Kind: "ManagedCluster", Name: known.Name, Detail: map[string]string{"rule": rule}}
	err := byHub(ctx, r.audit, action, func(ctx context.Context) error {
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(known), cluster); err != nil {
			return err
		}
		if cluster.UID != known.UID || cluster.DeletionTimestamp != nil || !mayAcceptItself(cluster) {
			return apierrors.NewConflict(clusterResource, known.Name, errors.New("somebody else has decided about it"))
		}
		before := cluster.DeepCopy()
		acceptItself(cluster, rule, r.now())
		controllerutil.AddFinalizer(cluster, ocmv1.ManagedClusterFinalizer) // one write instead of two
		return kube.Patch(ctx, r.hub, before, cluster)
	})
	if err != nil {
		return fmt.Errorf("accept managed cluster %s: %w", known.Name, err)
	}
	log.FromContext(ctx).Info("managed cluster accepted by rule", "cluster", cluster.Name, "policy", rule)
	return r.accept(ctx, cluster)
}

// tell writes the condition of the hub's consent, or what its withdrawal waits for.
func (r *AcceptanceReconciler) tell(ctx context.Context, cluster *ocmv1.ManagedCluster, condition metav1.Condition) error {
	before := meta.FindStatusCondition(cluster.Status.Conditions, condition.Type)
	wanted := cluster.DeepCopy()
	changed := meta.SetStatusCondition(&wanted.Status.Conditions, condition)
	if condition.Type != ocmv1.ConditionHubDenied { // nothing waits any more
		changed = meta.RemoveStatusCondition(&wanted.Status.Conditions, ocmv1.ConditionHubDenied) || changed
	}
	if !changed {
		return nil
	}
	if err := kube.PatchStatus(ctx, r.hub, cluster, wanted); err != nil {
		return fmt.Errorf("write acceptance of managed cluster %s: %w", cluster.Name, err)
	}
	r.told.Store(wanted.Name, wanted.ResourceVersion)
	if before != nil && before.Status == condition.Status && before.Reason == condition.Reason {
		return nil
	}
	switch condition.Reason {
	case ocmv1.ReasonAccepted:
		r.recorder.Eventf(inOwnSpace(cluster), nil, corev1.EventTypeNormal, eventAccepted, eventAccepted, "%s", condition.Message)
		log.FromContext(ctx).Info("managed cluster accepted", "cluster", cluster.Name)
	case ocmv1.ReasonWorksRemaining:
		log.FromContext(ctx).Info("denial of managed cluster waits for its works", "cluster", cluster.Name)
	case ocmv1.ReasonDenied:
		r.recorder.Eventf(inOwnSpace(cluster), nil, corev1.EventTypeWarning, eventDenied, eventDenied, "%s", condition.Message)
		log.FromContext(ctx).Info("managed cluster denied", "cluster", cluster.Name)
	}
	return nil
}

// inOwnSpace has Events about a cluster go to its namespace, where its agents'
// Events are too.
func inOwnSpace(cluster *ocmv1.ManagedCluster) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: ocmv1.GroupVersion.String(), Kind: "ManagedCluster", Namespace: cluster.Name, Name: cluster.Name, UID: cluster.UID, ResourceVersion: cluster.ResourceVersion,
	}
}
