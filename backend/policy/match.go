package policy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

// Strength says how closely a selector means an object (contract sections 8.2
// and 10.1). The larger one is the closer one.
type Strength int

// The strengths, weakest first.
const (
	// MatchNone: the selector does not mean the object.
	MatchNone Strength = iota
	// MatchKind: the selector means every object of the kind.
	MatchKind
	// MatchLabels: the selector means the object by its labels.
	MatchLabels
	// MatchName: the selector names the object.
	MatchName
)

// Match says how closely a selector means an object. apiVersion and kind are
// compared as they stand: versions of a group do not stand for each other. A
// selector that names an object ignores its labels. A label selector that is no
// valid one matches nothing.
func Match(selector *policyv1alpha1.ResourceSelector, object *unstructured.Unstructured) Strength {
	switch {
	case selector.APIVersion != object.GetAPIVersion(), selector.Kind != object.GetKind(),
		selector.Namespace != "" && selector.Namespace != object.GetNamespace():
		return MatchNone
	case selector.Name != "":
		if selector.Name == object.GetName() {
			return MatchName
		}
		return MatchNone
	case selector.LabelSelector == nil:
		return MatchKind
	case labelsMatch(selector.LabelSelector, object.GetLabels()):
		return MatchLabels
	}
	return MatchNone
}

// MatchAny is the closest match of any of the selectors.
func MatchAny(selectors []policyv1alpha1.ResourceSelector, object *unstructured.Unstructured) Strength {
	best := MatchNone
	for i := range selectors {
		best = max(best, Match(&selectors[i], object))
	}
	return best
}

// MatchOverride is how closely an override policy means an object: one without
// selectors means everything.
func MatchOverride(spec *policyv1alpha1.OverrideSpec, object *unstructured.Unstructured) Strength {
	if len(spec.ResourceSelectors) == 0 {
		return MatchKind
	}
	return MatchAny(spec.ResourceSelectors, object)
}

// MatchesCluster says whether an affinity admits a cluster (contract section
// 9.2): it must not be excluded, and must meet all that is given of names,
// labels and fields. A nil affinity admits every cluster.
func MatchesCluster(affinity *policyv1alpha1.ClusterAffinity, cluster *clusterv1alpha1.Cluster) bool {
	switch {
	case affinity == nil:
		return true
	case slices.Contains(affinity.ExcludeClusters, cluster.Name),
		len(affinity.ClusterNames) > 0 && !slices.Contains(affinity.ClusterNames, cluster.Name),
		affinity.LabelSelector != nil && !labelsMatch(affinity.LabelSelector, cluster.Labels):
		return false
	case affinity.FieldSelector == nil:
		return true
	}
	return !slices.ContainsFunc(affinity.FieldSelector.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
		return !fieldMatches(&r, cluster)
	})
}

func fieldMatches(r *corev1.NodeSelectorRequirement, cluster *clusterv1alpha1.Cluster) bool {
	var values []string
	switch r.Key {
	case policyv1alpha1.ProviderField:
		values = []string{cluster.Spec.Provider}
	case policyv1alpha1.RegionField:
		values = []string{cluster.Spec.Region}
	case policyv1alpha1.ZoneField:
		values = cluster.Spec.Zones
	default:
		return false
	}
	listed := slices.ContainsFunc(values, func(value string) bool { return slices.Contains(r.Values, value) })
	return listed == (r.Operator == corev1.NodeSelectorOpIn)
}

func labelsMatch(selector *metav1.LabelSelector, set map[string]string) bool {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(labels.Set(set))
}
