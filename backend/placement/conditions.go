package placement

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
)

// emptyCondition says whether a set has clusters.
func emptyCondition(members int) metav1.Condition {
	if members == 0 {
		return metav1.Condition{
			Type: ocmv1beta2.ConditionClusterSetEmpty, Status: metav1.ConditionTrue,
			Reason: ocmv1beta2.ReasonNoClusterMatched, Message: "No ManagedCluster selected",
		}
	}
	return metav1.Condition{
		Type: ocmv1beta2.ConditionClusterSetEmpty, Status: metav1.ConditionFalse,
		Reason: ocmv1beta2.ReasonClustersSelected, Message: fmt.Sprintf("%d ManagedClusters selected", members),
	}
}

// boundCondition says whether the set that a binding names exists.
func boundCondition(exists bool) metav1.Condition {
	if !exists {
		return metav1.Condition{Type: ocmv1beta2.ConditionBound, Status: metav1.ConditionFalse, Reason: ocmv1beta2.ReasonClusterSetNotFound}
	}
	return metav1.Condition{Type: ocmv1beta2.ConditionBound, Status: metav1.ConditionTrue, Reason: ocmv1beta2.ReasonClusterSetBound}
}

// misconfiguredCondition says whether a placement makes sense.
func misconfiguredCondition(problem string) metav1.Condition {
	if problem != "" {
		return metav1.Condition{
			Type: ocmv1beta1.ConditionMisconfigured, Status: metav1.ConditionTrue, Reason: ocmv1beta1.ReasonMisconfigured, Message: problem,
		}
	}
	return metav1.Condition{
		Type: ocmv1beta1.ConditionMisconfigured, Status: metav1.ConditionFalse,
		Reason: ocmv1beta1.ReasonConfigured, Message: "Placement configurations check pass",
	}
}

// satisfiedCondition is a verdict as a condition.
func satisfiedCondition(v Verdict) metav1.Condition {
	status := metav1.ConditionFalse
	if v.OK {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: ocmv1beta1.ConditionSatisfied, Status: status, Reason: v.Reason, Message: v.Message}
}
