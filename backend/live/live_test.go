package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gorilla/websocket"

	"muster.dev/muster/backend/live"
)

type peer struct {
	role  string
	ended chan struct{}
}

func (p peer) Allowed(role string) bool   { return role == "viewer" || p.role == role }
func (p peer) Valid(context.Context) bool { return true }
func (p peer) Ended() <-chan struct{}     { return p.ended }

type message struct {
	Type, Topic, Epoch, Op, Key string
	Seq                         uint64
	Row                         json.RawMessage
}

type site struct {
	hub    *live.Hub
	server *httptest.Server
	peer   peer
}

func newSite(t *testing.T) *site {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	s := &site{hub: live.NewHub(), peer: peer{role: "viewer", ended: make(chan struct{})}}
	s.hub.Handle("clusters", "viewer")
	s.hub.Handle("users", "admin")
	s.hub.Handle("registrations/", "viewer")
	engine := gin.New()
	s.server = httptest.NewServer(engine)
	t.Cleanup(s.server.Close)
	handler := live.NewHandler(s.hub, func(*gin.Context) live.Peer { return s.peer }, func() []string { return []string{s.server.URL} })
	handler.Routes(engine.Group("/"))
	handler.Public(engine.Group("/"))
	return s
}

func (s *site) ticket(t *testing.T) string {
	t.Helper()
	response, err := http.Post(s.server.URL+"/live/ticket", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var ticket live.Ticket
	if err := json.NewDecoder(response.Body).Decode(&ticket); err != nil {
		t.Fatal(err)
	}
	return ticket.Ticket
}

func (s *site) dial(t *testing.T, origin string) (*websocket.Conn, int) {
	t.Helper()
	socket, response, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.server.URL, "http")+"/live", http.Header{"Origin": {origin}})
	if err != nil {
		if response == nil {
			t.Fatal(err)
		}
		return nil, response.StatusCode
	}
	t.Cleanup(func() { socket.Close() })
	if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return socket, http.StatusSwitchingProtocols
}

func (s *site) open(t *testing.T) *websocket.Conn {
	t.Helper()
	socket, _ := s.dial(t, s.server.URL)
	send(t, socket, map[string]any{"type": "auth", "ticket": s.ticket(t)})
	if got := receive(t, socket); got.Type != "ready" {
		t.Fatalf("got %+v, want ready", got)
	}
	return socket
}

func send(t *testing.T, socket *websocket.Conn, value any) {
	t.Helper()
	if err := socket.WriteJSON(value); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, socket *websocket.Conn) message {
	t.Helper()
	for {
		var got message
		if err := socket.ReadJSON(&got); err != nil {
			t.Fatal(err)
		}
		if got.Type != "ping" {
			return got
		}
	}
}

func TestOriginMustBeExact(t *testing.T) {
	s := newSite(t)
	for _, origin := range []string{"", "null", "https://evil.test", s.server.URL + ".evil.test", strings.Replace(s.server.URL, "http", "https", 1)} {
		if _, status := s.dial(t, origin); status != http.StatusForbidden {
			t.Errorf("origin %q answered %d, want 403", origin, status)
		}
	}
}

func TestTicketIsGoodOnce(t *testing.T) {
	s := newSite(t)
	ticket := s.ticket(t)
	for attempt, want := range []bool{true, false} {
		socket, _ := s.dial(t, s.server.URL)
		send(t, socket, map[string]any{"type": "auth", "ticket": ticket})
		var got message
		err := socket.ReadJSON(&got)
		if (err == nil) != want {
			t.Errorf("attempt %d: %v", attempt, err)
		}
		if !want && !websocket.IsCloseError(err, live.CloseSessionEnded) {
			t.Errorf("closed with %v, want %d", err, live.CloseSessionEnded)
		}
	}
}

func TestResume(t *testing.T) {
	s := newSite(t)
	for i := range 3 {
		s.hub.Publish("clusters", live.Event{Op: live.OpUpsert, Key: fmt.Sprint(i), Row: i})
	}
	epoch, seq := s.hub.Seq("clusters")
	if seq != 3 {
		t.Fatalf("seq is %d, want 3", seq)
	}
	for _, test := range []struct {
		name  string
		epoch string
		seq   uint64
		want  []string
	}{
		{"nothing missed", epoch, 3, []string{"subscribed"}},
		{"one missed", epoch, 2, []string{"subscribed", "event 3"}},
		{"all missed", epoch, 0, []string{"subscribed", "event 1", "event 2", "event 3"}},
		{"another hub", "other", 2, []string{"subscribed", "resync"}},
		{"from the future", epoch, 9, []string{"subscribed", "resync"}},
		{"first visit", "", 0, []string{"subscribed", "event 4"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			socket := s.open(t)
			send(t, socket, map[string]any{"type": "subscribe", "topic": "clusters", "epoch": test.epoch, "seq": test.seq})
			for i, want := range test.want {
				if want == "event 4" {
					s.hub.Publish("clusters", live.Event{Op: live.OpDelete, Key: "0"})
				}
				got := receive(t, socket)
				if i == 0 && (got.Epoch != epoch || got.Topic != "clusters") {
					t.Errorf("subscribed to %+v", got)
				}
				text := got.Type
				if got.Type == "event" {
					text = fmt.Sprint("event ", got.Seq)
				}
				if text != want {
					t.Fatalf("got %s, want %s", text, want)
				}
			}
		})
	}
}

func TestTopicsAreGuarded(t *testing.T) {
	s := newSite(t)
	socket := s.open(t)
	for _, topic := range []string{"users", "nothing", "registrations/"} {
		send(t, socket, map[string]any{"type": "subscribe", "topic": topic})
		if got := receive(t, socket); got.Type != "denied" {
			t.Errorf("topic %s: got %s, want denied", topic, got.Type)
		}
	}
}

func TestRowsCoalesce(t *testing.T) {
	s := newSite(t)
	socket := s.open(t)
	epoch, seq := s.hub.Seq("clusters")
	send(t, socket, map[string]any{"type": "subscribe", "topic": "clusters", "epoch": epoch, "seq": seq})
	receive(t, socket)
	row := strings.Repeat("x", 1<<10)
	const changes = 5000 // of one row: far more than the queue takes of different ones
	for range changes {
		s.hub.Publish("clusters", live.Event{Op: live.OpUpsert, Key: "edge-7", Row: row})
	}
	for last := uint64(0); last < changes; {
		got := receive(t, socket)
		if got.Seq <= last {
			t.Fatalf("sequence fell from %d to %d", last, got.Seq)
		}
		last = got.Seq
	}
}

func TestRevokedSessionClosesSocket(t *testing.T) {
	s := newSite(t)
	socket := s.open(t)
	close(s.peer.ended)
	var got message
	if err := socket.ReadJSON(&got); !websocket.IsCloseError(err, live.CloseSessionEnded) {
		t.Errorf("closed with %v, want %d", err, live.CloseSessionEnded)
	}
}

func TestForgottenChangesAskForResync(t *testing.T) {
	s := newSite(t)
	epoch, _ := s.hub.Seq("clusters")
	for i := range 600 { // more than a topic holds
		s.hub.Publish("clusters", live.Event{Op: live.OpUpsert, Key: "a", Row: i})
	}
	socket := s.open(t)
	send(t, socket, map[string]any{"type": "subscribe", "topic": "clusters", "epoch": epoch, "seq": 50})
	for _, want := range []string{"subscribed", "resync"} {
		if got := receive(t, socket); got.Type != want || got.Seq != 600 {
			t.Fatalf("got %+v, want %s at 600", got, want)
		}
	}
}

func TestFirstMessageMustBeTheTicket(t *testing.T) {
	s := newSite(t)
	for name, first := range map[string]any{
		"no ticket":    map[string]any{"type": "auth"},
		"wrong ticket": map[string]any{"type": "auth", "ticket": "AAAAAAAAAAAAAAAAAAAAAAAAAA"},
		"too early":    map[string]any{"type": "subscribe", "topic": "clusters", "ticket": s.ticket(t)},
		"too long":     map[string]any{"type": "auth", "ticket": strings.Repeat("A", 5<<10)},
	} {
		socket, _ := s.dial(t, s.server.URL)
		send(t, socket, first)
		var got message
		if err := socket.ReadJSON(&got); err == nil {
			t.Errorf("%s: got %+v, want an end", name, got)
		}
	}
}

func TestUnsubscribe(t *testing.T) {
	s := newSite(t)
	socket := s.open(t)
	send(t, socket, map[string]any{"type": "subscribe", "topic": "clusters"})
	receive(t, socket)
	send(t, socket, map[string]any{"type": "unsubscribe", "topic": "clusters"})
	send(t, socket, map[string]any{"type": "subscribe", "topic": "registrations/a"}) // in order: its answer follows
	receive(t, socket)
	s.hub.Publish("clusters", live.Event{Op: live.OpUpsert, Key: "a", Row: 1})
	s.hub.Publish("registrations/a", live.Event{Op: live.OpUpsert, Key: "a", Row: 1})
	if got := receive(t, socket); got.Topic != "registrations/a" {
		t.Errorf("got %+v, want only the topic still subscribed", got)
	}
}

// TestStrangersDoNotLockOut opens sockets that never show a ticket.
func TestStrangersDoNotLockOut(t *testing.T) {
	s := newSite(t)
	known := s.open(t)
	var refused bool
	for range 300 {
		if _, status := s.dial(t, s.server.URL); status == http.StatusServiceUnavailable {
			refused = true
			break
		}
	}
	if !refused {
		t.Error("300 sockets without a ticket are open")
	}
	send(t, known, map[string]any{"type": "subscribe", "topic": "clusters"})
	if got := receive(t, known); got.Type != "subscribed" {
		t.Errorf("a known reader got %+v", got)
	}
}
