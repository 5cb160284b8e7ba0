package placement

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
)

// maxScore is the best that one prioritizer gives; the worst is -maxScore.
const maxScore = 100

// byDefault are the prioritizers of a policy that says nothing about them.
var byDefault = []string{ocmv1beta1.PrioritizerBalance, ocmv1beta1.PrioritizerSteady}

func compileWeights(policy *ocmv1beta1.PrioritizerPolicy) ([]weight, error) {
	var weights []weight
	if policy.Mode != ocmv1beta1.PrioritizerExact {
		for _, name := range byDefault {
			weights = append(weights, weight{coordinate: ocmv1beta1.ScoreCoordinate{Type: ocmv1beta1.ScoreBuiltIn, BuiltIn: name}, factor: 1})
		}
	}
	for i, config := range policy.Configurations {
		coordinate, err := checkCoordinate(config.ScoreCoordinate)
		if err != nil {
			return nil, fmt.Errorf("prioritizer %d: %w", i, err)
		}
		weights = slices.DeleteFunc(weights, func(w weight) bool { return same(w.coordinate, coordinate) })
		weights = append(weights, weight{coordinate: coordinate, factor: int64(config.Weight)})
	}
	return weights, nil
}

func checkCoordinate(c *ocmv1beta1.ScoreCoordinate) (ocmv1beta1.ScoreCoordinate, error) {
	if c == nil {
		return ocmv1beta1.ScoreCoordinate{}, errors.New("there is no scoreCoordinate")
	}
	switch c.Type {
	case ocmv1beta1.ScoreAddOn:
		if c.AddOn == nil || c.AddOn.ResourceName == "" || c.AddOn.ScoreName == "" {
			return *c, errors.New("the type AddOn needs addOn with resourceName and scoreName")
		}
	case "", ocmv1beta1.ScoreBuiltIn:
		known := append(slices.Clone(byDefault), ocmv1beta1.PrioritizerResourceAllocatableCPU, ocmv1beta1.PrioritizerResourceAllocatableMemory)
		if !slices.Contains(known, c.BuiltIn) {
			return *c, fmt.Errorf("%q is no built-in prioritizer, these are %v", c.BuiltIn, known)
		}
	default:
		return *c, fmt.Errorf("%q is no type of prioritizers", c.Type)
	}
	return *c, nil
}

func same(a, b ocmv1beta1.ScoreCoordinate) bool {
	if (a.Type == ocmv1beta1.ScoreAddOn) != (b.Type == ocmv1beta1.ScoreAddOn) {
		return false
	}
	if a.Type == ocmv1beta1.ScoreAddOn {
		return *a.AddOn == *b.AddOn
	}
	return a.BuiltIn == b.BuiltIn
}

// score sums up what the prioritizers give.
func (d *decision) score(candidates []*candidate) {
	for _, w := range d.rules.weights {
		if w.factor == 0 {
			continue
		}
		give := d.prioritizer(w.coordinate, candidates)
		for _, c := range candidates {
			c.score += w.factor * give(c)
		}
	}
}

// prioritizer returns what gives one score to each of the candidates.
func (d *decision) prioritizer(coordinate ocmv1beta1.ScoreCoordinate, candidates []*candidate) func(*candidate) int64 {
	if coordinate.Type == ocmv1beta1.ScoreAddOn {
		return d.addOnScores(*coordinate.AddOn)
	}
	switch coordinate.BuiltIn {
	case ocmv1beta1.PrioritizerBalance:
		return balance(d.in.Elsewhere, candidates)
	case ocmv1beta1.PrioritizerResourceAllocatableCPU:
		return allocatable(candidates, func(list corev1.ResourceList) float64 { return list.Cpu().AsApproximateFloat64() })
	case ocmv1beta1.PrioritizerResourceAllocatableMemory:
		return allocatable(candidates, func(list corev1.ResourceList) float64 { return list.Memory().AsApproximateFloat64() })
	}
	return func(c *candidate) int64 { // Steady
		if c.current {
			return maxScore
		}
		return 0
	}
}

// balance gives the most to clusters that no other placement chose.
func balance(elsewhere map[string]int, candidates []*candidate) func(*candidate) int64 {
	most := 0
	for _, c := range candidates {
		most = max(most, elsewhere[c.cluster.Name])
	}
	return func(c *candidate) int64 {
		if most == 0 {
			return maxScore
		}
		return maxScore - int64(2*maxScore*elsewhere[c.cluster.Name]/most)
	}
}

// allocatable spreads the candidates evenly from the worst score, for what has
// the least of a resource, to the best.
func allocatable(candidates []*candidate, amount func(corev1.ResourceList) float64) func(*candidate) int64 {
	var least, most float64
	for i, c := range candidates {
		has := amount(c.cluster.Status.Allocatable)
		if i == 0 {
			least, most = has, has
		}
		least, most = min(least, has), max(most, has)
	}
	return func(c *candidate) int64 {
		if most == least {
			return maxScore
		}
		return int64((amount(c.cluster.Status.Allocatable)-least)/(most-least)*2*maxScore) - maxScore
	}
}

// addOnScores gives what an add-on wrote, and 0 where it wrote nothing that is
// still valid.
func (d *decision) addOnScores(of ocmv1beta1.AddOnScore) func(*candidate) int64 {
	given := map[string]int64{}
	for i := range d.in.Scores {
		s := &d.in.Scores[i]
		if s.Name != of.ResourceName {
			continue
		}
		if until := s.Status.ValidUntil; until != nil {
			if !until.After(d.in.Now) {
				continue
			}
			d.again(until.Time)
		}
		for _, item := range s.Status.Scores {
			if item.Name == of.ScoreName {
				given[s.Namespace] = int64(min(max(item.Value, -maxScore), maxScore))
			}
		}
	}
	return func(c *candidate) int64 { return given[c.cluster.Name] }
}

// rank puts the best first. What is better avoided comes after all else; equals
// go by name, so that the same input gives the same outcome.
func (d *decision) rank(candidates []*candidate) {
	slices.SortFunc(candidates, func(a, b *candidate) int {
		if d.in.KeepCurrent && a.current != b.current {
			return first(a.current)
		}
		if a.avoided != b.avoided {
			return first(b.avoided)
		}
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.cluster.Name, b.cluster.Name))
	})
}

func first(a bool) int {
	if a {
		return -1
	}
	return 1
}
