package handshake

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	ocmaddonv1beta1 "muster.dev/muster/backend/apis/ocm/addon/v1beta1"
)

const (
	// addonEvery is how often the leases of add-ons are looked at.
	addonEvery = 10 * time.Second
	// addonGrace is how old the lease of an add-on may be: five times a minute.
	addonGrace = 5 * time.Minute
	// addonNamespace is where add-ons are installed unless they say otherwise.
	addonNamespace = "open-cluster-management-agent-addon"
	addonAvailable = "Available"
)

// addonVersions are tried in this order: hubs before the newer one have the older.
var addonVersions = []string{"v1beta1", "v1alpha1"}

// careForAddons tells the hub which of the add-ons it wants in the cluster are
// alive: whose lease in the member, named like the add-on, is renewed.
func (s *service) careForAddons(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.accepted:
	}
	tick := time.NewTicker(addonEvery)
	defer tick.Stop()
	version := 0
	for {
		resource := schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: addonVersions[version], Resource: "managedclusteraddons"}
		within, cancel := context.WithTimeout(ctx, requestTimeout)
		list, err := s.hub.Resource(resource).Namespace(s.identity.Cluster).List(within, metav1.ListOptions{})
		if err == nil {
			for i := range list.Items {
				if err := s.careForAddon(within, resource, &list.Items[i]); err != nil && ctx.Err() == nil {
					s.log.Debug("add-on not judged", "cluster", s.identity.Cluster, "name", list.Items[i].GetName(), "error", err)
				}
			}
		} else if absent(err) {
			version = (version + 1) % len(addonVersions)
		}
		cancel()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *service) careForAddon(ctx context.Context, resource schema.GroupVersionResource, o *unstructured.Unstructured) error {
	addon := &ocmaddonv1beta1.ManagedClusterAddOn{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, addon); err != nil {
		return err
	}
	if mode := addon.Status.HealthCheck.Mode; mode != "" && mode != "Lease" {
		return nil // others see to it
	}
	namespace := addon.Status.Namespace
	if namespace == "" {
		namespace, _, _ = unstructured.NestedString(o.Object, "spec", "installNamespace")
	}
	if namespace == "" {
		namespace = addon.Annotations[ocmaddonv1beta1.InstallNamespaceAnnotation]
	}
	if namespace == "" {
		namespace = addonNamespace
	}
	lease, err := s.member.kube.CoordinationV1().Leases(namespace).Get(ctx, addon.Name, metav1.GetOptions{})
	var renewed time.Time
	switch {
	case err == nil && lease.Spec.RenewTime != nil:
		renewed = lease.Spec.RenewTime.Time
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	conditions := addon.Status.Conditions
	before := len(conditions)
	if !meta.SetStatusCondition(&conditions, judgeAddon(addon.Name, err == nil, renewed, time.Now())) && before == len(conditions) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": addon.UID, "resourceVersion": addon.ResourceVersion},
		"status":   map[string]any{"conditions": conditions},
	})
	if err != nil {
		return err
	}
	_, err = s.hub.Resource(resource).Namespace(addon.Namespace).Patch(ctx, addon.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// judgeAddon says how an add-on does, by its lease.
func judgeAddon(name string, found bool, renewed, now time.Time) metav1.Condition {
	c := metav1.Condition{Type: addonAvailable, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy()}
	switch {
	case !found:
		c.Status, c.Reason = metav1.ConditionUnknown, "ManagedClusterAddOnLeaseNotFound"
		c.Message = fmt.Sprintf("The status of %s add-on is unknown.", name)
	case now.Before(renewed.Add(addonGrace)):
		c.Status, c.Reason = metav1.ConditionTrue, "ManagedClusterAddOnLeaseUpdated"
		c.Message = fmt.Sprintf("%s add-on is available.", name)
	default:
		c.Status, c.Reason = metav1.ConditionFalse, "ManagedClusterAddOnLeaseUpdateStopped"
		c.Message = fmt.Sprintf("%s add-on is not available.", name)
	}
	return c
}
