package placement

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
)

// Input is everything that a decision depends on. Decide changes none of it.
type Input struct {
	// Placement is what is decided about.
	Placement *ocmv1beta1.Placement
	// Bindings are those of the placement's namespace.
	Bindings []ocmv1beta2.ManagedClusterSetBinding
	// Sets are all sets of the hub.
	Sets []ocmv1beta2.ManagedClusterSet
	// Clusters are all clusters of the hub.
	Clusters []ocmv1.ManagedCluster
	// Current are the clusters that the placement has chosen already.
	Current []string
	// Elsewhere is how many other placements have chosen a cluster, by its name.
	Elsewhere map[string]int
	// Scores are those that the placement's prioritizers and expressions read.
	Scores []ocmv1alpha1.AddOnPlacementScore
	// KeepCurrent puts the clusters that are chosen already before all others,
	// whatever their scores.
	KeepCurrent bool
	// Now judges tolerations and scores that end.
	Now time.Time
}

// Outcome is a decision.
type Outcome struct {
	// Misconfigured says what is wrong with the placement; nothing else is set
	// then.
	Misconfigured string
	// Sets are the bound sets that count, by name.
	Sets []string
	// Chosen are the clusters, in the order that the placement asks for.
	Chosen []Choice
	// Groups divide them. There is at least one.
	Groups []Group
	// Left are all other clusters of the hub, by name.
	Left []Left
	// Satisfied says whether as many were found as are wanted.
	Satisfied Verdict
	// Again is when time alone may change the outcome; zero: never.
	Again time.Time
}

// Choice is a chosen cluster.
type Choice struct {
	// Cluster is its name, Score the weighted sum of its prioritizers.
	Cluster string
	Score   int64
}

// Left is a cluster that was left out.
type Left struct {
	// Cluster is its name.
	Cluster string
	// Reason is one of the constants of this package, Message says more.
	Reason, Message string
}

// Reasons why a cluster is left out.
const (
	// LeftDeleting means that it is being deleted.
	LeftDeleting = "Deleting"
	// LeftNotInSet means that it is in none of the bound sets that count.
	LeftNotInSet = "NotInSet"
	// LeftNotMatched means that no predicate matches.
	LeftNotMatched = "NotMatched"
	// LeftTainted means that a taint is not tolerated, or no longer.
	LeftTainted = "Tainted"
	// LeftUneven means that a spread constraint forbids it.
	LeftUneven = "Uneven"
	// LeftOutranked means that as many better ones were found as are wanted.
	LeftOutranked = "Outranked"
)

// Verdict says whether a placement got what it wants.
type Verdict struct {
	// OK is true if it did; Reason is one of the field's, Message says more.
	OK              bool
	Reason, Message string
}

// Names are the chosen clusters by name.
func (o Outcome) Names() []string {
	names := make([]string, len(o.Chosen))
	for i, choice := range o.Chosen {
		names[i] = choice.Cluster
	}
	slices.Sort(names)
	return names
}

// candidate is a cluster on its way through a decision.
type candidate struct {
	cluster *ocmv1.ManagedCluster
	claims  map[string]string
	score   int64
	// current: it is chosen already. avoided: it has a taint that is better not
	// tolerated.
	current, avoided bool
}

// decision is a decision being made.
type decision struct {
	in      Input
	rules   *rules
	out     Outcome
	current map[string]bool
	// inSets and feasible are how many clusters are in sets that count, and how
	// many of those qualify; cost is what expressions have used up.
	inSets, feasible int
	cost             uint64
}

// Decide chooses clusters for a placement.
func Decide(in Input) Outcome {
	rules, problem := compile(&in.Placement.Spec)
	if problem != "" {
		return Outcome{Misconfigured: problem}
	}
	d := &decision{in: in, rules: rules, current: map[string]bool{}}
	for _, name := range in.Current {
		d.current[name] = true
	}
	bound := d.countSets()
	candidates := d.filter()
	d.feasible = len(candidates)
	d.score(candidates)
	d.rank(candidates)
	chosen := d.spread(candidates)
	d.order(chosen)
	d.out.Groups = d.group(chosen)
	slices.SortFunc(d.out.Left, func(a, b Left) int { return cmp.Compare(a.Cluster, b.Cluster) })
	d.out.Satisfied = d.verdict(bound)
	return d.out
}

// leave leaves a cluster out.
func (d *decision) leave(cluster, reason, message string) {
	d.out.Left = append(d.out.Left, Left{Cluster: cluster, Reason: reason, Message: message})
}

// again notes that a moment may change the outcome.
func (d *decision) again(at time.Time) {
	if at.After(d.in.Now) && (d.out.Again.IsZero() || at.Before(d.out.Again)) {
		d.out.Again = at
	}
}

// wanted is how many clusters the placement wants of those that qualify.
func (d *decision) wanted() int {
	if number := d.in.Placement.Spec.NumberOfClusters; number != nil {
		return max(int(*number), 0)
	}
	return d.feasible
}

// order puts the chosen clusters into the order that the placement asks for.
func (d *decision) order(chosen []*candidate) {
	byScore := d.in.Placement.Spec.SortBy == ocmv1beta1.SortByScore
	slices.SortFunc(chosen, func(a, b *candidate) int {
		if byScore && a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return cmp.Compare(a.cluster.Name, b.cluster.Name)
	})
	for _, c := range chosen {
		d.out.Chosen = append(d.out.Chosen, Choice{Cluster: c.cluster.Name, Score: c.score})
	}
}

// verdict names the first thing that is missing.
func (d *decision) verdict(bound int) Verdict {
	wanted := d.in.Placement.Spec.ClusterSets
	switch missing := d.wanted() - len(d.out.Chosen); {
	case bound == 0:
		return Verdict{Reason: ocmv1beta1.ReasonNoManagedClusterSetBindings, Message: "No ManagedClusterSet is bound to the namespace of the placement"}
	case len(d.out.Sets) == 0:
		return Verdict{Reason: ocmv1beta1.ReasonNoIntersection, Message: fmt.Sprintf("None of ManagedClusterSets %v is bound to the namespace of the placement", wanted)}
	case d.inSets == 0:
		return Verdict{Reason: ocmv1beta1.ReasonAllManagedClusterSetsEmpty, Message: fmt.Sprintf("All ManagedClusterSets %v have no member ManagedCluster", d.out.Sets)}
	case d.feasible == 0 && (missing > 0 || d.in.Placement.Spec.NumberOfClusters == nil):
		return Verdict{Reason: ocmv1beta1.ReasonNoManagedClusterMatched, Message: "No ManagedCluster matches any of the cluster predicates"}
	case missing > 0:
		return Verdict{Reason: ocmv1beta1.ReasonNotAllDecisionsScheduled, Message: fmt.Sprintf("%d of %d cluster decisions not scheduled", missing, d.wanted())}
	}
	return Verdict{OK: true, Reason: ocmv1beta1.ReasonAllDecisionsScheduled, Message: "All cluster decisions scheduled"}
}
