package scheduling

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
)

// affinity is policy.MatchesCluster made ready for thousands of clusters: lists
// of names are sets and the label selector is read once.
type affinity struct {
	names, exclude sets.Set[string]
	labels         labels.Selector
	fields         *policyv1alpha1.ClusterAffinity // nil unless fields are selected
}

func compile(a *policyv1alpha1.ClusterAffinity) affinity {
	if a == nil {
		return affinity{}
	}
	var compiled affinity
	if len(a.ClusterNames) > 0 {
		compiled.names = sets.New(a.ClusterNames...)
	}
	if len(a.ExcludeClusters) > 0 {
		compiled.exclude = sets.New(a.ExcludeClusters...)
	}
	if a.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(a.LabelSelector)
		if err != nil {
			selector = labels.Nothing()
		}
		compiled.labels = selector
	}
	if a.FieldSelector != nil {
		compiled.fields = &policyv1alpha1.ClusterAffinity{FieldSelector: a.FieldSelector}
	}
	return compiled
}

func (a *affinity) matches(cluster *clusterv1alpha1.Cluster) bool {
	switch {
	case a.exclude.Has(cluster.Name), a.names != nil && !a.names.Has(cluster.Name),
		a.labels != nil && !a.labels.Matches(labels.Set(cluster.Labels)):
		return false
	}
	return a.fields == nil || policy.MatchesCluster(a.fields, cluster)
}

// term is one choice of clusters: that of clusterAffinity, or one of
// clusterAffinities. Its tiers after the first take what the ones before them
// have no room for.
type term struct {
	name  string
	tiers []affinity
}

// tier says which tier a cluster belongs to.
func (t *term) tier(cluster *clusterv1alpha1.Cluster) (int, bool) {
	for i := range t.tiers {
		if t.tiers[i].matches(cluster) {
			return i, true
		}
	}
	return 0, false
}

// termsFrom are the terms to try, in order (contract section 9.6): from the one
// that was used last, or from the first when the binding is placed afresh.
func termsFrom(in Input) []term {
	placement := in.Spec.Placement
	if placement == nil {
		return []term{{tiers: []affinity{{}}}}
	}
	if len(placement.ClusterAffinities) == 0 {
		return []term{{tiers: []affinity{compile(placement.ClusterAffinity)}}}
	}
	list := placement.ClusterAffinities
	if !in.Fresh && in.Status != nil {
		used := slices.IndexFunc(list, func(t policyv1alpha1.ClusterAffinityTerm) bool {
			return t.AffinityName == in.Status.SchedulerObservedAffinityName
		})
		list = list[max(used, 0):]
	}
	terms := make([]term, 0, len(list))
	for i := range list {
		t := term{name: list[i].AffinityName, tiers: []affinity{compile(&list[i].ClusterAffinity)}}
		if isWorkload(in.Spec) {
			for j := range list[i].OverflowAffinities {
				t.tiers = append(t.tiers, compile(&list[i].OverflowAffinities[j].ClusterAffinity))
			}
		}
		terms = append(terms, t)
	}
	return terms
}
