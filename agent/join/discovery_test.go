package join_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"muster.dev/muster/agent/join"
)

func failure(t *testing.T, err error, code string) *join.Failure {
	t.Helper()
	var f *join.Failure
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	if f.Fix == "" || strings.Contains(f.Explain(), tokenSecret) {
		t.Errorf("explanation: %s", f.Explain())
	}
	return f
}

func TestDiscover(t *testing.T) {
	h := startHub(t, nil)
	hub, err := join.Discover(t.Context(), h.address, goodToken(t), []string{"sha256:" + strings.Repeat("0", 64), h.ca.pin()})
	if err != nil {
		t.Fatal(err)
	}
	if hub.Server != "https://"+h.address || string(hub.CA) != string(h.ca.pem) || hub.Pin != h.ca.pin() {
		t.Errorf("got %+v", hub)
	}
	if !strings.Contains(h.received[1], "Muster-Token-Id: abcdef") || strings.Contains(h.received[0], tokenID) {
		t.Error("the token's id belongs into the second read and not into the first")
	}
	if h.sent(tokenSecret) {
		t.Error("discovery sent the token")
	}
}

// TestNoTokenByteLeavesBeforeThePin: whatever answers in the hub's place learns
// nothing.
func TestNoTokenByteLeavesBeforeThePin(t *testing.T) {
	right, evil := newAuthority(t), newAuthority(t)
	for name, change := range map[string]func(*hub){
		"another CA":                          func(h *hub) { h.ca, h.named, h.servedBy = evil, evil, evil },
		"the right CA named, another served":  func(h *hub) { h.ca, h.named, h.servedBy = right, right, evil },
		"the right one served, another named": func(h *hub) { h.ca, h.named, h.servedBy = right, evil, right },
		"no CA at all":                        func(h *hub) { h.ca, h.named, h.servedBy = evil, &authority{}, evil },
		"a good signature does not help either": func(h *hub) {
			h.ca, h.named, h.servedBy = evil, evil, evil
			h.sign = func(int) (string, bool) { return h.jws(tokenSecret), true }
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHub(t, change)
			_, err := join.Discover(t.Context(), h.address, goodToken(t), []string{right.pin()})
			f := failure(t, err, join.CodePin)
			if h.sent(tokenID) || h.sent(tokenSecret) || h.sent("uthorization") {
				t.Errorf("something of the token was sent:\n%s", strings.Join(h.received, "\n"))
			}
			if name == "another CA" && (!strings.Contains(f.Message, "expected "+right.pin()) || !strings.Contains(f.Message, "seen "+evil.pin())) {
				t.Errorf("the message names not both hashes: %s", f.Message)
			}
			if f.ExitCode() != 107 {
				t.Errorf("exit code %d", f.ExitCode())
			}
		})
	}
}

func TestDiscoverFailures(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*hub)
		code   string
	}{
		"unknown token": {func(h *hub) { h.knowsToken = false; h.sign = func(int) (string, bool) { return "", false } }, join.CodeTokenUnknown},
		"expired token": {func(h *hub) {
			h.knowsToken, h.expired = false, "2026-11-22T03:00:00Z"
			h.sign = func(int) (string, bool) { return "", false }
		}, join.CodeTokenExpired},
		"wrong second half": {func(h *hub) {
			h.knowsToken = false
			h.sign = func(int) (string, bool) { return h.jws("another secret!!"), true }
		}, join.CodeTokenSecret},
		"the hub's clock is late":  {func(h *hub) { h.date = time.Now().Add(-6 * time.Minute) }, join.CodeClock},
		"the hub's clock is early": {func(h *hub) { h.date = time.Now().Add(6 * time.Minute) }, join.CodeClock},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHub(t, c.change)
			_, err := join.Discover(t.Context(), h.address, goodToken(t), []string{h.ca.pin()})
			f := failure(t, err, c.code)
			if told := strings.Contains(f.Explain(), "cause: it expired at 2026-11-22T03:00:00Z\nfix:   make a new one: muster token create"); told != (c.code == join.CodeTokenExpired) {
				t.Errorf("explained as\n%s", f.Explain())
			}
		})
	}
}

// TestSignatureMayComeLate: a token made a moment ago is not signed with yet.
func TestSignatureMayComeLate(t *testing.T) {
	h := startHub(t, func(h *hub) {
		h.sign = func(n int) (string, bool) { return h.jws(tokenSecret), n > 4 }
		h.date = time.Now().Add(4 * time.Minute)
	})
	if _, err := join.Discover(t.Context(), h.address, goodToken(t), []string{h.ca.pin()}); err != nil {
		t.Error(err)
	}
}

func TestHubUnreachable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	closed.Close()
	pin := "sha256:" + strings.Repeat("0", 64)
	_, err = join.Discover(t.Context(), address, goodToken(t), []string{pin})
	if f := failure(t, err, join.CodeHubUnreachable); !strings.Contains(f.Cause, "nothing listens") {
		t.Errorf("cause %q", f.Cause)
	}
	_, err = join.Discover(t.Context(), "no-such-host.invalid:6443", goodToken(t), []string{pin})
	failure(t, err, join.CodeHubUnreachable)
}

func TestDiscoverInput(t *testing.T) {
	for _, pins := range [][]string{nil, {"sha256:xyz"}, {strings.Repeat("0", 64)}} {
		if _, err := join.Discover(t.Context(), "127.0.0.1:1", goodToken(t), pins); err == nil {
			t.Errorf("pins %v passed", pins)
		}
	}
	for _, text := range []string{"", "abcdef", "abcdef.0123", "ABCDEF.0123456789abcdef", "abcdef.0123456789abcdef0"} {
		if token, err := join.ParseToken(text); err == nil {
			t.Errorf("token %q passed as %v", text, token)
		}
	}
	if got := goodToken(t).String(); strings.Contains(got, tokenSecret) {
		t.Errorf("printed: %s", got)
	}
}
