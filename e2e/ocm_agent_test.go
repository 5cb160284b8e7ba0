package e2e_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

const (
	// ocmPrefix is what users and groups of the agents of Open Cluster Management start with.
	ocmPrefix = "system:open-cluster-management:"
	// ocmAccount is who introduces clusters, in the namespace ocmSpace.
	ocmSpace, ocmAccount = "open-cluster-management", "agent-registration-bootstrap"
	ocmAccountUser       = "system:serviceaccount:" + ocmSpace + ":" + ocmAccount
)

var (
	managedClustersResource = ocmv1.GroupVersion.WithResource("managedclusters")
	manifestWorksResource   = ocmworkv1.GroupVersion.WithResource("manifestworks")
)

// ocmToken is a token of the account that introduces clusters, as "clusteradm get
// token" asks for it.
func ocmToken(t testing.TB, h *hub) string {
	t.Helper()
	return strings.TrimSpace(kubectl(t, h.Kubeconfig, "create", "token", ocmAccount, "--namespace", ocmSpace, "--duration", "1h"))
}

// ocmBootstrap writes a kubeconfig with which an agent introduces its cluster.
func ocmBootstrap(t testing.TB, h *hub, token string) string {
	t.Helper()
	admin, err := h.Config()
	if err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos["bootstrap"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["bootstrap"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "bootstrap"}
	config.CurrentContext = "bootstrap"
	file := filepath.Join(t.TempDir(), "bootstrap.kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// startKlusterlet runs the agents of a member in one process. It ends with the test.
func startKlusterlet(t testing.TB, m *controlplanetest.Member, cluster, bootstrap string, more ...string) *controlplanetest.Process {
	t.Helper()
	return startProgram(t, "klusterlet", append([]string{"--bootstrap-kubeconfig", bootstrap, "--cluster-name", cluster,
		"--member-kubeconfig", m.Kubeconfig, "--spoke-external-server-urls", m.Server}, more...)...)
}

// managedCluster reads a ManagedCluster; nil when there is none.
func (h *hub) managedCluster(t testing.TB, name string) *ocmv1.ManagedCluster {
	t.Helper()
	object, err := h.dynamic.Resource(managedClustersResource).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatalf("get managed cluster %s: %v", name, err)
	}
	cluster := &ocmv1.ManagedCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, cluster); err != nil {
		t.Fatal(err)
	}
	return cluster
}

// awaitManaged waits until a condition of a ManagedCluster has a status and a
// reason.
func (h *hub) awaitManaged(t testing.TB, name, kind string, want metav1.ConditionStatus, reason string) *ocmv1.ManagedCluster {
	t.Helper()
	var last *ocmv1.ManagedCluster
	defer func() {
		if t.Failed() && last != nil {
			t.Logf("conditions of %s: %+v", name, last.Status.Conditions)
		}
	}()
	eventually(t, fmt.Sprintf("managed cluster %s %s=%s %s", name, kind, want, reason), func(context.Context) bool {
		last = h.managedCluster(t, name)
		if last == nil {
			return false
		}
		found := meta.FindStatusCondition(last.Status.Conditions, kind)
		return found != nil && found.Status == want && found.Reason == reason
	})
	return last
}

// accept writes the hub's consent, as "kubectl patch" does, once the agent has
// announced its cluster.
func (h *hub) accept(t testing.TB, cluster string, accepted bool) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"hubAcceptsClient":%t}}`, accepted)
	eventually(t, cluster+" is announced, and decided about", func(ctx context.Context) bool {
		_, err := h.dynamic.Resource(managedClustersResource).Patch(ctx, cluster, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// apply applies manifests on the hub.
func (h *hub) apply(t testing.TB, yaml string) {
	t.Helper()
	if r := runWith(t, yaml, "kube", "kubectl", "--kubeconfig", h.Kubeconfig, "apply", "-f", "-"); r.code != 0 {
		t.Fatalf("kubectl apply: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// requestsOf lists the certificate requests of a cluster.
func (h *hub) requestsOf(ctx context.Context, t testing.TB, cluster string) []certificatesv1.CertificateSigningRequest {
	t.Helper()
	list, err := h.client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{LabelSelector: ocmv1.ClusterNameLabel + "=" + cluster})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// awaitRequest waits for the certificate request of a cluster's agent.
func (h *hub) awaitRequest(t testing.TB, cluster string) string {
	t.Helper()
	var name string
	eventually(t, "a certificate request of "+cluster, func(ctx context.Context) bool {
		for _, csr := range h.requestsOf(ctx, t, cluster) {
			name = csr.Name
		}
		return name != ""
	})
	return name
}

// approveRequest approves a certificate request as an administrator does.
func (h *hub) approveRequest(t testing.TB, name string) {
	t.Helper()
	requests := h.client.CertificatesV1().CertificateSigningRequests()
	eventually(t, "request "+name+" approved", func(ctx context.Context) bool {
		csr, err := requests.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range csr.Status.Conditions {
			if c.Type == certificatesv1.CertificateApproved { // by a rule of the hub's, meanwhile
				return true
			}
		}
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test Approve",
		})
		_, err = requests.UpdateApproval(ctx, name, csr, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// awaitIssued waits for the certificate of a request.
func (h *hub) awaitIssued(t testing.TB, name string) []byte {
	t.Helper()
	var certificate []byte
	eventually(t, "the certificate of "+name, func(ctx context.Context) bool {
		csr, err := h.client.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			certificate = csr.Status.Certificate
		}
		return len(certificate) > 0
	})
	return certificate
}

// ocmRequest is a certificate request of an agent, with whatever is wrong in it.
type ocmRequest struct {
	label         string // which cluster it says it is of
	commonName    string
	organizations []string
}

// requestOf is what an agent of a cluster asks for.
func requestOf(cluster, agent string) ocmRequest {
	return ocmRequest{label: cluster, commonName: ocmPrefix + cluster + ":" + agent, organizations: []string{ocmPrefix + cluster, ocmPrefix + "managed-clusters"}}
}

// create makes the request on the hub as whoever config is.
func (r ocmRequest) create(ctx context.Context, config *rest.Config) (name string, keyPEM []byte, err error) {
	key, keyPEM, err := controlplanetest.NewKey()
	if err != nil {
		return "", nil, err
	}
	subject := pkix.Name{CommonName: r.commonName, Organization: r.organizations}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		return "", nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", nil, err
	}
	csr := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		SignerName: certificatesv1.KubeAPIServerClientSignerName,
		Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
	}}
	csr.GenerateName = r.label + "-"
	if r.label != "" {
		csr.Labels = map[string]string{ocmv1.ClusterNameLabel: r.label}
	}
	made, err := client.CertificatesV1().CertificateSigningRequests().Create(ctx, csr, metav1.CreateOptions{})
	if err != nil {
		return "", nil, err
	}
	return made.Name, keyPEM, nil
}

// introduce introduces a cluster as its agent does: it asks for both consents. It
// returns the name of the request for a certificate and its key.
func introduce(t testing.TB, by *rest.Config, cluster, agent string) (request string, keyPEM []byte) {
	t.Helper()
	body := fmt.Sprintf(`{"apiVersion":%q,"kind":"ManagedCluster","metadata":{"name":%q},"spec":{"hubAcceptsClient":false},"status":{"conditions":null,"version":{}}}`,
		ocmv1.GroupVersion.String(), cluster)
	if err := send(t.Context(), by, http.MethodPost, managedPath, body); err != nil {
		t.Fatalf("introduce %s: %v", cluster, err)
	}
	request, keyPEM, err := requestOf(cluster, agent).create(t.Context(), by)
	if err != nil {
		t.Fatalf("ask for a certificate of %s: %v", cluster, err)
	}
	return request, keyPEM
}

// ocmIdentity introduces a cluster as its agent does, approves its certificate and
// returns the agent's identity. The cluster is not accepted.
func ocmIdentity(t testing.TB, h *hub, cluster, agent string) *rest.Config {
	t.Helper()
	config := bootstrapConfig(t, h, ocmToken(t, h))
	name, keyPEM := introduce(t, config, cluster, agent)
	h.approveRequest(t, name)
	identity := rest.AnonymousClientConfig(config)
	identity.CertData, identity.KeyData, identity.QPS = h.awaitIssued(t, name), keyPEM, -1
	return identity
}

// identityOf is the identity that a member's agent keeps.
func identityOf(t testing.TB, h *hub, m *controlplanetest.Member) *rest.Config {
	t.Helper()
	admin, err := h.Config()
	if err != nil {
		t.Fatal(err)
	}
	identity := rest.AnonymousClientConfig(admin)
	eventually(t, "the agent's identity in the member", func(ctx context.Context) bool {
		secret, err := m.Client.CoreV1().Secrets("open-cluster-management-agent").Get(ctx, "hub-kubeconfig-secret", metav1.GetOptions{})
		if err != nil {
			return false
		}
		identity.CertData, identity.KeyData = secret.Data["tls.crt"], secret.Data["tls.key"]
		for _, key := range []string{"kubeconfig", "cluster-name", "agent-name"} {
			if len(secret.Data[key]) == 0 {
				t.Errorf("hub-kubeconfig-secret lacks %s", key)
			}
		}
		return true
	})
	return identity
}

// feedback reads what a ManifestWork tells of its objects: name → value as JSON.
func (h *hub) feedback(t testing.TB, cluster, name string) (work *ocmworkv1.ManifestWork, values map[string]string) {
	t.Helper()
	object, err := h.dynamic.Resource(manifestWorksResource).Namespace(cluster).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get manifest work %s/%s: %v", cluster, name, err)
	}
	work, values = &ocmworkv1.ManifestWork{}, map[string]string{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, work); err != nil {
		t.Fatal(err)
	}
	for _, manifest := range work.Status.ResourceStatus.Manifests {
		for _, value := range manifest.StatusFeedbacks.Values {
			text, err := json.Marshal(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			values[value.Name] = string(text)
		}
	}
	return work, values
}
