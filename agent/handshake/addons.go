package handshake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/agent/feed"
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
// alive: whose lease in the member, named like the add-on, is renewed. The hub is
// watched; the leases are looked at now and then, where there are add-ons.
func (s *service) careForAddons(ctx context.Context) error {
	addons := &addonsSeen{changed: make(chan struct{}, 1), all: map[string]seenAddon{}}
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { s.followAddons(ctx, addons) })
	certificates := &addonCertificates{service: s, running: map[string]*addonRun{}}
	defer certificates.wait()
	tick := time.NewTicker(addonEvery)
	defer tick.Stop()
	for {
		if all, known := addons.now(); known {
			certificates.follow(ctx, all)
		}
		all, _ := addons.now()
		for name, addon := range all {
			within, cancel := context.WithTimeout(ctx, requestTimeout)
			if err := s.careForAddon(within, addon); err != nil && ctx.Err() == nil {
				s.log.Debug("add-on not judged", "cluster", s.identity.Cluster, "name", name, "error", err)
			}
			cancel()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-addons.changed:
		case <-tick.C:
		}
	}
}

// seenAddon is an add-on as the hub has it, and what it is served as.
type seenAddon struct {
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
}

// addonsSeen are the add-ons of the cluster.
type addonsSeen struct {
	changed chan struct{}

	mu    sync.Mutex
	all   map[string]seenAddon
	known bool // what is not in all does not exist
}

func (a *addonsSeen) now() (all map[string]seenAddon, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.all), a.known
}

func (a *addonsSeen) change(f func(map[string]seenAddon)) {
	a.mu.Lock()
	f(a.all)
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// followAddons watches the add-ons of the cluster, in the version that the hub has.
func (s *service) followAddons(ctx context.Context, addons *addonsSeen) {
	for version := 0; ctx.Err() == nil; version = (version + 1) % len(addonVersions) {
		resource := schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: addonVersions[version], Resource: "managedclusteraddons"}
		within, stop := context.WithCancel(ctx)
		feed.Run(within, s.hub.Resource(resource).Namespace(s.identity.Cluster), feed.Funcs{
			OnIs: func(o *unstructured.Unstructured) {
				addons.change(func(all map[string]seenAddon) { all[o.GetName()] = seenAddon{resource, o} })
			},
			OnGone: func(o *unstructured.Unstructured) {
				addons.change(func(all map[string]seenAddon) { delete(all, o.GetName()) })
			},
			OnAll: func(objects []*unstructured.Unstructured) {
				addons.change(func(all map[string]seenAddon) {
					addons.known = true
					clear(all)
					for _, o := range objects {
						all[o.GetName()] = seenAddon{resource, o}
					}
				})
			},
		}, feed.Options{Slowest: addonEvery, Failed: func(err error) {
			if absent(err) {
				stop() // perhaps it has the other version
			}
		}})
		stop()
		if version == len(addonVersions)-1 {
			wait(ctx, addonEvery)
		}
	}
}

// namespaceOf is where an add-on runs in the member, in whichever version it is served.
func namespaceOf(addon *unstructured.Unstructured) string {
	decided, _, _ := unstructured.NestedString(addon.Object, "status", "namespace")
	older, _, _ := unstructured.NestedString(addon.Object, "spec", "installNamespace")
	return cmp.Or(decided, older, addon.GetAnnotations()[ocmaddonv1beta1.InstallNamespaceAnnotation], addonNamespace)
}

func (s *service) careForAddon(ctx context.Context, seen seenAddon) error {
	resource, o := seen.resource, seen.object
	addon := &ocmaddonv1beta1.ManagedClusterAddOn{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, addon); err != nil {
		return err
	}
	if mode := addon.Status.HealthCheck.Mode; mode != "" && mode != "Lease" {
		return nil // others see to it
	}
	namespace := namespaceOf(o)
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
