package eviction

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	remedyv1alpha1 "muster.dev/muster/backend/apis/remedy/v1alpha1"
)

// RemedyActions are the actions that remedies ask for about a cluster as it is
// now, in order of their names and each once; nil if there are none.
func RemedyActions(remedies []remedyv1alpha1.Remedy, cluster *clusterv1alpha1.Cluster) []string {
	var actions []string
	for i := range remedies {
		spec := &remedies[i].Spec
		if remedies[i].DeletionTimestamp != nil || !remedyMeans(spec, cluster.Name) || !remedyNeeded(spec, cluster) {
			continue
		}
		for _, action := range spec.Actions {
			actions = append(actions, string(action))
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}

// remedyMeans says whether a remedy is about a cluster: without an affinity it is
// about all, and an affinity that names none is about none.
func remedyMeans(spec *remedyv1alpha1.RemedySpec, cluster string) bool {
	return spec.ClusterAffinity == nil || slices.Contains(spec.ClusterAffinity.ClusterNames, cluster)
}

// remedyNeeded says whether any reason to act is given. A condition that the
// cluster does not have is no reason, whatever it is compared with.
func remedyNeeded(spec *remedyv1alpha1.RemedySpec, cluster *clusterv1alpha1.Cluster) bool {
	if len(spec.DecisionMatches) == 0 {
		return true
	}
	return slices.ContainsFunc(spec.DecisionMatches, func(m remedyv1alpha1.DecisionMatch) bool {
		wanted := m.ClusterConditionMatch
		if wanted == nil {
			return false
		}
		condition := meta.FindStatusCondition(cluster.Status.Conditions, wanted.ConditionType)
		if condition == nil {
			return false
		}
		equal := string(condition.Status) == wanted.ConditionStatus
		return equal == (wanted.Operator == remedyv1alpha1.ClusterConditionEqual)
	})
}
