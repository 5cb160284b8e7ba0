package managedcluster

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// eventUnknown is the reason of the Event about an agent that fell silent.
const eventUnknown = "AvailableUnknown"

// HeartbeatReconciler makes the Lease that a cluster's agent renews, and says so
// when it does not (contract section 2.7). A hub that starts knows when a Lease
// was last written, so that its restart gives no silent agent a new start.
type HeartbeatReconciler struct {
	hub      client.Client
	live     client.Reader
	recorder events.EventRecorder
	clock    clock.PassiveClock
	heard    *heartbeats
}

// NewHeartbeatReconciler returns the reconciler. live reads from the API itself.
func NewHeartbeatReconciler(hub client.Client, live client.Reader, recorder events.EventRecorder, clock clock.PassiveClock) *HeartbeatReconciler {
	return &HeartbeatReconciler{hub: hub, live: live, recorder: recorder, clock: clock, heard: &heartbeats{last: map[string]heartbeat{}}}
}

// SetupWithManager starts the reconciler with the manager.
func (r *HeartbeatReconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("heartbeat").
		For(&ocmv1.ManagedCluster{}).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, lease client.Object) []reconcile.Request {
			if lease.GetName() != ocmv1.LeaseName {
				return nil
			}
			return requestFor(lease.GetNamespace())
		})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 8}).
		Complete(r)
}

func requestFor(cluster string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: cluster}}}
}

// Reconcile implements reconcile.Reconciler.
func (r *HeartbeatReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := new(ocmv1.ManagedCluster)
	err := r.hub.Get(ctx, request.NamespacedName, cluster)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("read managed cluster %s: %w", request.Name, err)
	}
	decided := meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionHubAccepted) != nil
	if err != nil || registration.Mirrored(cluster) || !decided {
		r.heard.forget(request.Name)
		return ctrl.Result{}, nil
	}
	lease := new(coordinationv1.Lease)
	err = r.hub.Get(ctx, client.ObjectKey{Namespace: cluster.Name, Name: ocmv1.LeaseName}, lease)
	switch {
	case apierrors.IsNotFound(err) && cluster.DeletionTimestamp != nil:
		return ctrl.Result{}, r.tell(ctx, cluster, clockUnknown, true)
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, r.makeLease(ctx, cluster.Name)
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("read lease of managed cluster %s: %w", cluster.Name, err)
	}
	now := r.clock.Now()
	first := now
	if !r.heard.known(cluster) {
		if first, err = r.firstHeard(ctx, cluster, now); err != nil {
			return ctrl.Result{}, err
		}
	}
	last := r.heard.look(cluster, lease, now, first)
	left := last.since.Add(patience(cluster)).Sub(now)
	if err := r.tell(ctx, cluster, last.clock, left <= 0); err != nil || left <= 0 {
		return ctrl.Result{}, err
	}
	if last.available == metav1.ConditionUnknown {
		return ctrl.Result{}, nil // said already; the agent's next word changes it
	}
	return ctrl.Result{RequeueAfter: left}, nil
}

// makeLease makes the Lease of a cluster. Its namespace may be on its way out, or
// not there: then there is nothing to renew.
func (r *HeartbeatReconciler) makeLease(ctx context.Context, cluster string) error {
	now := metav1.NewMicroTime(r.clock.Now())
	err := r.hub.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: ocmv1.LeaseName, Labels: map[string]string{ocmv1.ClusterNameLabel: cluster}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(ocmv1.LeaseName), RenewTime: &now},
	})
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return fmt.Errorf("make lease of managed cluster %s: %w", cluster, err)
}

// firstHeard is since when the agent of a cluster is judged that this process has
// not seen before.
func (r *HeartbeatReconciler) firstHeard(ctx context.Context, cluster *ocmv1.ManagedCluster, now time.Time) (time.Time, error) {
	lease := new(coordinationv1.Lease) // the cache has no times of writing
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: cluster.Name, Name: ocmv1.LeaseName}, lease); err != nil {
		if apierrors.IsNotFound(err) {
			return now, nil
		}
		return now, fmt.Errorf("read lease of managed cluster %s: %w", cluster.Name, err)
	}
	if written, ok := lastWritten(lease); ok {
		return heardSince(cluster, written, now), nil
	}
	return now, nil
}

// tell writes the two conditions that the hub has of an agent's heartbeat.
func (r *HeartbeatReconciler) tell(ctx context.Context, cluster *ocmv1.ManagedCluster, state clockState, silent bool) error {
	wanted := cluster.DeepCopy()
	if condition, ok := clockCondition(cluster, state); ok {
		meta.SetStatusCondition(&wanted.Status.Conditions, condition)
	}
	available := meta.FindStatusCondition(wanted.Status.Conditions, ocmv1.ConditionAvailable)
	turns := silent && (available == nil || available.Status != metav1.ConditionUnknown)
	if turns {
		meta.SetStatusCondition(&wanted.Status.Conditions, silentCondition(cluster))
	}
	err := kube.PatchStatus(ctx, r.hub, cluster, wanted)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the change that got in between comes back as an event
	}
	if err != nil {
		return fmt.Errorf("write heartbeat of managed cluster %s: %w", cluster.Name, err)
	}
	if turns {
		about := &corev1.ObjectReference{
			APIVersion: ocmv1.GroupVersion.String(), Kind: kindManaged, Namespace: cluster.Name, Name: cluster.Name, UID: cluster.UID, ResourceVersion: cluster.ResourceVersion,
		}
		r.recorder.Eventf(about, nil, corev1.EventTypeWarning, eventUnknown, eventUnknown, "%s", silentCondition(cluster).Message)
		log.FromContext(ctx).Info("agent silent", "cluster", cluster.Name)
	}
	return nil
}
