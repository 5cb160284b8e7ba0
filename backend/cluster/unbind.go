package cluster

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/kube"
)

// bindingPage bounds the bindings read at a time.
const bindingPage = 500

// unbind takes a cluster out of the schedule results of all bindings, so that
// nothing is placed on it any more (contract section 4.5 step d).
func (r *Reconciler) unbind(ctx context.Context, cluster string) error {
	var bindings workv1alpha2.ResourceBindingList
	err := r.eachPage(ctx, &bindings, func() error {
		for i := range bindings.Items {
			if err := r.unbindOne(ctx, &bindings.Items[i], cluster); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("take cluster %s out of bindings: %w", cluster, err)
	}
	var clusterBindings workv1alpha2.ClusterResourceBindingList
	err = r.eachPage(ctx, &clusterBindings, func() error {
		for i := range clusterBindings.Items {
			if err := r.unbindOne(ctx, &clusterBindings.Items[i], cluster); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("take cluster %s out of bindings: %w", cluster, err)
	}
	return nil
}

// eachPage reads a list page by page from the API.
func (r *Reconciler) eachPage(ctx context.Context, list client.ObjectList, visit func() error) error {
	next := ""
	for {
		err := r.live.List(ctx, list, client.Limit(bindingPage), client.Continue(next))
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil // the hub serves no bindings
		}
		if err != nil {
			return err
		}
		if err := visit(); err != nil {
			return err
		}
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

// unbindOne patches one binding. The scheduler, which hears of the removal as well,
// writes the very same bindings: one that changed in between is read again by
// itself, not with thousands of others.
func (r *Reconciler) unbindOne(ctx context.Context, b workv1alpha2.Binding, cluster string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if !joining.Targets(b.BindingSpec().Clusters, cluster) {
			return nil
		}
		wanted, ok := b.DeepCopyObject().(workv1alpha2.Binding)
		if !ok {
			return fmt.Errorf("copy %T", b)
		}
		spec := wanted.BindingSpec()
		spec.Clusters = slices.DeleteFunc(spec.Clusters, func(t workv1alpha2.TargetCluster) bool { return t.Name == cluster })
		err := kube.Patch(ctx, r.hub, b, wanted)
		if apierrors.IsConflict(err) {
			if readErr := r.live.Get(ctx, client.ObjectKeyFromObject(b), b); readErr != nil {
				return client.IgnoreNotFound(readErr)
			}
		}
		return client.IgnoreNotFound(err)
	})
}
