package placement

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
)

// Group is one decision group.
type Group struct {
	// Index counts the groups of a placement from 0; Name is empty for groups
	// that were divided by number alone.
	Index int
	Name  string
	// Chosen are its clusters, in the placement's order.
	Chosen []Choice
}

// group divides the chosen clusters: first those of the named groups, each
// cluster in the first that takes it, then the rest, all by the limit.
func (d *decision) group(chosen []*candidate) []Group {
	limit, _ := groupLimit(d.in.Placement.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup, len(chosen)) // compile judged it
	var groups []Group
	add := func(name string, taken []*candidate) {
		for part := range slices.Chunk(taken, limit) {
			group := Group{Index: len(groups), Name: name}
			for _, c := range part {
				group.Chosen = append(group.Chosen, Choice{Cluster: c.cluster.Name, Score: c.score})
			}
			groups = append(groups, group)
		}
	}
	rest := chosen
	for _, rule := range d.rules.groups {
		var taken, others []*candidate
		for _, c := range rest {
			if rule.labels.Matches(labels.Set(c.cluster.Labels)) && rule.claims.Matches(labels.Set(c.claims)) {
				taken = append(taken, c)
			} else {
				others = append(others, c)
			}
		}
		add(rule.name, taken)
		rest = others
	}
	add("", rest)
	if len(groups) == 0 {
		groups = []Group{{}}
	}
	return groups
}

// Slices are the clusters of a group, divided by what one PlacementDecision
// holds. There is at least one.
func (g Group) Slices() [][]Choice {
	slices := slices.Collect(slices.Chunk(g.Chosen, ocmv1beta1.MaxDecisions))
	if len(slices) == 0 {
		return [][]Choice{nil}
	}
	return slices
}
