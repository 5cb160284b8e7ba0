package managedcluster

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
)

// managedNamespaces returns what the sets of a cluster ask for in it: one entry a
// set and a namespace, in their order, each with what the agent said of it. A set
// that goes asks for nothing, and neither does one that nobody understands.
func managedNamespaces(cluster *ocmv1.ManagedCluster, sets []ocmv1beta2.ManagedClusterSet) []ocmv1.ClusterSetManagedNamespace {
	var wanted []ocmv1.ClusterSetManagedNamespace
	for i := range sets {
		set := &sets[i]
		if set.DeletionTimestamp != nil || len(set.Spec.ManagedNamespaces) == 0 {
			continue
		}
		if members, err := set.Members(); err != nil || !members.Matches(labels.Set(cluster.Labels)) {
			continue
		}
		for _, namespace := range set.Spec.ManagedNamespaces {
			entry := ocmv1.ClusterSetManagedNamespace{Name: namespace.Name, ClusterSet: set.Name}
			if known := slices.IndexFunc(cluster.Status.ManagedNamespaces, func(e ocmv1.ClusterSetManagedNamespace) bool {
				return e.Name == entry.Name && e.ClusterSet == entry.ClusterSet
			}); known >= 0 {
				entry.Conditions = cluster.Status.ManagedNamespaces[known].Conditions
			}
			wanted = append(wanted, entry)
		}
	}
	slices.SortFunc(wanted, func(a, b ocmv1.ClusterSetManagedNamespace) int {
		return cmp.Or(cmp.Compare(a.ClusterSet, b.ClusterSet), cmp.Compare(a.Name, b.Name))
	})
	return wanted
}

// sameNamespaces says whether two lists ask for the same, whatever was said of it.
func sameNamespaces(a, b []ocmv1.ClusterSetManagedNamespace) bool {
	return slices.EqualFunc(a, b, func(a, b ocmv1.ClusterSetManagedNamespace) bool {
		return a.Name == b.Name && a.ClusterSet == b.ClusterSet
	})
}
