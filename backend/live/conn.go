package live

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	requestLimit = 4 << 10 // bytes of one message of a client
	topicLimit   = 64      // topics of one reader
	authLimit    = 10 * time.Second
	writeLimit   = 10 * time.Second
)

// limits are what a connection is held to.
type limits struct {
	ping    time.Duration // between two pings
	recheck time.Duration // between two looks at the session
	silence time.Duration // of the client; browsers answer pings by themselves
	write   time.Duration // of one message, before the client counts as dead
	queue   int           // messages waiting for one reader, coalesced by row
}

var usual = limits{ping: 10 * time.Second, recheck: 30 * time.Second, silence: 45 * time.Second, write: writeLimit, queue: 1024}

// Peer is the signed-in user behind a connection.
type Peer interface {
	// Allowed tells whether the user has at least role.
	Allowed(role string) bool
	// Valid tells whether the session still stands.
	Valid(ctx context.Context) bool
	// Ended is closed when the session is revoked; nil: only Valid tells.
	Ended() <-chan struct{}
}

// connection is one browser. One goroutine writes; push only queues.
type connection struct {
	hub    *Hub
	socket *websocket.Conn
	peer   Peer
	wake   chan struct{}

	mu     sync.Mutex
	order  []string          // keys in the order they were queued
	queued map[string][]byte // the newest message of each key
	serial int               // makes keys of messages that must not coalesce
	slow   bool
	topics map[string]struct{} // read's alone
}

func (c *connection) allowed(role string) bool { return c.peer.Allowed(role) }

// push queues a message. Messages of one row coalesce to the newest, so that a
// row that changes often costs a slow reader one message; key "" never does.
func (c *connection) push(key string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slow {
		return
	}
	if key == "" {
		c.serial++
		key = "\x00" + strconv.Itoa(c.serial)
	}
	if _, waiting := c.queued[key]; waiting {
		c.remove(key)
	} else if len(c.queued) >= c.hub.limits.queue {
		c.slow = true
	}
	c.queued[key] = data
	c.order = append(c.order, key)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// remove takes a key out of the order: the newer message goes to the end, so
// that sequence numbers still rise.
func (c *connection) remove(key string) {
	for i, waiting := range c.order {
		if waiting == key {
			c.order = append(c.order[:i], c.order[i+1:]...)
			return
		}
	}
}

func (c *connection) take() (messages [][]byte, slow bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range c.order {
		messages = append(messages, c.queued[key])
	}
	c.order = c.order[:0]
	clear(c.queued)
	return messages, c.slow
}

// authenticate reads the first message; nil: the socket is to be closed.
func authenticate(socket *websocket.Conn, redeem func(ticket string) (Peer, bool)) Peer {
	socket.SetReadLimit(requestLimit)
	_ = socket.SetReadDeadline(time.Now().Add(authLimit))
	var first request
	if err := socket.ReadJSON(&first); err != nil {
		return nil
	}
	peer, ok := redeem(first.Ticket)
	if first.Type != "auth" || !ok {
		closeWith(socket, CloseSessionEnded, "the ticket is not valid")
		return nil
	}
	return peer
}

// serve runs an authenticated connection until it ends.
func (h *Hub) serve(ctx context.Context, socket *websocket.Conn, peer Peer) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c := &connection{hub: h, socket: socket, peer: peer, wake: make(chan struct{}, 1), queued: map[string][]byte{}, topics: map[string]struct{}{}}
	defer h.forget(c)
	c.push("", message{Type: "ready", Epoch: h.epoch}.encode())
	go func() {
		defer stop()
		c.read()
	}()
	c.write(ctx)
}

func (c *connection) read() {
	heard := func(string) error { return c.socket.SetReadDeadline(time.Now().Add(c.hub.limits.silence)) }
	c.socket.SetPongHandler(heard)
	for {
		_ = heard("")
		kind, data, err := c.socket.ReadMessage()
		if err != nil {
			return
		}
		var asked request
		if kind != websocket.TextMessage || json.Unmarshal(data, &asked) != nil {
			closeWith(c.socket, websocket.CloseUnsupportedData, "send JSON text")
			return
		}
		switch asked.Type {
		case "subscribe":
			if c.topics[asked.Topic] = struct{}{}; len(c.topics) > topicLimit {
				closeWith(c.socket, websocket.ClosePolicyViolation, "too many topics")
				return
			}
			c.hub.subscribe(c, asked)
		case "unsubscribe":
			delete(c.topics, asked.Topic)
			c.hub.unsubscribe(c, asked.Topic)
		default:
			c.push("", message{Type: "denied", Detail: "unknown message type"}.encode())
		}
	}
}

func (c *connection) write(ctx context.Context) {
	ping, check := time.NewTicker(c.hub.limits.ping), time.NewTicker(c.hub.limits.recheck)
	defer ping.Stop()
	defer check.Stop()
	for {
		select {
		case <-ctx.Done(): // the reader has ended
			return
		case <-c.hub.stopped:
			closeWith(c.socket, websocket.CloseGoingAway, "the hub stops")
			return
		case <-c.peer.Ended():
			closeWith(c.socket, CloseSessionEnded, "the session has ended")
			return
		case <-check.C:
			if !c.peer.Valid(ctx) {
				closeWith(c.socket, CloseSessionEnded, "the session has ended")
				return
			}
		case now := <-ping.C:
			if !c.ping(now) {
				return
			}
		case <-c.wake:
			if !c.flush() {
				return
			}
		}
	}
}

// flush writes what waits; false: the connection is to be closed.
func (c *connection) flush() bool {
	messages, slow := c.take()
	for _, data := range messages {
		if slow || c.isSlow() {
			closeWith(c.socket, CloseSlowReader, "this reader does not keep up")
			return false
		}
		if !c.send(data) {
			return false
		}
	}
	return true
}

func (c *connection) isSlow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slow
}

// ping tells the page that the hub is there, and asks the browser whether it is.
func (c *connection) ping(now time.Time) bool {
	if c.socket.WriteControl(websocket.PingMessage, nil, now.Add(c.hub.limits.write)) != nil {
		return false
	}
	return c.send(message{Type: "ping", At: now.UTC().Format(time.RFC3339Nano)}.encode())
}

func (c *connection) send(data []byte) bool {
	_ = c.socket.SetWriteDeadline(time.Now().Add(c.hub.limits.write))
	return c.socket.WriteMessage(websocket.TextMessage, data) == nil
}

func closeWith(socket *websocket.Conn, code int, why string) {
	_ = socket.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(writeLimit))
}

func newUpgrader(origins func(r *http.Request) bool) *websocket.Upgrader {
	return &websocket.Upgrader{CheckOrigin: origins, HandshakeTimeout: authLimit, ReadBufferSize: 4 << 10, WriteBufferSize: 16 << 10}
}
