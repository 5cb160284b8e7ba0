package cluster

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// manifestWorks says what the removal of a member waits for that carries out
// ManifestWorks, too, by way of its mirror in the other dialect. The mirror's own
// clean-up deletes them, in the order of their priorities; the agent takes their
// objects out of the member as long as it is known here. If nobody is there to do
// that, they are let go with the mirror and their objects stay, as those of Works.
func (r *Reconciler) manifestWorks(ctx context.Context, c *clusterv1alpha1.Cluster) (*waiting, error) {
	if registration.Mirrored(c) {
		return nil, nil // the other object is the member
	}
	mirror := &metav1.PartialObjectMetadata{}
	mirror.SetGroupVersionKind(ocmv1.GroupVersion.WithKind("ManagedCluster"))
	err := r.live.Get(ctx, client.ObjectKey{Name: c.Name}, mirror)
	switch {
	case apierrors.IsNotFound(err) || kube.NotServed(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read managed cluster %s: %w", c.Name, err)
	case !registration.Mirrored(mirror):
		return nil, nil // another member that was registered under the name
	}
	works := &metav1.PartialObjectMetadataList{}
	works.SetGroupVersionKind(ocmworkv1.GroupVersion.WithKind("ManifestWorkList"))
	if err := r.live.List(ctx, works, client.InNamespace(c.Name)); err != nil {
		if apierrors.IsNotFound(err) || kube.NotServed(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("list manifest works of cluster %s: %w", c.Name, err)
	}
	if len(works.Items) == 0 {
		return nil, nil
	}
	present, who := r.presence.Present(ctx, c)
	if !present {
		return nil, nil
	}
	names := make([]string, len(works.Items))
	for i := range works.Items {
		names[i] = works.Items[i].Name
	}
	slices.Sort(names)
	return &waiting{ReasonWaitingForManifestWorks, fmt.Sprintf(
		"%s has to take the objects of %s out of the member: %s", who, joining.Counted(len(names), "manifest work"), joining.Listed(names),
	)}, nil
}
