package tunnel

import (
	"errors"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"muster.dev/muster/backend/agentapi"
)

const (
	writeTimeout = 10 * time.Second
	// maxQueued bounds the messages that wait for a hub which does not read.
	maxQueued = 20000
)

// errSlowHub ends a link whose hub does not read.
var errSlowHub = errors.New("the hub reads too slowly")

// conn is one WebSocket with its reader and its writer.
type conn struct {
	socket   *websocket.Conn
	welcome  *agentapi.Welcome
	deadline time.Duration // without a frame or pong
	heard    func()        // called on pongs

	frames chan agentapi.Frame
	ended  chan struct{}
	err    error // once ended is closed

	wmu sync.Mutex // one writer at a time

	mu     sync.Mutex
	queue  [][]byte
	wake   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newConn(socket *websocket.Conn) *conn {
	socket.SetReadLimit(agentapi.MaxFromHub)
	return &conn{socket: socket, frames: make(chan agentapi.Frame), ended: make(chan struct{}),
		wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

// start begins to read and write by itself. The welcome has been read.
func (n *conn) start() {
	n.socket.SetPongHandler(func(string) error {
		n.extend()
		n.heard()
		return nil
	})
	go n.writeLoop()
	go n.readLoop()
}

func (n *conn) extend() { _ = n.socket.SetReadDeadline(time.Now().Add(n.deadline)) }

func (n *conn) read() (agentapi.Frame, error) {
	n.extend()
	kind, message, err := n.socket.ReadMessage()
	if err != nil {
		return nil, err
	}
	if kind != websocket.TextMessage {
		return nil, &agentapi.MalformedError{Reason: "not a text message"}
	}
	return agentapi.DecodeFromHub(message)
}

func (n *conn) readLoop() {
	defer close(n.ended)
	for {
		f, err := n.read()
		if err != nil {
			n.err = err
			n.close(websocket.CloseNormalClosure, "")
			return
		}
		select {
		case n.frames <- f:
		case <-n.closed:
			n.err = websocket.ErrCloseSent
			return
		}
	}
}

// push queues a message.
func (n *conn) push(message []byte) {
	n.mu.Lock()
	full := len(n.queue) >= maxQueued
	if !full {
		n.queue = append(n.queue, message)
	}
	n.mu.Unlock()
	if full {
		n.close(agentapi.CloseSlow, errSlowHub.Error())
		return
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *conn) writeLoop() {
	for {
		n.mu.Lock()
		batch := n.queue
		n.queue = nil
		n.mu.Unlock()
		for _, message := range batch {
			if err := n.write(message); err != nil {
				n.close(websocket.CloseNormalClosure, "")
				return
			}
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-n.wake:
		case <-n.closed:
			return
		}
	}
}

func (n *conn) write(message []byte) error {
	n.wmu.Lock()
	defer n.wmu.Unlock()
	_ = n.socket.SetWriteDeadline(time.Now().Add(writeTimeout))
	return n.socket.WriteMessage(websocket.TextMessage, message)
}

// close says goodbye and ends the link. It may be called more than once.
func (n *conn) close(code int, why string) {
	n.once.Do(func() {
		_ = n.socket.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(time.Second))
		close(n.closed)
		_ = n.socket.Close()
	})
}
