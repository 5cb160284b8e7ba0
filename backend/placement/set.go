package placement

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
)

// BoundSets returns those of the sets that bindings of one namespace bind.
func BoundSets(bindings []ocmv1beta2.ManagedClusterSetBinding, sets []ocmv1beta2.ManagedClusterSet) []*ocmv1beta2.ManagedClusterSet {
	var bound []*ocmv1beta2.ManagedClusterSet
	for i := range sets {
		if slices.ContainsFunc(bindings, func(b ocmv1beta2.ManagedClusterSetBinding) bool {
			return b.DeletionTimestamp == nil && b.Spec.ClusterSet == sets[i].Name
		}) {
			bound = append(bound, &sets[i])
		}
	}
	return bound
}

// countSets notes the bound sets that the placement counts, and returns how many
// are bound at all.
func (d *decision) countSets() int {
	wanted := d.in.Placement.Spec.ClusterSets
	bound := BoundSets(d.in.Bindings, d.in.Sets)
	for _, set := range bound {
		if len(wanted) > 0 && !slices.Contains(wanted, set.Name) {
			continue
		}
		members, err := set.Members()
		if err != nil {
			continue // a set that nobody understands has no members
		}
		d.out.Sets = append(d.out.Sets, set.Name)
		d.rules.members = append(d.rules.members, members)
	}
	slices.Sort(d.out.Sets)
	return len(bound)
}

// filter returns the clusters that qualify.
func (d *decision) filter() []*candidate {
	var candidates []*candidate
	for i := range d.in.Clusters {
		c := &candidate{cluster: &d.in.Clusters[i], current: d.current[d.in.Clusters[i].Name]}
		own := labels.Set(c.cluster.Labels)
		inSet := slices.ContainsFunc(d.rules.members, func(s labels.Selector) bool { return s.Matches(own) })
		if c.cluster.DeletionTimestamp != nil {
			d.leave(c.cluster.Name, LeftDeleting, "the cluster is being deleted")
			continue
		}
		if !inSet {
			d.leave(c.cluster.Name, LeftNotInSet, d.notInSet())
			continue
		}
		d.inSets++
		c.claims = claimsOf(c.cluster)
		if why := d.mismatch(c); why != "" {
			d.leave(c.cluster.Name, LeftNotMatched, why)
			continue
		}
		if why := d.repelled(c); why != "" {
			d.leave(c.cluster.Name, LeftTainted, why)
			continue
		}
		candidates = append(candidates, c)
	}
	return candidates
}

func (d *decision) notInSet() string {
	if len(d.out.Sets) == 0 {
		return "no set that counts is bound to the namespace"
	}
	return fmt.Sprintf("the cluster is in none of the sets %v", d.out.Sets)
}

func claimsOf(cluster *ocmv1.ManagedCluster) map[string]string {
	claims := make(map[string]string, len(cluster.Status.ClusterClaims))
	for _, claim := range cluster.Status.ClusterClaims {
		claims[claim.Name] = claim.Value
	}
	return claims
}
