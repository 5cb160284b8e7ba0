package placement

import (
	"fmt"

	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
)

// topology is one spread constraint and how many clusters were chosen so far in
// each of its topologies.
type topology struct {
	rule   ocmv1beta1.SpreadConstraintsTerm
	skew   int
	counts map[string]int
	fewest int // of all counts
}

// newTopology counts every topology that some candidate is in.
func newTopology(rule ocmv1beta1.SpreadConstraintsTerm, candidates []*candidate) *topology {
	t := &topology{rule: rule, skew: max(int(rule.MaxSkew), 1), counts: map[string]int{}}
	for _, c := range candidates {
		if where, ok := t.of(c); ok {
			t.counts[where] = 0
		}
	}
	return t
}

// of is the topology that a cluster is in.
func (t *topology) of(c *candidate) (string, bool) {
	if t.rule.TopologyKeyType == ocmv1beta1.TopologyKeyClaim {
		value, ok := c.claims[t.rule.TopologyKey]
		return value, ok
	}
	value, ok := c.cluster.Labels[t.rule.TopologyKey]
	return value, ok
}

// fits says whether choosing a cluster keeps the topologies even.
func (t *topology) fits(c *candidate) bool {
	where, ok := t.of(c)
	return ok && t.counts[where]+1-t.fewest <= t.skew
}

func (t *topology) choose(c *candidate) {
	where, ok := t.of(c)
	if !ok {
		return
	}
	t.counts[where]++
	t.fewest = t.counts[where]
	for _, count := range t.counts {
		t.fewest = min(t.fewest, count)
	}
}

func (t *topology) binding() bool { return t.rule.WhenUnsatisfiable == ocmv1beta1.DoNotSchedule }

// spread takes as many of the ranked candidates as are wanted: of those that no
// binding constraint forbids, one that breaks the fewest others, and of these
// the best. What becomes even by a choice may be chosen after it.
func (d *decision) spread(candidates []*candidate) []*candidate {
	var topologies []*topology
	for _, rule := range d.in.Placement.Spec.SpreadPolicy.SpreadConstraints {
		topologies = append(topologies, newTopology(rule, candidates))
	}
	rest, wanted := candidates, d.wanted()
	if len(topologies) == 0 {
		count := min(wanted, len(candidates))
		d.outrank(candidates[count:], wanted)
		return append([]*candidate(nil), candidates[:count]...)
	}
	rest = append([]*candidate(nil), rest...)
	var chosen []*candidate
	for len(chosen) < wanted {
		best := pick(rest, topologies)
		if best < 0 {
			break
		}
		c := rest[best]
		rest = append(rest[:best], rest[best+1:]...)
		chosen = append(chosen, c)
		for _, t := range topologies {
			t.choose(c)
		}
	}
	if len(chosen) == wanted {
		d.outrank(rest, wanted)
		return chosen
	}
	for _, c := range rest {
		d.leave(c.cluster.Name, LeftUneven, uneven(c, topologies))
	}
	return chosen
}

// pick returns the index of the next choice; negative: none is allowed.
func pick(rest []*candidate, topologies []*topology) int {
	best, fewest := -1, 0
	for i, c := range rest {
		broken, forbidden := 0, false
		for _, t := range topologies {
			if t.fits(c) {
				continue
			}
			broken++
			forbidden = forbidden || t.binding()
		}
		if forbidden || best >= 0 && broken >= fewest {
			continue
		}
		if best, fewest = i, broken; broken == 0 {
			break
		}
	}
	return best
}

func uneven(c *candidate, topologies []*topology) string {
	for _, t := range topologies {
		if !t.binding() || t.fits(c) {
			continue
		}
		where, ok := t.of(c)
		if !ok {
			return fmt.Sprintf("it has no %s %s", t.rule.TopologyKeyType, t.rule.TopologyKey)
		}
		return fmt.Sprintf("%s %s=%s would be more than %d ahead", t.rule.TopologyKeyType, t.rule.TopologyKey, where, t.skew)
	}
	return "a spread constraint forbids it"
}

func (d *decision) outrank(rest []*candidate, wanted int) {
	for _, c := range rest {
		d.leave(c.cluster.Name, LeftOutranked, fmt.Sprintf("%d clusters are wanted, and as many rank before it; its score is %d", wanted, c.score))
	}
}
