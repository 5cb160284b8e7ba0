package live

import (
	"crypto/rand"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gorilla/websocket"
)

const (
	ticketLifetime = 30 * time.Second
	ticketsKept    = 10_000
	// strangers is how many sockets may be open that have not shown a ticket yet.
	strangers = 256
)

// Ticket lets one WebSocket in, once, within 30 s.
type Ticket struct {
	Ticket    string    `json:"ticket"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Handler serves the ticket and the socket.
type Handler struct {
	hub      *Hub
	peer     func(*gin.Context) Peer
	origins  func() []string
	upgrader *websocket.Upgrader
	// doors are taken by sockets until they have shown a ticket.
	doors chan struct{}

	mu      sync.Mutex
	tickets map[string]issued
}

type issued struct {
	peer    Peer
	expires time.Time
}

// NewHandler returns the routes of hub. peer tells who asks for a ticket;
// origins are the exact origins a socket may be opened from.
func NewHandler(hub *Hub, peer func(*gin.Context) Peer, origins func() []string) *Handler {
	h := &Handler{hub: hub, peer: peer, origins: origins, doors: make(chan struct{}, strangers), tickets: map[string]issued{}}
	h.upgrader = newUpgrader(func(r *http.Request) bool { return slices.Contains(h.origins(), r.Header.Get("Origin")) })
	return h
}

// Routes registers the route that needs a session.
func (h *Handler) Routes(r *gin.RouterGroup) { r.POST("/live/ticket", h.ticket) }

// Public registers the socket, which the ticket guards: browsers cannot set
// headers on it, and a cookie alone is what cross-site sockets abuse.
func (h *Handler) Public(r *gin.RouterGroup) { r.GET("/live", h.socket) }

// ticket issues a one-time ticket for the WebSocket.
//
//	@ID			createLiveTicket
//	@Summary	One-time ticket for the WebSocket at /live, good for 30 s
//	@Tags		live
//	@Success	201	{object}	Ticket
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/live/ticket [post]
func (h *Handler) ticket(c *gin.Context) {
	ticket := Ticket{Ticket: rand.Text(), ExpiresAt: time.Now().Add(ticketLifetime)}
	h.mu.Lock()
	for text, old := range h.tickets {
		if time.Now().After(old.expires) || len(h.tickets) >= ticketsKept {
			delete(h.tickets, text)
		}
	}
	h.tickets[ticket.Ticket] = issued{peer: h.peer(c), expires: ticket.ExpiresAt}
	h.mu.Unlock()
	c.JSON(http.StatusCreated, ticket)
}

func (h *Handler) redeem(text string) (Peer, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, ok := h.tickets[text]
	delete(h.tickets, text)
	return found.peer, ok && time.Now().Before(found.expires)
}

// socket is the live WebSocket; the protocol is in the package's description.
//
//	@ID			openLive
//	@Summary	Live changes over a WebSocket; the first message is {"type":"auth","ticket":"…"}
//	@Tags		live
//	@Success	101
//	@Failure	default	{object}	httpapi.Problem
//	@Router		/live [get]
func (h *Handler) socket(c *gin.Context) {
	select {
	case h.doors <- struct{}{}:
	default:
		c.AbortWithStatus(http.StatusServiceUnavailable)
		return
	}
	entered := sync.OnceFunc(func() { <-h.doors })
	defer entered()
	socket, err := h.upgrader.Upgrade(c.Writer, c.Request, nil)
	if err != nil {
		return // the upgrader has answered
	}
	defer socket.Close() //nolint:errcheck // nothing left to say
	peer := authenticate(socket, h.redeem)
	entered()
	if peer != nil {
		h.hub.serve(c.Request.Context(), socket, peer)
	}
}
