package e2e_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

const agentsGroup = "system:karmada:agents"

// bootstrapConfig is the client configuration of a join token.
func bootstrapConfig(t testing.TB, h *hub, token string) *rest.Config {
	t.Helper()
	admin, err := h.Config()
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(admin)
	config.BearerToken = token
	return config
}

// createToken runs "muster token create" and returns the token.
func createToken(t testing.TB, h *hub, more ...string) string {
	t.Helper()
	out := mustRun(t, "muster", append([]string{"token", "create", "--kubeconfig", h.Kubeconfig}, more...)...).stdout
	token := tokenRE.FindString(out)
	if token == "" {
		t.Fatalf("no token in %q", out)
	}
	return token
}

// requestCertificate creates a CSR for an agent's name as whoever config is.
func requestCertificate(ctx context.Context, config *rest.Config, csrName, commonName string) (keyPEM []byte, err error) {
	key, keyPEM, err := controlplanetest.NewKey()
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: commonName, Organization: []string{agentsGroup}},
	}, key)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	_, err = client.CertificatesV1().CertificateSigningRequests().Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: csrName, Labels: map[string]string{"karmada.io/system": "true"}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	return keyPEM, err
}

// bootstrap gets an identity for a token, as register does.
func bootstrap(t testing.TB, h *hub, token, csrName, commonName string) *rest.Config {
	t.Helper()
	config := bootstrapConfig(t, h, token)
	var keyPEM, certificate []byte
	var err error
	eventually(t, "the new token for "+commonName+" to be known", func(ctx context.Context) bool {
		keyPEM, err = requestCertificate(ctx, config, csrName, commonName)
		return !apierrors.IsUnauthorized(err)
	})
	if err != nil {
		t.Fatalf("request a certificate for %s: %v", commonName, err)
	}
	eventually(t, "certificate for "+commonName, func(ctx context.Context) bool {
		csr, err := kubernetes.NewForConfigOrDie(config).CertificatesV1().CertificateSigningRequests().Get(ctx, csrName, metav1.GetOptions{})
		if err == nil {
			certificate = csr.Status.Certificate
		}
		return len(certificate) > 0
	})
	identity := rest.AnonymousClientConfig(config)
	identity.CertData, identity.KeyData, identity.QPS = certificate, keyPEM, -1
	return identity
}

// pullCluster registers a cluster as an unmodified agent does and returns the
// agent's identity.
func pullCluster(t testing.TB, h *hub, name string) *rest.Config {
	t.Helper()
	agent := bootstrap(t, h, createToken(t, h), name+"-abcde", "system:karmada:agent:"+name)
	client := kubernetes.NewForConfigOrDie(agent)
	for _, secret := range []string{name, name + "-impersonator"} {
		object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret, Labels: map[string]string{"karmada.io/system": "true"}}, StringData: map[string]string{"token": "t"}}
		if _, err := client.CoreV1().Secrets("karmada-cluster").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := createCluster(t, clientFor(t, agent), name, string(uuid.NewUUID())); err != nil {
		t.Fatal(err)
	}
	eventually(t, "execution namespace of "+name, func(ctx context.Context) bool {
		_, err := h.client.CoreV1().Namespaces().Get(ctx, "karmada-es-"+name, metav1.GetOptions{})
		return err == nil
	})
	return agent
}

// attempt is one thing that an identity must not be able to do to a cluster.
type attempt struct {
	what string
	do   func(context.Context, *rest.Config, string) error
}

func attempts() []attempt {
	const clusters, works = "/apis/cluster.karmada.io/v1alpha1/clusters/", "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-"
	const secrets, leases = "/api/v1/namespaces/karmada-cluster/secrets/", "/apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases/"
	raw := func(verb, path, suffix, body string) attempt {
		return attempt{verb + " " + path + "NAME" + suffix, func(ctx context.Context, config *rest.Config, name string) error {
			kind := "application/json"
			if verb == http.MethodPatch {
				kind = string(types.MergePatchType)
			}
			client := kubernetes.NewForConfigOrDie(config).Discovery().RESTClient()
			return client.Verb(verb).AbsPath(path+name+suffix).SetHeader("Content-Type", kind).Body([]byte(strings.ReplaceAll(body, "NAME", name))).Do(ctx).Error()
		}}
	}
	lists := func(path string) attempt {
		return attempt{"list " + path, func(ctx context.Context, config *rest.Config, _ string) error {
			return kubernetes.NewForConfigOrDie(config).Discovery().RESTClient().Get().AbsPath(path).Do(ctx).Error()
		}}
	}
	const system = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases/karmada-agent-"
	workBody := `{"apiVersion":"work.karmada.io/v1alpha1","kind":"Work","metadata":{"name":"evil","namespace":"karmada-es-NAME"},"spec":{"workload":{"manifests":[]}}}`
	role := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"evil"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`
	return []attempt{
		raw("GET", clusters, "", ""), raw("DELETE", clusters, "", ""), raw("PATCH", clusters, "", `{"spec":{"region":"evil"}}`),
		raw("PATCH", clusters, "/status", `{"status":{"kubernetesVersion":"evil"}}`), raw("GET", clusters, "/proxy/version", ""),
		raw("GET", works, "/works", ""), raw("POST", works, "/works", workBody), raw("GET", works, "/works/present", ""),
		raw("DELETE", works, "/works/present", ""), raw("PATCH", works, "/works/present", `{"metadata":{"labels":{"evil":"yes"}}}`),
		raw("PATCH", works, "/works/present/status", `{"status":{"conditions":[]}}`), raw("DELETE", works, "/works", ""),
		raw("GET", secrets, "", ""), raw("GET", secrets, "-impersonator", ""), raw("PATCH", secrets, "", `{"data":{"token":"ZXZpbA=="}}`),
		raw("DELETE", secrets, "", ""), raw("DELETE", secrets, "-impersonator", ""),
		raw("GET", leases, "", ""), raw("DELETE", leases, "", ""), raw("PATCH", leases, "", `{"spec":{"holderIdentity":"evil"}}`),
		raw("PATCH", system, "", `{"spec":{"holderIdentity":"evil"}}`), raw("DELETE", system, "", ""),
		raw("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:karmada:", ":agent", ""),
		raw("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:karmada:", ":agent", ""),
		raw("DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/karmada-cluster/roles/system:karmada:", ":agent-secret", ""),
		raw("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/karmada-es-", "/roles", role),
		raw("DELETE", "/api/v1/namespaces/karmada-es-", "", ""), raw("GET", "/api/v1/namespaces/karmada-es-", "/secrets", ""),
		lists("/api/v1/namespaces/karmada-cluster/secrets"), lists("/api/v1/namespaces/kube-system/secrets"),
		lists("/api/v1/secrets"), lists("/apis/work.karmada.io/v1alpha1/works"), lists("/apis/certificates.k8s.io/v1/certificatesigningrequests"),
		{"create the Secret NAME-evil as if of NAME", func(ctx context.Context, config *rest.Config, name string) error {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-evil"}}
			_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Secrets("karmada-cluster").Create(ctx, secret, metav1.CreateOptions{})
			return err
		}},
		{"create the Lease of NAME", func(ctx context.Context, config *rest.Config, name string) error {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases("karmada-cluster").Create(ctx, lease, metav1.CreateOptions{})
			return err
		}},
		{"create the Lease of NAME's agent", func(ctx context.Context, config *rest.Config, name string) error {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "karmada-agent-" + name}}
			_, err := kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases("karmada-system").Create(ctx, lease, metav1.CreateOptions{})
			return err
		}},
		{"bind cluster-admin", func(ctx context.Context, config *rest.Config, name string) error {
			_, err := kubernetes.NewForConfigOrDie(config).RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "evil-" + name},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: agentsGroup}},
			}, metav1.CreateOptions{})
			return err
		}},
	}
}

func TestNoIdentityTouchesAnotherCluster(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	east, west := pullCluster(t, h, "east"), pullCluster(t, h, "west")
	for _, name := range []string{"east", "west"} {
		work(t, h, "karmada-es-"+name, "present", manifest("v1", "ConfigMap", "default", "settings"))
	}
	token := createToken(t, h)
	identities := map[string]*rest.Config{
		"the agent of east":    east,
		"the helper":           bootstrap(t, h, token, "agent-rbac-generator-westabcde", "system:karmada:agent:rbac-generator"),
		"an unbound token":     bootstrapConfig(t, h, token),
		"a client without any": rest.AnonymousClientConfig(east),
	}
	before := h.cluster(t, "west")
	allowed := 0
	for who, config := range identities {
		for _, a := range attempts() {
			// The unmodified client asks with the helper whether the name is
			// free: that it may see, and nothing more.
			if who == "the helper" && a.what == "GET /apis/cluster.karmada.io/v1alpha1/clusters/NAME" {
				continue
			}
			if err := a.do(t.Context(), config, "west"); err == nil {
				allowed++
				t.Errorf("%s may %s on west", who, a.what)
			} else if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
				t.Errorf("%s: %s: %v, want a refusal", who, a.what, err)
			}
		}
	}
	t.Logf("%d identities, %d attempts each, %d allowed", len(identities), len(attempts()), allowed)
	after := h.cluster(t, "west")
	if after == nil || after.UID != before.UID || after.Spec.Region != before.Spec.Region {
		t.Errorf("west changed from %+v to %+v", before, after)
	}

	// Its own cluster an agent may see, and in a list no other one.
	list, err := clientFor(t, east).Resource(clustersResource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(list); len(got) != 1 || got[0] != "east" {
		t.Errorf("the agent of east lists %v, want itself alone", got)
	}
	watcher, err := clientFor(t, west).Resource(clustersResource).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	if _, err := h.dynamic.Resource(clustersResource).Patch(t.Context(), "east", types.MergePatchType, []byte(`{"metadata":{"labels":{"seen":"no"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.dynamic.Resource(clustersResource).Patch(t.Context(), "west", types.MergePatchType, []byte(`{"metadata":{"labels":{"seen":"yes"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for event := range watcher.ResultChan() {
		object, err := metaOf(event.Object)
		if err != nil {
			t.Fatal(err)
		}
		if object.GetName() != "west" {
			t.Errorf("the agent of west watches %s", object.GetName())
		}
		if object.GetLabels()["seen"] == "yes" {
			break
		}
	}
}

func TestAgentsCannotBecomeAnother(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	east, west := pullCluster(t, h, "east"), pullCluster(t, h, "west")
	westID := h.cluster(t, "west").Spec.ID
	token := createToken(t, h)

	for who, config := range map[string]*rest.Config{"the agent of east": east, "an unbound token": bootstrapConfig(t, h, token)} {
		_, err := requestCertificate(t.Context(), config, "west-evil1", "system:karmada:agent:west")
		if err == nil {
			refusedOrPending(t, h, who, "west-evil1")
		}
	}
	if err := createCluster(t, clientFor(t, east), "north", string(uuid.NewUUID())); err == nil {
		t.Error("the agent of east created a cluster of another name")
	}
	if err := createCluster(t, clientFor(t, bootstrap(t, h, token, "south-abcde", "system:karmada:agent:south")), "south", westID); err == nil {
		t.Error("south took the id of west")
	} else if !strings.Contains(err.Error(), "west") {
		t.Errorf("the refusal does not name west: %v", err)
	}
	// West itself may renew.
	if _, err := requestCertificate(t.Context(), west, "west-renew", "system:karmada:agent:west"); err != nil {
		t.Fatalf("the agent of west asks for a new certificate: %v", err)
	}
	eventually(t, "the renewed certificate of west", func(ctx context.Context) bool {
		csr, err := h.client.CertificatesV1().CertificateSigningRequests().Get(ctx, "west-renew", metav1.GetOptions{})
		return err == nil && len(csr.Status.Certificate) > 0
	})
}

// refusedOrPending fails the test when a CSR that was let in was also signed.
// To know that the hub has judged it, another one is signed meanwhile.
func refusedOrPending(t *testing.T, h *hub, who, csrName string) {
	t.Helper()
	bootstrap(t, h, createToken(t, h), "judged-abcde", "system:karmada:agent:judged")
	csr, err := h.client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), csrName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(csr.Status.Certificate) > 0 {
		t.Errorf("%s got a certificate of west", who)
	}
}
