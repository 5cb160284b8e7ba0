package identity

import (
	"context"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

var testNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func awaitEnded(t *testing.T, r *idRegister, id string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.taken[id].ended, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// register creates a certificate request with the token abcdef.
func register(t *testing.T, d *Admission, name, commonName string, dryRun bool) error {
	t.Helper()
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: certificatesv1.CertificateSigningRequestSpec{
		SignerName: agentapi.SignerName, Usages: clientUsages, Request: certificateRequest(t, commonName, nil)}}
	return attempt{who: tokenUser, resource: "certificatesigningrequests.certificates.k8s.io", object: csr, dryRun: dryRun}.run(t.Context(), d)
}

func TestTokenForOneCluster(t *testing.T) {
	hub := newHubStore()
	hub.addToken("abcdef", token.Spec{MaxClusters: 1})
	d := admissionOver(hub)
	agent := func(cluster string) string { return apis.AgentUserPrefix + cluster }
	steps := []struct {
		name, commonName string
		dryRun, refused  bool
		usedBy           string
	}{
		{"m9-bbbbb", agent("m9"), true, false, ""},
		{"agent-rbac-generator-m1bbbbb", apis.RBACGeneratorUser, false, false, "m1"}, // the first use binds
		{"m1-bbbbb", agent("m1"), false, false, "m1"},
		{"m1-ccccc", agent("m1"), false, false, "m1"}, // a retry
		{"m2-bbbbb", agent("m2"), false, true, "m1"},
		{"agent-rbac-generator-m2bbbbb", apis.RBACGeneratorUser, false, true, "m1"},
	}
	for _, step := range steps {
		err := register(t, d, step.name, step.commonName, step.dryRun)
		if apierrors.IsForbidden(err) != step.refused || err != nil && !step.refused {
			t.Errorf("%s: %v", step.name, err)
		}
		if got := hub.secrets["bootstrap-token-abcdef"].Annotations[token.AnnotationUsedBy]; got != step.usedBy {
			t.Errorf("%s: used by %q, want %q", step.name, got, step.usedBy)
		}
	}
	if len(hub.failures) != 2 || hub.failures[0].Code != registration.CodeTokenBound {
		t.Errorf("recorded %+v", hub.failures)
	}
}

func TestTokenIsNotSpentOnATakenName(t *testing.T) {
	hub := newHubStore()
	hub.stored["m1"] = Sight{Exists: true}
	hub.addToken("abcdef", token.Spec{MaxClusters: 1})
	if err := register(t, admissionOver(hub), "agent-rbac-generator-m1bbbbb", apis.RBACGeneratorUser, false); err != nil {
		t.Fatal(err)
	}
	if hub.updates != 0 {
		t.Error("the token was bound to a cluster that its client is going to be refused")
	}
}

// TestTokenRace lets another registration take a token's last use between read
// and write.
func TestTokenRace(t *testing.T) {
	hub := newHubStore()
	hub.addToken("abcdef", token.Spec{MaxClusters: 1})
	hub.before = func(stored *corev1.Secret) {
		token.MarkUsed(stored, "m2")
		stored.ResourceVersion = "taken"
	}
	err := register(t, admissionOver(hub), "m1-bbbbb", apis.AgentUserPrefix+"m1", false)
	if !apierrors.IsForbidden(err) {
		t.Errorf("two clusters got the last use: %v", err)
	}
	if got := hub.secrets["bootstrap-token-abcdef"].Annotations[token.AnnotationUsedBy]; got != "m2" {
		t.Errorf("used by %q", got)
	}
}

func TestTokensThatMayNot(t *testing.T) {
	tests := map[string]struct {
		spec             token.Spec
		name, commonName string
		want             string // in the refusal; empty: accepted
	}{
		"open token":            {token.Spec{}, "m1-bbbbb", apis.AgentUserPrefix + "m1", ""},
		"bound":                 {token.Spec{ClusterName: "m1"}, "m1-bbbbb", apis.AgentUserPrefix + "m1", ""},
		"bound elsewhere":       {token.Spec{ClusterName: "m2"}, "m1-bbbbb", apis.AgentUserPrefix + "m1", "cluster m2"},
		"expired":               {token.Spec{TTL: time.Second}, "m1-bbbbb", apis.AgentUserPrefix + "m1", "expired"},
		"an administrator":      {token.Spec{}, "m1-bbbbb", "system:admin", "identity of an agent only"},
		"named like another's":  {token.Spec{}, "m2-bbbbb", apis.AgentUserPrefix + "m1", "named m1-"},
		"helper without a name": {token.Spec{}, "bbbbb", apis.RBACGeneratorUser, "identity of an agent only"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hub := newHubStore()
			hub.addToken("abcdef", test.spec)
			d := admissionOver(hub)
			d.deps.Load().tokens.now = func() time.Time { return testNow.Add(time.Minute) }
			err := register(t, d, test.name, test.commonName, false)
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("got %v", err)
			case err != nil && strings.Contains(err.Error(), "0123456789abcdef"):
				t.Error("the refusal tells the token's secret")
			}
		})
	}
}
