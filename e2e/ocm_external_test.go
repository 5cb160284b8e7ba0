package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/database/databasetest"
)

// externalSpace holds the objects of a hub on an existing API.
const externalSpace = "open-cluster-management-hub"

// onExisting gives the hub on an existing API its rights there, and returns the
// kubeconfig that it runs with.
func onExisting(t *testing.T, h *hub) string {
	t.Helper()
	kubectl(t, h.Kubeconfig, "apply", "-f", filepath.Join("..", "deploy", "external", "rbac.yaml"))
	token := strings.TrimSpace(kubectl(t, h.Kubeconfig, "create", "token", "muster-hub", "--namespace", externalSpace, "--duration", "1h"))
	config, err := clientcmd.LoadFromFile(h.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.AuthInfos["hub"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[config.CurrentContext].AuthInfo = "hub"
	file := filepath.Join(t.TempDir(), "hub.kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// startReplica runs a replica of a hub on an existing API. It ends with the test.
func startReplica(t *testing.T, name, kubeconfig, database string, more ...string) *controlplanetest.Process {
	t.Helper()
	var addresses [2]string
	for i := range addresses {
		var err error
		if addresses[i], err = controlplanetest.FreeAddress(); err != nil {
			t.Fatal(err)
		}
	}
	return startProcess(t, "muster", name, append([]string{"serve", "--kubeconfig", kubeconfig, "--database", database, "--data-dir", filepath.Join(t.TempDir(), "data"),
		"--webhook-listen", addresses[0], "--dashboard-listen", addresses[1]}, more...)...)
}

// acts tells whether a replica has become the one that acts.
func acts(t *testing.T, p *controlplanetest.Process) bool {
	t.Helper()
	text, err := os.ReadFile(p.Log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), "this replica acts for all")
}

// awaitExternal waits until the acting replica has the API ask it, which comes last.
func awaitExternal(t *testing.T, h *hub, p *controlplanetest.Process) {
	t.Helper()
	eventually(t, "the replica acts", func(context.Context) bool { return acts(t, p) })
	eventually(t, "the API asks the hub", func(ctx context.Context) bool {
		_, err := h.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "manifestworkvalidators.admission.work.open-cluster-management.io", metav1.GetOptions{})
		return err == nil
	})
	eventually(t, "the account that introduces clusters", func(ctx context.Context) bool {
		_, err := h.client.CoreV1().ServiceAccounts(ocmSpace).Get(ctx, ocmAccount, metav1.GetOptions{})
		return err == nil
	})
}

// TestOCMExternalWalk is the walk on an existing Kubernetes API with two replicas
// of the hub: to Available, work, and on with the other replica when the acting one
// is killed.
func TestOCMExternalWalk(t *testing.T) {
	t.Parallel()
	api := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "existing", APIFlags: []string{"--enable-bootstrap-token-auth"}})
	h := &hub{Hub: &controlplanetest.Hub{Kubeconfig: api.Kubeconfig}}
	h.connect(t)
	kubeconfig, database := onExisting(t, h), databasetest.StartPostgres(t)
	first := startReplica(t, "first", kubeconfig, database)
	awaitExternal(t, h, first)
	second := startReplica(t, "second", kubeconfig, database)

	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 2})
	startKlusterlet(t, m, "east", ocmBootstrap(t, h, ocmToken(t, h)))
	walkToAvailable(t, h, m)
	walkWork(t, h, m)
	walkExternalDenial(t, h, m, "east")
	if acts(t, second) {
		t.Error("both replicas act")
	}

	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other replica acts", func(context.Context) bool { return acts(t, second) })
	west := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": ocmv1.GroupVersion.String(), "kind": "ManagedCluster", "metadata": map[string]any{"name": "west"},
	}}
	// Until the configurations lead to the second replica, the API refuses.
	eventually(t, "west is announced", func(ctx context.Context) bool {
		_, err := h.dynamic.Resource(managedClustersResource).Create(ctx, west, metav1.CreateOptions{})
		return err == nil
	})
	eventually(t, "west is accepted", func(ctx context.Context) bool {
		_, err := h.dynamic.Resource(managedClustersResource).Patch(ctx, "west", types.MergePatchType, []byte(`{"spec":{"hubAcceptsClient":true}}`), metav1.PatchOptions{})
		return err == nil
	})
	h.awaitManaged(t, "west", ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
	h.apply(t, strings.ReplaceAll(walkManifestWork, "WORK", "after-takeover"))
	awaitSettings(t, m, "after-takeover", true)
	walkExternalIdentities(t, h, m, api)
}

// walkExternalIdentities tries every identity on what is of each other cluster, where
// roles confine and nothing else does. East and west are there already.
func walkExternalIdentities(t *testing.T, h *hub, m, api *controlplanetest.Member) {
	t.Helper()
	authority, _ := api.CAFiles()
	h.pki = filepath.Dir(authority)
	west := rest.AnonymousClientConfig(h.admin(t))
	request, keyPEM, err := requestOf("west", "abcde").create(t.Context(), bootstrapConfig(t, h, ocmToken(t, h)))
	if err != nil {
		t.Fatal(err)
	}
	h.approveRequest(t, request)
	west.CertData, west.KeyData, west.QPS = h.awaitIssued(t, request), keyPEM, -1
	east := identityOf(t, h, m)
	east.QPS = -1
	crowd := newOCMCrowd(t, h, map[string]*rest.Config{"east": east, "west": west})
	crowd.requests = true
	crowd.tryAll(t, h)
}

// agentStreams counts the watches of a resource that agents have open in their
// namespaces; the hub's own go over all namespaces.
func agentStreams(ctx context.Context, t *testing.T, h *hub, resource string) (open int) {
	t.Helper()
	text, err := h.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "apiserver_longrunning_requests{") || !strings.Contains(line, `resource="`+resource+`"`) || !strings.Contains(line, `scope="namespace"`) {
			continue
		}
		fields := strings.Fields(line)
		count, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			t.Fatal(err)
		}
		open += int(count)
	}
	return open
}

// walkExternalDenial takes the hub's consent back where it cannot cut anything: the
// agent itself drops its streams, and opens them once it is accepted again. As long as
// a work holds the denial up it keeps that of works, and no other.
func walkExternalDenial(t *testing.T, h *hub, m *controlplanetest.Member, cluster string) {
	t.Helper()
	const works, addons = "manifestworks", "managedclusteraddons"
	open := func(resource string, wanted bool) {
		t.Helper()
		begin := time.Now()
		eventually(t, fmt.Sprintf("watches of %s: %t", resource, wanted), func(ctx context.Context) bool { return agentStreams(ctx, t, h, resource) > 0 == wanted })
		t.Logf("%s: watches of %s: %t after %.2f s", cluster, resource, wanted, time.Since(begin).Seconds())
	}
	open(works, true)
	open(addons, true)
	h.giveSettings(t, cluster, "held")
	awaitSettings(t, m, "held", true)
	h.accept(t, cluster, false)
	h.awaitManaged(t, cluster, ocmv1.ConditionHubDenied, metav1.ConditionFalse, ocmv1.ReasonWorksRemaining)
	open(addons, false)
	open(works, true) // the hub waits for them
	kubectl(t, h.Kubeconfig, "delete", works, "--namespace", cluster, "held")
	awaitSettings(t, m, "held", false)
	h.awaitManaged(t, cluster, ocmv1.ConditionHubAccepted, metav1.ConditionFalse, ocmv1.ReasonDenied)
	open(works, false)
	h.accept(t, cluster, true)
	h.awaitManaged(t, cluster, ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
	open(works, true)
	open(addons, true)
}

// TestOCMExternalSigner runs the hub where the API's own signer is off: it says so
// on the request, and signs when it is given the authority's key.
func TestOCMExternalSigner(t *testing.T) {
	t.Parallel()
	api := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "unsigned", Unsigned: true})
	h := &hub{Hub: &controlplanetest.Hub{Kubeconfig: api.Kubeconfig}}
	h.connect(t)
	kubeconfig := onExisting(t, h)
	database := "sqlite:" + filepath.Join(t.TempDir(), "hub.db")
	replica := startReplica(t, "unsigned", kubeconfig, database)
	awaitExternal(t, h, replica)

	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "north", Nodes: 1})
	hubDir := t.TempDir() // the agents are two processes, as where an operator runs them
	startRegistration(t, m, "north", ocmBootstrap(t, h, ocmToken(t, h)), "--hub-kubeconfig-dir", hubDir)
	startWork(t, m, "north", hubDir)
	csr := h.awaitRequest(t, "north")
	h.approveRequest(t, csr)
	h.accept(t, "north", true)
	eventually(t, "the request says that nobody signs it", func(ctx context.Context) bool {
		request, err := h.client.CertificatesV1().CertificateSigningRequests().Get(ctx, csr, metav1.GetOptions{})
		return err == nil && strings.HasPrefix(request.Annotations["muster.dev/waiting"], "SignerMissing")
	})
	eventually(t, "an Event says so, too", func(ctx context.Context) bool {
		events, err := h.client.CoreV1().Events(corev1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "reason=SignerMissing"})
		return err == nil && len(events.Items) > 0
	})

	if err := replica.Stop(); err != nil {
		t.Fatal(err)
	}
	kubectl(t, h.Kubeconfig, "create", "clusterrolebinding", "muster:hub-signer", "--clusterrole", "muster:hub-signer", "--serviceaccount", externalSpace+":muster-hub")
	cert, key := api.CAFiles()
	startReplica(t, "signing", kubeconfig, database, "--sign-csrs", "--signing-ca-cert", cert, "--signing-ca-key", key)
	h.awaitManaged(t, "north", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	eventually(t, "the request no longer waits", func(ctx context.Context) bool {
		request, err := h.client.CertificatesV1().CertificateSigningRequests().Get(ctx, csr, metav1.GetOptions{})
		return err == nil && request.Annotations["muster.dev/waiting"] == ""
	})
	walkExternalDenial(t, h, m, "north")
}
