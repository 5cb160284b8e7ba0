package joining_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/joining/joiningtest"
	"muster.dev/muster/backend/reach"
)

// accessTo parses a kubeconfig for a server.
func accessTo(t *testing.T, clusterFields string) *reach.Access {
	t.Helper()
	config, err := reach.Parse([]byte(joiningtest.KubeconfigOf(clusterFields, "token: "+joiningtest.OperatorToken)))
	if err != nil {
		t.Fatal(err)
	}
	access, err := config.Select("one")
	if err != nil {
		t.Fatal(err)
	}
	return access
}

func preflightOf(t *testing.T, hub, member *joiningtest.API, clusterFields string) joining.PreflightRequest {
	t.Helper()
	if clusterFields == "" {
		clusterFields = fmt.Sprintf("server: %q, certificate-authority-data: %s", member.Server.URL, base64.StdEncoding.EncodeToString(member.CA()))
	}
	dialer := reach.NewDialer(reach.AddressPolicy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	dialer.Resolver = &joiningtest.Resolver{}
	return joining.PreflightRequest{Access: accessTo(t, clusterFields), Name: "member1", Hub: hub.Client(), Dialer: dialer, Now: time.Now}
}

// states maps each check to its state and code.
func states(checks []joining.Check) map[string]string {
	all := map[string]string{}
	for _, check := range checks {
		all[check.ID] = string(check.State)
		if check.Code != "" {
			all[check.ID] += " " + check.Code
		}
	}
	return all
}

func TestPreflightGood(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	checks, plan, err := preflightOf(t, hub, member, "").Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"address": "ok", "dns": "ok", "tcp": "ok", "tls": "ok", "identity": "ok", "permissions": "ok", "version": "ok", "clock": "ok", "managed": "ok"}
	if diff := cmp.Diff(want, states(checks)); diff != "" {
		t.Errorf("checks (-want +got):\n%s\n%+v", diff, checks)
	}
	if len(plan) != 11 {
		t.Errorf("the plan has %d objects, want 11", len(plan))
	}
	if got := member.All(); len(got) > 0 {
		t.Errorf("the preflight made %v", got)
	}
}

func TestPreflightFailures(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	listener.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer refusing.Close()
	foreignCA := base64.StdEncoding.EncodeToString(joiningtest.NewAPI(t, "x").CA())

	tests := map[string]struct {
		fields  func(member *joiningtest.API) string
		prepare func(hub, member *joiningtest.API)
		change  func(*joining.PreflightRequest)
		want    map[string]string // what is not ok or skipped after it
	}{
		"refused address": {
			fields: func(*joiningtest.API) string { return "server: https://169.254.169.254" },
			want:   map[string]string{"address": "failed MU-203"},
		},
		"refused address behind a proxy": {
			fields: func(*joiningtest.API) string { return `server: "https://[::1]:443", proxy-url: "` + refusing.URL + `"` },
			want:   map[string]string{"address": "failed MU-203"},
		},
		"name does not resolve": {
			fields: func(*joiningtest.API) string { return "server: https://gone.example" },
			want:   map[string]string{"dns": "failed MU-204"},
		},
		"name resolves to a refused address": {
			fields: func(*joiningtest.API) string { return "server: https://inside.example" },
			change: func(r *joining.PreflightRequest) {
				r.Dialer.Resolver = &joiningtest.Resolver{Answers: [][]netip.Addr{{netip.MustParseAddr("169.254.169.254")}}}
			},
			want: map[string]string{"dns": "failed MU-203"},
		},
		"nobody listens": {
			fields: func(*joiningtest.API) string { return "server: https://" + closed },
			want:   map[string]string{"tcp": "failed MU-205"},
		},
		"no TLS there": {
			fields: func(*joiningtest.API) string { return "server: " + strings.Replace(plain.URL, "http:", "https:", 1) },
			want:   map[string]string{"tls": "failed MU-206"},
		},
		"wrong CA": {
			fields: func(m *joiningtest.API) string {
				return fmt.Sprintf("server: %q, certificate-authority-data: %s", m.Server.URL, func() string { c, _ := joiningtest.KeyPair(t); return base64.StdEncoding.EncodeToString(c) }())
			},
			want: map[string]string{"tls": "failed MU-206"},
		},
		"certificate has ended": {
			change: func(r *joining.PreflightRequest) {
				r.Now = func() time.Time { return time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) }
			},
			want: map[string]string{"tls": "failed MU-206"},
		},
		"not verified": {
			fields: func(m *joiningtest.API) string {
				return fmt.Sprintf("server: %q, insecure-skip-tls-verify: true", m.Server.URL)
			},
			want: map[string]string{"tls": "warn"},
		},
		"proxy wants a password": {
			fields: func(m *joiningtest.API) string {
				return fmt.Sprintf("server: %q, certificate-authority-data: %s, proxy-url: %q", m.Server.URL, foreignCA, refusing.URL)
			},
			want: map[string]string{"tls": "failed MU-213"},
		},
		"proxy is gone": {
			fields: func(m *joiningtest.API) string {
				return fmt.Sprintf("server: %q, proxy-url: http://%s", m.Server.URL, closed)
			},
			want: map[string]string{"tcp": "failed MU-213"},
		},
		"credential not accepted": {
			prepare: func(_, member *joiningtest.API) { delete(member.Tokens, joiningtest.OperatorToken) },
			want:    map[string]string{"identity": "failed MU-207"},
		},
		"permissions missing": {
			prepare: func(_, member *joiningtest.API) {
				member.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.HasSuffix(r.URL.Path, "selfsubjectaccessreviews") {
						return false
					}
					joiningtest.Answer(w, http.StatusCreated, map[string]any{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": map[string]any{"allowed": false}})
					return true
				}
			},
			want: map[string]string{"permissions": "failed MU-208"},
		},
		"too old": {
			prepare: func(_, member *joiningtest.API) { member.GitVersion = "v1.19.4+k3s1" },
			want:    map[string]string{"version": "failed MU-209"},
		},
		"very new": {
			prepare: func(_, member *joiningtest.API) { member.GitVersion = "v1.99.0" },
			want:    map[string]string{"version": "warn"},
		},
		"clock far off": {
			prepare: func(_, member *joiningtest.API) {
				member.Date = time.Now().Add(-10 * time.Minute).UTC().Format(http.TimeFormat)
			},
			want: map[string]string{"clock": "failed MU-210"},
		},
		"clock a bit off": {
			prepare: func(_, member *joiningtest.API) {
				member.Date = time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
			},
			want: map[string]string{"clock": "warn"},
		},
		"already here": {
			prepare: func(hub, _ *joiningtest.API) {
				hub.Put("/apis/cluster.karmada.io/v1alpha1/clusters/other", map[string]any{
					"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": map[string]any{"name": "other"}, "spec": map[string]any{"id": joiningtest.MemberUID, "syncMode": "Push"},
				})
			},
			want: map[string]string{"managed": "failed MU-211"},
		},
		"name taken": {
			prepare: func(hub, _ *joiningtest.API) {
				hub.Put("/apis/cluster.karmada.io/v1alpha1/clusters/member1", map[string]any{
					"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": map[string]any{"name": "member1"}, "spec": map[string]any{"id": "other", "syncMode": "Push"},
				})
			},
			want: map[string]string{"managed": "failed MU-212"},
		},
		"managed by another hub": {
			prepare: func(_, member *joiningtest.API) {
				member.Put("/apis/apps/v1/namespaces/karmada-system/deployments/karmada-agent", map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "karmada-agent"}})
			},
			want: map[string]string{"managed": "warn"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hub, member := joiningtest.Pair(t)
			if test.prepare != nil {
				test.prepare(hub, member)
			}
			fields := ""
			if test.fields != nil {
				fields = test.fields(member)
			}
			request := preflightOf(t, hub, member, fields)
			if test.change != nil {
				test.change(&request)
			}
			checks, plan, err := request.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for id, state := range states(checks) {
				if state != "ok" && state != "skipped" {
					got[id] = state
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatalf("checks (-want +got):\n%s\n%+v", diff, checks)
			}
			for _, check := range checks {
				if check.State == joining.CheckFailed && (check.Detail == "" || check.Fix == "") {
					t.Errorf("%s failed without a cause or a fix: %+v", check.ID, check)
				}
				if check.State == joining.CheckFailed && len(plan) > 0 {
					t.Error("there is a plan although a check failed")
				}
			}
		})
	}
}

func TestPreflightSendsNoCredentialToAnUnverifiedServer(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	member.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s carries the credential", r.URL.Path)
		}
		return false
	}
	other, _ := joiningtest.KeyPair(t)
	fields := fmt.Sprintf("server: %q, certificate-authority-data: %s", member.Server.URL, base64.StdEncoding.EncodeToString(other))
	checks, _, err := preflightOf(t, hub, member, fields).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := states(checks)["identity"]; got != "skipped" {
		t.Errorf("identity is %s", got)
	}
}

func TestPreflightFollowsNoRedirects(t *testing.T) {
	reached := false
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer elsewhere.Close()
	hub, member := joiningtest.Pair(t)
	member.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		return true
	}
	if _, _, err := preflightOf(t, hub, member, "").Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if reached {
		t.Error("the hub followed a redirect of the member")
	}
}

func TestPreflightThroughProxy(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	asked := ""
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.Host
		tunnel(t, w, r.Host)
	}))
	defer proxy.Close()
	fields := fmt.Sprintf("server: %q, certificate-authority-data: %s, proxy-url: %q", member.Server.URL, base64.StdEncoding.EncodeToString(member.CA()), proxy.URL)
	checks, _, err := preflightOf(t, hub, member, fields).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range checks {
		if check.State != joining.CheckOK {
			t.Errorf("%+v", check)
		}
	}
	server, _ := url.Parse(member.Server.URL)
	if want := "CONNECT " + server.Host; asked != want {
		t.Errorf("the proxy was asked %q, want %q", asked, want)
	}
}

// tunnel answers a CONNECT and copies both ways.
func tunnel(t *testing.T, w http.ResponseWriter, target string) {
	out, err := net.Dial("tcp", target)
	if err != nil {
		t.Error(err)
		return
	}
	in, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = in.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	go func() { defer in.Close(); _, _ = io.Copy(in, out) }()
	go func() { defer out.Close(); _, _ = io.Copy(out, in) }()
}
