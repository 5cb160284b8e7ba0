package main

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/agent/feed"
	"muster.dev/muster/agent/handshake"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// work takes on the ManifestWorks of a cluster until ctx ends.
func (f *fleet) work(ctx context.Context, hub handshake.Hub) error {
	client, err := dynamic.NewForConfig(hub.Config)
	if err != nil {
		return fmt.Errorf("client of the hub: %w", err)
	}
	api := client.Resource(ocmworkv1.GroupVersion.WithResource("manifestworks")).Namespace(hub.Cluster)
	taken := map[types.UID]struct{}{} // touched by the feed's goroutine alone
	feed.Run(ctx, api, feed.Funcs{OnIs: func(o *unstructured.Unstructured) {
		if _, known := taken[o.GetUID()]; known || o.GetDeletionTimestamp() != nil {
			return
		}
		taken[o.GetUID()] = struct{}{}
		status, err := statusOf(o)
		if err != nil {
			f.log.Error("work not read", "cluster", hub.Cluster, "name", o.GetName(), "error", err)
			return
		}
		name := o.GetName()
		go func() {
			if err := f.take(ctx, api, name, status); err != nil && ctx.Err() == nil {
				f.log.Error("work not taken on", "cluster", hub.Cluster, "name", name, "error", err)
			}
		}()
	}}, feed.Options{Failed: func(err error) {
		if !apierrors.IsForbidden(err) {
			f.counters.Add("failed watches")
		}
	}})
	return nil
}

// take marks a work as carried out and says that it is.
func (f *fleet) take(ctx context.Context, api dynamic.ResourceInterface, name string, status []byte) error {
	finalizer := fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, ocmworkv1.ManifestWorkFinalizer)
	if _, err := api.Patch(ctx, name, types.MergePatchType, []byte(finalizer), metav1.PatchOptions{}); err != nil {
		return err
	}
	_, err := api.Patch(ctx, name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	if err == nil {
		f.counters.Add("works")
	}
	return err
}

// statusOf is the merge patch by which an agent tells that all of a work is there, of the work as of each of its manifests.
func statusOf(o *unstructured.Unstructured) ([]byte, error) {
	var work ocmworkv1.ManifestWork
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &work); err != nil {
		return nil, fmt.Errorf("decode work: %w", err)
	}
	told := func(appliedReason, availableReason string) []metav1.Condition {
		conditions := []metav1.Condition{{Type: ocmworkv1.ConditionApplied, Reason: appliedReason}, {Type: ocmworkv1.ConditionAvailable, Reason: availableReason}}
		for i := range conditions {
			c := &conditions[i]
			c.Status, c.Message = metav1.ConditionTrue, "A simulated member applies everything."
			c.ObservedGeneration, c.LastTransitionTime = work.Generation, metav1.Now().Rfc3339Copy()
		}
		return conditions
	}
	status := ocmworkv1.ManifestWorkStatus{Conditions: told(ocmworkv1.ReasonWorkApplied, ocmworkv1.ReasonResourcesAvailable)}
	for i, manifest := range work.Spec.Workload.Manifests {
		var named metav1.PartialObjectMetadata
		if err := json.Unmarshal(manifest.Raw, &named); err != nil {
			return nil, fmt.Errorf("decode manifest %d: %w", i, err)
		}
		kind := named.GroupVersionKind()
		status.ResourceStatus.Manifests = append(status.ResourceStatus.Manifests, ocmworkv1.ManifestCondition{
			ResourceMeta: ocmworkv1.ManifestResourceMeta{Ordinal: int32(i), Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Name: named.Name, Namespace: named.Namespace},
			Conditions:   told(ocmworkv1.ReasonManifestApplied, ocmworkv1.ReasonResourceAvailable),
		})
	}
	return json.Marshal(map[string]any{"status": status})
}
