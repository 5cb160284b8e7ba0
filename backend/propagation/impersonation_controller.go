package propagation

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
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
	"muster.dev/muster/backend/propagation/work"
)

// Reasons of Events about the rights of the proxy (contract section 3.8).
const (
	eventImpersonation       = "SyncImpersonationConfigSucceed"
	eventImpersonationFailed = "SyncImpersonationConfigFailed"
)

// ImpersonationReconciler keeps, in every member with an impersonating account,
// the rights of that account in step with the hub's roles: it may act for those
// who may use the cluster's proxy (contract section 8.5). It writes two Works a
// Cluster.
type ImpersonationReconciler struct {
	hub    client.Client
	works  work.Writer
	events events.EventRecorder

	reading sync.Mutex // held while the roles are read

	mu    sync.Mutex
	last  grants
	known bool // last has been read
	// kept holds, by Cluster, what its Works say. A Work that was deleted since is
	// not made again.
	kept map[types.UID][sha256.Size]byte
}

// NewImpersonationReconciler returns the reconciler. live reads from the API
// itself.
func NewImpersonationReconciler(hub client.Client, live client.Reader, recorder events.EventRecorder) *ImpersonationReconciler {
	return &ImpersonationReconciler{hub: hub, works: work.Writer{Hub: hub, Live: live}, events: recorder, kept: map[types.UID][sha256.Size]byte{}}
}

// SetupWithManager starts the reconciler with the manager.
func (r *ImpersonationReconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("impersonation").
		For(&clusterv1alpha1.Cluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&rbacv1.ClusterRole{}, handler.EnqueueRequestsFromMapFunc(r.affected), builder.WithPredicates(reachesProxy)).
		Watches(&rbacv1.ClusterRoleBinding{}, handler.EnqueueRequestsFromMapFunc(r.affectedByBinding)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(clusterOfSpace)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

func clusterOfSpace(_ context.Context, space client.Object) []reconcile.Request {
	cluster, ok := apis.ClusterOfExecutionSpace(space.GetName())
	if !ok || space.GetDeletionTimestamp() != nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: cluster}}}
}

// reachesProxy drops the roles that permit the proxy of no cluster: each cluster
// brings some, and to find the grants all roles are read.
var reachesProxy = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return roleReachesProxy(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool { return roleReachesProxy(e.ObjectOld) || roleReachesProxy(e.ObjectNew) },
	DeleteFunc: func(e event.DeleteEvent) bool { return roleReachesProxy(e.Object) },
}

func roleReachesProxy(object client.Object) bool {
	role, ok := object.(*rbacv1.ClusterRole)
	return ok && slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
		everywhere, names := ruleReach(rule)
		return everywhere || len(names) > 0
	})
}

// affectedByBinding is the same of a binding. One to a role that permits no proxy,
// or that is not there, grants nothing; if the role comes or changes, it is told of.
func (r *ImpersonationReconciler) affectedByBinding(ctx context.Context, object client.Object) []reconcile.Request {
	binding, ok := object.(*rbacv1.ClusterRoleBinding)
	if !ok {
		return nil
	}
	var role rbacv1.ClusterRole
	if err := r.hub.Get(ctx, types.NamespacedName{Name: binding.RoleRef.Name}, &role, client.UnsafeDisableDeepCopy); err != nil || !roleReachesProxy(&role) {
		return nil
	}
	return r.affected(ctx, object)
}

// affected are the Clusters whose rights a change of the hub's roles changes:
// most changes concern none.
func (r *ImpersonationReconciler) affected(ctx context.Context, _ client.Object) []reconcile.Request {
	before, now, err := r.refresh(ctx)
	if err != nil {
		return nil // the cache is stopping
	}
	if before.equal(now) {
		return nil
	}
	var clusters clusterv1alpha1.ClusterList
	if err := r.hub.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		if name := clusters.Items[i].Name; !before.of(name).equal(now.of(name)) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
		}
	}
	return requests
}

// refresh reads the grants, one caller after another, so that the newest stay.
func (r *ImpersonationReconciler) refresh(ctx context.Context) (before, now grants, err error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	if now, err = r.grants(ctx); err != nil {
		return grants{}, grants{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before, r.last, r.known = r.last, now, true
	return before, now, nil
}

// granted is what was read last. Whom a change since concerns is looked at again:
// see affected.
func (r *ImpersonationReconciler) granted(ctx context.Context) (grants, error) {
	r.mu.Lock()
	last, known := r.last, r.known
	r.mu.Unlock()
	if known {
		return last, nil
	}
	return r.grants(ctx)
}

// grants reads all roles as the cache holds them: each cluster that is accepted adds some, and copies of all for each would add up.
func (r *ImpersonationReconciler) grants(ctx context.Context) (grants, error) {
	var roles rbacv1.ClusterRoleList
	if err := r.hub.List(ctx, &roles, client.UnsafeDisableDeepCopy); err != nil {
		return grants{}, fmt.Errorf("list cluster roles: %w", err)
	}
	var bindings rbacv1.ClusterRoleBindingList
	if err := r.hub.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err != nil {
		return grants{}, fmt.Errorf("list cluster role bindings: %w", err)
	}
	return findGrants(roles.Items, bindings.Items), nil
}

// Reconcile implements reconcile.Reconciler.
func (r *ImpersonationReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var cluster clusterv1alpha1.Cluster
	if err := r.hub.Get(ctx, request.NamespacedName, &cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if cluster.DeletionTimestamp != nil || cluster.Spec.ImpersonatorSecretRef == nil {
		r.forget(cluster.UID)
		return ctrl.Result{}, nil
	}
	granted, err := r.granted(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	role := impersonatorRole(granted.of(cluster.Name))
	binding := impersonatorBinding(cluster.Spec.ImpersonatorSecretRef.Namespace)
	digest, err := digestOf(role.Rules, binding.Subjects)
	if err != nil {
		return ctrl.Result{}, err
	}
	if r.keeps(cluster.UID, digest) {
		return ctrl.Result{}, nil
	}
	for kind, object := range map[string]client.Object{"ClusterRole": role, "ClusterRoleBinding": binding} {
		ready, err := r.ensure(ctx, &cluster, kind, object)
		if err != nil {
			r.events.Eventf(&cluster, nil, corev1.EventTypeWarning, eventImpersonationFailed, "Sync", "the rights of the proxy's account could not be sent")
			return ctrl.Result{}, fmt.Errorf("send rights of the proxy to cluster %s: %w", cluster.Name, err)
		}
		if !ready {
			return ctrl.Result{}, nil // the namespace's event leads on
		}
	}
	r.keep(cluster.UID, digest)
	r.events.Eventf(&cluster, nil, corev1.EventTypeNormal, eventImpersonation, "Sync", "the rights of the proxy's account were sent")
	return ctrl.Result{}, nil
}

// ensure writes one Work. It is not ready while there is no place for it.
func (r *ImpersonationReconciler) ensure(ctx context.Context, cluster *clusterv1alpha1.Cluster, kind string, object client.Object) (ready bool, err error) {
	wanted, err := clusterTask(cluster, object, kind)
	if err != nil {
		return false, err
	}
	done, err := r.works.Send(ctx, wanted)
	return done != work.Waiting && done != work.Blocked, err
}

func digestOf(parts ...any) ([sha256.Size]byte, error) {
	data, err := json.Marshal(parts)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encode rights of the proxy: %w", err)
	}
	return sha256.Sum256(data), nil
}

func (r *ImpersonationReconciler) keeps(cluster types.UID, digest [sha256.Size]byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, ok := r.kept[cluster]
	return ok && kept == digest
}

func (r *ImpersonationReconciler) keep(cluster types.UID, digest [sha256.Size]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[cluster] = digest
}

func (r *ImpersonationReconciler) forget(cluster types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kept, cluster)
}
