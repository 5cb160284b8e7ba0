package liveness

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// Periods of contract section 7.6.
const (
	// leaseGrace is how long an unmodified agent may neither renew its Lease nor
	// change Ready.
	leaseGrace = 40 * time.Second
	// startupGrace is how long a Cluster may have no Ready condition at all.
	startupGrace = 60 * time.Second
)

// LeaseReconciler sets Ready=Unknown on Clusters whose unmodified agent has
// fallen silent. It measures by the hub's clock when something last changed, not
// by the times the agent writes.
type LeaseReconciler struct {
	hub   client.Client
	clock clock.PassiveClock

	mu   sync.Mutex
	seen map[string]leaseSeen // by cluster
}

// leaseSeen is the last sign of life of an agent.
type leaseSeen struct {
	uid   types.UID
	renew string // the renewal, as text
	ready metav1.ConditionStatus
	since time.Time
}

// NewLeaseReconciler returns the reconciler. The clock is the real one unless a
// test says otherwise.
func NewLeaseReconciler(hub client.Client, clock clock.PassiveClock) *LeaseReconciler {
	return &LeaseReconciler{hub: hub, clock: clock, seen: map[string]leaseSeen{}}
}

// SetupWithManager starts the reconciler with the manager.
func (r *LeaseReconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("lease").
		For(&clusterv1alpha1.Cluster{}).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(clusterOfHeartbeat)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

func clusterOfHeartbeat(_ context.Context, lease client.Object) []reconcile.Request {
	if lease.GetNamespace() != apis.ClusterNamespace {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: lease.GetName()}}}
}

// Reconcile implements reconcile.Reconciler.
func (r *LeaseReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var cluster clusterv1alpha1.Cluster
	err := r.hub.Get(ctx, request.NamespacedName, &cluster)
	if apierrors.IsNotFound(err) || err == nil && !registration.HasForeignAgent(&cluster) {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.seen, request.Name)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read cluster %s: %w", request.Name, err)
	}
	var lease coordinationv1.Lease
	err = r.hub.Get(ctx, client.ObjectKey{Namespace: apis.ClusterNamespace, Name: cluster.Name}, &lease)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("read lease of cluster %s: %w", cluster.Name, err)
	}
	ready := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
	now := r.clock.Now()
	heard := r.look(&cluster, &lease, ready, now)
	if ready != nil && ready.Status == metav1.ConditionUnknown {
		return ctrl.Result{}, nil // said already; the agent's next word changes it
	}
	if left := graceLeft(heard, ready, cluster.CreationTimestamp.Time, now); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	wanted := cluster.DeepCopy()
	setCondition(&wanted.Status.Conditions, unknownReady(cluster.Status.Conditions, "The agent has stopped renewing its lease."), now)
	if err := kube.PatchStatus(ctx, r.hub, &cluster, wanted); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("write readiness of cluster %s: %w", cluster.Name, err)
	}
	log.FromContext(ctx).Info("agent silent", "cluster", cluster.Name)
	return ctrl.Result{}, nil
}

// look notes a sign of life and returns when the last one came.
func (r *LeaseReconciler) look(c *clusterv1alpha1.Cluster, lease *coordinationv1.Lease, ready *metav1.Condition, now time.Time) time.Time {
	current := leaseSeen{uid: c.UID, since: now}
	if lease.Spec.RenewTime != nil {
		current.renew = lease.Spec.RenewTime.Format(time.RFC3339Nano)
	}
	if ready != nil {
		current.ready = ready.Status
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before, ok := r.seen[c.Name]
	if ok && before.uid == current.uid && before.renew == current.renew && before.ready == current.ready {
		return before.since
	}
	r.seen[c.Name] = current
	return now
}

// graceLeft is how long an agent may still be silent.
func graceLeft(heard time.Time, ready *metav1.Condition, created, now time.Time) time.Duration {
	if ready == nil {
		return created.Add(startupGrace).Sub(now)
	}
	return heard.Add(leaseGrace).Sub(now)
}
