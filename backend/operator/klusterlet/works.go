package klusterlet

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/operator/component"
)

// releaseWorks removes the records of what this Klusterlet's agent has applied, and leaves what was applied: its owner references go first,
// by the cluster's garbage collector.
func (r *Reconciler) releaseWorks(ctx context.Context, object *ocmoperatorv1.Klusterlet, managed client.Client) error {
	list := &ocmworkv1.AppliedManifestWorkList{}
	if err := managed.List(ctx, list); component.IsGone(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("list applied works: %w", err)
	}
	var remaining []string
	for i := range list.Items {
		record := &list.Items[i]
		if record.Spec.AgentID != string(object.UID) {
			continue
		}
		remaining = append(remaining, record.Name)
		before := record.DeepCopy()
		if controllerutil.RemoveFinalizer(record, ocmworkv1.AppliedManifestWorkFinalizer) {
			if err := kube.Patch(ctx, managed, before, record); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("release applied work %s: %w", record.Name, err)
			}
		}
		if record.DeletionTimestamp != nil {
			continue
		}
		if err := managed.Delete(ctx, record, client.PropagationPolicy(metav1.DeletePropagationOrphan)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete applied work %s: %w", record.Name, err)
		}
	}
	if len(remaining) > 0 {
		return &blocked{
			reason: reasonAppliedWorksRemain, retry: removalPoll,
			message: "Waiting for the records of applied works to be released: " + strings.Join(remaining, ", "),
		}
	}
	return nil
}

// removeUnusedKinds deletes the kinds that an operator of ours has brought, unless objects of them are left.
func removeUnusedKinds(ctx context.Context, managed client.Client) error {
	for _, name := range agentKinds {
		kind := &apiextensionsv1.CustomResourceDefinition{}
		if err := managed.Get(ctx, client.ObjectKey{Name: name}, kind); component.IsGone(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("read kind %s: %w", name, err)
		}
		if kind.Labels[ocmoperatorv1.CreatedByKlusterletLabel] == "" || len(kind.Spec.Versions) == 0 {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(kind.Spec.Group + "/" + kind.Spec.Versions[0].Name)
		list.SetKind(kind.Spec.Names.ListKind)
		if err := managed.List(ctx, list, client.Limit(1)); err != nil && !component.IsGone(err) {
			return fmt.Errorf("list %s: %w", name, err)
		}
		if len(list.Items) > 0 {
			continue
		}
		if err := component.Remove(ctx, managed, kind); err != nil {
			return err
		}
	}
	return nil
}
