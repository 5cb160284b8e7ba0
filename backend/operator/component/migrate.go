package component

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// migratedAtOnce is how many objects are read at a time.
const migratedAtOnce = 200

// MigrateStored has every object of the kinds be stored in the version that its definition stores now, and takes the versions that none is
// stored in any more off the definition: a later definition may then leave them out. It returns the kinds that there was something to do for.
func MigrateStored(ctx context.Context, c client.Client, names []string) (moved []string, err error) {
	for _, name := range names {
		kind := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, kind); err != nil {
			if IsGone(err) {
				continue
			}
			return moved, fmt.Errorf("read custom resource definition %s: %w", name, err)
		}
		version := storedVersion(kind)
		if kind.DeletionTimestamp != nil || !established(kind) || len(kind.Status.StoredVersions) == 0 || slices.Equal(kind.Status.StoredVersions, []string{version}) {
			continue
		}
		moved = append(moved, name)
		if err := rewrite(ctx, c, kind, version); err != nil {
			return moved, fmt.Errorf("store objects of %s as %s: %w", name, version, err)
		}
		before := kind.DeepCopy()
		kind.Status.StoredVersions = []string{version}
		if err := c.Status().Patch(ctx, kind, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return moved, fmt.Errorf("note the stored version of %s: %w", name, err)
		}
	}
	return moved, nil
}

func storedVersion(kind *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range kind.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

// rewrite writes every object as it is, whereby the API server stores it in its current version. Whoever writes one meanwhile has done that.
func rewrite(ctx context.Context, c client.Client, kind *apiextensionsv1.CustomResourceDefinition, version string) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Spec.Group, Version: version, Kind: kind.Spec.Names.ListKind})
	for next := ""; ; {
		if err := c.List(ctx, list, client.Limit(migratedAtOnce), client.Continue(next)); err != nil {
			return err
		}
		for i := range list.Items {
			if err := c.Update(ctx, &list.Items[i]); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				return fmt.Errorf("write %s/%s: %w", list.Items[i].GetNamespace(), list.Items[i].GetName(), err)
			}
		}
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}
