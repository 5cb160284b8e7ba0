package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// approvalRule is a rule as REST shows it.
type approvalRule struct {
	ID, Kind, Value, Source string
	Uses                    int
}

// waits checks that a cluster has neither consent, and that the waiting room says so.
func (h *hub) waits(t *testing.T, cluster string) {
	t.Helper()
	if h.managedCluster(t, cluster).Spec.HubAcceptsClient {
		t.Errorf("%s is accepted, and no rule and nobody did that", cluster)
	}
	for _, csr := range h.requestsOf(t.Context(), t, cluster) {
		if len(csr.Status.Conditions) > 0 {
			t.Errorf("request %s is settled, and no rule and nobody did that: %+v", csr.Name, csr.Status.Conditions)
		}
	}
	var row struct {
		Waits bool
		Next  string
	}
	must(t, admin(t, h), "GET", "/api/v1/waiting/"+cluster, nil, &row)
	if !row.Waits || row.Next != "both" {
		t.Errorf("the waiting room says of %s %+v, want that it waits for both consents", cluster, row)
	}
}

// labelledToken is a bootstrap token for clusters of Open Cluster Management that
// carries labels.
func labelledToken(t testing.TB, h *hub, cluster string, labels map[string]string) string {
	t.Helper()
	var made struct{ Secret string }
	must(t, admin(t, h), "POST", "/api/v1/onboarding/ocm", map[string]any{"clusterName": cluster, "token": "bootstrap", "tokenLabels": labels}, &made)
	return made.Secret
}

// awaitConsents waits for the audit rows of both consents of a rule to a cluster.
func (h *hub) awaitConsents(t *testing.T, cluster, rule string) {
	t.Helper()
	csr := h.requestsOf(t.Context(), t, cluster)[0].Name
	awaitRow(t, admin(t, h), rule+" accepted "+cluster, func(e auditEntry) bool {
		return e.Verb == "accept" && e.Outcome == "ok" && e.Detail["rule"] == rule
	}, "name="+cluster)
	awaitRow(t, admin(t, h), rule+" approved "+csr, func(e auditEntry) bool {
		return e.Verb == "approve" && e.Outcome == "ok" && e.Detail["rule"] == rule
	}, "name="+csr)
}

// TestOCMApprovalRules makes a rule of each kind by REST. An agent that it means
// becomes available untouched; one that it does not mean waits, and so does the
// next one that it would have meant once it is gone.
func TestOCMApprovalRules(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	root := admin(t, h)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "site", Nodes: 1})
	account := ocmToken(t, h)
	shop := labelledToken(t, h, "shop-one", map[string]string{"team": "shop"})
	bank := labelledToken(t, h, "bank", map[string]string{"team": "bank"})
	for _, token := range []string{account, shop, bank} {
		awaitIntroducer(t, h, token)
	}

	var waiting []string
	for _, c := range []struct{ kind, value, token, fits, next, strange, strangeToken string }{
		{"identity", ocmAccountUser, account, "early", "late", "by-token", bank},
		{"token-label", "team=shop", shop, "shop-one", "shop-two", "bank", bank},
		{"cluster-name", "edge-?", account, "edge-1", "edge-2", "core-1", account},
		// The last: what waits has been passed over by then.
		{"cluster-name", "marker", account, "marker", "", "marker-too", account},
	} {
		var rule approvalRule
		must(t, root, "POST", "/api/v1/approval-rules", map[string]any{"kind": c.kind, "value": c.value, "approve": true, "accept": true}, &rule)
		introduce(t, bootstrapConfig(t, h, c.strangeToken), c.strange, "abcde")
		startRegistration(t, m, c.fits, ocmBootstrap(t, h, c.token), "--namespace", "agent-"+c.fits)
		h.awaitManaged(t, c.fits, ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
		h.awaitConsents(t, c.fits, c.kind+" "+c.value)
		eventually(t, "both consents are counted", func(context.Context) bool {
			var rules page[approvalRule]
			must(t, root, "GET", "/api/v1/approval-rules", nil, &rules)
			return len(rules.Items) == 1 && rules.Items[0].ID == rule.ID && rules.Items[0].Uses == 2
		})

		must(t, root, "DELETE", "/api/v1/approval-rules/"+rule.ID, nil, nil)
		if c.next != "" {
			introduce(t, bootstrapConfig(t, h, c.token), c.next, "abcde")
			waiting = append(waiting, c.next)
		}
		waiting = append(waiting, c.strange)
	}
	for _, cluster := range waiting {
		h.waits(t, cluster)
	}
	for _, cluster := range []string{"early", "shop-one", "edge-1"} { // whom a rule let in stays
		h.awaitManaged(t, cluster, ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	}
}

// awaitIntroducer waits until the hub knows a token: whoever checks tokens is told
// of each a moment later.
func awaitIntroducer(t testing.TB, h *hub, token string) {
	t.Helper()
	var err error
	defer func() {
		if t.Failed() {
			t.Log(err)
		}
	}()
	eventually(t, "the token is known", func(ctx context.Context) bool {
		err = send(ctx, bootstrapConfig(t, h, token), http.MethodGet, managedPath+"/nobody", "")
		return err != nil && strings.Contains(err.Error(), "not found")
	})
}

// TestOCMAutoApproveUsers: the flag of the command line is a rule that only the
// command line takes back; a person's later denial stands against it, over
// restarts, too.
func TestOCMAutoApproveUsers(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--auto-approve-users", ocmAccountUser)
	root := admin(t, h)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	bootstrap := ocmBootstrap(t, h, ocmToken(t, h))
	startRegistration(t, m, "east", bootstrap)
	east := h.awaitManaged(t, "east", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	if east.Annotations[ocmv1.AutomaticallyAcceptedAnnotation] == "" {
		t.Errorf("the annotations %v do not say that nobody was asked", east.Annotations)
	}
	h.awaitConsents(t, "east", "identity "+ocmAccountUser)

	var rules page[approvalRule]
	must(t, root, "GET", "/api/v1/approval-rules", nil, &rules)
	if len(rules.Items) != 1 || rules.Items[0].Source != "flag" || rules.Items[0].Value != ocmAccountUser {
		t.Fatalf("the rules are %+v, want the one of the command line", rules.Items)
	}
	wants(t, root, http.StatusConflict, "DELETE", "/api/v1/approval-rules/"+rules.Items[0].ID, nil)

	h.accept(t, "east", false)
	h.awaitManaged(t, "east", ocmv1.ConditionHubAccepted, metav1.ConditionFalse, ocmv1.ReasonDenied)
	h.bounce(t)
	startRegistration(t, m, "west", bootstrap, "--namespace", "agent-west")
	h.awaitManaged(t, "west", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	if east = h.managedCluster(t, "east"); east.Spec.HubAcceptsClient {
		t.Error("the rule undid a person's denial")
	}
}
