package scheduling

import (
	"cmp"
	"maps"
	"slices"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// groupKey names a group of workloads that a namespace keeps together or apart.
// Cluster-scoped ones are grouped among themselves.
type groupKey struct {
	namespace, name string
	apart           bool
}

// companion is a workload of a group and the clusters that it is placed on.
type companion struct {
	kind, name string
	clusters   []string
}

func (c companion) String() string { return c.kind + " " + c.name }

// groupsOf are the groups that a workload is in.
func groupsOf(spec *workv1alpha2.ResourceBindingSpec) []groupKey {
	var keys []groupKey
	if of := spec.WorkloadAffinityGroups; of != nil {
		if of.AffinityGroup != "" {
			keys = append(keys, groupKey{namespace: spec.Resource.Namespace, name: of.AffinityGroup})
		}
		if of.AntiAffinityGroup != "" {
			keys = append(keys, groupKey{namespace: spec.Resource.Namespace, name: of.AntiAffinityGroup, apart: true})
		}
	}
	return keys
}

// WithWorkload returns a snapshot in which the workload of a binding is placed as
// its spec says, for the groups that it is in.
func (s *Snapshot) WithWorkload(spec *workv1alpha2.ResourceBindingSpec) *Snapshot {
	now := companion{kind: spec.Resource.Kind, name: spec.Resource.Name}
	for _, target := range spec.Clusters {
		now.clusters = append(now.clusters, target.Name)
	}
	return s.regrouped(spec, func(group []companion, at int, found bool) []companion {
		if found {
			return append(append(slices.Clone(group[:at]), now), group[at+1:]...)
		}
		return slices.Insert(slices.Clone(group), at, now)
	})
}

// WithoutWorkload returns a snapshot whose groups do not hold the workload of a
// binding.
func (s *Snapshot) WithoutWorkload(spec *workv1alpha2.ResourceBindingSpec) *Snapshot {
	return s.regrouped(spec, func(group []companion, at int, found bool) []companion {
		if found {
			return slices.Concat(group[:at], group[at+1:])
		}
		return group
	})
}

// regrouped changes each group of a workload by a function that is told where in
// the group the workload is, or would be.
func (s *Snapshot) regrouped(spec *workv1alpha2.ResourceBindingSpec, change func(group []companion, at int, found bool) []companion) *Snapshot {
	keys := groupsOf(spec)
	if len(keys) == 0 {
		return s
	}
	next := *s
	next.groups = maps.Clone(s.groups)
	if next.groups == nil {
		next.groups = map[groupKey][]companion{}
	}
	for _, key := range keys {
		at, found := slices.BinarySearchFunc(s.groups[key], spec, compareCompanion)
		if group := change(s.groups[key], at, found); len(group) > 0 {
			next.groups[key] = group
		} else {
			delete(next.groups, key)
		}
	}
	return &next
}

func compareCompanion(c companion, spec *workv1alpha2.ResourceBindingSpec) int {
	return cmp.Or(cmp.Compare(c.name, spec.Resource.Name), cmp.Compare(c.kind, spec.Resource.Kind))
}

// company is what a workload's groups ask of a cluster (contract section 9.2).
type company struct {
	together, apart           []companion
	togetherGroup, apartGroup string
}

// companyOf are the others in a workload's groups that are placed.
func companyOf(spec *workv1alpha2.ResourceBindingSpec, s *Snapshot) company {
	var c company
	for _, key := range groupsOf(spec) {
		for _, other := range s.groups[key] {
			if len(other.clusters) == 0 || compareCompanion(other, spec) == 0 {
				continue
			}
			if key.apart {
				c.apart, c.apartGroup = append(c.apart, other), key.name
			} else {
				c.together, c.togetherGroup = append(c.together, other), key.name
			}
		}
	}
	return c
}

// togetherOut keeps a workload to the clusters that all others of its group are on.
// Where it is already it may stay.
func (c *company) togetherOut(r *row) string {
	if r.target {
		return ""
	}
	for _, other := range c.together {
		if !slices.Contains(other.clusters, r.cluster.Name) {
			return "the group " + c.togetherGroup + " is elsewhere (" + other.String() + ")"
		}
	}
	return ""
}

// apartOut keeps a workload off the clusters that any other of its group is on.
func (c *company) apartOut(r *row) string {
	if r.target {
		return ""
	}
	for _, other := range c.apart {
		if slices.Contains(other.clusters, r.cluster.Name) {
			return "the group " + c.apartGroup + " is on it already (" + other.String() + ")"
		}
	}
	return ""
}
