package tunnel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"muster.dev/muster/backend/agentapi"
)

// ErrRemoved says that the hub has removed the cluster: the agent is not to come
// back until it is registered again.
var ErrRemoved = errors.New("the cluster was removed from the hub")

// Handler takes what the hub sends. Its methods are called from one goroutine at
// a time, Fenced possibly from another, and must not block.
type Handler interface {
	// Hello describes the agent for the next session.
	Hello() *agentapi.Hello
	// Welcome begins a session; what was kept for the hub may be sent now.
	Welcome(*agentapi.Welcome)
	// Frame takes any later frame but refusals. An error closes the link, which
	// is then dialled again.
	Frame(agentapi.Frame) error
	// Refused tells why the hub does not admit the agent.
	Refused(*agentapi.Refused)
	// Fenced says that another agent may be in charge: no more writes to the
	// member until the next Welcome.
	Fenced()
}

// Options configure a Client.
type Options struct {
	// Server is the hub's URL, https://HOST:PORT.
	Server string
	// CA holds the certificates, in PEM, that the hub must chain to.
	CA []byte
	// Certificate returns the client certificate for a new link.
	Certificate func() (*tls.Certificate, error)
	Handler     Handler
	Log         *slog.Logger
	// Wait is what backoff waits with. Default: the real clock. For tests.
	Wait func(ctx context.Context, d time.Duration)
}

// Client keeps one link to the hub open.
type Client struct {
	options Options
	url     string
	tls     *tls.Config
	redial  chan struct{}

	mu      sync.Mutex
	current *conn // nil while there is none
	fence   *time.Timer
}

// New returns a client. It does not connect.
func New(o Options) (*Client, error) {
	link, err := agentapi.LinkURL(o.Server)
	if err != nil {
		return nil, err
	}
	config, err := agentapi.LinkTLS(o.CA, o.Certificate)
	if err != nil {
		return nil, err
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Client{options: o, url: link, tls: config, redial: make(chan struct{}, 1)}
	c.fence = time.AfterFunc(agentapi.Deadline, o.Handler.Fenced)
	return c, nil
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Send queues a frame for the hub. Without a link it is dropped: what must not be
// lost is kept by its sender and sent again after Welcome.
func (c *Client) Send(f agentapi.Frame) {
	c.mu.Lock()
	current := c.current
	c.mu.Unlock()
	if current == nil {
		return
	}
	message, err := agentapi.Encode(f)
	if err != nil {
		c.options.Log.Error("frame not sent", "error", err)
		return
	}
	current.push(message)
}

// Redial opens a new link, with the certificate there is then, and closes the old
// one once the new one is welcomed.
func (c *Client) Redial() {
	select {
	case c.redial <- struct{}{}:
	default:
	}
}

// Backoff between dials. The waits are spread over their second half, so that
// agents which lost their hub together do not return together.
const (
	backoffFirst = 250 * time.Millisecond
	backoffMost  = 8 * time.Second
	// settled is how long a session must have lasted to count as a success.
	settled = 10 * time.Second
)

// Start keeps the link until ctx ends, or until the hub has removed the cluster:
// then it returns ErrRemoved.
func (c *Client) Start(ctx context.Context) error {
	defer c.fence.Stop()
	backoff := backoffFirst
	for ctx.Err() == nil {
		began := time.Now()
		next, err := c.connect(ctx)
		if err == nil {
			err = c.serve(ctx, next)
		}
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, ErrRemoved) {
			c.options.Handler.Fenced()
			return err
		}
		if time.Since(began) > settled {
			backoff = backoffFirst
		}
		pause := jitter(backoff)
		backoff = min(2*backoff, backoffMost)
		var refused *refusedError
		if errors.As(err, &refused) {
			if refused.RetrySeconds > 0 {
				pause = jitter(time.Duration(refused.RetrySeconds) * time.Second)
			}
			c.options.Log.Warn("the hub refuses the link", "code", refused.Code, "error", refused.Message, "fix", refused.Fix, "retry", pause)
		} else {
			c.options.Log.Info("no link to the hub", "error", err, "retry", pause)
		}
		c.options.Wait(ctx, pause)
	}
	return nil
}

func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// refusedError is a refusal of the hub as an error.
type refusedError struct{ *agentapi.Refused }

func (e *refusedError) Error() string { return e.Code + ": " + e.Message }

// connect dials, says hello and waits for the welcome.
func (c *Client) connect(ctx context.Context) (*conn, error) {
	dialer := websocket.Dialer{TLSClientConfig: c.tls, Proxy: http.ProxyFromEnvironment, HandshakeTimeout: agentapi.HelloTimeout,
		ReadBufferSize: 4096, WriteBufferSize: 4096}
	socket, response, err := dialer.DialContext(ctx, c.url, nil)
	if err != nil {
		return nil, dialError(response, err)
	}
	n := newConn(socket)
	stop := context.AfterFunc(ctx, func() { n.close(websocket.CloseGoingAway, "the agent stops") })
	defer stop()
	if err := c.introduce(n); err != nil {
		n.close(websocket.CloseNormalClosure, "")
		return nil, err
	}
	return n, nil
}

func dialError(response *http.Response, err error) error {
	if response == nil {
		return fmt.Errorf("dial the hub: %w", err)
	}
	switch response.StatusCode {
	case http.StatusUnauthorized:
		return errors.New("dial the hub: it does not accept the agent's certificate (HTTP 401); register again with a new token")
	case http.StatusForbidden:
		return errors.New("dial the hub: it does not let this identity open a link (HTTP 403)")
	}
	return fmt.Errorf("dial the hub: HTTP %d", response.StatusCode)
}

func (c *Client) introduce(n *conn) error {
	message, err := agentapi.Encode(c.options.Handler.Hello())
	if err != nil {
		return err
	}
	if err := n.write(message); err != nil {
		return fmt.Errorf("say hello to the hub: %w", err)
	}
	n.deadline = agentapi.Deadline
	f, err := n.read()
	if err != nil {
		return fmt.Errorf("wait for the hub's welcome: %w", err)
	}
	switch f := f.(type) {
	case *agentapi.Welcome:
		n.welcome = f
		n.deadline = time.Duration(f.DeadlineSeconds) * time.Second
		return nil
	case *agentapi.Refused:
		c.refused(f)
		return &refusedError{f}
	case *agentapi.Removed:
		return ErrRemoved
	}
	return &agentapi.MalformedError{Type: f.Type(), Reason: "welcome comes first"}
}

func (c *Client) refused(f *agentapi.Refused) {
	if f.Code == agentapi.CodeSuperseded {
		c.options.Handler.Fenced()
	}
	c.options.Handler.Refused(f)
}

// serve runs a welcomed link, and those that replace it, to its end.
func (c *Client) serve(ctx context.Context, n *conn) error {
	c.use(n)
	defer func() { c.use(nil) }()
	for {
		select {
		case <-ctx.Done():
			n.close(websocket.CloseGoingAway, "the agent stops")
			<-n.ended
			return ctx.Err()
		case <-c.redial:
			next, err := c.connect(ctx)
			if err != nil {
				c.options.Log.Warn("the new link was not opened, the old one stays", "error", err)
				continue
			}
			n.close(websocket.CloseNormalClosure, "replaced by a newer link")
			n = next
			c.use(n)
		case f := <-n.frames:
			c.heard(n)
			if err := c.take(f); err != nil {
				code := websocket.CloseNormalClosure
				var malformed *agentapi.MalformedError
				if errors.As(err, &malformed) {
					code = agentapi.CloseMalformed
				}
				n.close(code, "")
				return err
			}
		case <-n.ended:
			return n.err
		}
	}
}

// use makes a link the current one and begins its session.
func (c *Client) use(n *conn) {
	c.mu.Lock()
	c.current = n
	c.mu.Unlock()
	if n == nil {
		return
	}
	n.heard = func() { c.heard(n) }
	c.heard(n)
	c.options.Log.Info("link to the hub is open", "session", n.welcome.Session, "resumed", n.welcome.Resumed)
	n.start()
	c.options.Handler.Welcome(n.welcome)
}

// heard puts the fence off: the hub is there and regards us as its agent.
func (c *Client) heard(n *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == n {
		c.fence.Reset(n.deadline)
	}
}

func (c *Client) take(f agentapi.Frame) error {
	switch f := f.(type) {
	case *agentapi.Refused:
		c.refused(f)
		return &refusedError{f}
	case *agentapi.Removed:
		return ErrRemoved
	case *agentapi.Welcome:
		return &agentapi.MalformedError{Type: f.Type(), Reason: "not expected here"}
	}
	return c.options.Handler.Frame(f)
}
