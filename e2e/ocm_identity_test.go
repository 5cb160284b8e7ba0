package e2e_test

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

const (
	managedPath  = "/apis/cluster.open-cluster-management.io/v1/managedclusters"
	requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
)

// send sends one request as whoever config is.
func send(ctx context.Context, config *rest.Config, verb, path, body string) error {
	kind := "application/json"
	if verb == http.MethodPatch {
		kind = string(types.MergePatchType)
	}
	path, query, _ := strings.Cut(path, "?")
	request := kubernetes.NewForConfigOrDie(config).Discovery().RESTClient().Verb(verb).AbsPath(path).SetHeader("Content-Type", kind).Body([]byte(body))
	for pair := range strings.SplitSeq(query, "&") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			request.Param(key, value)
		}
	}
	return request.Do(ctx).Error()
}

// sendHeard sends one request until the hub hears it: strangers who ask faster
// than the audit trail takes are turned away with 500 before they are judged.
func sendHeard(t *testing.T, config *rest.Config, verb, path, body string) (err error) {
	t.Helper()
	eventually(t, verb+" "+path+" heard", func(ctx context.Context) bool {
		err = send(ctx, config, verb, path, body)
		return !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed to store audit event")
	})
	return err
}

// ocmAttempt is one thing that nobody else may do to what is of a cluster. NAME in
// it stands for the cluster, CSR for its certificate request.
type ocmAttempt struct{ verb, path, body string }

// ocmAttempts are asked for by everybody about every other cluster.
func ocmAttempts() []ocmAttempt {
	const (
		hooks  = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
		leader = "/apis/coordination.k8s.io/v1/namespaces/" + externalSpace + "/leases/muster-hub-leader"
		works  = "/apis/work.open-cluster-management.io/v1/namespaces/NAME/manifestworks"
		addons = "/apis/addon.open-cluster-management.io/v1beta1/namespaces/NAME/managedclusteraddons"
		oldies = "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/NAME/managedclusteraddons"
		leases = "/apis/coordination.k8s.io/v1/namespaces/NAME/leases"
		roles  = "/apis/rbac.authorization.k8s.io/v1"
		object = `{"apiVersion":"v1","kind":%q,"metadata":{"name":"evil"}}`
		work   = `{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"evil"},"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"evil","namespace":"default"}}]}}}`
		label  = `{"metadata":{"labels":{"evil":"yes"}}}`
		status = `{"status":{"conditions":[]}}`
		role   = "open-cluster-management:managedcluster:NAME"
	)
	get := func(paths ...string) (all []ocmAttempt) {
		for _, path := range paths {
			all = append(all, ocmAttempt{http.MethodGet, path, ""})
		}
		return all
	}
	return append(get(
		managedPath+"/NAME", managedPath, managedPath+"?fieldSelector=metadata.name=NAME", managedPath+"?fieldSelector=metadata.name=NAME&watch=true&timeoutSeconds=1",
		works, works+"/present", works+"?watch=true&timeoutSeconds=1", strings.Replace(works, "namespaces/NAME/", "", 1),
		addons, addons+"/present", oldies, oldies+"/present", leases, leases+"/"+ocmv1.LeaseName,
		requestsPath, requestsPath+"/CSR", requestsPath+"?labelSelector="+ocmv1.ClusterNameLabel+"=NAME",
		requestsPath+"?labelSelector="+ocmv1.ClusterNameLabel+" in (NAME,east)", requestsPath+"?labelSelector="+ocmv1.ClusterNameLabel,
		"/api/v1/namespaces/NAME", "/api/v1/namespaces/NAME/secrets", "/api/v1/namespaces/NAME/secrets/present", "/api/v1/namespaces/NAME/configmaps", "/api/v1/namespaces/NAME/configmaps/present",
		"/api/v1/secrets", "/api/v1/namespaces/kube-system/secrets", "/api/v1/namespaces/karmada-cluster/secrets", "/api/v1/namespaces/"+externalSpace+"/secrets/muster-serving-ca", hooks, leader,
		"/apis/cluster.karmada.io/v1alpha1/clusters/NAME", "/apis/cluster.karmada.io/v1alpha1/clusters/NAME/proxy/version", roles+"/clusterroles/"+role,
	), []ocmAttempt{
		{http.MethodPatch, managedPath + "/NAME", label}, {http.MethodPatch, managedPath + "/NAME", `{"spec":{"hubAcceptsClient":true}}`},
		{http.MethodPatch, managedPath + "/NAME/status", status}, {http.MethodDelete, managedPath + "/NAME", ""}, {http.MethodDelete, managedPath, ""},
		{http.MethodPost, works, work}, {http.MethodPatch, works + "/present", label}, {http.MethodPatch, works + "/present/status", status},
		{http.MethodDelete, works + "/present", ""}, {http.MethodDelete, works, ""},
		{http.MethodPatch, addons + "/present/status", status}, {http.MethodPatch, oldies + "/present/status", status}, {http.MethodDelete, addons + "/present", ""},
		{http.MethodPatch, leases + "/" + ocmv1.LeaseName, `{"spec":{"holderIdentity":"evil"}}`}, {http.MethodDelete, leases + "/" + ocmv1.LeaseName, ""},
		{http.MethodPost, leases, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"evil"}}`},
		{http.MethodPost, "/apis/events.k8s.io/v1/namespaces/NAME/events", `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"evil"}}`},
		{http.MethodPost, "/api/v1/namespaces/NAME/secrets", fmt.Sprintf(object, "Secret")}, {http.MethodPost, "/api/v1/namespaces/NAME/configmaps", fmt.Sprintf(object, "ConfigMap")},
		{http.MethodPatch, "/api/v1/namespaces/NAME/secrets/present", label}, {http.MethodDelete, "/api/v1/namespaces/NAME/secrets/present", ""},
		{http.MethodDelete, "/api/v1/namespaces/NAME", ""},
		{http.MethodPatch, requestsPath + "/CSR", label}, {http.MethodPatch, requestsPath + "/CSR/approval", status}, {http.MethodPatch, requestsPath + "/CSR/status", status},
		{http.MethodDelete, requestsPath + "/CSR", ""},
		{http.MethodPost, managedPath, `{"apiVersion":"cluster.open-cluster-management.io/v1","kind":"ManagedCluster","metadata":{"name":"NAME"}}`},
		{http.MethodPost, roles + "/namespaces/NAME/rolebindings", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"evil"},
			"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"open-cluster-management:managedcluster:work"},"subjects":[{"kind":"User","name":"evil","apiGroup":"rbac.authorization.k8s.io"}]}`},
		{http.MethodDelete, hooks, ""}, {http.MethodPatch, leader, `{"spec":{"holderIdentity":"evil"}}`},
		{http.MethodPatch, roles + "/clusterroles/" + role, label}, {http.MethodDelete, roles + "/clusterrolebindings/" + role, ""},
		{http.MethodDelete, roles + "/namespaces/NAME/rolebindings/" + role + ":work", ""},
		{http.MethodPost, "/api/v1/namespaces/" + ocmSpace + "/serviceaccounts/" + ocmAccount + "/token", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`},
		{http.MethodPost, managedPath + "/NAME/accept", "{}"},
	}...)
}

// introduces are what whoever introduces clusters may do, by the roles of the
// field: look at clusters and at certificate requests, and make clusters, of which
// each name is free once.
func introduces(a ocmAttempt) bool {
	return a.verb == http.MethodGet && (strings.HasPrefix(a.path, managedPath) || strings.HasPrefix(a.path, requestsPath)) ||
		a.verb == http.MethodPost && a.path == managedPath
}

// ocmCrowd are the identities that there are on a hub, of either plane.
type ocmCrowd struct {
	// agents are the clusters' own, by cluster. east is accepted.
	agents map[string]*rest.Config
	// others are everybody else.
	others map[string]*rest.Config
	// targets are clusters without such an agent.
	targets []string
	// requests tells that agents read the certificate requests of all clusters: RBAC
	// knows no labels, and an existing API asks nobody else (docs/second-plane.md).
	requests bool
}

// excused tells whether somebody may do a thing although it is not theirs.
func (c *ocmCrowd) excused(who string, a ocmAttempt) bool {
	switch who {
	case ocmAccount, aBootstrapToken:
		return introduces(a)
	case nobody, anAddon:
		return false
	}
	return c.requests && a.verb == http.MethodGet && strings.HasPrefix(a.path, requestsPath)
}

const (
	aBootstrapToken = "a bootstrap token"
	nobody          = "nobody"
	anAddon         = "an add-on agent of east"
)

// newOCMCrowd introduces the clusters that are not there yet, and has every identity
// that a hub of either plane knows: the agents of two clusters that are accepted, of
// one that waits and of one that was denied, and those who are no cluster's agent.
func newOCMCrowd(t *testing.T, h *hub, there map[string]*rest.Config) *ocmCrowd {
	t.Helper()
	c := &ocmCrowd{agents: there}
	for _, name := range []string{"east", "west", "waiting", "denied"} {
		if c.agents[name] != nil {
			continue
		}
		c.agents[name] = ocmIdentity(t, h, name, "abcde")
		if name != "waiting" {
			h.accept(t, name, true)
			h.awaitManaged(t, name, ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
		}
	}
	h.accept(t, "denied", false)
	h.awaitManaged(t, "denied", ocmv1.ConditionHubAccepted, metav1.ConditionFalse, ocmv1.ReasonDenied)
	c.others = map[string]*rest.Config{
		ocmAccount: bootstrapConfig(t, h, ocmToken(t, h)), aBootstrapToken: bootstrapConfig(t, h, introducingToken(t, h, time.Now().Add(time.Hour))),
		nobody: rest.AnonymousClientConfig(h.admin(t)), anAddon: addonAgent(t, h, "east", "present"),
	}
	return c
}

// tryAll has everybody try everything on each cluster that is not theirs, and then
// the agent of east what is its own: the refusals are not of a broken hub.
func (c *ocmCrowd) tryAll(t *testing.T, h *hub) {
	t.Helper()
	targets := append(slices.Collect(maps.Keys(c.agents)), c.targets...)
	requests, before := map[string]string{}, map[string]string{}
	for _, name := range targets {
		requests[name] = occupy(t, h, name)
		before[name] = h.managedCluster(t, name).ResourceVersion
	}
	everybody := maps.Clone(c.others)
	for name, config := range c.agents {
		everybody["the agent of "+name] = config
	}
	tried, allowed := 0, 0
	for who, config := range everybody {
		for _, name := range targets {
			if who == "the agent of "+name {
				continue
			}
			for _, a := range ocmAttempts() {
				if c.excused(who, a) {
					continue
				}
				tried++
				fill := strings.NewReplacer("NAME", name, "CSR", requests[name])
				err := sendHeard(t, config, a.verb, fill.Replace(a.path), fill.Replace(a.body))
				if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
					allowed++
					t.Errorf("%s: %s %s: %v, want a refusal", who, a.verb, fill.Replace(a.path), err)
				}
			}
		}
	}
	t.Logf("%d identities, %d attempts, %d allowed", len(everybody), tried, allowed)

	for _, path := range []string{managedPath + "/east", managedPath + "?fieldSelector=metadata.name=east", requestsPath + "/" + requests["east"],
		requestsPath + "?labelSelector=" + ocmv1.ClusterNameLabel + "=east", "/apis/work.open-cluster-management.io/v1/namespaces/east/manifestworks/present",
		"/apis/coordination.k8s.io/v1/namespaces/east/leases/" + ocmv1.LeaseName, "/apis/addon.open-cluster-management.io/v1beta1/namespaces/east/managedclusteraddons/present"} {
		if err := send(t.Context(), c.agents["east"], http.MethodGet, path, ""); err != nil {
			t.Errorf("the agent of east: %v", err)
		}
	}
	for name, version := range before {
		if after := h.managedCluster(t, name); after == nil || after.Labels["evil"] != "" || after.DeletionTimestamp != nil {
			t.Errorf("%s changed from version %s to %+v", name, version, after)
		}
	}
}

// occupy puts into the namespace of a cluster what others must not touch, and
// returns the name of a certificate request of it.
func occupy(t *testing.T, h *hub, name string) (csr string) {
	t.Helper()
	h.apply(t, strings.ReplaceAll(`
{apiVersion: v1, kind: Namespace, metadata: {name: NAME}}
---
{apiVersion: v1, kind: Secret, metadata: {name: present, namespace: NAME}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: present, namespace: NAME}}
---
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: present, namespace: NAME}
spec: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: present, namespace: default}}]}}
---
{apiVersion: addon.open-cluster-management.io/v1alpha1, kind: ManagedClusterAddOn, metadata: {name: present, namespace: NAME}, spec: {}}
`, "NAME", name))
	return h.awaitRequest(t, name)
}

// TestOCMNoIdentityTouchesAnotherCluster tries every identity that there is on
// everything that is of each other cluster. TestOCMExternalWalk does so where RBAC
// alone confines.
func TestOCMNoIdentityTouchesAnotherCluster(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	crowd := newOCMCrowd(t, h, map[string]*rest.Config{})
	// south is a Karmada member: its mirror is nobody else's, either.
	crowd.others["the agent of south"], crowd.targets = pullCluster(t, h, "south"), []string{"south"}
	eventually(t, "south has its mirror", func(context.Context) bool { return h.managedCluster(t, "south") != nil })
	if _, _, err := requestOf("south", "abcde").create(t.Context(), crowd.others[ocmAccount]); err != nil {
		t.Fatal(err)
	}
	crowd.tryAll(t, h)
}

// addonAgent is the identity of an add-on's agent in a cluster, to which no add-on
// manager has given any right.
func addonAgent(t *testing.T, h *hub, cluster, addon string) *rest.Config {
	t.Helper()
	group := ocmPrefix + "cluster:" + cluster + ":addon:" + addon
	config := rest.AnonymousClientConfig(h.admin(t))
	config.QPS = -1
	config.CertData, config.KeyData = h.sign(t, pkix.Name{CommonName: group + ":agent:abcde", Organization: []string{group, ocmPrefix + "addon:" + addon}},
		time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	return config
}

// introducingToken makes a bootstrap token with which clusters are introduced.
func introducingToken(t testing.TB, h *hub, expires time.Time) string {
	t.Helper()
	const id, secret = "ocmhub", "0123456789abcdef"
	_, err := h.client.CoreV1().Secrets(metav1.NamespaceSystem).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id}, Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": id, "token-secret": secret, "expiration": expires.UTC().Format(time.RFC3339),
			"usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:managedcluster",
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return id + "." + secret
}

// TestOCMTokens: a token that is wrong, or was good once, is answered 401, and
// nothing comes of it.
func TestOCMTokens(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	good := ocmToken(t, h)
	expiring := introducingToken(t, h, time.Now().Add(time.Hour))
	for _, token := range []string{good, expiring} {
		eventually(t, "a good token is known, and tells of a cluster that is not there", func(ctx context.Context) bool {
			return apierrors.IsNotFound(send(ctx, bootstrapConfig(t, h, token), http.MethodGet, managedPath+"/east", ""))
		})
	}
	patch := fmt.Sprintf(`{"stringData":{"expiration":%q}}`, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	if err := send(t.Context(), h.admin(t), http.MethodPatch, "/api/v1/namespaces/kube-system/secrets/bootstrap-token-ocmhub", patch); err != nil {
		t.Fatal(err)
	}
	// A service account's token is good for as long as the account is there.
	lost := good
	if err := send(t.Context(), h.admin(t), http.MethodDelete, "/api/v1/namespaces/"+ocmSpace+"/serviceaccounts/"+ocmAccount, ""); err != nil {
		t.Fatal(err)
	}
	cluster := `{"apiVersion":"cluster.open-cluster-management.io/v1","kind":"ManagedCluster","metadata":{"name":"east"}}`
	for what, token := range map[string]string{
		"a wrong token": good[:len(good)-12] + "AAAAAAAAAAAA", "a wrong bootstrap token": "ocmhub.fedcba9876543210",
		"an expired token": expiring, "the token of a lost account": lost,
	} {
		config := bootstrapConfig(t, h, token)
		eventually(t, what+" is answered 401", func(ctx context.Context) bool {
			return apierrors.IsUnauthorized(send(ctx, config, http.MethodGet, managedPath+"/east", ""))
		})
		if err := send(t.Context(), config, http.MethodPost, managedPath, cluster); !apierrors.IsUnauthorized(err) {
			t.Errorf("%s: announcing a cluster: %v", what, err)
		}
		if _, _, err := requestOf("east", "abcde").create(t.Context(), config); !apierrors.IsUnauthorized(err) {
			t.Errorf("%s: asking for a certificate: %v", what, err)
		}
	}
	if h.managedCluster(t, "east") != nil || len(h.requestsOf(t.Context(), t, "east")) > 0 {
		t.Error("something came of a token that is not good")
	}
}

// admin is the administrator's client configuration.
func (h *hub) admin(t testing.TB) *rest.Config {
	t.Helper()
	config, err := h.Config()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// TestOCMRequests: agents renew nothing but what they are, and are never halted by
// requests of before.
func TestOCMRequests(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	east := ocmIdentity(t, h, "east", "abcde")
	ocmIdentity(t, h, "west", "abcde")
	for _, name := range []string{"east", "west"} {
		h.accept(t, name, true)
		h.awaitManaged(t, name, ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
	}
	eventually(t, "the agent of east has its rights", func(ctx context.Context) bool {
		return send(ctx, east, http.MethodGet, managedPath+"/east", "") == nil
	})
	introducer := bootstrapConfig(t, h, ocmToken(t, h))

	both := requestOf("east", "abcde")
	both.organizations = append(both.organizations, ocmPrefix+"west")
	relabelled := requestOf("west", "abcde")
	relabelled.label = "east"
	stranger := requestOf("east", "other")
	for what, r := range map[string]struct {
		by *rest.Config
		ocmRequest
	}{
		"of west, by the agent of east":           {east, requestOf("west", "abcde")},
		"of west under east's label":              {east, relabelled},
		"of east with the group of west":          {east, both},
		"of another agent of east, by this one":   {east, stranger},
		"of west, by who introduces clusters":     {introducer, requestOf("west", "abcde")},
		"of somebody else, as if of an agent":     {introducer, ocmRequest{label: "east", commonName: "system:admin", organizations: []string{ocmPrefix + "east"}}},
		"of an agent of all, without any cluster": {introducer, ocmRequest{label: "east", commonName: ocmPrefix + "east:a:b", organizations: []string{ocmPrefix + "managed-clusters"}}},
	} {
		name, _, err := r.create(t.Context(), r.by)
		if err != nil {
			t.Fatalf("request %s: %v", what, err)
		}
		// A renewal that came later is granted: this one has been judged.
		renewal, _, err := requestOf("east", "abcde").create(t.Context(), east)
		if err != nil {
			t.Fatal(err)
		}
		h.awaitIssued(t, renewal)
		csr, err := h.client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatalf("the request %s: %v", what, err)
		}
		if len(csr.Status.Conditions) > 0 || len(csr.Status.Certificate) > 0 {
			t.Errorf("the request %s was settled without a person: %+v", what, csr.Status.Conditions)
		}
		if err := send(t.Context(), h.admin(t), http.MethodDelete, requestsPath+"/"+name, ""); err != nil {
			t.Fatal(err)
		}
	}

	// An agent that sees ten requests of its cluster makes no more.
	for number := range 12 {
		if _, _, err := requestOf("north", fmt.Sprintf("try%02d", number)).create(t.Context(), introducer); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "stale requests are cleaned up", func(ctx context.Context) bool {
		left := len(h.requestsOf(ctx, t, "north"))
		return left > 0 && left < 5
	})
	newest, _, err := requestOf("north", "newest").create(t.Context(), introducer)
	if err != nil {
		t.Fatal(err)
	}
	h.approveRequest(t, newest)
	h.awaitIssued(t, newest)
}
