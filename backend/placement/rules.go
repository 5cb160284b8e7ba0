package placement

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
)

// rules are the spec of a placement, understood.
type rules struct {
	members    []labels.Selector // of the sets that count; countSets sets it
	predicates []requirement
	weights    []weight
	groups     []groupRule
}

// requirement is one way to qualify; all its parts must match.
type requirement struct {
	labels, claims labels.Selector
	expressions    []*expression
}

// weight is a prioritizer and how much it counts.
type weight struct {
	coordinate ocmv1beta1.ScoreCoordinate
	factor     int64
}

// groupRule is a named group.
type groupRule struct {
	name           string
	labels, claims labels.Selector
}

// compile understands a spec, or says what is wrong with it.
func compile(spec *ocmv1beta1.PlacementSpec) (*rules, string) {
	r := &rules{}
	for i := range spec.Predicates {
		p, err := compilePredicate(&spec.Predicates[i].RequiredClusterSelector)
		if err != nil {
			return nil, fmt.Sprintf("predicate %d: %v", i, err)
		}
		r.predicates = append(r.predicates, p)
	}
	for i := range spec.Tolerations {
		if problem := checkToleration(&spec.Tolerations[i]); problem != "" {
			return nil, fmt.Sprintf("toleration %d: %s", i, problem)
		}
	}
	var err error
	if r.weights, err = compileWeights(&spec.PrioritizerPolicy); err != nil {
		return nil, err.Error()
	}
	for i := range spec.DecisionStrategy.GroupStrategy.DecisionGroups {
		g, err := compileGroup(&spec.DecisionStrategy.GroupStrategy.DecisionGroups[i])
		if err != nil {
			return nil, fmt.Sprintf("decision group %d: %v", i, err)
		}
		r.groups = append(r.groups, g)
	}
	if _, err := groupLimit(spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup, 1); err != nil {
		return nil, err.Error()
	}
	return r, ""
}

func compilePredicate(selector *ocmv1beta1.ClusterSelector) (p requirement, err error) {
	if p.labels, err = metav1.LabelSelectorAsSelector(&selector.LabelSelector); err != nil {
		return p, fmt.Errorf("label selector: %w", err)
	}
	if p.claims, err = claimSelector(&selector.ClaimSelector); err != nil {
		return p, fmt.Errorf("claim selector: %w", err)
	}
	for _, text := range selector.CelSelector.CelExpressions {
		compiled, err := compileExpression(text)
		if err != nil {
			return p, fmt.Errorf("expression %q: %w", text, err)
		}
		p.expressions = append(p.expressions, compiled)
	}
	return p, nil
}

func claimSelector(selector *ocmv1beta1.ClusterClaimSelector) (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: selector.MatchExpressions})
}

func compileGroup(group *ocmv1beta1.DecisionGroup) (g groupRule, err error) {
	g.name = group.GroupName
	if g.labels, err = metav1.LabelSelectorAsSelector(&group.ClusterSelector.LabelSelector); err != nil {
		return g, fmt.Errorf("label selector: %w", err)
	}
	if g.claims, err = claimSelector(&group.ClusterSelector.ClaimSelector); err != nil {
		return g, fmt.Errorf("claim selector: %w", err)
	}
	return g, nil
}

// groupLimit is how many clusters a group holds of a number that were chosen; 0
// and everything else that says nothing means all of them.
func groupLimit(limit intstr.IntOrString, chosen int) (int, error) {
	if limit.Type == intstr.Int {
		if limit.IntVal <= 0 {
			return max(chosen, 1), nil
		}
		return int(limit.IntVal), nil
	}
	if limit.StrVal == "" {
		return max(chosen, 1), nil
	}
	text, isPercent := strings.CutSuffix(limit.StrVal, "%")
	number, err := strconv.Atoi(text)
	switch {
	case err != nil || number < 0 || isPercent && (number == 0 || number > 100):
		return 0, fmt.Errorf("clustersPerDecisionGroup %q is neither a number nor a percentage from 1%% to 100%%", limit.StrVal)
	case isPercent:
		return max(int(math.Ceil(float64(chosen)*float64(number)/100)), 1), nil
	case number == 0:
		return max(chosen, 1), nil
	}
	return number, nil
}

// mismatch says why no predicate matches a cluster; empty: one does, or there is
// none.
func (d *decision) mismatch(c *candidate) string {
	var why []string
	for i := range d.rules.predicates {
		reason := d.refuses(&d.rules.predicates[i], c)
		if reason == "" {
			return ""
		}
		why = append(why, reason)
	}
	return strings.Join(why, "; ")
}

// refuses says which part of a predicate a cluster does not match.
func (d *decision) refuses(p *requirement, c *candidate) string {
	if !p.labels.Matches(labels.Set(c.cluster.Labels)) {
		return "its labels do not match " + p.labels.String()
	}
	if !p.claims.Matches(labels.Set(c.claims)) {
		return "its claims do not match " + p.claims.String()
	}
	for _, e := range p.expressions {
		matches, err := d.evaluate(e, c)
		if err != nil {
			return fmt.Sprintf("the expression %q fails: %v", e.text, err)
		}
		if !matches {
			return fmt.Sprintf("the expression %q is false", e.text)
		}
	}
	return ""
}
