package kube_test

import (
	"bufio"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// secrets is a hub that holds Secrets and counts who reads them.
type secrets struct {
	mu    sync.Mutex
	data  map[types.NamespacedName]map[string][]byte
	reads int
	err   error
}

func (s *secrets) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.err != nil {
		return s.err
	}
	data, ok := s.data[key]
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	object.(*corev1.Secret).Data = data
	return nil
}

func (s *secrets) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("members never list")
}

func (s *secrets) put(name string, data map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes := map[string][]byte{}
	for k, v := range data {
		bytes[k] = []byte(v)
	}
	s.data[types.NamespacedName{Namespace: "karmada-cluster", Name: name}] = bytes
}

func (s *secrets) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// memberServer is a member that accepts one token and records what it got.
type memberServer struct {
	*httptest.Server
	mu     sync.Mutex
	token  string
	seen   []string // Authorization headers
	handle http.HandlerFunc
}

func newMemberServer(t *testing.T, token string) *memberServer {
	t.Helper()
	m := &memberServer{token: token}
	m.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		m.seen = append(m.seen, r.Header.Get("Authorization"))
		accepted, handle := "Bearer "+m.token, m.handle
		m.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != accepted:
			w.WriteHeader(http.StatusUnauthorized)
		case handle != nil:
			handle(w, r)
		default:
			_, _ = io.WriteString(w, "ok")
		}
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *memberServer) accept(token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.token = token
}

func (m *memberServer) ca() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.Certificate().Raw}))
}

type membersFixture struct {
	hub     *secrets
	clock   *testingclock.FakePassiveClock
	members *kube.Members
}

func newMembers() membersFixture {
	hub := &secrets{data: map[types.NamespacedName]map[string][]byte{}}
	clock := testingclock.NewFakePassiveClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	return membersFixture{hub: hub, clock: clock, members: kube.NewMembers(hub, clock)}
}

func pushCluster(endpoint string) *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "m1", UID: "uid-1"},
		Spec: clusterv1alpha1.ClusterSpec{
			SyncMode: clusterv1alpha1.Push, APIEndpoint: endpoint,
			SecretRef:             &clusterv1alpha1.LocalSecretReference{Namespace: "karmada-cluster", Name: "m1"},
			ImpersonatorSecretRef: &clusterv1alpha1.LocalSecretReference{Namespace: "karmada-cluster", Name: "m1-impersonator"},
		},
	}
}

func mustConfig(t *testing.T, m *kube.Members, cluster *clusterv1alpha1.Cluster) *rest.Config {
	t.Helper()
	config, err := m.Config(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func probe(t *testing.T, config *rest.Config) int {
	t.Helper()
	code, err := kube.Probe(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestMembersFollowTheirSecrets(t *testing.T) {
	f, server := newMembers(), newMemberServer(t, "one")
	cluster := pushCluster(server.URL)
	f.hub.put("m1", map[string]string{"token": "one", "caBundle": server.ca()})

	config := mustConfig(t, f.members, cluster)
	if got := probe(t, config); got != http.StatusOK {
		t.Fatalf("probe: %d", got)
	}
	if again := mustConfig(t, f.members, cluster); again.Transport != config.Transport {
		t.Error("a second configuration has another transport though nothing changed")
	}
	if f.hub.count() != 1 {
		t.Errorf("the secret was read %d times, want once", f.hub.count())
	}

	// A rotated token serves the same configuration once the member refused the old one.
	server.accept("two")
	f.hub.put("m1", map[string]string{"token": "two", "caBundle": server.ca()})
	if got := probe(t, config); got != http.StatusUnauthorized {
		t.Fatalf("probe with the old token: %d", got)
	}
	if got := probe(t, config); got != http.StatusOK {
		t.Fatalf("probe after a refusal: %d", got)
	}

	// ... or at once, when somebody saw the Secret change.
	server.accept("three")
	f.hub.put("m1", map[string]string{"token": "three", "caBundle": server.ca()})
	f.members.SecretChanged(types.NamespacedName{Namespace: "karmada-cluster", Name: "m1"})
	if got := probe(t, config); got != http.StatusOK {
		t.Fatalf("probe after a change of the secret: %d", got)
	}

	// ... or after five minutes.
	server.accept("four")
	f.hub.put("m1", map[string]string{"token": "four", "caBundle": server.ca()})
	f.clock.SetTime(f.clock.Now().Add(5*time.Minute + time.Second))
	if got := probe(t, config); got != http.StatusOK {
		t.Fatalf("probe after the token's life: %d", got)
	}
}

func TestMembersMakeANewTransportWhenTheWayChanges(t *testing.T) {
	f, server := newMembers(), newMemberServer(t, "one")
	cluster := pushCluster(server.URL)
	f.hub.put("m1", map[string]string{"token": "one", "caBundle": server.ca()})
	first := mustConfig(t, f.members, cluster)

	changes := map[string]func(*clusterv1alpha1.Cluster){
		"address":                        func(c *clusterv1alpha1.Cluster) { c.Spec.APIEndpoint += "/k8s" },
		"verify":                         func(c *clusterv1alpha1.Cluster) { c.Spec.InsecureSkipTLSVerification = true },
		"proxy":                          func(c *clusterv1alpha1.Cluster) { c.Spec.ProxyURL = "http://127.0.0.1:1" },
		"name reused by another cluster": func(c *clusterv1alpha1.Cluster) { c.UID = "uid-2" },
	}
	for name, change := range changes {
		changed := cluster.DeepCopy()
		change(changed)
		if got := mustConfig(t, f.members, changed); got.Transport == first.Transport {
			t.Errorf("%s: the transport stayed", name)
		}
	}
}

func TestMembersRefuse(t *testing.T) {
	server := newMemberServer(t, "one")
	tests := map[string]struct {
		secret map[string]string
		change func(*clusterv1alpha1.Cluster)
		want   string
	}{
		"no secret":        {want: "not found"},
		"no token":         {secret: map[string]string{"caBundle": server.ca()}, want: "holds no token"},
		"no secretRef":     {secret: map[string]string{"token": "t"}, change: func(c *clusterv1alpha1.Cluster) { c.Spec.SecretRef = nil }, want: "no secretRef"},
		"no address":       {secret: map[string]string{"token": "t"}, change: func(c *clusterv1alpha1.Cluster) { c.Spec.APIEndpoint = "" }, want: "no apiEndpoint"},
		"another scheme":   {secret: map[string]string{"token": "t"}, change: func(c *clusterv1alpha1.Cluster) { c.Spec.APIEndpoint = "ftp://x" }, want: `scheme "ftp"`},
		"broken CA":        {secret: map[string]string{"token": "t", "caBundle": "x"}, want: "no certificate"},
		"unknown proxy":    {secret: map[string]string{"token": "t"}, change: func(c *clusterv1alpha1.Cluster) { c.Spec.ProxyURL = "gopher://x" }, want: `scheme "gopher"`},
		"proxy with typos": {secret: map[string]string{"token": "t"}, change: func(c *clusterv1alpha1.Cluster) { c.Spec.ProxyURL = "http://user:hunter2@x:y" }, want: "not a URL"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, cluster := newMembers(), pushCluster(server.URL)
			if test.secret != nil {
				f.hub.put("m1", test.secret)
			}
			if test.change != nil {
				test.change(cluster)
			}
			_, err := f.members.Config(t.Context(), cluster)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want something about %q", err, test.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error tells a password: %v", err)
			}
		})
	}
}

func TestMembersKeepServingWhileTheHubCannotBeAsked(t *testing.T) {
	f, server := newMembers(), newMemberServer(t, "one")
	f.hub.put("m1", map[string]string{"token": "one", "caBundle": server.ca()})
	config := mustConfig(t, f.members, pushCluster(server.URL))
	f.hub.err = errors.New("the hub restarts")
	f.clock.SetTime(f.clock.Now().Add(time.Hour))
	if got := probe(t, config); got != http.StatusOK {
		t.Errorf("probe: %d", got)
	}
}

func TestAMemberCannotSendTheTokenElsewhere(t *testing.T) {
	f, server := newMembers(), newMemberServer(t, "one")
	thief := newMemberServer(t, "one")
	server.handle = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}
	f.hub.put("m1", map[string]string{"token": "one", "caBundle": server.ca()})
	if _, err := kube.Probe(t.Context(), mustConfig(t, f.members, pushCluster(server.URL))); err == nil {
		t.Error("the redirect was followed")
	}
	if len(thief.seen) > 0 {
		t.Errorf("the other server saw %d requests", len(thief.seen))
	}
}

func TestProbeFallsBackToHealthz(t *testing.T) {
	f, server := newMembers(), newMemberServer(t, "one")
	var paths []string
	server.handle = func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		if r.URL.Path == "/readyz" {
			http.NotFound(w, r)
		}
	}
	f.hub.put("m1", map[string]string{"token": "one", "caBundle": server.ca()})
	if got := probe(t, mustConfig(t, f.members, pushCluster(server.URL))); got != http.StatusOK {
		t.Errorf("probe: %d", got)
	}
	if strings.Join(paths, " ") != "/readyz /healthz" {
		t.Errorf("asked %v", paths)
	}
	server.handle = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	if got := probe(t, mustConfig(t, f.members, pushCluster(server.URL))); got != http.StatusInternalServerError {
		t.Errorf("probe of an unhealthy member: %d", got)
	}
	config := mustConfig(t, f.members, pushCluster(server.URL))
	server.Close()
	if _, err := kube.Probe(t.Context(), config); err == nil {
		t.Error("a member that is gone has a status")
	}
}

// connectProxy is a forward proxy that only knows CONNECT.
func connectProxy(t *testing.T, header chan<- http.Header) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = near.Close() }()
				request, err := http.ReadRequest(bufio.NewReader(near))
				if err != nil || request.Method != http.MethodConnect {
					return
				}
				header <- request.Header
				far, err := net.Dial("tcp", request.Host)
				if err != nil {
					return
				}
				defer func() { _ = far.Close() }()
				_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
				go func() { _, _ = io.Copy(far, near) }()
				_, _ = io.Copy(near, far)
			}()
		}
	}()
	return listener.Addr().String()
}

func TestMembersBehindAForwardProxy(t *testing.T) {
	f, server := newMembers(), newMemberServer(t, "one")
	headers := make(chan http.Header, 1)
	cluster := pushCluster(server.URL)
	cluster.Spec.ProxyURL = "http://user:secret@" + connectProxy(t, headers)
	cluster.Spec.ProxyHeader = map[string]string{"X-Team": "a, b"}
	f.hub.put("m1", map[string]string{"token": "one", "caBundle": server.ca()})
	if got := probe(t, mustConfig(t, f.members, cluster)); got != http.StatusOK {
		t.Fatalf("probe: %d", got)
	}
	header := <-headers
	if got := header.Values("X-Team"); len(got) != 2 || got[0] != "a" || got[1] != "b" {
		t.Errorf("X-Team: %q", got)
	}
	if got := header.Get("Proxy-Authorization"); got != "Basic dXNlcjpzZWNyZXQ=" {
		t.Errorf("Proxy-Authorization: %q", got)
	}
	if got := header.Get("Authorization"); got != "" {
		t.Error("the proxy saw the token")
	}
}

func TestEndpointOfTheProxy(t *testing.T) {
	f, server := newMembers(), newMemberServer(t, "one")
	cluster := pushCluster(server.URL)
	f.hub.put("m1", map[string]string{"token": "one", "caBundle": server.ca()})
	f.hub.put("m1-impersonator", map[string]string{"token": "other"})
	endpoint, err := f.members.Endpoint(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	if endpoint.URL.String() != server.URL || endpoint.ImpersonatorToken != "other" {
		t.Errorf("got %s with token %q", endpoint.URL, endpoint.ImpersonatorToken)
	}
	cluster.Spec.ImpersonatorSecretRef = nil
	if _, err := f.members.Endpoint(t.Context(), cluster); err == nil || !strings.Contains(err.Error(), "impersonatorSecretRef") {
		t.Errorf("without an impersonator: %v", err)
	}
}
