package managedcluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/kube"
)

// CleanupReconciler holds every cluster that is deleted until its add-ons and then
// its works are gone (contract section 2.8), and says what is left.
//
//	deleted ──► add-ons, by priority ──► works, by priority ──► Deleting=True ──► finalizer off
type CleanupReconciler struct {
	hub  client.Client
	live client.Reader
}

// NewCleanupReconciler returns the reconciler. live reads from the API itself.
func NewCleanupReconciler(hub client.Client, live client.Reader) *CleanupReconciler {
	return &CleanupReconciler{hub: hub, live: live}
}

// cleaned are the kinds that go before their cluster, in order.
var cleaned = []schema.GroupVersionKind{
	ocmaddonv1alpha1.GroupVersion.WithKind("ManagedClusterAddOn"), ocmworkv1.GroupVersion.WithKind("ManifestWork"),
}

// SetupWithManager starts the reconciler with the manager.
func (r *CleanupReconciler) SetupWithManager(m ctrl.Manager) error {
	bySpace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return requestFor(object.GetNamespace())
	})
	comesOrGoes := builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return (e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	}})
	return ctrl.NewControllerManagedBy(m).Named("managed-cleanup").
		For(&ocmv1.ManagedCluster{}).
		Watches(&ocmaddonv1alpha1.ManagedClusterAddOn{}, bySpace, comesOrGoes).
		Watches(&ocmworkv1.ManifestWork{}, bySpace, comesOrGoes).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *CleanupReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := new(ocmv1.ManagedCluster)
	if err := r.hub.Get(ctx, request.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var err error
	switch held := controllerutil.ContainsFinalizer(cluster, ocmv1.ResourceCleanupFinalizer); {
	case cluster.DeletionTimestamp == nil && !held:
		err = r.begin(ctx, cluster)
	case cluster.DeletionTimestamp != nil && held:
		err = r.cleanUp(ctx, cluster)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil // the change that got in between comes back as an event
	}
	return ctrl.Result{}, err
}

// begin holds a cluster that is new. The taint of one that was not heard yet goes
// with that: the TaintReconciler waits until the cluster is held.
func (r *CleanupReconciler) begin(ctx context.Context, cluster *ocmv1.ManagedCluster) error {
	before := cluster.DeepCopy()
	controllerutil.AddFinalizer(cluster, ocmv1.ResourceCleanupFinalizer)
	cluster.Spec.Taints = withSystemTaint(cluster.Spec.Taints, systemTaint(cluster.Status.Conditions))
	if err := kube.Patch(ctx, r.hub, before, cluster); err != nil {
		return fmt.Errorf("hold managed cluster %s: %w", cluster.Name, err)
	}
	return nil
}

func (r *CleanupReconciler) letGo(ctx context.Context, cluster *ocmv1.ManagedCluster) error {
	before := cluster.DeepCopy()
	controllerutil.RemoveFinalizer(cluster, ocmv1.ResourceCleanupFinalizer)
	if err := kube.Patch(ctx, r.hub, before, cluster); err != nil {
		return fmt.Errorf("let managed cluster %s go: %w", cluster.Name, err)
	}
	return nil
}

// cleanUp deletes what is next, or lets the cluster go.
func (r *CleanupReconciler) cleanUp(ctx context.Context, cluster *ocmv1.ManagedCluster) error {
	for _, kind := range cleaned {
		remaining, err := r.remaining(ctx, cluster.Name, kind)
		if err == nil && len(remaining) > 0 {
			if err = r.remove(ctx, nextGone(remaining)); err == nil {
				return r.tell(ctx, cluster, remainingCondition(cluster, kind.Kind, remaining))
			}
		}
		if err != nil {
			return errors.Join(r.tell(ctx, cluster, cleanupErrorCondition(err)), err)
		}
	}
	if err := r.tell(ctx, cluster, cleanCondition()); err != nil {
		return err
	}
	log.FromContext(ctx).Info("managed cluster cleaned up", "cluster", cluster.Name)
	return r.letGo(ctx, cluster)
}

// remaining reads what is left of a kind from the API itself: what a cache does
// not show yet would outlive the cluster.
func (r *CleanupReconciler) remaining(ctx context.Context, cluster string, kind schema.GroupVersionKind) ([]client.Object, error) {
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.live.List(ctx, found, client.InNamespace(cluster)); err != nil {
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			return nil, nil // this plane does not serve the kind
		}
		return nil, fmt.Errorf("list %s of cluster %s: %w", kind.Kind, cluster, err)
	}
	objects := make([]client.Object, len(found.Items))
	for i := range found.Items {
		objects[i] = &found.Items[i]
		objects[i].GetObjectKind().SetGroupVersionKind(kind)
	}
	return objects, nil
}

func (r *CleanupReconciler) remove(ctx context.Context, objects []client.Object) error {
	for _, object := range objects {
		if object.GetDeletionTimestamp() != nil {
			continue
		}
		if err := r.hub.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
		}
	}
	return nil
}

// tell writes the condition of a deletion into cluster.
func (r *CleanupReconciler) tell(ctx context.Context, cluster *ocmv1.ManagedCluster, condition metav1.Condition) error {
	before := cluster.DeepCopy()
	if !meta.SetStatusCondition(&cluster.Status.Conditions, condition) {
		return nil
	}
	if err := kube.PatchStatus(ctx, r.hub, before, cluster); err != nil {
		return fmt.Errorf("write deletion of managed cluster %s: %w", cluster.Name, err)
	}
	return nil
}
