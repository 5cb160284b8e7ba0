package scheduling

import (
	"cmp"
	"slices"
)

// region is the clusters of one region that fit, best first.
type region struct {
	name  string
	rows  []*row
	score int64
}

// spreadByRegion chooses regions and then clusters of these (contract section
// 9.4): the best cluster of each, then the best of the rest.
func (a *attempt) spreadByRegion(wanted, clusters groups) *Failure {
	regions := a.regions(wanted, clusters)
	if len(regions) < wanted.least {
		return broken("clusters of %d regions fit, but the spread constraint for region wants at least %d", len(regions), wanted.least)
	}
	// Every chosen region gives a cluster, even if they are more than clusters.most.
	chosen := chooseRegions(regions, wanted, clusters.least)
	if len(chosen) == 0 {
		return broken("no %d to %d regions have %d clusters that fit, as the spread constraints want", wanted.least, wanted.most, clusters.least)
	}
	var rest []*row
	for _, at := range chosen {
		a.selected = append(a.selected, regions[at].rows[0])
		rest = append(rest, regions[at].rows[1:]...)
	}
	order(rest)
	a.selected = append(a.selected, rest[:min(len(rest), max(0, clusters.most-len(a.selected)))]...)
	order(a.selected)
	for at := range regions {
		if slices.Contains(chosen, at) {
			continue
		}
		for _, r := range regions[at].rows {
			r.filter, r.reason = FilterSelection, reasonOtherRegion
		}
	}
	return nil
}

// regions are the regions of the clusters that fit, best first.
func (a *attempt) regions(wanted, clusters groups) []region {
	var list []region
	index := map[string]int{}
	for _, r := range a.fit {
		at, known := index[r.cluster.Spec.Region]
		if !known {
			at = len(list)
			index[r.cluster.Spec.Region] = at
			list = append(list, region{name: r.cluster.Spec.Region})
		}
		list[at].rows = append(list[at].rows, r)
	}
	for i := range list {
		list[i].score = a.regionScore(list[i].rows, wanted, clusters)
	}
	slices.SortFunc(list, func(a, b region) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(b.rows), len(a.rows)), cmp.Compare(a.name, b.name))
	})
	return list
}

// regionWeight puts what a region can take before how good its clusters are.
const regionWeight = 1000

func (a *attempt) regionScore(rows []*row, wanted, clusters groups) int64 {
	replicas := int64(a.wanted())
	if !isDivided(a.Spec.Placement) {
		n, score := int64(0), int64(0)
		for _, r := range rows {
			if r.available() >= replicas {
				n, score = n+1, score+r.score()
			}
		}
		if n == 0 {
			return 0
		}
		return n*regionWeight + score/n
	}
	parts := int64(max(wanted.least, 1))
	target := (replicas + parts - 1) / parts
	least := max(clusters.least, wanted.least)
	sum, score, walked := int64(0), int64(0), 0
	for _, r := range rows {
		sum, score, walked = sum+r.available(), score+r.score(), walked+1
		if walked >= least && sum >= target {
			break
		}
	}
	return min(sum, target)*regionWeight + score/int64(walked)
}

// chooseRegions returns the positions of the regions to use: those with the
// highest total score among the sets of a wanted size that have enough clusters,
// cut to the shortest beginning that is such a set as well.
func chooseRegions(regions []region, wanted groups, clusters int) []int {
	winner := bestRegions(regions, min(wanted.most, len(regions)), clusters)
	have := 0
	for i, at := range winner {
		have += len(regions[at].rows)
		if i+1 >= wanted.least && have >= clusters {
			return winner[:i+1]
		}
	}
	return nil
}

// bestRegions returns at most n regions with enough clusters that have the
// highest total score, then the most clusters, then come first. Mostly the first
// n have enough; otherwise it works from the last region back, for each number
// of regions and clusters still wanted.
func bestRegions(regions []region, n, clusters int) []int {
	if n <= 0 {
		return nil
	}
	first, have := make([]int, n), 0
	for at := range first {
		first[at] = at
		have += len(regions[at].rows)
	}
	if have >= clusters {
		return first
	}
	type value struct {
		score    int64
		clusters int
	}
	const impossible = -1
	width := clusters + 1
	best := make([]value, (n+1)*width) // by regions left to choose, clusters left to find
	for i := range best {
		if i%width > 0 {
			best[i].score = impossible
		}
	}
	take := make([]bool, len(regions)*len(best))
	for at := len(regions) - 1; at >= 0; at-- {
		next := slices.Clone(best)
		for left := 1; left <= n; left++ {
			for lack := range width {
				with := best[(left-1)*width+max(lack-len(regions[at].rows), 0)]
				if with.score == impossible {
					continue
				}
				with = value{score: with.score + regions[at].score, clusters: with.clusters + len(regions[at].rows)}
				without := best[left*width+lack]
				if cmp.Or(cmp.Compare(with.score, without.score), cmp.Compare(with.clusters, without.clusters)) >= 0 {
					next[left*width+lack] = with
					take[at*len(best)+left*width+lack] = true
				}
			}
		}
		best = next
	}
	var chosen []int
	left, lack := n, clusters
	for at := range regions {
		if take[at*len(best)+left*width+lack] {
			chosen = append(chosen, at)
			left, lack = left-1, max(lack-len(regions[at].rows), 0)
		}
	}
	if lack > 0 {
		return nil
	}
	return chosen
}
