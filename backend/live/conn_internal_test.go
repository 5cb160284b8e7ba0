package live

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

type testPeer struct{ invalid atomic.Bool }

func (*testPeer) Allowed(string) bool          { return true }
func (p *testPeer) Valid(context.Context) bool { return !p.invalid.Load() }
func (*testPeer) Ended() <-chan struct{}       { return nil }

// brisk are limits that a test need not wait for, and that a slow machine keeps.
var brisk = limits{ping: 20 * time.Millisecond, recheck: 50 * time.Millisecond, silence: time.Minute, write: time.Minute, queue: 1024}

// connect serves peer on hub and returns the browser's end.
func connect(t *testing.T, hub *Hub, peer Peer) *websocket.Conn {
	t.Helper()
	upgrader := newUpgrader(func(*http.Request) bool { return true })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer socket.Close()
		hub.serve(r.Context(), socket, peer)
	}))
	t.Cleanup(server.Close)
	socket, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	if err := socket.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return socket
}

func newBrisk() *Hub {
	hub := NewHub()
	hub.limits = brisk
	return hub
}

func readUntilClosed(socket *websocket.Conn) error {
	for {
		var got message
		if err := socket.ReadJSON(&got); err != nil {
			return err
		}
	}
}

// A browser that only listens stays connected: its answers to pings are enough.
func TestListenerStays(t *testing.T) {
	hub := newBrisk()
	hub.limits.silence = 3 * time.Second
	socket := connect(t, hub, &testPeer{})
	for began := time.Now(); time.Since(began) < 2*hub.limits.silence; {
		var got message
		if err := socket.ReadJSON(&got); err != nil {
			t.Fatalf("after %s: %v", time.Since(began), err)
		}
	}
}

func TestDeadBrowserIsDropped(t *testing.T) {
	hub := newBrisk()
	hub.limits.silence = 300 * time.Millisecond
	socket := connect(t, hub, &testPeer{})
	socket.SetPingHandler(func(string) error { return nil }) // it is there, but answers nothing
	if err := readUntilClosed(socket); os.IsTimeout(err) {
		t.Error("it is still connected")
	}
}

func TestSessionIsCheckedAgain(t *testing.T) {
	peer := &testPeer{}
	socket := connect(t, newBrisk(), peer)
	peer.invalid.Store(true)
	if err := readUntilClosed(socket); !websocket.IsCloseError(err, CloseSessionEnded) {
		t.Errorf("closed with %v, want %d", err, CloseSessionEnded)
	}
}

func TestStopClosesConnections(t *testing.T) {
	hub := newBrisk()
	socket := connect(t, hub, &testPeer{})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- hub.Start(ctx) }()
	stop()
	if err := readUntilClosed(socket); !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("closed with %v, want %d", err, websocket.CloseGoingAway)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A topic that was dropped begins where no number has been used: a reader that
// comes back with an old one must not take new changes for those it missed.
func TestDroppedTopicsDoNotReuseNumbers(t *testing.T) {
	hub := NewHub()
	hub.Handle("registrations/", "viewer")
	for i := range 5 {
		hub.Publish("registrations/a", Event{Op: OpUpsert, Key: "a", Row: i})
	}
	_, seen := hub.Seq("registrations/a")
	hub.open["registrations/a"].touched = time.Now().Add(-2 * idleTopic)
	hub.Publish("registrations/b", Event{Op: OpUpsert, Key: "b", Row: 0}) // drops a
	if hub.open["registrations/a"] != nil {
		t.Fatal("the idle topic is still there")
	}
	for i := range 3 {
		hub.Publish("registrations/a", Event{Op: OpUpsert, Key: "a", Row: i})
	}
	if _, seq := hub.Seq("registrations/a"); seq != seen+3 {
		t.Errorf("the topic is at %d, want %d", seq, seen+3)
	}
	for _, test := range []struct {
		seq  uint64
		want string
	}{{seen, "event"}, {seen - 2, "resync"}} {
		reader := &connection{hub: hub, peer: &testPeer{}, wake: make(chan struct{}, 1), queued: map[string][]byte{}}
		hub.subscribe(reader, request{Topic: "registrations/a", Epoch: hub.epoch, Seq: test.seq})
		messages, _ := reader.take()
		if len(messages) != 2 || !strings.Contains(string(messages[1]), test.want) {
			t.Errorf("from %d: got %s, want %s", test.seq, messages, test.want)
		}
	}
}

func TestReadersCannotMakeTopicsWithoutEnd(t *testing.T) {
	hub := NewHub()
	hub.Handle("registrations/", "viewer")
	reader := &connection{hub: hub, peer: &testPeer{}, wake: make(chan struct{}, 1), queued: map[string][]byte{}}
	for i := range openTopics + 1000 {
		hub.subscribe(reader, request{Topic: fmt.Sprint("registrations/", i)})
		reader.take()
	}
	if len(hub.open) > openTopics {
		t.Errorf("there are %d topics", len(hub.open))
	}
}

// TestSlowReaderIsClosedAlone lets one reader leave everything lying while
// another reads on: the queue of the first fills, the second misses nothing.
func TestSlowReaderIsClosedAlone(t *testing.T) {
	hub := NewHub()
	hub.limits = limits{ping: time.Hour, recheck: time.Hour, silence: time.Hour, write: time.Minute, queue: 32} // the queue alone ends it
	hub.Handle("clusters", "viewer")
	slow, quick := connect(t, hub, &testPeer{}), connect(t, hub, &testPeer{})
	for _, socket := range []*websocket.Conn{slow, quick} {
		if err := socket.WriteJSON(request{Type: "subscribe", Topic: "clusters"}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"ready", "subscribed"} {
			var got message
			if err := socket.ReadJSON(&got); err != nil || got.Type != want {
				t.Fatalf("got %+v, %v; want %s", got, err, want)
			}
		}
	}
	row := strings.Repeat("x", 256<<10)
	for i := range 160 { // 40 MB: more than sockets buffer, and the queue
		hub.Publish("clusters", Event{Op: OpUpsert, Key: fmt.Sprint(i), Row: row})
		var got message
		if err := quick.ReadJSON(&got); err != nil || got.Seq != uint64(i+1) {
			t.Fatalf("the quick reader got %s %d, %v; want event %d", got.Type, got.Seq, err, i+1)
		}
	}
	if err := readUntilClosed(slow); !websocket.IsCloseError(err, CloseSlowReader) {
		t.Errorf("the slow reader was closed with %v, want %d", err, CloseSlowReader)
	}
	if err := quick.WriteJSON(request{Type: "subscribe", Topic: "nothing"}); err != nil {
		t.Fatal(err)
	}
	var got message
	if err := quick.ReadJSON(&got); err != nil || got.Type != "denied" {
		t.Errorf("afterwards the quick reader got %+v, %v", got, err)
	}
}
