package managedcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// refusedRetry is how often a mirror is tried again that the API refused, because
// its name is too long or another member has its id. What would help is a change
// of another object.
const refusedRetry = time.Minute

// FleetReconciler shows each member in the other dialect too; see fleet.go.
type FleetReconciler struct {
	hub    client.Client
	live   client.Reader
	events events.EventRecorder
	clock  clock.PassiveClock
}

// NewFleetReconciler returns the reconciler. live reads from the API itself.
func NewFleetReconciler(hub client.Client, live client.Reader, recorder events.EventRecorder, clock clock.PassiveClock) *FleetReconciler {
	return &FleetReconciler{hub: hub, live: live, events: recorder, clock: clock}
}

// SetupFleet starts the reconciler with the manager of a plane that serves both
// dialects.
func SetupFleet(m ctrl.Manager) error {
	return NewFleetReconciler(m.GetClient(), m.GetAPIReader(), m.GetEventRecorder("fleet-controller"), clock.RealClock{}).SetupWithManager(m)
}

// SetupWithManager starts the reconciler with the manager.
func (r *FleetReconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("fleet").
		For(&ocmv1.ManagedCluster{}).
		Watches(&clusterv1alpha1.Cluster{}, &handler.EnqueueRequestForObject{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

// fleetPair are the two objects of one name; either may be nil. What Reconcile reads
// from the cache must not be changed.
type fleetPair struct {
	cluster *clusterv1alpha1.Cluster
	managed *ocmv1.ManagedCluster
}

// Reconcile implements reconcile.Reconciler.
func (r *FleetReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	known, err := readPair(ctx, r.hub, request.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	todo := decide(known.cluster, known.managed)
	switch todo {
	case stepNone:
		return ctrl.Result{}, r.letGo(ctx, known)
	case stepBringCluster:
		return r.bringCluster(ctx, known)
	case stepBringManaged:
		return r.bringManaged(ctx, known)
	}
	// Nothing is removed because a cache is behind.
	current, err := readPair(ctx, r.live, request.Name)
	if err != nil || decide(current.cluster, current.managed) != todo {
		return ctrl.Result{}, err
	}
	if err := r.leave(ctx, todo, current); err != nil {
		return ctrl.Result{}, fmt.Errorf("%s %s: %w", todo, request.Name, err)
	}
	return ctrl.Result{}, nil
}

func readPair(ctx context.Context, from client.Reader, name string) (fleetPair, error) {
	var found fleetPair
	cluster, managed := &clusterv1alpha1.Cluster{}, &ocmv1.ManagedCluster{}
	err := from.Get(ctx, client.ObjectKey{Name: name}, cluster)
	if client.IgnoreNotFound(err) != nil {
		return found, fmt.Errorf("read cluster %s: %w", name, err)
	}
	if err == nil {
		found.cluster = cluster
	}
	err = from.Get(ctx, client.ObjectKey{Name: name}, managed)
	if client.IgnoreNotFound(err) != nil {
		return found, fmt.Errorf("read managed cluster %s: %w", name, err)
	}
	if err == nil {
		found.managed = managed
	}
	return found, nil
}

func (r *FleetReconciler) bringCluster(ctx context.Context, known fleetPair) (ctrl.Result, error) {
	mirror := known.cluster
	if mirror == nil {
		if err := registration.ValidateName(known.managed.Name); err != nil {
			r.tell(known.managed, err)
			return ctrl.Result{}, nil
		}
		mirror = newCluster(known.managed.Name)
		if ready := readyOf(known.managed, false); ready == nil {
			mirror.Spec.Taints = append(mirror.Spec.Taints, notReady(r.clock.Now())) // or the Cluster's own controller would have to write it
		}
		if err := bringToCluster(mirror, known.managed); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.hub.Create(ctx, mirror); err != nil {
			return r.refused(known.managed, err)
		}
		log.FromContext(ctx).Info("cluster of an OCM member made", "cluster", mirror.Name)
	}
	wanted := mirror.DeepCopy()
	if err := bringToCluster(wanted, known.managed); err != nil {
		return ctrl.Result{}, err
	}
	if err := kube.Patch(ctx, r.hub, mirror, wanted); err != nil {
		return r.refused(known.managed, err)
	}
	stored := wanted.DeepCopy()
	reportOfManaged(&wanted.Status, known.managed, r.clock.Now())
	if equality.Semantic.DeepEqual(stored.Status, wanted.Status) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, settled(kube.PatchStatus(ctx, r.hub, stored, wanted))
}

func (r *FleetReconciler) bringManaged(ctx context.Context, known fleetPair) (ctrl.Result, error) {
	mirror := known.managed
	if mirror == nil {
		mirror = newManaged(known.cluster.Name)
		if err := bringToManaged(mirror, known.cluster); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.hub.Create(ctx, mirror); err != nil {
			return r.refused(known.cluster, err)
		}
		log.FromContext(ctx).Info("managed cluster of a Karmada member made", "cluster", mirror.Name)
	}
	wanted := mirror.DeepCopy()
	if err := bringToManaged(wanted, known.cluster); err != nil {
		return ctrl.Result{}, err
	}
	if err := kube.Patch(ctx, r.hub, mirror, wanted); err != nil {
		return r.refused(known.cluster, err)
	}
	stored := wanted.DeepCopy()
	reportOfCluster(&wanted.Status, known.cluster, r.clock.Now())
	if equality.Semantic.DeepEqual(stored.Status, wanted.Status) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, settled(kube.PatchStatus(ctx, r.hub, stored, wanted))
}

// settled is the error of a write that nobody else's got before: what did comes
// back as an event.
func settled(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// refused tells, at the member's own object, why it has no mirror. A name may be
// too long for the other dialect, and no two Clusters have one id.
func (r *FleetReconciler) refused(origin client.Object, err error) (ctrl.Result, error) {
	var status apierrors.APIStatus
	explained := errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err), apierrors.IsConflict(err) && !explained:
		return ctrl.Result{}, nil // somebody else wrote it; that comes back as an event
	case apierrors.IsConflict(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err):
		r.tell(origin, err)
		return ctrl.Result{RequeueAfter: refusedRetry}, nil
	}
	return ctrl.Result{}, fmt.Errorf("mirror %s: %w", origin.GetName(), err)
}

func (r *FleetReconciler) tell(origin client.Object, err error) {
	r.events.Eventf(origin, nil, corev1.EventTypeWarning, EventMirrorRefused, "Mirror", "the member is not shown in the other dialect: %s", err)
}
