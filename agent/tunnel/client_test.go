package tunnel_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"muster.dev/muster/agent/tunnel"
	"muster.dev/muster/backend/agentapi"
)

// patience bounds every wait for what has to happen.
const patience = time.Minute

// handler records what the hub says.
type handler struct {
	welcomes chan *agentapi.Welcome
	frames   chan agentapi.Frame
	refusals chan *agentapi.Refused
	fenced   chan struct{}
	refuse   error // of Frame
}

func newHandler() *handler {
	return &handler{welcomes: make(chan *agentapi.Welcome, 10), frames: make(chan agentapi.Frame, 100),
		refusals: make(chan *agentapi.Refused, 10), fenced: make(chan struct{}, 10)}
}

func (h *handler) Hello() *agentapi.Hello {
	return &agentapi.Hello{Protocol: 1, MinProtocol: 1, Instance: "i", ClusterID: "c"}
}
func (h *handler) Welcome(w *agentapi.Welcome) { h.welcomes <- w }
func (h *handler) Frame(f agentapi.Frame) error {
	h.frames <- f
	return h.refuse
}
func (h *handler) Refused(r *agentapi.Refused) { h.refusals <- r }
func (h *handler) Fenced()                     { h.fenced <- struct{}{} }

// bench is a client and the hub it dials: each accepted socket is handed over.
type bench struct {
	*testing.T
	handler *handler
	client  *tunnel.Client
	sockets chan *websocket.Conn
	pauses  chan time.Duration
	result  chan error
	status  int // if set, the hub answers with it
}

func start(t *testing.T, change func(*bench)) *bench {
	t.Helper()
	b := &bench{T: t, handler: newHandler(), sockets: make(chan *websocket.Conn, 10), pauses: make(chan time.Duration, 100), result: make(chan error, 1)}
	if change != nil {
		change(b)
	}
	upgrader := websocket.Upgrader{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.status != 0 || r.URL.Path != agentapi.LinkPath {
			w.WriteHeader(max(b.status, http.StatusNotFound))
			return
		}
		socket, err := upgrader.Upgrade(w, r, nil)
		if err == nil {
			b.sockets <- socket
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	var err error
	b.client, err = tunnel.New(tunnel.Options{
		Server: server.URL, CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		Certificate: func() (*tls.Certificate, error) { return &tls.Certificate{}, nil },
		Handler:     b.handler, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Wait: func(ctx context.Context, d time.Duration) {
			b.pauses <- d
			timer := time.NewTimer(5 * time.Millisecond)
			defer timer.Stop()
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { b.result <- b.client.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-b.result:
			if err != nil && !errors.Is(err, tunnel.ErrRemoved) {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("the client does not stop")
		}
	})
	return b
}

func receive[V any](t *testing.T, what string, c <-chan V) V {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("not within %s: %s", patience, what)
		panic("unreachable")
	}
}

// accept takes the next socket and its hello.
func (b *bench) accept() *websocket.Conn {
	b.Helper()
	socket := receive(b.T, "a socket", b.sockets)
	b.Cleanup(func() { socket.Close() })
	if f := b.read(socket); f.Type() != agentapi.TypeHello {
		b.Fatalf("first frame is %s", f.Type())
	}
	return socket
}

func (b *bench) read(socket *websocket.Conn) agentapi.Frame {
	b.Helper()
	_ = socket.SetReadDeadline(time.Now().Add(patience))
	_, message, err := socket.ReadMessage()
	if err != nil {
		b.Fatal(err)
	}
	f, err := agentapi.DecodeFromAgent(message)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

func (b *bench) say(socket *websocket.Conn, f agentapi.Frame) {
	b.Helper()
	message, err := agentapi.Encode(f)
	if err != nil {
		b.Fatal(err)
	}
	if err := socket.WriteMessage(websocket.TextMessage, message); err != nil {
		b.Fatal(err)
	}
}

func welcome(session uint64, deadline int) *agentapi.Welcome {
	return &agentapi.Welcome{Protocol: 1, Cluster: "edge-7", Session: session, Epoch: "e", HeartbeatSeconds: 1, DeadlineSeconds: deadline}
}

// open goes as far as the welcome.
func (b *bench) open(session uint64, deadline int) *websocket.Conn {
	b.Helper()
	socket := b.accept()
	b.say(socket, welcome(session, deadline))
	if w := receive(b.T, "the welcome", b.handler.welcomes); w.Session != session {
		b.Fatalf("welcome %+v", w)
	}
	return socket
}

func TestFramesPassBothWaysAndTheLinkComesBack(t *testing.T) {
	b := start(t, nil)
	b.client.Send(&agentapi.Beat{Sequence: 1}) // no link yet: dropped
	socket := b.open(1, 30)
	b.client.Send(&agentapi.Beat{Sequence: 2})
	if f := b.read(socket); f.(*agentapi.Beat).Sequence != 2 {
		t.Errorf("got %+v", f)
	}
	b.say(socket, &agentapi.Synced{Revision: 5})
	if f := receive(t, "synced", b.handler.frames); f.(*agentapi.Synced).Revision != 5 {
		t.Errorf("got %+v", f)
	}
	socket.Close()
	socket = b.open(2, 30)
	b.client.Send(&agentapi.Beat{Sequence: 3})
	b.read(socket)
}

func TestWaitsGrowAndAreSpread(t *testing.T) {
	b := start(t, func(b *bench) { b.status = http.StatusServiceUnavailable })
	var last time.Duration
	for i := range 8 {
		pause := receive(t, "a pause", b.pauses)
		upper := min(250*time.Millisecond<<i, 8*time.Second)
		if pause < upper/2 || pause > upper {
			t.Errorf("pause %d is %s, want %s to %s", i, pause, upper/2, upper)
		}
		last = pause
	}
	if last < 4*time.Second {
		t.Errorf("the waits do not grow: %s", last)
	}
}

func TestRefusedTakesTheHubsTime(t *testing.T) {
	b := start(t, nil)
	socket := b.accept()
	b.say(socket, &agentapi.Refused{Code: "MU-106", Message: "taken", RetrySeconds: 60})
	if r := receive(t, "the refusal", b.handler.refusals); r.Code != "MU-106" {
		t.Errorf("refused %+v", r)
	}
	if pause := receive(t, "a pause", b.pauses); pause < 30*time.Second {
		t.Errorf("comes back after %s", pause)
	}
}

// TestSuperseded: told by the hub, the agent stops writing at once and does not
// rush back.
func TestSuperseded(t *testing.T) {
	b := start(t, nil)
	socket := b.open(1, 30)
	b.say(socket, &agentapi.Refused{Code: agentapi.CodeSuperseded, Message: "another", RetrySeconds: 60})
	receive(t, "the fence", b.handler.fenced)
	if pause := receive(t, "a pause", b.pauses); pause < 30*time.Second {
		t.Errorf("comes back after %s", pause)
	}
}

func TestRemovedEndsTheClient(t *testing.T) {
	for name, welcomed := range map[string]bool{"at hello": false, "while connected": true} {
		t.Run(name, func(t *testing.T) {
			b := start(t, nil)
			var socket *websocket.Conn
			if welcomed {
				socket = b.open(1, 30)
			} else {
				socket = b.accept()
			}
			b.say(socket, &agentapi.Removed{Message: "gone"})
			err := receive(t, "the end", b.result)
			if !errors.Is(err, tunnel.ErrRemoved) {
				t.Errorf("ended with %v", err)
			}
			receive(t, "the fence", b.handler.fenced)
			b.result <- nil
		})
	}
}

// TestSilentHub: after the deadline the agent is fenced and dials again.
func TestSilentHub(t *testing.T) {
	const deadline = 2 * time.Second
	b := start(t, nil)
	heard := time.Now() // no later than the agent heard the hub
	socket := b.open(1, int(deadline/time.Second))
	// Pongs keep the link: the hub answers beats with them.
	fenced := false
	for pongs := 0; pongs < 3 && !fenced; pongs++ {
		select {
		case <-b.handler.fenced: // this test was not given the time for its pongs
			fenced = true
		case <-time.After(deadline / 2):
			now := time.Now()
			if err := socket.WriteControl(websocket.PongMessage, nil, now.Add(patience)); err == nil {
				heard = now
			}
		}
	}
	if !fenced {
		receive(t, "the fence", b.handler.fenced)
	}
	if silence := time.Since(heard); silence < deadline {
		t.Errorf("fenced %s after a word of the hub", silence)
	}
	b.open(2, 30)
}

// TestRedialOverlaps: the new link is up before the old one closes, and what the
// old one still says is ignored.
func TestRedialOverlaps(t *testing.T) {
	b := start(t, nil)
	old := b.open(1, 30)
	b.client.Redial()
	fresh := b.accept()
	b.client.Send(&agentapi.Beat{Sequence: 1}) // still over the old one
	b.read(old)
	b.say(fresh, welcome(2, 30))
	receive(t, "the welcome", b.handler.welcomes)
	_ = old.SetReadDeadline(time.Now().Add(patience))
	if _, _, err := old.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("the old link ended with %v", err)
	}
	b.client.Send(&agentapi.Beat{Sequence: 2})
	b.read(fresh)
	select {
	case <-b.handler.fenced:
		t.Error("fenced while a link was up")
	case d := <-b.pauses:
		t.Errorf("paused for %s", d)
	default:
	}
}

func TestFailedRedialKeepsTheOldLink(t *testing.T) {
	b := start(t, nil)
	old := b.open(1, 30)
	b.client.Redial()
	receive(t, "the second socket", b.sockets).Close()
	b.say(old, &agentapi.Synced{Revision: 5})
	receive(t, "synced", b.handler.frames)
}

func TestNonsenseOfTheHub(t *testing.T) {
	for name, message := range map[string]string{
		"no frame":         "hi",
		"an agent's frame": `{"type":"beat","body":{"sequence":1}}`,
		"second welcome":   `{"type":"welcome","body":{"protocol":1,"hubVersion":"","cluster":"c","clusterUID":"u","session":1,"epoch":"e","heartbeatSeconds":1,"deadlineSeconds":2}}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, nil)
			socket := b.open(1, 30)
			if err := socket.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
				t.Fatal(err)
			}
			b.open(2, 30)
		})
	}
}

// TestOnlyThePinnedCA: a hub with another certificate, valid or not, gets no
// hello.
func TestOnlyThePinnedCA(t *testing.T) {
	reached := make(chan struct{}, 1)
	impostor := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	impostor.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(io.Discard, nil), slog.LevelError)
	impostor.StartTLS()
	defer impostor.Close()
	pauses := make(chan time.Duration, 10)
	client, err := tunnel.New(tunnel.Options{Server: impostor.URL, CA: otherCA(t), Handler: newHandler(),
		Certificate: func() (*tls.Certificate, error) { return &tls.Certificate{}, nil },
		Log:         slog.New(slog.NewTextHandler(io.Discard, nil)),
		Wait:        func(ctx context.Context, d time.Duration) { pauses <- d; <-ctx.Done() }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- client.Start(ctx) }()
	receive(t, "a failed dial", pauses)
	cancel()
	<-done
	select {
	case <-reached:
		t.Error("a request reached the impostor")
	default:
	}
}
