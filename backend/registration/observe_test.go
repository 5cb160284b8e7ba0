package registration_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

// knownTokens is a hub with a token that works, one that has expired, and one
// that was cleaned away since it has.
type knownTokens struct{}

func (knownTokens) ExpiredAt(id, secret string) (time.Time, bool) {
	return time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC), (id == "expire" || id == "swept1") && secret == "0123456789abcdef"
}

func (knownTokens) Get(_ context.Context, id string) (token.Token, error) {
	switch id {
	case "abcdef":
		return token.Token{ID: id}, nil
	case "expire":
		return token.Token{ID: id, Expired: true}, nil
	case "broken":
		return token.Token{}, errors.New("no answer")
	}
	return token.Token{}, fault.NotFound("no such token")
}

// recorded keeps every call in words.
type recorded struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorded) Advance(_ context.Context, m registration.Match, stage string, e registration.StageEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, m.TokenID+" "+stage+" from "+e.Source)
}

func (r *recorded) Fail(_ context.Context, m registration.Match, stage string, f registration.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, m.TokenID+" "+stage+" "+f.Code+" from "+f.Source)
}

func TestObserve(t *testing.T) {
	const csrs, info = "/apis/certificates.k8s.io/v1/certificatesigningrequests", "/api/v1/namespaces/kube-public/configmaps/cluster-info"
	bearer := func(text string) http.Header { return http.Header{"Authorization": {"Bearer " + text}} }
	id := func(text string) http.Header { return http.Header{"Muster-Token-Id": {text}} }
	tests := map[string]struct {
		method, path string
		header       http.Header
		code         int
		want         string
	}{
		"our agent finds the hub":    {"GET", info + "?timeout=10s", id("abcdef"), 200, "abcdef contact from 192.0.2.1"},
		"another client does":        {"GET", info, nil, 200, ""},
		"something else is read":     {"GET", "/api", id("abcdef"), 200, ""},
		"a name that is no id":       {"GET", info, id("../../etc"), 200, ""},
		"a whole token as the id":    {"GET", info, id("abcdef.0123456789abcdef"), 200, ""},
		"with a credential":          {"GET", info, http.Header{"Muster-Token-Id": {"abcdef"}, "Authorization": {"Bearer x"}}, 200, ""},
		"a token is accepted":        {"POST", csrs, bearer("abcdef.0123456789abcdef"), 201, "abcdef token from 192.0.2.1"},
		"lower-case scheme":          {"POST", csrs, http.Header{"Authorization": {"bearer abcdef.0123456789abcdef"}}, 201, "abcdef token from 192.0.2.1"},
		"a read with it":             {"GET", csrs + "/x", bearer("abcdef.0123456789abcdef"), 200, ""},
		"a wrong secret":             {"POST", csrs, bearer("abcdef.ffffffffffffffff"), 401, "abcdef token MU-102 from 192.0.2.1"},
		"an unknown token":           {"POST", csrs, bearer("zzzzzz.0123456789abcdef"), 401, "zzzzzz token MU-101 from 192.0.2.1"},
		"an expired token":           {"GET", csrs + "/x", bearer("expire.0123456789abcdef"), 401, "expire token MU-103 from 192.0.2.1"},
		"one that is cleaned away":   {"POST", csrs, bearer("swept1.0123456789abcdef"), 401, "swept1 token MU-103 from 192.0.2.1"},
		"a guess at it":              {"POST", csrs, bearer("swept1.ffffffffffffffff"), 401, "swept1 token MU-101 from 192.0.2.1"},
		"tokens cannot be looked up": {"POST", csrs, bearer("broken.0123456789abcdef"), 401, ""},
		"a service account's token":  {"POST", csrs, bearer("eyJhbGciOiJSUzI1NiJ9.e30.c2ln"), 401, ""},
		"no bearer":                  {"POST", csrs, http.Header{"Authorization": {"Basic abcdef.0123456789abcdef"}}, 401, ""},
		"refused for another reason": {"POST", csrs, bearer("abcdef.0123456789abcdef"), 403, "abcdef token from 192.0.2.1"},
		"nothing is answered":        {"POST", csrs, bearer("abcdef.0123456789abcdef"), 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			record := &recorded{}
			handler := registration.Observe(knownTokens{}, record)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != test.header.Get("Authorization") {
					t.Error("the request was changed")
				}
				if test.code > 0 {
					w.WriteHeader(test.code)
				}
			}))
			request := httptest.NewRequest(test.method, test.path, nil)
			request.Header = test.header.Clone()
			if request.Header == nil {
				request.Header = http.Header{}
			}
			request.RemoteAddr = "192.0.2.1:40000"
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if got := strings.Join(record.lines, "; "); got != test.want {
				t.Errorf("recorded %q, want %q", got, test.want)
			}
			if test.code > 0 && answer.Code != test.code {
				t.Errorf("answered %d", answer.Code)
			}
			told, wants := answer.Header().Get("Muster-Token-Expired"), ""
			if strings.HasSuffix(test.header.Get("Authorization"), "e.0123456789abcdef") || strings.Contains(test.want, "swept1 token MU-103") {
				wants = "2026-11-22T03:00:00Z"
			}
			if told != wants {
				t.Errorf("told that the token expired at %q, want %q", told, wants)
			}
		})
	}
}

// TestObserveLimitsStrangers: guesses must not make the hub work without end.
func TestObserveLimitsStrangers(t *testing.T) {
	record := &recorded{}
	handler := registration.Observe(knownTokens{}, record)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	for range 1000 {
		request := httptest.NewRequest(http.MethodPost, "/api", nil)
		request.Header.Set("Authorization", "Bearer zzzzzz.0123456789abcdef")
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
	if len(record.lines) > 200 {
		t.Errorf("%d of 1000 guesses were looked up", len(record.lines))
	}
}

// TestObserveKeepsWriters: watches flush and upgrades hijack through it.
func TestObserveKeepsWriters(t *testing.T) {
	for _, protocol2 := range []bool{false, true} {
		var can []string
		server := httptest.NewUnstartedServer(registration.Observe(knownTokens{}, &recorded{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			can = nil
			if _, ok := w.(http.Flusher); ok {
				can = append(can, "flush")
			}
			if _, ok := w.(http.Hijacker); ok {
				can = append(can, "hijack")
			}
		})))
		server.EnableHTTP2 = protocol2
		server.StartTLS()
		request, err := http.NewRequest(http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer abcdef.0123456789abcdef")
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		server.Close()
		want := []string{"flush", "hijack"}
		if protocol2 {
			want = want[:1]
		}
		if !slices.Equal(can, want) {
			t.Errorf("HTTP/2 %t: the writer can %v, want %v", protocol2, can, want)
		}
	}
}

// TestObserveOfHijackedConnections: an upgraded connection has no status.
func TestObserveOfHijackedConnections(t *testing.T) {
	server := httptest.NewServer(registration.Observe(knownTokens{}, &recorded{})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = connection.Write([]byte("HTTP/1.1 101 Switching Protocols\r\n\r\n"))
		_ = connection.Close()
	})))
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if _, err := connection.Write([]byte("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer abcdef.0123456789abcdef\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("%v, %v", response, err)
	}
}
