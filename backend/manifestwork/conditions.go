package manifestwork

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmworkv1alpha1 "muster.dev/muster/backend/apis/ocm/work/v1alpha1"
)

// verifiedCondition says whether every placement has decided.
func verifiedCondition(missing, empty []string) metav1.Condition {
	c := metav1.Condition{Type: ocmworkv1alpha1.ConditionPlacementVerified, Status: metav1.ConditionFalse}
	switch {
	case len(missing) > 0:
		c.Reason = ocmworkv1alpha1.ReasonPlacementDecisionNotFound
		c.Message = "there is no decision of: " + strings.Join(missing, ", ")
	case len(empty) > 0:
		c.Reason = ocmworkv1alpha1.ReasonPlacementDecisionEmpty
		c.Message = "no cluster was chosen by: " + strings.Join(empty, ", ")
	default:
		c.Status, c.Reason = metav1.ConditionTrue, ocmworkv1alpha1.ReasonAsExpected
	}
	return c
}

// rolledOutCondition says whether every cluster has the current template and is
// well.
func rolledOutCondition(done bool, stopped []string) metav1.Condition {
	c := metav1.Condition{Type: ocmworkv1alpha1.ConditionPlacementRolledOut, Status: metav1.ConditionFalse, Reason: ocmworkv1alpha1.ReasonProgressing}
	switch {
	case len(stopped) > 0:
		c.Message = "the rollout stopped: " + strings.Join(stopped, "; ")
	case done:
		c.Status, c.Reason = metav1.ConditionTrue, ocmworkv1alpha1.ReasonComplete
	}
	return c
}

// appliedCondition says whether every cluster applied its work. Decided is true
// when every placement has chosen, if only to choose nobody.
func appliedCondition(summary ocmworkv1alpha1.ManifestWorkReplicaSetSummary, decided bool, problem error) metav1.Condition {
	c := metav1.Condition{Type: ocmworkv1alpha1.ConditionManifestworkApplied, Status: metav1.ConditionFalse, Reason: ocmworkv1alpha1.ReasonProcessing}
	switch {
	case problem != nil:
		c.Reason, c.Message = ocmworkv1alpha1.ReasonNotAsExpected, problem.Error()
	case decided && summary.DesiredTotal == 0:
		c.Reason, c.Message = ocmworkv1alpha1.ReasonPlacementDecisionEmpty, "no cluster was chosen"
	case summary.DesiredTotal > 0 && summary.Applied == summary.DesiredTotal:
		c.Status, c.Reason = metav1.ConditionTrue, ocmworkv1alpha1.ReasonAsExpected
	default:
		c.Message = fmt.Sprintf("%d of %d clusters have applied their work", summary.Applied, summary.DesiredTotal)
	}
	return c
}
