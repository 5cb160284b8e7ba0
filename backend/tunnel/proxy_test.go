package tunnel_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/tunnel"
)

// proxied is a hub that passes all requests under /to/ on to one member.
type proxied struct {
	hub    *httptest.Server
	member *httptest.Server
	who    user.Info

	mu      sync.Mutex
	seen    []http.Header
	refused int
	err     error // instead of an endpoint
	cluster *clusterv1alpha1.Cluster
}

func newProxied(t *testing.T, member http.HandlerFunc) *proxied {
	t.Helper()
	p := &proxied{who: &user.DefaultInfo{Name: "jo", Groups: []string{"team", user.AllAuthenticated}}}
	p.member = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, r.Header.Clone())
		p.mu.Unlock()
		member(w, r)
	}))
	t.Cleanup(p.member.Close)
	proxy := tunnel.NewProxy(p)
	p.cluster = &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "m1"},
		Spec:       clusterv1alpha1.ClusterSpec{ImpersonatorSecretRef: &clusterv1alpha1.LocalSecretReference{Namespace: "n", Name: "s"}},
	}
	p.hub = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, err := proxy.Handler(r.Context(), p.cluster, strings.TrimPrefix(r.URL.Path, "/to"), p.who)
		if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Code >= 500 { // as the API server answers it
			w.WriteHeader(int(status.Status().Code))
			_ = json.NewEncoder(w).Encode(status.Status())
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(p.hub.Close)
	return p
}

func (p *proxied) Endpoint(context.Context, *clusterv1alpha1.Cluster) (kube.Endpoint, error) {
	target, err := url.Parse(p.member.URL + "/base")
	if err != nil {
		return kube.Endpoint{}, err
	}
	return kube.Endpoint{
		URL: target, ImpersonatorToken: "impersonator",
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.member.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}, DialContext: new(net.Dialer).DialContext},
	}, p.err
}

func (p *proxied) SecretChanged(types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused++
}

func (p *proxied) last() http.Header {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[len(p.seen)-1]
}

// raw sends a request as it stands and returns the answer's head.
func (p *proxied) raw(t *testing.T, request string) *http.Response {
	t.Helper()
	connection, err := net.Dial("tcp", p.hub.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(connection, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func TestProxyPassesRequestsOn(t *testing.T) {
	p := newProxied(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Member", "yes")
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.RequestURI(), r.Host, body)
	})
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
		request, err := http.NewRequest(method, p.hub.URL+"/to/api/v1/pods?limit=5&x=a%2Fb", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%s /base/api/v1/pods?limit=5&x=a%%2Fb %s body", method, p.member.Listener.Addr())
		if response.StatusCode != http.StatusConflict || string(body) != want {
			t.Errorf("%s: %d %q, want %q", method, response.StatusCode, body, want)
		}
		if response.Header.Get("X-Member") != "yes" || response.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: headers %v", method, response.Header)
		}
	}
	header := p.last()
	if header.Get("Authorization") != "Bearer impersonator" || header.Get("Impersonate-User") != "jo" || !slices.Equal(header.Values("Impersonate-Group"), []string{"team"}) {
		t.Errorf("the member saw %v", header)
	}
}

// attacks are headers by which a client might say who it is.
var attacks = []string{
	"Impersonate-User: admin", "impersonate-user: admin", "IMPERSONATE-USER: admin", "Impersonate-Group: system:masters", "impersonate-group: system:masters",
	"Impersonate-Uid: 0", "Impersonate-Extra-Scopes: all", "impersonate-extra-a%2fb: c", "Impersonate_User: admin", "impersonate_group: system:masters",
	"Impersonate-User: admin\r\nImpersonate-User: root", "Impersonate-Group: a\r\nImpersonate-Group: system:masters",
	"X-Remote-User: admin", "x-remote-group: system:masters", "X-Remote-Extra-Scopes: all", "X_Remote_User: admin",
	"X-Forwarded-User: admin", "X-Forwarded-Groups: system:masters",
	"Authorization: Bearer mine", "authorization: Basic YTpi", "Proxy-Authorization: Basic YTpi", "Cookie: session=1",
	"Connection: Authorization", "Connection: Impersonate-User, Impersonate-Group", "Connection: impersonate-group\r\nImpersonate-Group: system:masters",
	"Keep-Alive: Impersonate-User", "Connection: keep-alive, X-Remote-User\r\nX-Remote-User: admin",
	"Trailer: Impersonate-User", "TE: trailers, Impersonate-User", "Sec-Websocket-Protocol: base64url.bearer.authorization.k8s.io.bWluZQ",
}

// onlyOurs checks that a request says who it is for in our words alone.
func onlyOurs(t *testing.T, attack string, header http.Header) {
	t.Helper()
	for key, values := range header {
		normal := strings.ReplaceAll(strings.ToLower(key), "_", "-")
		switch {
		case normal == "authorization":
			if !slices.Equal(values, []string{"Bearer impersonator"}) {
				t.Errorf("%q: Authorization %q", attack, values)
			}
		case normal == "impersonate-user":
			if !slices.Equal(values, []string{"jo"}) {
				t.Errorf("%q: Impersonate-User %q", attack, values)
			}
		case normal == "impersonate-group":
			if !slices.Equal(values, []string{"team"}) {
				t.Errorf("%q: Impersonate-Group %q", attack, values)
			}
		case strings.HasPrefix(normal, "impersonate"), strings.HasPrefix(normal, "x-remote"), normal == "cookie", normal == "proxy-authorization", strings.HasPrefix(normal, "x-forwarded-user"), strings.HasPrefix(normal, "x-forwarded-group"):
			t.Errorf("%q: the member saw %s: %q", attack, key, values)
		case strings.Contains(strings.Join(values, " "), "authorization.k8s.io"):
			t.Errorf("%q: the member saw a token in %s", attack, key)
		}
	}
	for _, key := range []string{"Authorization", "Impersonate-User", "Impersonate-Group"} {
		if header.Get(key) == "" {
			t.Errorf("%q: %s is missing", attack, key)
		}
	}
}

func TestProxyHeaderAttacks(t *testing.T) {
	p := newProxied(t, func(http.ResponseWriter, *http.Request) {})
	for _, attack := range attacks {
		response := p.raw(t, "GET /to/api HTTP/1.1\r\nHost: hub\r\n"+attack+"\r\n\r\n")
		if response.StatusCode != http.StatusOK {
			t.Errorf("%q: %s", attack, response.Status)
			continue
		}
		onlyOurs(t, attack, p.last())
	}
}

func TestProxyHeaderAttacksOnUpgrades(t *testing.T) {
	p := newProxied(t, func(w http.ResponseWriter, r *http.Request) {
		connection, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = connection.Close() }()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
		_ = buffered.Flush()
	})
	for _, attack := range attacks {
		response := p.raw(t, "POST /to/exec HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n"+attack+"\r\n\r\n")
		if response.StatusCode != http.StatusSwitchingProtocols {
			t.Errorf("%q: %s", attack, response.Status)
			continue
		}
		header := p.last()
		onlyOurs(t, attack, header)
		if got := header.Values("Connection"); !slices.Equal(got, []string{"Upgrade"}) {
			t.Errorf("%q: Connection %q", attack, got)
		}
	}
}

func TestProxyUpgradesEndToEnd(t *testing.T) {
	p := newProxied(t, func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
		connection, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = connection.Close() }()
		if err := connection.WriteMessage(websocket.TextMessage, []byte(r.URL.RequestURI())); err != nil {
			return
		}
		for {
			kind, message, err := connection.ReadMessage()
			if err != nil {
				return
			}
			if err := connection.WriteMessage(kind, message); err != nil {
				return
			}
		}
	})
	dialer := websocket.Dialer{Subprotocols: []string{"v5.channel.k8s.io", "base64url.bearer.authorization.k8s.io.bWluZQ"}}
	connection, response, err := dialer.Dial(strings.Replace(p.hub.URL, "http", "ws", 1)+"/to/exec?command=ls&command=-l", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if got := response.Header.Get("Sec-Websocket-Protocol"); got != "v5.channel.k8s.io" {
		t.Errorf("protocol %q", got)
	}
	if _, message, err := connection.ReadMessage(); err != nil || string(message) != "/base/exec?command=ls&command=-l" {
		t.Errorf("the member was asked for %q, %v", message, err)
	}
	if err := connection.WriteMessage(websocket.BinaryMessage, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, message, err := connection.ReadMessage(); err != nil || string(message) != "hello" {
		t.Errorf("echo %q, %v", message, err)
	}
}

// TestProxyDoesNotSpliceRefusedUpgrades lets a member answer an upgrade with
// something else: nothing that the client sends afterwards may reach it.
func TestProxyDoesNotSpliceRefusedUpgrades(t *testing.T) {
	for _, code := range []int{http.StatusOK, http.StatusFound, http.StatusForbidden} {
		p := newProxied(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		response := p.raw(t, "GET /to/exec HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET /secrets HTTP/1.1\r\nHost: member\r\n\r\n")
		want := code
		if code < 400 {
			want = http.StatusInternalServerError
		}
		if response.StatusCode != want {
			t.Errorf("%d: %s", code, response.Status)
		}
		if len(p.seen) != 1 {
			t.Errorf("%d: the member saw %d requests", code, len(p.seen))
		}
	}
}

func TestProxyStreams(t *testing.T) {
	more := make(chan struct{})
	p := newProxied(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		<-more
		_, _ = io.WriteString(w, "second\n")
	})
	response, err := http.Get(p.hub.URL + "/to/log?follow=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	reader := bufio.NewReader(response.Body)
	if line, err := reader.ReadString('\n'); err != nil || line != "first\n" {
		t.Fatalf("%q, %v", line, err) // hangs if the first line is held back
	}
	close(more)
	if line, err := reader.ReadString('\n'); err != nil || line != "second\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

func TestProxyOfAMemberThatIsGone(t *testing.T) {
	p := newProxied(t, func(http.ResponseWriter, *http.Request) {})
	p.member.Close()
	for _, upgrade := range []string{"", "Connection: Upgrade\r\nUpgrade: websocket\r\n"} {
		response := p.raw(t, "GET /to/api HTTP/1.1\r\nHost: hub\r\n"+upgrade+"\r\n")
		var status metav1.Status
		if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != 500 || status.Kind != "Status" || status.Code != 500 || status.Reason != "" || !strings.Contains(status.Message, "connection refused") {
			t.Errorf("%s %+v", response.Status, status)
		}
	}
}

func TestProxyRefuses(t *testing.T) {
	p := newProxied(t, func(http.ResponseWriter, *http.Request) {})
	for _, path := range []string{"/to/../other", "/to/api/../../x", "/to/./api", "/to/%2e%2e/other"} {
		response := p.raw(t, "GET "+path+" HTTP/1.1\r\nHost: hub\r\n\r\n")
		if response.StatusCode != http.StatusTeapot {
			t.Errorf("%s: %s", path, response.Status)
		}
	}
	for name, who := range map[string]user.Info{
		"nobody":    nil,
		"no name":   &user.DefaultInfo{Groups: []string{"system:masters"}},
		"two lines": &user.DefaultInfo{Name: "jo\r\nImpersonate-Group: system:masters"},
		"bad group": &user.DefaultInfo{Name: "jo", Groups: []string{"a\nb"}},
	} {
		p.who = who
		if response := p.raw(t, "GET /to/api HTTP/1.1\r\nHost: hub\r\n\r\n"); response.StatusCode != http.StatusTeapot {
			t.Errorf("%s: %s", name, response.Status)
		}
	}
	p.who, p.err = &user.DefaultInfo{Name: "jo"}, errors.New("it names no impersonatorSecretRef")
	if response := p.raw(t, "GET /to/api HTTP/1.1\r\nHost: hub\r\n\r\n"); response.StatusCode != http.StatusTeapot {
		t.Errorf("without an endpoint: %s", response.Status)
	}
	if len(p.seen) > 0 {
		t.Errorf("the member saw %d requests", len(p.seen))
	}
}

// TestProxyOfAMemberWithoutAnAccount: whoever asks learns what to do, clients
// that show no Status too.
func TestProxyOfAMemberWithoutAnAccount(t *testing.T) {
	p := newProxied(t, func(http.ResponseWriter, *http.Request) {})
	p.cluster.Spec.ImpersonatorSecretRef = nil
	const discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
	for _, c := range []struct {
		name, path, accept string
		mode               clusterv1alpha1.ClusterSyncMode
		code               int
		reason             metav1.StatusReason
		text               bool
		says               string
	}{
		{"pods", "/api/v1/pods", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", clusterv1alpha1.Pull, 501, "NotImplemented", false, "--report-secrets="},
		{"pods for any type", "/api/v1/pods", "application/json, */*", clusterv1alpha1.Pull, 501, "NotImplemented", false, "--report-secrets="},
		{"discovery", "/api", discovery, clusterv1alpha1.Pull, 501, "", true, "--report-secrets="},
		{"discovery of groups", "/apis", discovery, clusterv1alpha1.Pull, 501, "", true, "--report-secrets="},
		{"discovery of one group", "/apis/apps", discovery, clusterv1alpha1.Pull, 501, "NotImplemented", false, "--report-secrets="},
		{"a program", "/api", "application/json", clusterv1alpha1.Pull, 501, "NotImplemented", false, "--report-secrets="},
		{"probe", "/api", "application/json, */*", clusterv1alpha1.Pull, 501, "", true, "--report-secrets="},
		{"pods of a pushed one", "/api/v1/pods", "application/json", clusterv1alpha1.Push, 500, metav1.StatusReasonInternalError, false, "join it again"},
		{"probe of a pushed one", "/api", "application/json, */*", clusterv1alpha1.Push, 500, "", true, "join it again"},
	} {
		p.cluster.Spec.SyncMode = c.mode
		response := p.raw(t, "GET /to"+c.path+" HTTP/1.1\r\nHost: hub\r\nAccept: "+c.accept+"\r\n\r\n")
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != c.code || !strings.Contains(string(body), "cluster m1 ") || !strings.Contains(string(body), c.says) {
			t.Errorf("%s: %s %s %v", c.name, response.Status, body, err)
		}
		if c.text {
			if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain") || strings.ContainsAny(strings.TrimSpace(string(body)), "\n\"{") {
				t.Errorf("%s: %s %s", c.name, kind, body)
			}
			continue
		}
		var status metav1.Status
		if err := json.Unmarshal(body, &status); err != nil || status.Kind != "Status" || status.Status != metav1.StatusFailure || int(status.Code) != c.code || status.Reason != c.reason {
			t.Errorf("%s: %+v %v", c.name, status, err)
		}
	}
	if len(p.seen) > 0 {
		t.Errorf("the member saw %d requests", len(p.seen))
	}
}

func TestProxyReadsARefusedTokenAgain(t *testing.T) {
	p := newProxied(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	if response := p.raw(t, "GET /to/api HTTP/1.1\r\nHost: hub\r\n\r\n"); response.StatusCode != http.StatusUnauthorized || p.refused != 1 {
		t.Errorf("%s, told %d times", response.Status, p.refused)
	}
}
