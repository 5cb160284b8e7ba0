package consent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// Reasons of Events, and of approvals.
const (
	eventAccepted = "ManagedClusterAccepted"
	eventDenied   = "ManagedClusterDenied"
	// reasonApproved is on certificate requests that the hub approved.
	reasonApproved = "AutoApprovedByHubCSRApprovingController"
)

const (
	messageAccepted = "The hub accepts this cluster."
	messageDenied   = "The hub denies this cluster: its agent has lost its rights on the hub."
)

// AnnotationRule on a ManagedCluster names the approval rule that accepted it, and
// on a certificate request the one that approved it.
const AnnotationRule = "muster.dev/approval-rule"

// AnnotationWaiting on a certificate request says why the hub did not approve it
// by itself.
const AnnotationWaiting = "muster.dev/waiting"

func acceptedCondition(cluster *ocmv1.ManagedCluster) metav1.Condition {
	message := messageAccepted
	if rule := cluster.Annotations[AnnotationRule]; rule != "" {
		message = "The hub accepts this cluster, by the rule " + rule + "."
	}
	return metav1.Condition{Type: ocmv1.ConditionHubAccepted, Status: metav1.ConditionTrue, Reason: ocmv1.ReasonAccepted, Message: message}
}

func deniedCondition() metav1.Condition {
	return metav1.Condition{Type: ocmv1.ConditionHubAccepted, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonDenied, Message: messageDenied}
}

// heldCondition says what a denial waits for, and what ends that.
func heldCondition(cluster string, left leftWorks) metav1.Condition {
	names := strings.Join(left.names, ", ")
	if left.more > 0 {
		names += fmt.Sprintf(" and %d more", left.more)
	}
	fix := "Delete them (kubectl -n " + cluster + " delete manifestworks --all), or accept the cluster again."
	if left.going {
		fix = "They are being deleted: the agent takes out of the cluster what they put there. Where no agent runs any more, remove their finalizers."
	}
	return metav1.Condition{
		Type: ocmv1.ConditionHubDenied, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonWorksRemaining,
		Message: "The hub denies this cluster: its agent has lost its rights on the hub, except over its ManifestWorks as long as there are any: " + names + ". " + fix,
	}
}

func acceptErrorCondition(err error) metav1.Condition {
	return metav1.Condition{
		Type: ocmv1.ConditionHubAccepted, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonAcceptError,
		Message: "The hub accepts this cluster, but could not prepare for it yet: " + err.Error(),
	}
}

// wasAccepted tells that the hub has done something for a cluster that a denial
// has to undo.
func wasAccepted(cluster *ocmv1.ManagedCluster) bool {
	return slices.Contains(cluster.Finalizers, ocmv1.ManagedClusterFinalizer) ||
		meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionHubAccepted) != nil
}

// mayAcceptItself tells that a rule may accept a cluster: the hub did not do so
// before, and nobody has decided about it yet.
func mayAcceptItself(cluster *ocmv1.ManagedCluster) bool {
	return !cluster.Spec.HubAcceptsClient && cluster.Annotations[ocmv1.AutomaticallyAcceptedAnnotation] == "" &&
		cluster.Annotations[AnnotationDeniedAt] == "" && !wasAccepted(cluster)
}

// acceptItself writes a rule's decision into a cluster.
func acceptItself(cluster *ocmv1.ManagedCluster, rule string, now time.Time) {
	cluster.Annotations = with(cluster.Annotations, ocmv1.AutomaticallyAcceptedAnnotation, now.UTC().Format(time.RFC3339))
	cluster.Annotations = with(cluster.Annotations, AnnotationRule, rule)
	cluster.Spec.HubAcceptsClient = true
}
