package main

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		name, generation := o.GetName(), o.GetGeneration()
		go func() {
			if err := f.take(ctx, api, name, generation); err != nil && ctx.Err() == nil {
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
func (f *fleet) take(ctx context.Context, api dynamic.ResourceInterface, name string, generation int64) error {
	finalizer := fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, ocmworkv1.ManifestWorkFinalizer)
	if _, err := api.Patch(ctx, name, types.MergePatchType, []byte(finalizer), metav1.PatchOptions{}); err != nil {
		return err
	}
	condition := func(kind, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: "A simulated member applies everything.",
			ObservedGeneration: generation, LastTransitionTime: metav1.Now().Rfc3339Copy()}
	}
	status, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []metav1.Condition{
		condition(ocmworkv1.ConditionApplied, ocmworkv1.ReasonWorkApplied), condition(ocmworkv1.ConditionAvailable, ocmworkv1.ReasonResourcesAvailable),
	}}})
	if err != nil {
		return err
	}
	if _, err = api.Patch(ctx, name, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err == nil {
		f.counters.Add("works")
	}
	return err
}
