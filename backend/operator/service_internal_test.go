package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
)

func TestRowOf(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: kind + "Reason", Message: "m"}
	}
	for name, c := range map[string]struct {
		conditions    []metav1.Condition
		state, reason string
	}{
		"nobody looks after it": {nil, "pending", "NoOperator"},
		"ready":                 {[]metav1.Condition{condition("Applied", "True"), condition("Progressing", "False"), condition("HubConnectionDegraded", "False")}, "ready", ""},
		"progressing":           {[]metav1.Condition{condition("Applied", "True"), condition("Progressing", "True")}, "progressing", "ProgressingReason"},
		"degraded beats it":     {[]metav1.Condition{condition("Progressing", "True"), condition("HubRegistrationDegraded", "True"), condition("Applied", "False")}, "degraded", "HubRegistrationDegradedReason"},
		"held up":               {[]metav1.Condition{condition("CleanupBlocked", "True")}, "degraded", "CleanupBlockedReason"},
		"not known":             {[]metav1.Condition{condition("Available", "Unknown")}, "degraded", "AvailableReason"},
	} {
		t.Run(name, func(t *testing.T) {
			row, ok := rowOf(&ocmoperatorv1.Klusterlet{Status: ocmoperatorv1.OperatorStatus{Conditions: c.conditions}})
			if !ok || row.Kind != "Klusterlet" || row.Mode != "Default" || row.State != c.state || row.Reason != c.reason {
				t.Errorf("the row is %+v", row)
			}
		})
	}
	if _, ok := rowOf(&corev1.Pod{}); ok {
		t.Error("a pod is shown as an operator's")
	}
}

func TestMessagesKeepTheirLinesAndNothingElse(t *testing.T) {
	row, _ := rowOf(&ocmoperatorv1.Klusterlet{Status: ocmoperatorv1.OperatorStatus{Conditions: []metav1.Condition{
		{Type: "HubConnectionDegraded", Status: "True", Reason: "BootstrapSecretFunctional", Message: "the bootstrap secret\x1b[31m\nthe hub kubeconfig\r\a"},
	}}})
	if got, want := row.Conditions[0].Message, "the bootstrap secret\nthe hub kubeconfig "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRelatedOf(t *testing.T) {
	row, _ := rowOf(&ocmoperatorv1.ClusterManager{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster-manager", Generation: 2},
		Status: ocmoperatorv1.OperatorStatus{
			ObservedGeneration: 1,
			RelatedResources:   []ocmoperatorv1.RelatedResourceMeta{{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "a", Name: "b"}, {Version: "v1", Resource: "namespaces", Name: "a"}},
			Generations:        []ocmoperatorv1.GenerationStatus{{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "a", Name: "b", LastGeneration: 7}},
		},
	})
	if row.Current || len(row.Related) != 2 || row.Related[0] != (Related{Resource: "deployments.apps", Namespace: "a", Name: "b", Generation: 7}) || row.Related[1].Resource != "namespaces" {
		t.Errorf("the row is %+v", row)
	}
}
