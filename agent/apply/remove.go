package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// Remove takes the objects of a Work out of the member. Objects that are not
// ours, or belong to another Work by now, are left alone; objects that the Work
// wants preserved, and namespaces and CRDs that hold objects of others, stay
// without our marks. pending says that an object of the Work is still there,
// being deleted by the member: nothing of ours is left to do. The watches of the
// Work are given up once everything has been deleted.
func (a *Applier) Remove(ctx context.Context, work *workv1alpha1.Work) (pending bool, err error) {
	var errs []error
	for i := len(work.Spec.Workload.Manifests) - 1; i >= 0; i-- {
		desired, err := wanted(work, i)
		if err != nil {
			continue // was never applied
		}
		left, err := a.removeManifest(ctx, work, desired)
		if err != nil {
			errs = append(errs, describe(desired, err))
		}
		pending = pending || left
	}
	if err := errors.Join(errs...); err != nil {
		return pending, err
	}
	a.Forget(work)
	return pending, nil
}

func (a *Applier) removeManifest(ctx context.Context, work *workv1alpha1.Work, desired *unstructured.Unstructured) (left bool, err error) {
	mapping, err := a.mapper.mapping(desired.GroupVersionKind())
	if err != nil {
		if a.mapper.absent(desired.GroupVersionKind().GroupVersion(), err) {
			return false, nil // then there is no such object either
		}
		return false, err
	}
	var api dynamic.ResourceInterface = a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := desired.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		api = a.client.Resource(mapping.Resource).Namespace(namespace)
	}
	observed, err := api.Get(ctx, desired.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !managed(observed) || !of(observed, work) {
		return false, nil
	}
	if observed.GetDeletionTimestamp() != nil {
		return true, nil
	}
	keep := ptr.Deref(work.Spec.PreserveResourcesOnDeletion, false)
	if !keep {
		why, err := a.keepsOthers(ctx, observed)
		if err != nil {
			return false, err
		}
		keep = why != ""
	}
	if keep {
		return false, release(ctx, api, observed)
	}
	return deleteObject(ctx, api, observed)
}

// release takes our marks off an object.
func release(ctx context.Context, api dynamic.ResourceInterface, o *unstructured.Unstructured) error {
	patch, err := unmark(o)
	if err != nil || patch == nil {
		return err
	}
	_, err = api.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take the marks off: %w", err)
	}
	return nil
}

// deleteObject deletes exactly the object that was looked at. It says whether
// the object is still there afterwards.
func deleteObject(ctx context.Context, api dynamic.ResourceInterface, o *unstructured.Unstructured) (left bool, err error) {
	err = api.Delete(ctx, o.GetName(), metav1.DeleteOptions{
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
		Preconditions:     &metav1.Preconditions{UID: ptr.To(o.GetUID())},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil // gone, or another object by now
	}
	if err != nil {
		return false, err
	}
	after, err := api.Get(ctx, o.GetName(), metav1.GetOptions{})
	return err == nil && after.GetUID() == o.GetUID(), nil
}
