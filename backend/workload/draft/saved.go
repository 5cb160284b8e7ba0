package draft

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/override"
	"muster.dev/muster/backend/workload/fact"
)

// Saved reads the policies that are saved from a cache. What it returns belongs
// to the cache and must not be changed.
type Saved struct{ Cache client.Reader }

// Get reads a policy of any of the four kinds. It fails with fault.NotFound.
func (s Saved) Get(ctx context.Context, ref fact.PolicyRef) (client.Object, error) {
	object := New(ref.Kind)
	err := s.Cache.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, object, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, fault.NotFound("there is no %s", ref)
	}
	if err != nil {
		return nil, cacheFault("read "+ref.String(), err)
	}
	return object, nil
}

// Overrides are the override policies that may mean objects of a namespace.
func (s Saved) Overrides(ctx context.Context, namespace string) (override.Policies, error) {
	var all override.Policies
	var cluster policyv1alpha1.ClusterOverridePolicyList
	if err := s.Cache.List(ctx, &cluster, client.UnsafeDisableDeepCopy); err != nil {
		return all, cacheFault("list cluster override policies", err)
	}
	for i := range cluster.Items {
		all.Cluster = append(all.Cluster, &cluster.Items[i])
	}
	if namespace == "" {
		return all, nil
	}
	var namespaced policyv1alpha1.OverridePolicyList
	if err := s.Cache.List(ctx, &namespaced, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return all, cacheFault("list override policies", err)
	}
	for i := range namespaced.Items {
		all.Namespaced = append(all.Namespaced, &namespaced.Items[i])
	}
	return all, nil
}

// Propagation are the propagation policies that may mean objects of a namespace.
func (s Saved) Propagation(ctx context.Context, namespace string) (pps []*policyv1alpha1.PropagationPolicy, cpps []*policyv1alpha1.ClusterPropagationPolicy, err error) {
	var cluster policyv1alpha1.ClusterPropagationPolicyList
	if err := s.Cache.List(ctx, &cluster, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, cacheFault("list cluster propagation policies", err)
	}
	cpps = make([]*policyv1alpha1.ClusterPropagationPolicy, 0, len(cluster.Items))
	for i := range cluster.Items {
		cpps = append(cpps, &cluster.Items[i])
	}
	if namespace == "" {
		return nil, cpps, nil
	}
	var namespaced policyv1alpha1.PropagationPolicyList
	if err := s.Cache.List(ctx, &namespaced, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, cacheFault("list propagation policies", err)
	}
	pps = make([]*policyv1alpha1.PropagationPolicy, 0, len(namespaced.Items))
	for i := range namespaced.Items {
		pps = append(pps, &namespaced.Items[i])
	}
	return pps, cpps, nil
}

// cacheFault is an error of the cache, which a starting hub has not filled yet.
func cacheFault(doing string, err error) error {
	var early *cache.ErrCacheNotStarted
	if errors.As(err, &early) {
		return fault.Unavailable("the hub is starting").WithFix("try again in a moment").Wrap(err)
	}
	return fmt.Errorf("%s: %w", doing, kube.Fault(err))
}
