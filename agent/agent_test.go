package agent_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent"
	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/agent/join"
	"muster.dev/muster/backend/agentapi"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/tunnel"
)

// hubSide is the hub's link over a store in memory. It is its own Liveness.
type hubSide struct {
	*testing.T
	store  *membertest.Server
	client client.Client
	server *httptest.Server
	cable  *cable
	caPEM  []byte
	ca     *x509.Certificate
	caKey  *ecdsa.PrivateKey

	mu      sync.Mutex
	joined  []agentapi.Hello
	reports []clusterv1alpha1.ClusterStatus
	// interpreter is the hub's: agents learn what it has.
	interpreter *interpret.Interpreter
	lost        int
	identity    *join.Store // of the agent that was started last
}

func (h *hubSide) Joined(ctx context.Context, cluster string, hello agentapi.Hello, _ string) error {
	h.mu.Lock()
	h.joined = append(h.joined, hello)
	h.mu.Unlock()
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}, Spec: clusterv1alpha1.ClusterSpec{ID: hello.ClusterID, SyncMode: clusterv1alpha1.Pull}}
	if h.client.Get(ctx, client.ObjectKey{Name: cluster}, &clusterv1alpha1.Cluster{}) == nil {
		return nil
	}
	return h.client.Create(ctx, c)
}

func (h *hubSide) Report(_ context.Context, _ string, s clusterv1alpha1.ClusterStatus) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reports = append(h.reports, s)
	return nil
}

func (h *hubSide) Beat(string) {}

func (h *hubSide) Lost(string, string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost++
}

func (h *hubSide) hellos() []agentapi.Hello {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.joined
}

func startHub(t *testing.T) *hubSide {
	t.Helper()
	h := &hubSide{T: t, store: membertest.New(t), interpreter: interpret.Native()}
	h.store.Serve(membertest.Resource{GroupVersion: "work.karmada.io/v1alpha1", Plural: "works", Kind: "Work", Namespaced: true, Status: true})
	h.store.Serve(membertest.Resource{GroupVersion: "cluster.karmada.io/v1alpha1", Plural: "clusters", Kind: "Cluster", Status: true})
	h.store.Serve(membertest.Resource{GroupVersion: "work.open-cluster-management.io/v1", Plural: "manifestworks", Kind: "ManifestWork", Namespaced: true, Status: true})
	h.store.Serve(membertest.Resource{GroupVersion: "cluster.open-cluster-management.io/v1", Plural: "managedclusters", Kind: "ManagedCluster", Status: true})
	for _, name := range []string{"kube-system", "karmada-es-edge-7"} {
		h.store.Put(namespace(name))
	}
	config := h.store.Config()
	config.QPS = -1
	var err error
	if h.client, err = client.New(config, client.Options{Scheme: kube.Scheme()}); err != nil {
		t.Fatal(err)
	}
	store, err := cache.New(config, cache.Options{Scheme: kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	link := tunnel.NewLink(tunnel.Options{Client: h.client, Store: store, Liveness: h, Interpreters: h.interpreter, ManifestWorks: true, Version: "v0.1.0", Log: quiet, Heartbeat: time.Second, Deadline: time.Minute})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 2)
	go func() { stopped <- store.Start(ctx) }()
	go func() { stopped <- link.Start(ctx) }()
	h.makeCA()
	h.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := &user.DefaultInfo{Name: "system:anonymous"}
		if len(r.TLS.PeerCertificates) > 0 {
			who = &user.DefaultInfo{Name: r.TLS.PeerCertificates[0].Subject.CommonName, Groups: r.TLS.PeerCertificates[0].Subject.Organization}
		}
		link.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), who)))
	}))
	pool := x509.NewCertPool()
	pool.AddCert(h.ca)
	certPEM, keyPEM := h.issue(pkix.Name{CommonName: "hub"}, time.Hour)
	serving, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	h.server.TLS = &tls.Config{Certificates: []tls.Certificate{serving}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: pool}
	h.cable = &cable{Listener: h.server.Listener}
	h.server.Listener = h.cable
	h.server.StartTLS()
	h.eventually("the link is ready", func() bool { return link.Ready() == nil })
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		}
		h.server.Close()
	})
	return h
}

// cable remembers the connections it has let through, to cut them.
type cable struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (c *cable) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.mu.Lock()
		c.conns = append(c.conns, conn)
		c.mu.Unlock()
	}
	return conn, err
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func namespace(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
}

func (h *hubSide) makeCA() {
	h.Helper()
	var err error
	if h.caKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		h.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, h.caKey.Public(), h.caKey)
	if err != nil {
		h.Fatal(err)
	}
	if h.ca, err = x509.ParseCertificate(der); err != nil {
		h.Fatal(err)
	}
	h.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (h *hubSide) issue(subject pkix.Name, lifetime time.Duration) (certPEM, keyPEM []byte) {
	h.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		h.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Second), NotAfter: time.Now().Add(lifetime), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, h.ca, key.Public(), h.caKey)
	if err != nil {
		h.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		h.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

// patience bounds every wait for what has to happen.
const patience = 90 * time.Second

func (h *hubSide) eventually(what string, ok func() bool) {
	h.Helper()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-deadline:
			h.Fatalf("not within %s: %s", patience, what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// comesToRest waits until nobody has written for longer than two heartbeats: what
// was under way may end first.
func (h *hubSide) comesToRest(m *membertest.Server) {
	h.Helper()
	var hub, member []string
	h.eventually("nobody writes", func() bool {
		h.store.Writes()
		m.Writes()
		timer := time.NewTimer(2500 * time.Millisecond)
		<-timer.C
		hub, member = h.store.Writes(), m.Writes()
		if len(hub)+len(member) > 0 {
			h.Logf("not at rest yet: hub %v, member %v", hub, member)
		}
		return len(hub)+len(member) == 0
	})
}

// newMember is a member with the identity of an agent in it.
func (h *hubSide) newMember(lifetime time.Duration) *membertest.Server {
	h.Helper()
	m := membertest.New(h.T)
	m.Put(namespace("kube-system"))
	m.Put(namespace("muster-system"))
	certPEM, keyPEM := h.issue(pkix.Name{CommonName: "system:karmada:agent:edge-7", Organization: []string{"system:karmada:agents"}}, lifetime)
	config, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"hub": {Server: h.server.URL, CertificateAuthorityData: h.caPEM}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"edge-7": {ClientCertificateData: certPEM, ClientKeyData: keyPEM}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "hub", AuthInfo: "edge-7"}},
		CurrentContext: "c",
	})
	if err != nil {
		h.Fatal(err)
	}
	m.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "muster-agent", "namespace": "muster-system"}, "data": map[string]any{"kubeconfig": base64.StdEncoding.EncodeToString(config)}}})
	return m
}

// run starts an agent in a member. The returned function stops it and returns
// its error.
func (h *hubSide) run(m *membertest.Server) func() error {
	h.Helper()
	kubeClient, err := kubernetes.NewForConfig(m.Config())
	if err != nil {
		h.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.identity = join.NewStore(kubeClient, "muster-system")
	identity, done := h.identity, make(chan error, 1)
	go func() {
		done <- agent.Run(ctx, agent.Config{Member: m.Config(), Store: identity, Log: quiet,
			Description: join.Description{Provider: "acme", APIEndpoint: "https://10.0.0.1:6443"}})
	}()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	h.Cleanup(func() { _ = stop() })
	return stop
}

func (h *hubSide) createWork(name, manifest string) {
	h.Helper()
	w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-edge-7", Name: name, Finalizers: []string{workv1alpha1.ExecutionControllerFinalizer}}}
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}
	if err := h.client.Create(h.Context(), w); err != nil {
		h.Fatal(err)
	}
}

func (h *hubSide) work(name string) *workv1alpha1.Work {
	w := &workv1alpha1.Work{}
	if h.client.Get(h.Context(), client.ObjectKey{Namespace: "karmada-es-edge-7", Name: name}, w) != nil {
		return nil
	}
	return w
}

func (h *hubSide) applied(name string) func() bool {
	return func() bool {
		w := h.work(name)
		return w != nil && meta.IsStatusConditionTrue(w.Status.Conditions, "Applied") && len(w.Status.ManifestStatuses) > 0
	}
}

const shop = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`

func settings(value string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop"},"data":{"k":%q}}`, value)
}

// TestAgentServesAHub goes through an agent's life on one link.
func TestAgentServesAHub(t *testing.T) {
	h := startHub(t)
	m := h.newMember(time.Hour)
	stop := h.run(m)
	h.eventually("the agent joined and reported", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.reports) > 0 && meta.IsStatusConditionTrue(h.reports[len(h.reports)-1].Conditions, "Ready")
	})
	hello := h.hellos()[0]
	if id := m.Get("Namespace", "", "kube-system").GetUID(); hello.ClusterID != string(id) || hello.Provider != "acme" || hello.APIEndpoint != "https://10.0.0.1:6443" {
		t.Errorf("hello %+v", hello)
	}

	h.createWork("settings", settings("1")) // before its namespace: tried again
	h.createWork("shop", shop)
	h.eventually("both are applied", func() bool { return h.applied("shop")() && h.applied("settings")() })

	m.Remove("ConfigMap", "shop", "settings")
	h.eventually("drift was mended", func() bool { return m.Get("ConfigMap", "shop", "settings") != nil })

	uid := m.Get("Secret", "muster-system", "muster-agent").GetAnnotations()["muster.dev/cluster-uid"]
	if uid == "" || uid != string(h.store.Get("Cluster", "", "edge-7").GetUID()) {
		t.Errorf("noted uid %q", uid)
	}

	h.comesToRest(m)

	for _, name := range []string{"settings", "shop"} {
		if err := h.client.Delete(t.Context(), h.work(name)); err != nil {
			t.Fatal(err)
		}
	}
	h.eventually("the works and their objects are gone", func() bool {
		return h.work("settings") == nil && h.work("shop") == nil && m.Get("Namespace", "", "shop") == nil
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestAgentRestartAndReconnect: a link that breaks is resumed, a new process gets
// everything and writes nothing that is right already.
func TestAgentRestartAndReconnect(t *testing.T) {
	h := startHub(t)
	m := h.newMember(time.Hour)
	stop := h.run(m)
	h.createWork("shop", shop)
	h.eventually("applied", h.applied("shop"))
	h.eventually("noted", func() bool { i := h.identity.Current(); return i != nil && i.ClusterUID != "" })
	h.cable.cut()
	h.eventually("the agent is back", func() bool { return len(h.hellos()) == 2 })
	if second := h.hellos()[1]; second.Resume == nil || second.Instance != h.hellos()[0].Instance || second.ClusterUID == "" {
		t.Errorf("hello %+v", second)
	}
	h.createWork("settings", settings("1"))
	h.eventually("applied after the break", h.applied("settings"))

	h.mu.Lock()
	lost := h.lost
	h.mu.Unlock()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	h.eventually("the end is known", func() bool { h.mu.Lock(); defer h.mu.Unlock(); return h.lost > lost })
	m.Writes()
	h.store.Writes()
	h.run(m)
	h.eventually("a new process is there", func() bool { return len(h.hellos()) == 3 })
	if third := h.hellos()[2]; third.Resume != nil || third.Instance == h.hellos()[0].Instance {
		t.Errorf("hello %+v", third)
	}
	h.createWork("more", strings.ReplaceAll(settings("2"), "settings", "more"))
	h.eventually("it works", h.applied("more"))
	for _, write := range m.Writes() {
		if !strings.HasPrefix(write, "POST ") {
			t.Errorf("wrote %s although the member was as it should be", write)
		}
	}
}

// TestRemovedClusterStaysRemoved: deleted on the hub, the agent ends, and its next
// start does not bring the cluster back.
func TestRemovedClusterStaysRemoved(t *testing.T) {
	h := startHub(t)
	m := h.newMember(time.Hour)
	stop := h.run(m)
	h.eventually("noted", func() bool {
		return m.Get("Secret", "muster-system", "muster-agent").GetAnnotations()["muster.dev/cluster-uid"] != ""
	})
	h.store.Remove("Cluster", "", "edge-7")
	h.eventually("the removal was noted", func() bool {
		return m.Get("Secret", "muster-system", "muster-agent").GetAnnotations()["muster.dev/removed"] != ""
	})
	if err := stop(); !errors.Is(err, agent.ErrRemoved) {
		t.Errorf("ended with %v", err)
	}
	if err := h.run(m)(); !errors.Is(err, agent.ErrRemoved) && !errors.Is(err, context.Canceled) {
		t.Errorf("the next start ended with %v", err)
	}
	if h.store.Get("Cluster", "", "edge-7") != nil {
		t.Error("the cluster is back")
	}
}

func TestRunWithoutIdentity(t *testing.T) {
	m := membertest.New(t)
	m.Put(namespace("kube-system"))
	kubeClient, err := kubernetes.NewForConfig(m.Config())
	if err != nil {
		t.Fatal(err)
	}
	err = agent.Run(t.Context(), agent.Config{Member: m.Config(), Store: join.NewStore(kubeClient, "muster-system"), Log: quiet})
	if !errors.Is(err, join.ErrNoIdentity) {
		t.Errorf("got %v", err)
	}
}

// TestDuplicateAgents: two agents with one identity do not take turns.
func TestDuplicateAgents(t *testing.T) {
	h := startHub(t)
	first, second := h.newMember(time.Hour), h.newMember(time.Hour)
	h.run(first)
	h.eventually("the first is there", func() bool { return len(h.hellos()) == 1 })
	h.run(second)
	h.eventually("the first knows that it has lost its place", func() bool {
		return strings.Contains(first.Get("Secret", "muster-system", "muster-agent").GetAnnotations()["muster.dev/refusal"], "superseded")
	})
	h.createWork("shop", shop)
	h.eventually("the second works", func() bool { return second.Get("Namespace", "", "shop") != nil })
	timer := time.NewTimer(2 * time.Second)
	<-timer.C
	if n := len(h.hellos()); n != 2 {
		t.Errorf("%d joins: they take turns", n)
	}
	if first.Get("Namespace", "", "shop") != nil {
		t.Error("the fenced agent wrote to its member")
	}
}
