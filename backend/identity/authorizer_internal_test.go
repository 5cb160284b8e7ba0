package identity

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
)

// knownFacts is a hub with clusters m1 and m2, requests of each, and a helper
// that registers m3 and one that was refused for m1.
type knownFacts struct{ err error }

func (f knownFacts) Registered(_ context.Context, cluster string) (bool, error) {
	return cluster == "m1" || cluster == "m2", f.err
}

func (f knownFacts) RequesterOf(_ context.Context, csr string) (string, error) {
	for _, owner := range []string{"m1", "m2"} {
		if strings.HasPrefix(csr, owner+"-") {
			return apis.AgentUserPrefix + owner, f.err
		}
	}
	if id, ok := strings.CutPrefix(csr, "of-"); ok {
		return "system:bootstrap:" + id, f.err
	}
	return "", f.err
}

func (f knownFacts) Helper(_ context.Context, credential string) (HelperGrant, bool, error) {
	grants := map[string]HelperGrant{
		"X509SHA256=m3":  {Cluster: "m3", Request: "agent-rbac-generator-m3bbbbb", Exists: true},
		"X509SHA256=m1":  {Cluster: "m1", Request: "agent-rbac-generator-m1bbbbb", Exists: true},
		"X509SHA256=old": {Cluster: "m3", Request: "agent-rbac-generator-m3ccccc"},
	}
	grant, ok := grants[credential]
	return grant, ok, f.err
}

// Revoked says that m1 was removed a year ago and m9 just now.
func (f knownFacts) Revoked(_ context.Context, cluster string, issued time.Time) (bool, error) {
	removed := map[string]time.Time{"m1": testNow.AddDate(-1, 0, 0), "m9": testNow}
	return issued.Before(removed[cluster]), f.err
}

var (
	agentM1    = &user.DefaultInfo{Name: apis.AgentUserPrefix + "m1", Groups: []string{apis.AgentGroup, user.AllAuthenticated}}
	helperOfM3 = helperUser("X509SHA256=m3")
	tokenUser  = &user.DefaultInfo{Name: "system:bootstrap:abcdef", Groups: []string{"system:bootstrappers", apis.BootstrapTokenGroup, user.AllAuthenticated}}
)

func helperUser(credential string) *user.DefaultInfo {
	return &user.DefaultInfo{
		Name: apis.RBACGeneratorUser, Groups: []string{apis.AgentGroup, user.AllAuthenticated},
		Extra: map[string][]string{user.CredentialIDKey: {credential}},
	}
}

func ask(who user.Info, verb, group, resource, namespace, name string) authorizer.AttributesRecord {
	resource, subresource, _ := strings.Cut(resource, "/")
	return authorizer.AttributesRecord{
		User: who, Verb: verb, APIGroup: group, APIVersion: "v1", Resource: resource, Subresource: subresource,
		Namespace: namespace, Name: name, ResourceRequest: true,
	}
}

func decision(t *testing.T, a authorizer.AttributesRecord) authorizer.Decision {
	t.Helper()
	z := NewAuthorizer()
	z.Attach(knownFacts{})
	got, _, err := z.Authorize(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestAgentAllowed is contract section 7.2: what the unmodified agent needs.
func TestAgentAllowed(t *testing.T) {
	const clusters, works, leases, csrs = "cluster.karmada.io", "work.karmada.io", "coordination.k8s.io", "certificates.k8s.io"
	for _, a := range []authorizer.AttributesRecord{
		ask(agentM1, "list", clusters, "clusters", "", ""),
		ask(agentM1, "watch", clusters, "clusters", "", ""),
		ask(agentM1, "create", clusters, "clusters", "", ""),
		ask(agentM1, "get", clusters, "clusters", "", "m1"),
		ask(agentM1, "update", clusters, "clusters", "", "m1"),
		ask(agentM1, "delete", clusters, "clusters", "", "m1"),
		ask(agentM1, "update", clusters, "clusters/status", "", "m1"),
		ask(agentM1, "list", works, "works", "karmada-es-m1", ""),
		ask(agentM1, "watch", works, "works", "karmada-es-m1", ""),
		ask(agentM1, "get", works, "works", "karmada-es-m1", "w"),
		ask(agentM1, "create", works, "works", "karmada-es-m1", ""),
		ask(agentM1, "update", works, "works", "karmada-es-m1", "w"),
		ask(agentM1, "delete", works, "works", "karmada-es-m1", "w"),
		ask(agentM1, "update", works, "works/status", "karmada-es-m1", "w"),
		ask(agentM1, "patch", works, "works/status", "karmada-es-m1", "w"),
		ask(agentM1, "list", "config.karmada.io", "resourceinterpretercustomizations", "", ""),
		ask(agentM1, "watch", "config.karmada.io", "resourceinterpreterwebhookconfigurations", "", ""),
		ask(agentM1, "watch", "", "services", "", ""),
		ask(agentM1, "get", "", "namespaces", "", "karmada-cluster"),
		ask(agentM1, "create", "", "secrets", "karmada-cluster", ""),
		ask(agentM1, "get", "", "secrets", "karmada-cluster", "m1"),
		ask(agentM1, "patch", "", "secrets", "karmada-cluster", "m1-impersonator"),
		ask(agentM1, "create", "", "events", "default", ""),
		ask(agentM1, "patch", "", "events", "karmada-es-m1", "e"),
		ask(agentM1, "create", leases, "leases", "karmada-system", ""),
		ask(agentM1, "get", leases, "leases", "karmada-system", "karmada-agent-m1"),
		ask(agentM1, "update", leases, "leases", "karmada-system", "karmada-agent-m1"),
		ask(agentM1, "get", leases, "leases", "fleet", "karmada-agent-m1"),
		ask(agentM1, "create", leases, "leases", "karmada-cluster", ""),
		ask(agentM1, "update", leases, "leases", "karmada-cluster", "m1"),
		ask(agentM1, "create", csrs, "certificatesigningrequests", "", ""),
		ask(agentM1, "get", csrs, "certificatesigningrequests", "", "m1-bbbbb"),
		ask(agentM1, "get", csrs, "certificatesigningrequests", "", "gone"),
		{User: agentM1, Verb: "get", Path: agentapi.LinkPath},
	} {
		if got := decision(t, a); got != authorizer.DecisionAllow {
			t.Errorf("%s %s/%s %s/%s %s: %d", a.Verb, a.APIGroup, a.Resource, a.Namespace, a.Name, a.Path, got)
		}
	}
}

// TestAgentAcrossClusters tries the agent of m1 on everything there is of m2,
// with every verb: none may be allowed.
func TestAgentAcrossClusters(t *testing.T) {
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "impersonate", "escalate", "bind", "approve", "sign", "proxy", "*"}
	objects := []struct{ group, resource, namespace, name string }{
		{"cluster.karmada.io", "clusters", "", "m2"},
		{"cluster.karmada.io", "clusters/status", "", "m2"},
		{"cluster.karmada.io", "clusters/proxy", "", "m2"},
		{"cluster.karmada.io", "clusters/proxy", "", "m1"},
		{"cluster.karmada.io", "clusters/finalizers", "", "m2"},
		{"work.karmada.io", "works", "karmada-es-m2", ""},
		{"work.karmada.io", "works", "karmada-es-m2", "w"},
		{"work.karmada.io", "works/status", "karmada-es-m2", "w"},
		{"work.karmada.io", "works", "", ""},
		{"work.karmada.io", "resourcebindings", "karmada-es-m1", "b"},
		{"work.karmada.io", "clusterresourcebindings", "", "b"},
		{"policy.karmada.io", "propagationpolicies", "default", "p"},
		{"config.karmada.io", "resourceinterpretercustomizations/status", "", "x"},
		{"", "secrets", "karmada-cluster", "m2"},
		{"", "secrets", "karmada-cluster", "m2-impersonator"},
		{"", "secrets", "kube-system", "bootstrap-token-abcdef"},
		{"", "secrets", "karmada-es-m1", "m1"},
		{"", "secrets", "", ""},
		{"", "configmaps", "kube-system", "extension-apiserver-authentication"},
		{"", "namespaces", "", "karmada-es-m2"},
		{"", "namespaces", "", "kube-system"},
		{"", "services/proxy", "default", "web"},
		{"", "pods", "default", "p"},
		{"", "serviceaccounts", "karmada-cluster", "x"},
		{"", "serviceaccounts/token", "karmada-cluster", "x"},
		{"", "users", "", "system:admin"},
		{"", "groups", "", "system:masters"},
		{"coordination.k8s.io", "leases", "karmada-cluster", "m2"},
		{"coordination.k8s.io", "leases", "karmada-cluster", "karmada-agent-m1"},
		{"coordination.k8s.io", "leases", "karmada-system", "karmada-agent-m2"},
		{"coordination.k8s.io", "leases", "karmada-system", "m1"},
		{"coordination.k8s.io", "leases", "kube-system", "kube-controller-manager"},
		{"certificates.k8s.io", "certificatesigningrequests", "", "m2-bbbbb"},
		{"certificates.k8s.io", "certificatesigningrequests", "", "of-abcdef"},
		{"certificates.k8s.io", "certificatesigningrequests/approval", "", "m1-bbbbb"},
		{"certificates.k8s.io", "certificatesigningrequests/status", "", "m1-bbbbb"},
		{"certificates.k8s.io", "signers", "", "kubernetes.io/kube-apiserver-client"},
		{"rbac.authorization.k8s.io", "clusterroles", "", "system:karmada:m1:agent"},
		{"rbac.authorization.k8s.io", "clusterrolebindings", "", "system:karmada:m2:agent"},
		{"rbac.authorization.k8s.io", "roles", "karmada-es-m2", "system:karmada:m2:agent-work"},
		{"authorization.k8s.io", "subjectaccessreviews", "", ""},
		{"authentication.k8s.io", "tokenreviews", "", ""},
		{"apiextensions.k8s.io", "customresourcedefinitions", "", "x"},
		{"apps", "deployments", "default", "web"},
	}
	tried := 0
	for _, object := range objects {
		for _, verb := range verbs {
			// A create has no name on the wire, so those that look like a create in
			// the agent's own places are admission's to judge.
			if verb == "create" && slices.Contains([]string{"clusters", "leases", "certificatesigningrequests"}, object.resource) ||
				verb == "create" && object.resource == "secrets" && object.namespace == "karmada-cluster" {
				continue
			}
			tried++
			if got := decision(t, ask(agentM1, verb, object.group, object.resource, object.namespace, object.name)); got != authorizer.DecisionDeny {
				t.Errorf("%s %s/%s %s/%s: decision %d", verb, object.group, object.resource, object.namespace, object.name, got)
			}
		}
	}
	if tried < 600 {
		t.Errorf("only %d attempts were made", tried)
	}
}

// TestIdentitiesWithoutCluster may do nothing, whatever it is.
func TestIdentitiesWithoutCluster(t *testing.T) {
	strays := []user.Info{
		&user.DefaultInfo{Name: "jo", Groups: []string{apis.AgentGroup}},
		&user.DefaultInfo{Name: apis.AgentUserPrefix, Groups: []string{apis.AgentGroup}},
		&user.DefaultInfo{Name: apis.AgentUserPrefix + "m1:m2", Groups: []string{apis.AgentGroup}},
		&user.DefaultInfo{Name: apis.AgentUserPrefix + "m1-impersonator", Groups: []string{apis.AgentGroup}},
		&user.DefaultInfo{Name: apis.AgentUserPrefix + "*"},
	}
	for _, stray := range strays {
		for _, a := range []authorizer.AttributesRecord{
			ask(stray, "list", "cluster.karmada.io", "clusters", "", ""),
			ask(stray, "create", "certificates.k8s.io", "certificatesigningrequests", "", ""),
			ask(stray, "get", "", "secrets", "karmada-cluster", "m1-impersonator"),
			{User: stray, Verb: "get", Path: agentapi.LinkPath},
			{User: stray, Verb: "get", Path: "/api"},
		} {
			if got := decision(t, a); got != authorizer.DecisionDeny {
				t.Errorf("%s %s %s%s: decision %d", stray.GetName(), a.Verb, a.Resource, a.Path, got)
			}
		}
	}
}

// TestRevokedAgents: a certificate outlives its cluster, not its rights.
func TestRevokedAgents(t *testing.T) {
	agentM9 := &user.DefaultInfo{Name: apis.AgentUserPrefix + "m9", Groups: []string{apis.AgentGroup}}
	long, lately := testNow.AddDate(-2, 0, 0), testNow.Add(-time.Hour)
	tests := map[string]struct {
		a      authorizer.AttributesRecord
		issued time.Time
		want   authorizer.Decision
	}{
		"the present agent of a name used again": {ask(agentM1, "list", "work.karmada.io", "works", "karmada-es-m1", ""), lately, authorizer.DecisionAllow},
		"its predecessor":                        {ask(agentM1, "list", "work.karmada.io", "works", "karmada-es-m1", ""), long, authorizer.DecisionDeny},
		"its predecessor looks at the cluster":   {ask(agentM1, "get", "cluster.karmada.io", "clusters", "", "m1"), long, authorizer.DecisionDeny},
		"its predecessor opens the link":         {authorizer.AttributesRecord{User: agentM1, Verb: "get", Path: agentapi.LinkPath}, long, authorizer.DecisionDeny},
		"its predecessor renews":                 {ask(agentM1, "create", "certificates.k8s.io", "certificatesigningrequests", "", ""), long, authorizer.DecisionDeny},
		"a removed agent registers":              {ask(agentM9, "create", "cluster.karmada.io", "clusters", "", ""), lately, authorizer.DecisionDeny},
		"a removed agent renews":                 {ask(agentM9, "create", "certificates.k8s.io", "certificatesigningrequests", "", ""), lately, authorizer.DecisionDeny},
		"a removed agent looks whether it is":    {ask(agentM9, "get", "cluster.karmada.io", "clusters", "", "m9"), lately, authorizer.DecisionAllow},
		"a removed agent asks by its link":       {authorizer.AttributesRecord{User: agentM9, Verb: "get", Path: agentapi.LinkPath}, lately, authorizer.DecisionAllow},
		"a registered agent of today":            {ask(agentM9, "create", "cluster.karmada.io", "clusters", "", ""), testNow, authorizer.DecisionAllow},
	}
	z := NewAuthorizer()
	z.Attach(knownFacts{})
	for name, test := range tests {
		ctx := withIssue(t.Context(), &x509.Certificate{NotBefore: test.issued.Add(-backdating)})
		if got, _, err := z.Authorize(ctx, test.a); got != test.want || err != nil {
			t.Errorf("%s: decision %d, %v", name, got, err)
		}
	}
	if got, _, err := NewAuthorizer().Authorize(withIssue(t.Context(), &x509.Certificate{}), ask(agentM1, "list", "work.karmada.io", "works", "karmada-es-m1", "")); got != authorizer.DecisionDeny || err == nil {
		t.Errorf("before the removals are known: decision %d, %v", got, err)
	}
}

func TestHelper(t *testing.T) {
	const rbac, clusters, csrs = "rbac.authorization.k8s.io", "cluster.karmada.io", "certificates.k8s.io"
	helperOfM1, without := helperUser("X509SHA256=m1"), helperUser("X509SHA256=unknown")
	deleted := helperUser("X509SHA256=old")
	tests := []struct {
		what string
		a    authorizer.AttributesRecord
		want bool
	}{
		{"sees whether its name is free", ask(helperOfM3, "get", clusters, "clusters", "", "m3"), true},
		{"sees that its name is taken", ask(helperOfM1, "get", clusters, "clusters", "", "m1"), true},
		{"sees no other name", ask(helperOfM3, "get", clusters, "clusters", "", "m1"), false},
		{"sees nothing without its request", ask(deleted, "get", clusters, "clusters", "", "m3"), false},
		{"lists no clusters", ask(helperOfM3, "list", clusters, "clusters", "", ""), false},
		{"creates a cluster role", ask(helperOfM3, "create", rbac, "clusterroles", "", ""), true},
		{"creates a binding", ask(helperOfM3, "create", rbac, "clusterrolebindings", "", ""), true},
		{"creates a namespace", ask(helperOfM3, "create", "", "namespaces", "", ""), true},
		{"creates a role", ask(helperOfM3, "create", rbac, "roles", "karmada-es-m3", ""), true},
		{"creates a role binding", ask(helperOfM3, "create", rbac, "rolebindings", "karmada-cluster", ""), true},
		{"creates no role elsewhere", ask(helperOfM3, "create", rbac, "roles", "kube-system", ""), false},
		{"creates no role of another cluster", ask(helperOfM3, "create", rbac, "roles", "karmada-es-m1", ""), false},
		{"creates nothing without its request", ask(deleted, "create", rbac, "clusterroles", "", ""), false},
		{"does not escalate", ask(helperOfM3, "escalate", rbac, "clusterroles", "", ""), false},
		{"does not bind", ask(helperOfM3, "bind", rbac, "clusterroles", "", "cluster-admin"), false},
		{"updates no role", ask(helperOfM3, "update", rbac, "clusterroles", "", "system:karmada:m3:agent"), false},
		{"creates no secret", ask(helperOfM3, "create", "", "secrets", "karmada-cluster", ""), false},
		{"deletes its request", ask(helperOfM3, "delete", csrs, "certificatesigningrequests", "", "agent-rbac-generator-m3bbbbb"), true},
		{"deletes no other request", ask(helperOfM3, "delete", csrs, "certificatesigningrequests", "", "agent-rbac-generator-m1bbbbb"), false},
		{"cleans up a free name", ask(helperOfM3, "delete", rbac, "clusterroles", "", "system:karmada:m3:agent"), true},
		{"cleans up after its request", ask(deleted, "delete", rbac, "roles", "karmada-es-m3", "system:karmada:m3:agent-work"), true},
		{"cleans up secrets role", ask(helperOfM3, "delete", rbac, "rolebindings", "karmada-cluster", "system:karmada:m3:agent-secret"), true},
		{"does not clean up another free name", ask(helperOfM3, "delete", rbac, "clusterroles", "", "system:karmada:m4:agent"), false},
		{"cannot take a living cluster off the air", ask(helperOfM1, "delete", rbac, "clusterroles", "", "system:karmada:m1:agent"), false},
		{"cannot take its bindings", ask(helperOfM1, "delete", rbac, "clusterrolebindings", "", "system:karmada:m1:agent"), false},
		{"cannot take its roles", ask(helperOfM1, "delete", rbac, "roles", "karmada-cluster", "system:karmada:m1:agent-secret"), false},
		{"cannot take its work role", ask(helperOfM1, "delete", rbac, "roles", "karmada-es-m1", "system:karmada:m1:agent-work"), false},
		{"deletes no namespace", ask(helperOfM3, "delete", "", "namespaces", "", "karmada-es-m3"), false},
		{"deletes no cluster", ask(helperOfM3, "delete", clusters, "clusters", "", "m3"), false},
		{"is nobody without a certificate of ours", ask(without, "get", clusters, "clusters", "", "m3"), false},
		{"is nobody when impersonated", ask(&user.DefaultInfo{Name: apis.RBACGeneratorUser}, "delete", rbac, "clusterroles", "", "system:karmada:m3:agent"), false},
		{"opens no link", authorizer.AttributesRecord{User: helperOfM3, Verb: "get", Path: agentapi.LinkPath}, false},
	}
	for _, test := range tests {
		want := authorizer.DecisionDeny
		if test.want {
			want = authorizer.DecisionAllow
		}
		if got := decision(t, test.a); got != want {
			t.Errorf("the helper %s: decision %d", test.what, got)
		}
	}
}

func TestJoinToken(t *testing.T) {
	const csrs = "certificates.k8s.io"
	tests := map[authorizer.Decision][]authorizer.AttributesRecord{
		authorizer.DecisionAllow: {
			ask(tokenUser, "create", csrs, "certificatesigningrequests", "", ""),
			ask(tokenUser, "get", csrs, "certificatesigningrequests", "", "of-abcdef"),
			ask(tokenUser, "watch", csrs, "certificatesigningrequests", "", "of-abcdef"),
		},
		authorizer.DecisionDeny: {
			ask(tokenUser, "get", csrs, "certificatesigningrequests", "", "of-bbbbbb"),
			ask(tokenUser, "get", csrs, "certificatesigningrequests", "", "m1-bbbbb"),
			ask(tokenUser, "list", csrs, "certificatesigningrequests", "", ""),
			ask(tokenUser, "watch", csrs, "certificatesigningrequests", "", ""),
			ask(tokenUser, "update", csrs, "certificatesigningrequests", "", "of-abcdef"),
			ask(tokenUser, "update", csrs, "certificatesigningrequests/approval", "", "of-abcdef"),
			ask(tokenUser, "delete", csrs, "certificatesigningrequests", "", "of-abcdef"),
			ask(tokenUser, "get", "cluster.karmada.io", "clusters", "", "m1"),
			ask(tokenUser, "list", "", "secrets", "kube-system", ""),
			ask(tokenUser, "get", "", "configmaps", "kube-public", "cluster-info"),
			ask(tokenUser, "create", "authorization.k8s.io", "selfsubjectaccessreviews", "", ""),
			{User: tokenUser, Verb: "get", Path: agentapi.LinkPath},
		},
		authorizer.DecisionNoOpinion: {
			// What an approval review asks about is for the hub's roles to say.
			ask(tokenUser, "create", csrs, "certificatesigningrequests/clusteragent", "", ""),
			{User: tokenUser, Verb: "get", Path: "/version"},
		},
	}
	for want, asked := range tests {
		for _, a := range asked {
			if got := decision(t, a); got != want {
				t.Errorf("%s %s/%s %s: decision %d, want %d", a.Verb, a.Resource, a.Subresource, a.Name+a.Path, got, want)
			}
		}
	}
}

func TestOthersAreNotJudged(t *testing.T) {
	for _, who := range []user.Info{
		&user.DefaultInfo{Name: "system:admin", Groups: []string{user.SystemPrivilegedGroup}},
		&user.DefaultInfo{Name: "muster:user:ann", Groups: []string{"muster:viewers"}},
		&user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}},
		&user.DefaultInfo{Name: "system:bootstrap:abcdef", Groups: []string{"system:bootstrappers", "system:bootstrappers:team"}},
		&user.DefaultInfo{Name: "system:apiserver"},
	} {
		for _, a := range []authorizer.AttributesRecord{
			ask(who, "delete", "cluster.karmada.io", "clusters", "", "m1"),
			{User: who, Verb: "get", Path: agentapi.LinkPath},
		} {
			if got := decision(t, a); got != authorizer.DecisionNoOpinion {
				t.Errorf("%s: decision %d", who.GetName(), got)
			}
		}
	}
}

func TestAuthorizerFailsClosed(t *testing.T) {
	needs := []authorizer.AttributesRecord{
		ask(helperOfM3, "get", "cluster.karmada.io", "clusters", "", "m3"),
		ask(tokenUser, "get", "certificates.k8s.io", "certificatesigningrequests", "", "of-abcdef"),
		ask(agentM1, "get", "certificates.k8s.io", "certificatesigningrequests", "", "m1-bbbbb"),
	}
	broken := NewAuthorizer()
	broken.Attach(knownFacts{err: errors.New("no answer")})
	for name, z := range map[string]*Authorizer{"before Attach": NewAuthorizer(), "without an answer": broken} {
		for _, a := range needs {
			got, _, err := z.Authorize(t.Context(), a)
			if got != authorizer.DecisionDeny || err == nil {
				t.Errorf("%s, %s: decision %d, %v", name, a.User.GetName(), got, err)
			}
		}
		// What the path alone tells works at any time: agents come back at once.
		if got, _, err := z.Authorize(t.Context(), ask(agentM1, "watch", "work.karmada.io", "works", "karmada-es-m1", "")); got != authorizer.DecisionAllow {
			t.Errorf("%s: an agent is shut out: %v", name, err)
		}
	}
}

func ExampleAuthorizer() {
	z := NewAuthorizer()
	_, reason, _ := z.Authorize(context.Background(), ask(agentM1, "get", "cluster.karmada.io", "clusters", "", "m2"))
	fmt.Println(reason)
	// Output: an agent may use the objects of its own cluster only
}
