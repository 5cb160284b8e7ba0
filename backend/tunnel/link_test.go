package tunnel_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/backend/agentapi"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/tunnel"
)

// liveness records what a link tells, and creates Clusters as the real one does.
type liveness struct {
	client client.Client
	refuse error

	mu      sync.Mutex
	events  []string
	beats   int
	reports []clusterv1alpha1.ClusterStatus
}

func (l *liveness) Joined(ctx context.Context, cluster string, h agentapi.Hello, source string) error {
	l.note("joined " + cluster + " from " + source)
	if l.refuse != nil {
		return l.refuse
	}
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}, Spec: clusterv1alpha1.ClusterSpec{ID: h.ClusterID, SyncMode: clusterv1alpha1.Pull}}
	if err := l.client.Get(ctx, client.ObjectKey{Name: cluster}, &clusterv1alpha1.Cluster{}); err == nil {
		return nil
	}
	return l.client.Create(ctx, c)
}

func (l *liveness) Report(_ context.Context, _ string, s clusterv1alpha1.ClusterStatus) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reports = append(l.reports, s)
	return nil
}

func (l *liveness) Beat(string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beats++
}

func (l *liveness) Lost(cluster, why string, _ bool) { l.note("lost " + cluster + ": " + why) }

func (l *liveness) note(event string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, event)
}

func (l *liveness) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(strings.Join(l.events, "\n"), part)
}

// hub is a link over a store in memory, served by TLS.
type hub struct {
	*testing.T
	store    *membertest.Server
	client   client.Client
	liveness *liveness
	link     *tunnel.Link
	server   *httptest.Server
	ca       *authority
	stop     context.CancelFunc
	stopped  chan error

	interpreters tunnel.Interpreters
	// manifestWorks lets agents carry out ManifestWorks.
	manifestWorks bool
	// deadline is for how long an agent may be silent.
	deadline time.Duration
}

// patience bounds every wait for what has to happen; silence is how long what must
// not happen is waited for.
const (
	patience = time.Minute
	silence  = 200 * time.Millisecond
)

var (
	works    = membertest.Resource{GroupVersion: "work.karmada.io/v1alpha1", Plural: "works", Kind: "Work", Namespaced: true, Status: true}
	clusters = membertest.Resource{GroupVersion: "cluster.karmada.io/v1alpha1", Plural: "clusters", Kind: "Cluster", Status: true}
)

func startHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{T: t, store: membertest.New(t), ca: newAuthority(t), deadline: patience}
	h.store.Serve(works)
	h.store.Serve(clusters)
	for _, name := range []string{"kube-system", "karmada-es-edge-7", "karmada-es-other"} {
		h.store.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}})
	}
	config := h.store.Config()
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	h.client, h.liveness = c, &liveness{client: c}
	h.startLink()
	t.Cleanup(func() { h.stopLink() })
	return h
}

// startLink starts a hub process, as it were, over the store there is.
func (h *hub) startLink() {
	h.Helper()
	store, err := cache.New(h.store.Config(), cache.Options{Scheme: kube.Scheme()})
	if err != nil {
		h.Fatal(err)
	}
	h.link = tunnel.NewLink(tunnel.Options{Client: h.client, Store: store, Liveness: h.liveness, Interpreters: h.interpreters, ManifestWorks: h.manifestWorks, Version: "v0.1.0",
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Heartbeat: time.Second, Deadline: h.deadline})
	ctx, cancel := context.WithCancel(context.Background())
	link, stopped := h.link, make(chan error, 2)
	h.stop, h.stopped = cancel, stopped
	go func() { stopped <- store.Start(ctx) }()
	go func() { stopped <- link.Start(ctx) }()
	h.server = httptest.NewUnstartedServer(authenticate(h.link))
	h.server.TLS = &tls.Config{ClientCAs: h.ca.pool, ClientAuth: tls.VerifyClientCertIfGiven, Certificates: []tls.Certificate{h.ca.issue(h.T, "hub", "", "127.0.0.1")}}
	h.server.StartTLS()
	h.eventually("the link is ready", func() bool { return h.link.Ready() == nil })
}

func (h *hub) stopLink() {
	h.stop()
	for range 2 {
		if err := <-h.stopped; err != nil {
			h.Error(err)
		}
	}
	h.server.Close()
}

// authenticate does what the hub's API server does: the user is that of the
// certificate, or of a header for those who come without one.
func authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := &user.DefaultInfo{Name: "system:anonymous"}
		if len(r.TLS.PeerCertificates) > 0 {
			subject := r.TLS.PeerCertificates[0].Subject
			who = &user.DefaultInfo{Name: subject.CommonName, Groups: append(subject.Organization, "system:authenticated")}
		}
		if name := r.Header.Get("Impersonate-User"); name != "" {
			who = &user.DefaultInfo{Name: name, Groups: []string{"system:karmada:agents"}}
		}
		next.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), who)))
	})
}

func (h *hub) eventually(what string, ok func() bool) {
	h.Helper()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-deadline:
			h.Fatalf("not within %s: %s", patience, what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// workOf is a Work as the hub has just made it: nothing holds it yet.
func workOf(name string, generation int64) *workv1alpha1.Work {
	w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-edge-7", Name: name}}
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"g":"%d"}}`, name, generation)}}}
	return w
}

func (h *hub) work(name string, generation int64) *workv1alpha1.Work {
	h.Helper()
	w := workOf(name, generation)
	w.Finalizers = []string{workv1alpha1.ExecutionControllerFinalizer}
	err := h.client.Create(h.Context(), w)
	if err != nil {
		existing := h.get(name)
		existing.Spec = w.Spec
		if err := h.client.Update(h.Context(), existing); err != nil {
			h.Fatal(err)
		}
		return existing
	}
	return w
}

func (h *hub) get(name string) *workv1alpha1.Work {
	h.Helper()
	w := &workv1alpha1.Work{}
	if err := h.client.Get(h.Context(), client.ObjectKey{Namespace: "karmada-es-edge-7", Name: name}, w); err != nil {
		h.Fatal(err)
	}
	return w
}

// agent is the other end of a link.
type agent struct {
	*hub
	conn    *websocket.Conn
	frames  chan agentapi.Frame
	closed  chan error
	welcome *agentapi.Welcome
}

func (h *hub) dial(certificate *tls.Certificate, header http.Header) (*websocket.Conn, *http.Response, error) {
	server := h.server.URL
	target, err := agentapi.LinkURL(server)
	if err != nil {
		h.Fatal(err)
	}
	config, err := agentapi.LinkTLS(h.ca.pem, func() (*tls.Certificate, error) {
		if certificate == nil {
			return &tls.Certificate{}, nil
		}
		return certificate, nil
	})
	if err != nil {
		h.Fatal(err)
	}
	dialer := websocket.Dialer{TLSClientConfig: config}
	return dialer.Dial(target, header)
}

// open dials as the agent of a cluster and begins to read.
func (h *hub) open(cluster string) *agent {
	h.Helper()
	certificate := h.ca.issue(h.T, "system:karmada:agent:"+cluster, "system:karmada:agents")
	conn, _, err := h.dial(&certificate, nil)
	if err != nil {
		h.Fatal(err)
	}
	a := &agent{hub: h, conn: conn, frames: make(chan agentapi.Frame, 1000), closed: make(chan error, 1)}
	h.Cleanup(func() { conn.Close() })
	go func() {
		for {
			_, message, err := conn.ReadMessage()
			if err != nil {
				a.closed <- err
				return
			}
			f, err := agentapi.DecodeFromHub(message)
			if err != nil {
				a.closed <- err
				return
			}
			a.frames <- f
		}
	}()
	return a
}

func (h *hub) hello(instance string, resume *agentapi.Resume, known types.UID) *agentapi.Hello {
	return &agentapi.Hello{Protocol: 1, MinProtocol: 1, AgentVersion: "v0.1.0", Instance: instance, ClusterID: "member-uid", Resume: resume, ClusterUID: known}
}

// connect opens a link and waits for the welcome.
func (h *hub) connect(instance string, resume *agentapi.Resume) *agent {
	h.Helper()
	a := h.open("edge-7")
	a.send(h.hello(instance, resume, ""))
	a.welcome = next[*agentapi.Welcome](a)
	return a
}

func (a *agent) send(f agentapi.Frame) {
	a.Helper()
	message, err := agentapi.Encode(f)
	if err != nil {
		a.Fatal(err)
	}
	if err := a.conn.WriteMessage(websocket.TextMessage, message); err != nil {
		a.Fatal(err)
	}
}

// next returns the next frame, which must be of a type. What came before the
// end of the link counts, even if the end has come as well.
func next[F agentapi.Frame](a *agent) F {
	a.Helper()
	f := take(a)
	for early(f) {
		if _, wanted := f.(F); wanted {
			break
		}
		f = take(a)
	}
	return typed[F](a, f)
}

// early tells the word of a hub whose cache does not show the test's Works yet.
func early(f agentapi.Frame) bool {
	synced, ok := f.(*agentapi.Synced)
	return ok && synced.Revision == 0
}

func take(a *agent) agentapi.Frame {
	a.Helper()
	select {
	case f := <-a.frames:
		return f
	default:
	}
	select {
	case f := <-a.frames:
		return f
	case err := <-a.closed:
		if len(a.frames) > 0 {
			a.closed <- err
			return <-a.frames
		}
		a.Fatalf("closed: %v", err)
	case <-time.After(patience):
		a.Fatalf("no frame; the liveness saw %v", a.liveness.events)
	}
	panic("unreachable")
}

func typed[F agentapi.Frame](a *agent, f agentapi.Frame) F {
	a.Helper()
	wanted, ok := f.(F)
	if !ok {
		a.Fatalf("got %s: %+v", f.Type(), f)
	}
	return wanted
}

func (a *agent) quiet() {
	a.Helper()
	select {
	case f := <-a.frames:
		a.Errorf("unexpected %s: %+v", f.Type(), f)
	case err := <-a.closed:
		a.Errorf("closed: %v", err)
	case <-time.After(silence):
	}
}

// expectClose waits for the end of the link and its code.
func (a *agent) expectClose(code int) {
	a.Helper()
	select {
	case err := <-a.closed:
		var closed *websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != code {
			a.Errorf("closed with %v, want code %d", err, code)
		}
	case <-time.After(patience):
		a.Errorf("not closed, want code %d", code)
	}
}

func (a *agent) ack(w *agentapi.Work, sequence uint64, removed bool) {
	a.Helper()
	object, err := w.Object()
	if err != nil {
		a.Fatal(err)
	}
	f := &agentapi.Ack{Sequence: sequence, Name: w.Name, UID: w.UID, Revision: w.Revision, Removed: removed}
	if !removed {
		f.Conditions = []metav1.Condition{{Type: "Applied", Status: "True", Reason: "AppliedSuccessful", ObservedGeneration: object.Generation}}
		f.ManifestStatuses = []workv1alpha1.ManifestStatus{{Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Name: w.Name},
			Status: &runtime.RawExtension{Raw: []byte(`{"a":"<b>"}`)}, Health: "Healthy"}}
	}
	a.send(f)
}

func TestDeliveryAckAndRemoval(t *testing.T) {
	h := startHub(t)
	h.work("a", 1)
	agent := h.connect("one", nil)
	if w := agent.welcome; w.Cluster != "edge-7" || w.ClusterUID == "" || w.Epoch == "" || w.Resumed || w.DeadlineSeconds != 60 {
		t.Errorf("welcome %+v", w)
	}
	first := next[*agentapi.Work](agent)
	if first.Op != agentapi.OpApply || first.Name != "a" {
		t.Errorf("delivery %+v", first)
	}
	if synced := next[*agentapi.Synced](agent); synced.Revision != first.Revision || synced.Digest != "" {
		t.Errorf("synced %+v", synced)
	}

	agent.ack(first, 1, false)
	if c := next[*agentapi.Confirmed](agent); c.Sequence != 1 {
		t.Errorf("confirmed %+v", c)
	}
	stored := h.get("a")
	c := meta.FindStatusCondition(stored.Status.Conditions, "Applied")
	if c == nil || c.Status != "True" || time.Since(c.LastTransitionTime.Time) > time.Minute || len(stored.Status.ManifestStatuses) != 1 {
		t.Errorf("status %+v", stored.Status)
	}

	// The same again: confirmed, but nothing is written once the hub's cache shows
	// the first. Nor did the write of the status cause another delivery.
	repeat := uint64(1)
	h.eventually("the same again writes nothing", func() bool {
		h.store.Writes()
		repeat++
		agent.ack(first, repeat, false)
		next[*agentapi.Confirmed](agent)
		return len(h.store.Writes()) == 0
	})
	agent.quiet()

	h.work("a", 2)
	second := next[*agentapi.Work](agent)
	if second.Revision <= first.Revision {
		t.Errorf("revision %d after %d", second.Revision, first.Revision)
	}
	next[*agentapi.Synced](agent)

	agent.ack(second, repeat+1, true) // nothing is to be removed yet
	next[*agentapi.Confirmed](agent)
	if len(h.get("a").Finalizers) != 1 {
		t.Error("an agent released a Work that is not being deleted")
	}

	if err := h.client.Delete(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	removal := next[*agentapi.Work](agent)
	if removal.Op != agentapi.OpRemove {
		t.Errorf("delivery %+v", removal)
	}
	next[*agentapi.Synced](agent)
	agent.ack(removal, repeat+2, true)
	h.eventually("the Work is gone", func() bool { return h.store.Get("Work", "karmada-es-edge-7", "a") == nil })
}

func TestFinalizerIsThereBeforeDelivery(t *testing.T) {
	h := startHub(t)
	if err := h.client.Create(t.Context(), workOf("a", 1)); err != nil {
		t.Fatal(err)
	}
	agent := h.connect("one", nil)
	next[*agentapi.Work](agent)
	if got := h.get("a").Finalizers; len(got) != 1 {
		t.Errorf("finalizers %v", got)
	}
}

// deliveries reads until these Works and no others have been delivered, and the
// hub has said that it is done with them.
func (a *agent) deliveries(names ...string) (works []*agentapi.Work, synced *agentapi.Synced) {
	a.Helper()
	var newest uint64
	for len(works) < len(names) || synced == nil || synced.Revision < newest {
		switch f := next[agentapi.Frame](a).(type) {
		case *agentapi.Work:
			if !slices.Contains(names, f.Name) {
				a.Fatalf("delivered %s, want %v", f.Name, names)
			}
			works, newest = append(works, f), max(newest, f.Revision)
		case *agentapi.Synced:
			synced = f
		}
	}
	return works, synced
}

// TestResume: after a break only what is new is sent, by the same hub and by one
// that has been restarted.
func TestResume(t *testing.T) {
	for name, restart := range map[string]bool{"same hub": false, "restarted hub": true} {
		t.Run(name, func(t *testing.T) {
			h := startHub(t)
			a, b := h.work("a", 1), h.work("b", 1)
			agent := h.connect("one", nil)
			epoch := agent.welcome.Epoch
			works, first := agent.deliveries("a", "b")
			seen := first.Revision
			for i, w := range works {
				agent.ack(w, uint64(i+1), false)
			}
			h.eventually("both are acked", func() bool {
				return len(h.get("a").Status.Conditions) > 0 && len(h.get("b").Status.Conditions) > 0
			})
			h.work("b", 2)
			c := h.work("c", 1)
			agent.deliveries("b", "c") // lost: never acked
			agent.conn.Close()
			if restart {
				h.stopLink()
				h.startLink()
			}

			agent = h.connect("one", &agentapi.Resume{Epoch: epoch, Revision: seen})
			if !agent.welcome.Resumed || agent.welcome.Epoch != epoch {
				t.Errorf("welcome %+v", agent.welcome)
			}
			_, synced := agent.deliveries("b", "c")
			if want := agentapi.Digest([]types.UID{a.UID, b.UID, c.UID}); synced.Digest != want || synced.Revision <= seen {
				t.Errorf("synced %+v, want digest %s", synced, want)
			}
			agent.conn.Close()

			other := h.connect("one", &agentapi.Resume{Epoch: "another store", Revision: synced.Revision})
			if other.welcome.Resumed {
				t.Error("resumed in another store")
			}
			for range 3 {
				next[*agentapi.Work](other)
			}
		})
	}
}

func TestForgottenWork(t *testing.T) {
	h := startHub(t)
	w := h.work("a", 1)
	agent := h.connect("one", nil)
	next[*agentapi.Work](agent)
	next[*agentapi.Synced](agent)
	h.store.Remove("Work", w.Namespace, w.Name) // by force
	if f := next[*agentapi.Work](agent); f.Op != agentapi.OpForget || f.UID != w.UID {
		t.Errorf("got %+v", f)
	}
}

func TestStatusReachesLiveness(t *testing.T) {
	h := startHub(t)
	agent := h.connect("one", nil)
	next[*agentapi.Synced](agent)
	status := clusterv1alpha1.ClusterStatus{KubernetesVersion: "v1.36.3", NodeSummary: &clusterv1alpha1.NodeSummary{TotalNum: 1}}
	agent.send(agentapi.CompleteStatus(status))
	after := status
	after.NodeSummary = &clusterv1alpha1.NodeSummary{TotalNum: 2}
	delta, _ := agentapi.StatusDelta(status, after)
	agent.send(delta)
	h.eventually("the delta was merged", func() bool {
		h.liveness.mu.Lock()
		defer h.liveness.mu.Unlock()
		r := h.liveness.reports
		return len(r) > 0 && r[len(r)-1].KubernetesVersion == "v1.36.3" && r[len(r)-1].NodeSummary.TotalNum == 2
	})
	agent.conn.Close()
	h.eventually("the loss was told", func() bool { return h.liveness.has("lost edge-7") })
}

func TestBeatsAreAnswered(t *testing.T) {
	h := startHub(t)
	agent := h.connect("one", nil)
	pong := make(chan struct{}, 10)
	agent.conn.SetPongHandler(func(string) error { pong <- struct{}{}; return nil })
	agent.send(&agentapi.Beat{Sequence: 1})
	select {
	case <-pong:
	case <-time.After(patience):
		t.Error("no answer to a beat")
	}
	h.eventually("the beat was told", func() bool {
		h.liveness.mu.Lock()
		defer h.liveness.mu.Unlock()
		return h.liveness.beats >= 2
	})
}

func TestSilentAgentIsCutOff(t *testing.T) {
	h := startHub(t)
	h.stopLink()
	h.deadline = 3 * time.Second
	h.startLink()
	start := time.Now() // before the agent's last word
	agent := h.connect("one", nil)
	agent.conn.SetPingHandler(func(string) error { return nil })
	next[*agentapi.Synced](agent)
	agent.expectClose(agentapi.CloseSilent)
	if took := time.Since(start); took < h.deadline {
		t.Errorf("after %s, before the deadline", took)
	}
	h.eventually("the loss was told", func() bool { return h.liveness.has("lost edge-7: no frame in time") })
}

// TestSecondAgentTakesOver: the newest wins, the other is told and not let back in
// while it lives.
func TestSecondAgentTakesOver(t *testing.T) {
	h := startHub(t)
	first := h.connect("one", nil)
	next[*agentapi.Synced](first)
	second := h.connect("two", nil)
	next[*agentapi.Synced](second)
	if r := next[*agentapi.Refused](first); r.Code != agentapi.CodeSuperseded || !strings.Contains(r.Message, "127.0.0.1") {
		t.Errorf("refused %+v", r)
	}
	first.expectClose(agentapi.CloseSuperseded)

	back := h.open("edge-7")
	back.send(h.hello("one", nil, ""))
	if r := next[*agentapi.Refused](back); r.Code != agentapi.CodeSuperseded || r.RetrySeconds < 30 {
		t.Errorf("refused %+v", r)
	}
	back.expectClose(agentapi.CloseRefused)
	h.work("a", 1)
	next[*agentapi.Work](second)
	if h.liveness.has("lost") {
		t.Errorf("a takeover is no loss: %v", h.liveness.events)
	}

	second.conn.Close()
	h.eventually("the second is gone", func() bool { return h.liveness.has("lost edge-7") })
	again := h.connect("one", nil)
	next[*agentapi.Work](again)
}

// TestReconnectReplacesSilently: the same agent's new link ends its old one.
func TestReconnectReplacesSilently(t *testing.T) {
	h := startHub(t)
	first := h.connect("one", nil)
	next[*agentapi.Synced](first)
	second := h.connect("one", nil)
	first.expectClose(agentapi.CloseSuperseded)
	next[*agentapi.Synced](second)
	third := h.connect("one", nil)
	next[*agentapi.Synced](third)
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		refuse error
		hello  func(*agentapi.Hello)
		code   string
	}{
		"conflict":     {refuse: fault.Conflict("this cluster is registered as edge-6").WithCode("MU-106").WithFix("unregister it"), code: "MU-106"},
		"hub trouble":  {refuse: errors.New("etcd: secret detail"), code: "MU-113"},
		"old protocol": {hello: func(h *agentapi.Hello) { h.Protocol, h.MinProtocol = 99, 98 }, code: "protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHub(t)
			h.liveness.refuse = c.refuse
			agent := h.open("edge-7")
			hello := h.hello("one", nil, "")
			if c.hello != nil {
				c.hello(hello)
			}
			agent.send(hello)
			r := next[*agentapi.Refused](agent)
			if r.Code != c.code || strings.Contains(r.Message, "secret detail") {
				t.Errorf("refused %+v", r)
			}
			agent.expectClose(agentapi.CloseRefused)
			if h.liveness.has("lost") {
				t.Error("a loss was told of a link that never was")
			}
		})
	}
}

func TestRemovedCluster(t *testing.T) {
	h := startHub(t)
	agent := h.connect("one", nil)
	next[*agentapi.Synced](agent)
	uid := agent.welcome.ClusterUID
	h.store.Remove("Cluster", "", "edge-7")
	next[*agentapi.Removed](agent)
	agent.expectClose(agentapi.CloseRemoved)
	h.eventually("the end was told", func() bool { return h.liveness.has("lost edge-7") })

	// An agent that was away must not bring its cluster back.
	away := h.open("edge-7")
	away.send(h.hello("one", nil, uid))
	next[*agentapi.Removed](away)
	away.expectClose(agentapi.CloseRemoved)
	if h.store.Get("Cluster", "", "edge-7") != nil {
		t.Error("the cluster is back")
	}
	// One that registers anew may.
	h.connect("two", nil)
}

func TestResourceModelsFollow(t *testing.T) {
	h := startHub(t)
	agent := h.connect("one", nil)
	next[*agentapi.Synced](agent)
	c := &clusterv1alpha1.Cluster{}
	if err := h.client.Get(t.Context(), client.ObjectKey{Name: "edge-7"}, c); err != nil {
		t.Fatal(err)
	}
	c.Spec.Taints = nil
	c.Spec.ResourceModels = []clusterv1alpha1.ResourceModel{{Grade: 0}}
	if err := h.client.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if f := next[*agentapi.Config](agent); len(f.ResourceModels) != 1 {
		t.Errorf("config %+v", f)
	}
	c.Spec.Region = "eu"
	if err := h.client.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	agent.quiet()
}

// TestStoppingHubSaysSo: agents come back at once to whoever is next.
func TestStoppingHubSaysSo(t *testing.T) {
	h := startHub(t)
	agent := h.connect("one", nil)
	next[*agentapi.Synced](agent)
	h.stopLink()
	agent.expectClose(websocket.CloseServiceRestart)
	h.startLink() // for the cleanup
}

func TestOnlyAgentsByCertificate(t *testing.T) {
	h := startHub(t)
	foreign := newAuthority(t)
	for name, c := range map[string]struct {
		certificate *tls.Certificate
		header      http.Header
	}{
		"nobody":                {},
		"an admin":              {certificate: ptr(h.ca.issue(t, "system:admin", "system:masters"))},
		"the helper":            {certificate: ptr(h.ca.issue(t, "system:karmada:agent:rbac-generator", "system:karmada:agents"))},
		"no group":              {certificate: ptr(h.ca.issue(t, "system:karmada:agent:edge-7", ""))},
		"more groups":           {certificate: ptr(h.ca.issue(t, "system:karmada:agent:edge-7", "system:karmada:agents,system:masters"))},
		"a name no cluster has": {certificate: ptr(h.ca.issue(t, "system:karmada:agent:../x", "system:karmada:agents"))},
		"impersonation":         {certificate: ptr(h.ca.issue(t, "system:admin", "system:masters")), header: http.Header{"Impersonate-User": {"system:karmada:agent:edge-7"}}},
		"an agent as another":   {certificate: ptr(h.ca.issue(t, "system:karmada:agent:other", "system:karmada:agents")), header: http.Header{"Impersonate-User": {"system:karmada:agent:edge-7"}}},
		"a browser":             {certificate: ptr(h.ca.issue(t, "system:karmada:agent:edge-7", "system:karmada:agents")), header: http.Header{"Origin": {"https://hub.example"}}},
	} {
		t.Run(name, func(t *testing.T) {
			conn, response, err := h.dial(c.certificate, c.header)
			if err == nil {
				conn.Close()
				t.Fatal("a link was opened")
			}
			if response == nil || response.StatusCode != http.StatusForbidden {
				t.Errorf("response %v, error %v", response, err)
			}
		})
	}
	stranger := foreign.issue(t, "system:karmada:agent:edge-7", "system:karmada:agents")
	if _, _, err := h.dial(&stranger, nil); err == nil {
		t.Error("a certificate of another authority opened a link")
	}
}

// TestAgentsReachNothingOfOthers: an ack is about the agent's own namespace, what
// it says of other Works has no effect.
func TestAgentsReachNothingOfOthers(t *testing.T) {
	h := startHub(t)
	theirs := h.work("a", 1)
	other := h.open("other")
	other.send(h.hello("one", nil, ""))
	next[*agentapi.Welcome](other)
	if s := next[*agentapi.Synced](other); s.Revision != 0 {
		t.Errorf("synced %+v", s)
	}
	h.store.Writes()
	other.send(&agentapi.Ack{Sequence: 1, Name: theirs.Name, UID: theirs.UID, Revision: 1, Removed: true})
	next[*agentapi.Confirmed](other)
	mine := h.connect("one", nil)
	w := next[*agentapi.Work](mine)
	next[*agentapi.Synced](mine)
	h.store.Writes()
	mine.send(&agentapi.Ack{Sequence: 1, Name: w.Name, UID: "made-up", Revision: 1 << 60,
		Conditions: []metav1.Condition{{Type: "Applied", Status: "True", Reason: "R"}}})
	next[*agentapi.Confirmed](mine)
	mine.send(&agentapi.Ack{Sequence: 2, Name: w.Name, UID: w.UID, Revision: 1 << 60,
		Conditions: []metav1.Condition{{Type: "Applied", Status: "True", Reason: "R", ObservedGeneration: 1 << 60}, {Type: "Ready", Status: "True", Reason: "R"}}})
	next[*agentapi.Confirmed](mine)
	if writes := h.store.Writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

// TestMalformedFrames: each closes its own link, the hub lives on.
func TestMalformedFrames(t *testing.T) {
	h := startHub(t)
	for name, message := range map[string]string{
		"no JSON":         "hello",
		"a hub's frame":   `{"type":"removed","body":{"message":""}}`,
		"unknown type":    `{"type":"reboot","body":{}}`,
		"a second hello":  `{"type":"hello","body":{"protocol":1,"minProtocol":1,"agentVersion":"","instance":"i","clusterID":"c"}}`,
		"huge quantity":   `{"type":"status","body":{"resourceSummary":{"allocatable":{"cpu":"1e999999999"}}}}`,
		"large beat":      `{"type":"beat","body":{"sequence":1` + strings.Repeat(" ", 1000) + `}}`,
		"deeply nested":   `{"type":"status","body":` + strings.Repeat(`[`, 100000) + `}`,
		"not even hello":  "",
		"larger than all": strings.Repeat("x", agentapi.MaxFromAgent+1),
	} {
		t.Run(name, func(t *testing.T) {
			agent := h.open("edge-7")
			code := agentapi.CloseMalformed
			switch name {
			case "not even hello":
				agent.send(&agentapi.Beat{Sequence: 1})
			case "larger than all":
				code = websocket.CloseMessageTooBig
				fallthrough
			default:
				agent.send(h.hello("one", nil, ""))
				next[*agentapi.Welcome](agent)
				next[*agentapi.Synced](agent)
				if err := agent.conn.WriteMessage(websocket.TextMessage, []byte(message)); err != nil && code == agentapi.CloseMalformed {
					t.Fatal(err)
				}
			}
			if code == websocket.CloseMessageTooBig { // the rest of the frame is unread: the close may be lost
				<-agent.closed
				return
			}
			agent.expectClose(code)
		})
	}
	agent := h.connect("one", nil)
	next[*agentapi.Synced](agent)
	binary, err := agentapi.Encode(&agentapi.Beat{Sequence: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.conn.WriteMessage(websocket.BinaryMessage, binary); err != nil {
		t.Fatal(err)
	}
	agent.expectClose(agentapi.CloseMalformed)
}

// TestManyChangesAreCoalesced: what an agent has not been sent yet is sent once.
func TestManyChangesAreCoalesced(t *testing.T) {
	h := startHub(t)
	for g := range 20 {
		h.work("a", int64(g+1))
	}
	h.seesAll()
	agent := h.connect("one", nil)
	object, err := next[*agentapi.Work](agent).Object()
	if err != nil {
		t.Fatal(err)
	}
	if raw := string(object.Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, `"20"`) {
		t.Errorf("delivered %s", raw)
	}
	next[*agentapi.Synced](agent)
	agent.quiet()
}

// seesAll returns once the link knows of every Work that there is: it hears of them
// in order, and another cluster's agent has got the last.
func (h *hub) seesAll() {
	h.Helper()
	other := h.open("other")
	other.send(h.hello("one", nil, ""))
	next[*agentapi.Welcome](other)
	last := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-other", Name: "last", Finalizers: []string{workv1alpha1.ExecutionControllerFinalizer}}}
	if err := h.client.Create(h.Context(), last); err != nil {
		h.Fatal(err)
	}
	next[*agentapi.Work](other)
}

func ptr[T any](v T) *T { return &v }

// authority issues certificates for a test.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, cert: cert, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pool: x509.NewCertPool()}
	a.pool.AddCert(cert)
	return a
}

func (a *authority) issue(t *testing.T, name, groups string, addresses ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	if groups != "" {
		template.Subject.Organization = strings.Split(groups, ",")
	}
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
