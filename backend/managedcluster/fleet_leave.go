package managedcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// managedClusterCRD is the definition of ManagedCluster. When it goes, its objects
// go without anybody having removed a member.
const managedClusterCRD = "managedclusters.cluster.open-cluster-management.io"

// leave takes a mirror away with its member, or the member with its mirror.
func (r *FleetReconciler) leave(ctx context.Context, todo fleetStep, current fleetPair) error {
	switch todo {
	case stepDropCluster:
		return r.drop(ctx, current.cluster, current.managed == nil)
	case stepDropManaged:
		return r.drop(ctx, current.managed, current.cluster == nil)
	case stepRemoveManaged:
		return r.carryOver(ctx, current.managed)
	case stepRemoveCluster:
		if going, err := r.definitionGoes(ctx); err != nil || going {
			return r.release(ctx, current.managed, err)
		}
		return r.carryOver(ctx, current.cluster)
	}
	return nil
}

// letGo takes our finalizer off what is no mirror any more, because somebody took
// its mark away, and off mirrors of each other.
func (r *FleetReconciler) letGo(ctx context.Context, known fleetPair) error {
	var objects []client.Object
	if known.cluster != nil {
		objects = append(objects, known.cluster)
	}
	if known.managed != nil {
		objects = append(objects, known.managed)
	}
	for _, object := range objects {
		if registration.Mirrored(object) && object.GetDeletionTimestamp() == nil {
			continue
		}
		if err := r.release(ctx, object, nil); err != nil {
			return fmt.Errorf("release %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// drop deletes a mirror, and lets it go once its member has gone.
func (r *FleetReconciler) drop(ctx context.Context, mirror client.Object, memberGone bool) error {
	if mirror.GetDeletionTimestamp() == nil {
		if _, ok := mirror.(*clusterv1alpha1.Cluster); ok {
			if going, err := r.definitionGoes(ctx); err != nil || going {
				return err // nobody removed the member: its whole dialect goes
			}
		}
		uid := mirror.GetUID()
		if err := r.hub.Delete(ctx, mirror, client.Preconditions{UID: &uid}); err != nil {
			return settled(err)
		}
		log.FromContext(ctx).Info("mirror of a removed member deleted", "cluster", mirror.GetName())
		return nil // its event leads on
	}
	if !memberGone {
		return nil
	}
	if err := r.releaseWorks(ctx, mirror); err != nil {
		return err
	}
	return r.release(ctx, mirror, nil)
}

// releaseWorks lets the ManifestWorks of a Karmada member go that is gone itself:
// nobody is left who could take their objects out of it.
func (r *FleetReconciler) releaseWorks(ctx context.Context, mirror client.Object) error {
	if _, ok := mirror.(*ocmv1.ManagedCluster); !ok {
		return nil
	}
	var works ocmworkv1.ManifestWorkList
	if err := r.live.List(ctx, &works, client.InNamespace(mirror.GetName())); err != nil {
		if kube.NotServed(err) || apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("list manifest works of %s: %w", mirror.GetName(), err)
	}
	for i := range works.Items {
		work := &works.Items[i]
		if work.DeletionTimestamp == nil {
			if err := r.hub.Delete(ctx, work.DeepCopy()); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		released := work.DeepCopy()
		if !controllerutil.RemoveFinalizer(released, ocmworkv1.ManifestWorkFinalizer) {
			continue
		}
		if err := r.hub.Patch(ctx, released, client.MergeFrom(work)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("release manifest work %s/%s: %w", work.Namespace, work.Name, err)
		}
	}
	return nil
}

func (r *FleetReconciler) release(ctx context.Context, mirror client.Object, before error) error {
	if before != nil {
		return before
	}
	after, ok := mirror.DeepCopyObject().(client.Object)
	if !ok || !controllerutil.RemoveFinalizer(after, registration.FinalizerFleet) {
		return nil
	}
	return settled(r.hub.Patch(ctx, after, client.MergeFromWithOptions(mirror, client.MergeFromWithOptimisticLock{})))
}

// carryOver removes a member because its mirror was deleted.
func (r *FleetReconciler) carryOver(ctx context.Context, origin client.Object) error {
	uid := origin.GetUID()
	if err := r.hub.Delete(ctx, origin, client.Preconditions{UID: &uid}); err != nil {
		return settled(err)
	}
	r.events.Eventf(origin, nil, corev1.EventTypeNormal, EventRemovalCarried, "Remove", "the member is removed because its object in the other dialect was deleted")
	log.FromContext(ctx).Info("member removed by its mirror", "cluster", origin.GetName())
	return nil
}

// definitionGoes tells that ManagedClusters as such are being taken off the hub.
func (r *FleetReconciler) definitionGoes(ctx context.Context) (bool, error) {
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := r.live.Get(ctx, client.ObjectKey{Name: managedClusterCRD}, definition)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read definition of managed clusters: %w", err)
	}
	return definition.DeletionTimestamp != nil, nil
}
