package cluster

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/kube"
)

// bindingPage bounds the bindings read at a time.
const bindingPage = 500

// unbind takes a cluster out of the schedule results of all bindings, so that
// nothing is placed on it any more (contract section 4.5 step d). A binding that
// changed in between is tried again with the whole step.
func (r *Reconciler) unbind(ctx context.Context, cluster string) error {
	var bindings workv1alpha2.ResourceBindingList
	err := r.eachPage(ctx, &bindings, func() error {
		for i := range bindings.Items {
			if err := unbindOne(ctx, r.hub, &bindings.Items[i], &bindings.Items[i].Spec, cluster); err != nil {
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
			if err := unbindOne(ctx, r.hub, &clusterBindings.Items[i], &clusterBindings.Items[i].Spec, cluster); err != nil {
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

// unbindOne patches one binding; spec points into it.
func unbindOne[T client.Object](ctx context.Context, hub client.Client, binding T, spec *workv1alpha2.ResourceBindingSpec, cluster string) error {
	if !joining.Targets(spec.Clusters, cluster) {
		return nil
	}
	before, ok := binding.DeepCopyObject().(T)
	if !ok {
		return fmt.Errorf("copy %T", binding)
	}
	spec.Clusters = slices.DeleteFunc(spec.Clusters, func(t workv1alpha2.TargetCluster) bool { return t.Name == cluster })
	return client.IgnoreNotFound(kube.Patch(ctx, hub, before, binding))
}
