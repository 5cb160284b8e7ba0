package e2e_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/agentapi"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// pin is the hub's CA pin, as a register command names it.
func pin(t testing.TB, h *hub) string {
	t.Helper()
	command := mustRun(t, "muster", "token", "create", "--kubeconfig", h.Kubeconfig, "--print-register-command", "--ttl", "10m").stdout
	found := pinRE.FindString(command)
	if found == "" {
		t.Fatalf("no pin in %q", command)
	}
	return found
}

// registerArgs are those of "muster-agent register" for a member.
func registerArgs(t testing.TB, h *hub, m *controlplanetest.Member, token string, more ...string) []string {
	t.Helper()
	return append([]string{"register", h.Address, "--token", token, "--discovery-token-ca-cert-hash", pin(t, h), "--kubeconfig", m.Kubeconfig}, more...)
}

// startAgent registers a member and runs its agent as a process, as where no
// kubelet runs. It ends with the test.
func startAgent(t testing.TB, h *hub, m *controlplanetest.Member, token string, more ...string) *controlplanetest.Process {
	t.Helper()
	args := registerArgs(t, h, m, token, append(more, "--run")...)
	return startProgram(t, args[0], args[1:]...)
}

func unregister(t testing.TB, h *hub, m *controlplanetest.Member, name string) result {
	t.Helper()
	return run(t, "muster-agent", "unregister", name, "--cluster-kubeconfig", m.Kubeconfig, "--karmada-config", h.Kubeconfig)
}

func TestPullRegisterAndUnregister(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "hidden", Nodes: 2})
	before := objects(t, m)

	agent := startAgent(t, h, m, createToken(t, h), "--cluster-name", "west", "--cluster-provider", "acme", "--cluster-region", "ap", "--cluster-zones", "x")
	west := h.awaitReady(t, "west", metav1.ConditionTrue)
	if west.Spec.SyncMode != clusterv1alpha1.Pull || west.Spec.Provider != "acme" || west.Spec.Region != "ap" {
		t.Errorf("spec is %+v", west.Spec)
	}
	if n := west.Status.NodeSummary; n == nil || n.ReadyNum != 2 {
		t.Errorf("status.nodeSummary is %+v, want 2 ready", n)
	}
	if table := kubectl(t, h.Kubeconfig, "get", "clusters"); !strings.Contains(table, "Pull") || !strings.Contains(table, "True") {
		t.Errorf("kubectl get clusters prints\n%s", table)
	}

	work(t, h, "karmada-es-west", "settings", manifest("v1", "ConfigMap", "default", "settings"))
	eventually(t, "the Work's object is in the member", func(ctx context.Context) bool {
		_, err := m.Client.CoreV1().ConfigMaps("default").Get(ctx, "settings", metav1.GetOptions{})
		return err == nil
	})

	awaitRow(t, admin(t, h), "who brought the cluster", func(e auditEntry) bool {
		return e.Verb == "register" && e.Actor == "system:karmada:agent:west" && e.Via == "hub-api" && e.Source != "" && e.Outcome == "ok"
	}, "name=west")

	r := unregister(t, h, m, "west")
	if r.code != 0 {
		t.Fatalf("unregister: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	t.Logf("unregister took %.1f s", r.took.Seconds())
	h.awaitGone(t, "west")
	if err := agent.Stop(); err != nil {
		t.Error(err)
	}
	awaitObjects(t, m, before)
}

func TestDryRunShowsManifests(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "hidden"})
	before := objects(t, m)
	token := createToken(t, h)
	r := mustRun(t, "muster-agent", registerArgs(t, h, m, token, "--cluster-name", "west", "--dry-run")...)
	for _, kind := range []string{"kind: Namespace", "kind: ServiceAccount", "kind: Deployment"} {
		if !strings.Contains(r.stdout, kind) {
			t.Errorf("the dry run prints no %q:\n%s", kind, r.stdout)
		}
	}
	awaitObjects(t, m, before)
	if h.cluster(t, "west") != nil {
		t.Error("a dry run registered the cluster")
	}
}

// impostor is a server that the agent reaches instead of the hub. It counts
// what clients say to it before they know who it is.
type impostor struct {
	address  string
	requests atomic.Int64
	secrets  atomic.Int64 // requests in which the token's secret was seen
}

func startImpostor(t *testing.T, secret string) *impostor {
	t.Helper()
	authority, err := controlplanetest.NewAuthority("impostor")
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := authority.Issue(subject("impostor"), []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	i := &impostor{address: listener.Addr().String()}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go i.serve(conn, secret)
		}
	}()
	return i
}

// serve reads what a client says and answers nothing of use.
func (i *impostor) serve(conn net.Conn, secret string) {
	defer conn.Close()
	buffer := make([]byte, 64<<10)
	n, err := conn.Read(buffer)
	if err != nil {
		return
	}
	i.requests.Add(1)
	if strings.Contains(string(buffer[:n]), secret) {
		i.secrets.Add(1)
	}
	_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"))
}

func TestWrongPinIsRefusedBeforeTheTokenLeaves(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "hidden"})
	before := objects(t, m)
	token := createToken(t, h)
	_, secret, _ := strings.Cut(token, ".")
	i := startImpostor(t, secret)

	for what, args := range map[string][]string{
		"another server":       {"register", i.address, "--token", token, "--discovery-token-ca-cert-hash", pin(t, h)},
		"a pin of another CA":  {"register", h.Address, "--token", token, "--discovery-token-ca-cert-hash", "sha256:" + strings.Repeat("0", 64)},
		"a pin that is no pin": {"register", h.Address, "--token", token, "--discovery-token-ca-cert-hash", "md5:00"},
		"no pin at all":        {"register", h.Address, "--token", token},
	} {
		r := run(t, "muster-agent", append(args, "--kubeconfig", m.Kubeconfig, "--cluster-name", "west")...)
		if r.code == 0 {
			t.Errorf("%s: register succeeded", what)
		}
		if what == "a pin of another CA" && !strings.Contains(r.stdout+r.stderr, "MU-107") {
			t.Errorf("%s: no MU-107 in\n%s%s", what, r.stdout, r.stderr)
		}
		if strings.Contains(r.stdout+r.stderr, secret) {
			t.Errorf("%s: the token's secret is printed", what)
		}
	}
	if n := i.secrets.Load(); n > 0 {
		t.Errorf("the token's secret reached an unverified server %d times", n)
	}
	if h.cluster(t, "west") != nil {
		t.Error("a refused registration left a cluster")
	}
	awaitObjects(t, m, before)
}

// awaitExpired waits until the hub tells a token's holder that it has expired, and
// cluster-info is not signed by it any more.
func awaitExpired(t testing.TB, h *hub, token string) {
	t.Helper()
	config := bootstrapConfig(t, h, token)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the token to expire", func(ctx context.Context) bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.Header.Get(agentapi.TokenExpiredHeader) != ""
	})
	eventually(t, "the token's signature to leave cluster-info", func(ctx context.Context) bool {
		info, err := h.client.CoreV1().ConfigMaps("kube-public").Get(ctx, "cluster-info", metav1.GetOptions{})
		return err == nil && info.Data["jws-kubeconfig-"+token[:6]] == ""
	})
}

func TestRegisterRefusals(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "hidden"})
	id, _, _ := strings.Cut(createToken(t, h), ".")
	bound := pullToken(t, h, "first")
	expired := createToken(t, h, "--ttl", "2s")
	awaitExpired(t, h, expired)

	for what, c := range map[string]struct{ token, name, code string }{
		"an unknown token":             {"aaaaaa.aaaaaaaaaaaaaaaa", "west", "MU-101"},
		"a wrong secret":               {id + ".aaaaaaaaaaaaaaaa", "west", "MU-102"},
		"an expired token":             {expired, "west", "MU-103: the token " + expired[:6] + " has expired"},
		"a guess at an expired token":  {expired[:6] + ".aaaaaaaaaaaaaaaa", "west", "MU-101"},
		"a token bound to another one": {bound, "second", "MU-104"},
	} {
		r := run(t, "muster-agent", registerArgs(t, h, m, c.token, "--cluster-name", c.name)...)
		if r.code == 0 || !strings.Contains(r.stdout+r.stderr, c.code) {
			t.Errorf("%s: status %d, want a failure with %s:\n%s%s", what, r.code, c.code, r.stdout, r.stderr)
		}
	}

	startAgent(t, h, m, bound, "--cluster-name", "first")
	first := h.awaitReady(t, "first", metav1.ConditionTrue)

	// The same cluster under another name, another cluster under the same name.
	other := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "other"})
	for what, c := range map[string]struct {
		member     *controlplanetest.Member
		name, code string
	}{
		"the same cluster under another name": {m, "second", "MU-106"},
		"another cluster under a taken name":  {other, "first", "MU-105"},
	} {
		r := run(t, "muster-agent", registerArgs(t, h, c.member, createToken(t, h), "--cluster-name", c.name)...)
		if r.code == 0 || !strings.Contains(r.stdout+r.stderr, c.code) {
			t.Errorf("%s: status %d, want a failure with %s:\n%s%s", what, r.code, c.code, r.stdout, r.stderr)
		}
	}
	// A refused register must not hurt the living cluster.
	if got := h.awaitReady(t, "first", metav1.ConditionTrue); got.UID != first.UID {
		t.Error("the refused registrations replaced the cluster")
	}
}

func TestFaultAgentKilledMidRegistration(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "hidden"})
	before := objects(t, m)
	token := pullToken(t, h, "west")

	agent := startAgent(t, h, m, token, "--cluster-name", "west")
	eventually(t, "the agent's certificate request", func(ctx context.Context) bool {
		csrs, err := h.client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
		return err == nil && len(csrs.Items) > 0
	})
	if err := agent.Kill(); err != nil {
		t.Fatal(err)
	}
	// The same command with the same one-cluster token goes on.
	again := startAgent(t, h, m, token, "--cluster-name", "west")
	h.awaitReady(t, "west", metav1.ConditionTrue)
	if r := unregister(t, h, m, "west"); r.code != 0 {
		t.Fatalf("unregister: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	h.awaitGone(t, "west")
	if err := again.Stop(); err != nil {
		t.Error(err)
	}
	awaitObjects(t, m, before)
}

func TestFaultHubKilledMidRegistration(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "hidden"})
	token := pullToken(t, h, "west")
	args := registerArgs(t, h, m, token, "--cluster-name", "west", "--run")
	agent := startProgram(t, args[0], args[1:]...)
	eventually(t, "the agent's certificate request", func(ctx context.Context) bool {
		csrs, err := h.client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
		return err == nil && len(csrs.Items) > 0
	})
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.connect(t)
	eventually(t, "cluster west is ready", func(context.Context) bool {
		select {
		case <-agent.Exited(): // it gave up with the hub: the same command again
			agent = startProgram(t, args[0], args[1:]...)
		default:
		}
		west := h.cluster(t, "west")
		return west != nil && meta.IsStatusConditionTrue(west.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
	})
}

func TestFaultAgentOfAReadyClusterKilled(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "hidden"})
	agent := startAgent(t, h, m, createToken(t, h), "--cluster-name", "west")
	h.awaitReady(t, "west", metav1.ConditionTrue)
	if err := agent.Kill(); err != nil {
		t.Fatal(err)
	}
	h.awaitReady(t, "west", metav1.ConditionUnknown)

	// Right after the agent was undeployed the cluster still leaves in order.
	mustRun(t, "kube", "kubectl", "--kubeconfig", h.Kubeconfig, "delete", "cluster", "west", "--timeout=180s")
	h.awaitGone(t, "west")
	if _, err := h.client.CoreV1().Secrets("karmada-cluster").Get(t.Context(), "west", metav1.GetOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}
