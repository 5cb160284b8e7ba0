package manifestwork

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// Blocking returns the works that are being deleted and held by a finalizer, in
// one cluster's namespace or, without one, in all. When their agent is gone they
// hold up whatever waits for them: the end of a cluster, or of a hub.
func Blocking(ctx context.Context, hub client.Reader, cluster string) ([]types.NamespacedName, error) {
	var works ocmworkv1.ManifestWorkList
	if err := hub.List(ctx, &works, client.InNamespace(cluster)); err != nil {
		return nil, fmt.Errorf("list works that are being deleted: %w", err)
	}
	var held []types.NamespacedName
	for i := range works.Items {
		if works.Items[i].DeletionTimestamp != nil && len(works.Items[i].Finalizers) > 0 {
			held = append(held, client.ObjectKeyFromObject(&works.Items[i]))
		}
	}
	slices.SortFunc(held, func(a, b types.NamespacedName) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
	return held, nil
}
