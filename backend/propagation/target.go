package propagation

import (
	"slices"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/propagation/work"
)

// WorkName is the name of the Work that carries an object, as clients compute it
// (contract section 3.2). namespace is empty for kinds without namespaces.
func WorkName(namespace, name, kind string) string { return work.Name(namespace, name, kind) }

// Target is a cluster that gets the template of a binding.
type Target struct {
	// Cluster is its name.
	Cluster string
	// Scheduled says that the scheduler chose the cluster for this binding; else
	// another binding needs the template there, as it is.
	Scheduled bool
	// Replicas are those of a scheduled cluster.
	Replicas int32
}

// Targets are the clusters that get the template of a binding, by name: those
// that the scheduler chose, and those of the bindings that need it (contract
// section 11.1).
func Targets(spec *workv1alpha2.ResourceBindingSpec) []Target {
	targets := make([]Target, 0, len(spec.Clusters))
	known := make(map[string]bool, len(spec.Clusters))
	for i := range spec.Clusters {
		c := &spec.Clusters[i]
		if !known[c.Name] {
			known[c.Name] = true
			targets = append(targets, Target{Cluster: c.Name, Scheduled: true, Replicas: c.Replicas})
		}
	}
	for _, parent := range spec.RequiredBy {
		for i := range parent.Clusters {
			if name := parent.Clusters[i].Name; !known[name] {
				known[name] = true
				targets = append(targets, Target{Cluster: name})
			}
		}
	}
	slices.SortFunc(targets, func(a, b Target) int {
		if a.Cluster < b.Cluster {
			return -1
		}
		return 1
	})
	return targets
}

// Kept are the clusters whose Works stay: the targets, and clusters that are
// being left gracefully or are never to be purged. Works of all others are
// orphans.
func Kept(spec *workv1alpha2.ResourceBindingSpec) map[string]bool {
	kept := map[string]bool{}
	for _, target := range Targets(spec) {
		kept[target.Cluster] = true
	}
	for i := range spec.GracefulEvictionTasks {
		if task := &spec.GracefulEvictionTasks[i]; task.PurgeMode != policyv1alpha1.PurgeModeDirectly {
			kept[task.FromCluster] = true
		}
	}
	return kept
}

// purged are the clusters that have to be left before others get the template.
func purged(spec *workv1alpha2.ResourceBindingSpec) map[string]bool {
	names := map[string]bool{}
	for i := range spec.GracefulEvictionTasks {
		if task := &spec.GracefulEvictionTasks[i]; task.PurgeMode == policyv1alpha1.PurgeModeDirectly {
			names[task.FromCluster] = true
		}
	}
	return names
}

// isWorkload says whether the template has replicas to be placed.
func isWorkload(spec *workv1alpha2.ResourceBindingSpec) bool {
	return spec.Replicas > 0 || spec.ReplicaRequirements != nil
}

// divided says whether the replicas are shared among the clusters. Without
// replicaScheduling every cluster runs all of them (contract section 2.2.1).
func divided(spec *workv1alpha2.ResourceBindingSpec) bool {
	return spec.Placement != nil && spec.Placement.ReplicaScheduling != nil &&
		spec.Placement.ReplicaScheduling.ReplicaSchedulingType != policyv1alpha1.ReplicaSchedulingTypeDuplicated
}

// suspended says whether a cluster gets no changes for now.
func suspended(spec *workv1alpha2.ResourceBindingSpec, cluster string) bool {
	s := spec.Suspension
	if s == nil {
		return false
	}
	return s.Dispatching != nil && *s.Dispatching || s.DispatchingOnClusters != nil && slices.Contains(s.DispatchingOnClusters.ClusterNames, cluster)
}
