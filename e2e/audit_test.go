package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

type auditEntry struct {
	ID, Actor, Via, Source, Verb, Kind, Namespace, Name, Outcome, Code string
	Detail                                                             map[string]any
}

// auditRows are the newest rows that match a query such as name=east.
func auditRows(t testing.TB, r *controlplanetest.REST, query ...string) []auditEntry {
	t.Helper()
	values := url.Values{"limit": {"200"}}
	for _, q := range query {
		key, value, _ := strings.Cut(q, "=")
		values.Set(key, value)
	}
	var rows page[auditEntry]
	must(t, r, "GET", "/api/v1/audit?"+values.Encode(), nil, &rows)
	return rows.Items
}

// awaitRow waits for an audit row that fits.
func awaitRow(t testing.TB, r *controlplanetest.REST, what string, fits func(auditEntry) bool, query ...string) {
	t.Helper()
	var rows []auditEntry
	defer func() {
		if t.Failed() {
			t.Logf("rows for %v: %+v", query, rows)
		}
	}()
	eventually(t, "audit row: "+what, func(context.Context) bool {
		rows = auditRows(t, r, query...)
		return slices.ContainsFunc(rows, fits)
	})
}

func TestEveryMutationIsAudited(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east"})
	mustJoin(t, h, "east", m)
	root := admin(t, h)
	viewer := createUser(t, h, "vera", "viewer")

	awaitRow(t, root, "the command line's join", func(e auditEntry) bool {
		return e.Actor == "system:admin" && e.Via == "hub-api" && e.Verb == "create" && e.Outcome == "ok" && strings.HasPrefix(e.Source, "127.0.0.1")
	}, "name=east")
	awaitRow(t, root, "the new user", func(e auditEntry) bool { return e.Actor == "admin" && e.Via == "rest" && e.Outcome == "ok" }, "name=vera")

	if _, err := h.dynamic.Resource(clustersResource).Patch(t.Context(), "east", types.MergePatchType, []byte(`{"metadata":{"labels":{"by":"kubectl"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitRow(t, root, "a patch through the hub API", func(e auditEntry) bool { return e.Verb == "patch" && e.Via == "hub-api" && e.Outcome == "ok" }, "name=east")

	must(t, root, "PATCH", "/api/v1/clusters/east", map[string]any{"labels": map[string]string{"by": "rest"}}, nil)
	awaitRow(t, root, "a patch through REST by its user", func(e auditEntry) bool { return e.Actor == "admin" && e.Via == "rest" && e.Outcome == "ok" }, "name=east")

	// Refused ones too: by role through REST, by RBAC through the hub API.
	wants(t, viewer, http.StatusForbidden, "PATCH", "/api/v1/clusters/east", map[string]any{"labels": map[string]string{"by": "vera"}})
	awaitRow(t, root, "a denied REST change", func(e auditEntry) bool { return e.Actor == "vera" && e.Outcome == "denied" }, "name=east")
	agent := bootstrap(t, h, createToken(t, h), "north-abcde", "system:karmada:agent:north")
	if err := clientFor(t, agent).Resource(clustersResource).Delete(t.Context(), "east", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an agent deletes another cluster: %v, want forbidden", err)
	}
	awaitRow(t, root, "a denied hub API change", func(e auditEntry) bool {
		return e.Actor == "system:karmada:agent:north" && e.Verb == "delete" && e.Outcome == "denied"
	}, "name=east")

	// The hub's own controllers, leases and events are left out.
	for _, e := range auditRows(t, root) {
		if e.Actor == "system:apiserver" || strings.EqualFold(e.Kind, "leases") || strings.EqualFold(e.Kind, "lease") || strings.HasPrefix(strings.ToLower(e.Kind), "event") {
			t.Errorf("a row that nobody asked for: %+v", e)
		}
	}
	eventually(t, "every row has its outcome", func(context.Context) bool {
		return !slices.ContainsFunc(auditRows(t, root), func(e auditEntry) bool { return e.Outcome == "pending" })
	})
}

func TestNoSecretsInAuditOrLogs(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east"})
	mustJoin(t, h, "east", m)
	root := admin(t, h)
	token := createToken(t, h)
	bound := pullToken(t, h, "other")
	secret, err := h.client.CoreV1().Secrets("karmada-cluster").Get(t.Context(), "east", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(m.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	must(t, root, "POST", "/api/v1/preflight", map[string]any{"kubeconfig": string(kubeconfig)}, nil)

	config := m.Config()
	hidden := map[string]string{
		"join token": token[7:], "bound token": bound[7:], "member's token": string(secret.Data["token"]),
		"member's key": strings.TrimSpace(string(config.KeyData))[40:120],
	}
	rows := fmt.Sprintf("%+v", auditRows(t, root))
	// The first administrator's password and token are printed once, for the
	// operator; what follows is the log.
	_, log, _ := strings.Cut(h.Output(), "Pull: the cluster calls the hub")
	for what, value := range hidden {
		if strings.Contains(rows, value) {
			t.Errorf("the %s is in the audit rows", what)
		}
		if strings.Contains(log, value) {
			t.Errorf("the %s is in the log", what)
		}
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	viewer, operator := createUser(t, h, "vera", "viewer"), createUser(t, h, "otto", "operator")
	anonymous, err := h.Anonymous()
	if err != nil {
		t.Fatal(err)
	}
	wants(t, anonymous, http.StatusUnauthorized, "GET", "/api/v1/clusters", nil)
	wants(t, anonymous, http.StatusOK, "GET", "/api/v1/info", nil)
	wants(t, viewer, http.StatusOK, "GET", "/api/v1/clusters", nil)
	wants(t, viewer, http.StatusNotFound, "GET", "/api/v1/nosuch", nil)
	wants(t, viewer, http.StatusNotFound, "GET", "/api/v1/clusters/nosuch", nil)
	wants(t, viewer, http.StatusForbidden, "POST", "/api/v1/tokens", map[string]any{})
	wants(t, viewer, http.StatusForbidden, "GET", "/api/v1/users", nil)
	wants(t, operator, http.StatusForbidden, "POST", "/api/v1/users", map[string]any{"name": "eve", "role": "admin"})
	wants(t, operator, http.StatusForbidden, "POST", "/api/v1/tokens", map[string]any{"ttlSeconds": 0})
	must(t, operator, "POST", "/api/v1/registrations", map[string]any{"flavour": "pull", "clusterName": "by-otto"}, nil)
}
