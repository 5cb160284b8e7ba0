package managedcluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/consent"
)

// TestRowOfADenial tells what a denial waits for, in the hub's words, until it is
// done.
func TestRowOfADenial(t *testing.T) {
	t.Parallel()
	condition := func(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(midday)}
	}
	accepted := condition(ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted, "The hub accepts this cluster.")
	for name, c := range map[string]struct {
		conditions      []metav1.Condition
		reason, message string
		since           bool
	}{
		"this moment": {[]metav1.Condition{accepted}, ocmv1.ReasonDenied, "The hub withdraws its acceptance.", false},
		"held by works": {[]metav1.Condition{accepted, condition(ocmv1.ConditionHubDenied, metav1.ConditionFalse, ocmv1.ReasonWorksRemaining, "waits for: web")},
			ocmv1.ReasonWorksRemaining, "waits for: web", true},
		"done": {[]metav1.Condition{condition(ocmv1.ConditionHubAccepted, metav1.ConditionFalse, ocmv1.ReasonDenied, "denied")}, ocmv1.ReasonDenied, "denied", true},
	} {
		row := rowOf(&ocmv1.ManagedCluster{Status: ocmv1.ManagedClusterStatus{Conditions: c.conditions}})
		if row.State != StateDenied || row.Reason != c.reason || row.Message != c.message || (row.Since != nil) != c.since {
			t.Errorf("%s: %s %s %q since %v, want denied %s %q", name, row.State, row.Reason, row.Message, row.Since, c.reason, c.message)
		}
		// What was written in the waiting room is said beside it, as plain text.
		for said, annotations := range map[string]map[string]string{
			"The cluster was denied in the waiting room by ada: not ours": {consent.AnnotationDeniedAt: "2026-11-21T12:00:00Z", consent.AnnotationDeniedBy: "ada", consent.AnnotationDeniedReason: "not\x1b[31m ours"},
			"The cluster was denied in the waiting room by ada.":          {consent.AnnotationDeniedAt: "2026-11-21T12:00:00Z", consent.AnnotationDeniedBy: "ada"},
		} {
			row := rowOf(&ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Status: ocmv1.ManagedClusterStatus{Conditions: c.conditions}})
			if want := c.message + "\n" + said; row.State != StateDenied || row.Reason != c.reason || row.Message != want {
				t.Errorf("%s, in the waiting room: %s %s %q, want %q", name, row.State, row.Reason, row.Message, want)
			}
		}
	}
}
