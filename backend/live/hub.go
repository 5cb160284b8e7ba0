package live

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// ringSize is how many changes a topic holds for clients that come back.
	ringSize = 512
	// idleTopic is after how long a topic without readers and changes is dropped;
	// only topics under a prefix are, e.g. those of single registrations.
	idleTopic = 10 * time.Minute
	// openTopics is how many topics there may be: readers name those under a
	// prefix themselves.
	openTopics = 10_000
)

// Hub numbers changes and hands them to connections.
type Hub struct {
	epoch   string
	limits  limits
	stopped chan struct{} // closed when the hub stops

	mu    sync.Mutex
	rules []rule
	open  map[string]*topic
	// floor is the highest number of any topic that was dropped. Topics begin
	// there, so that no number ever means two changes of one topic.
	floor uint64
}

// rule says who may read a topic, or all topics under a prefix ending in "/".
type rule struct{ name, role string }

type topic struct {
	seq     uint64
	ring    []entry // oldest first
	readers map[*connection]struct{}
	touched time.Time
}

type entry struct {
	seq  uint64
	key  string
	data []byte
}

// NewHub returns a hub whose numbers start anew: its epoch tells clients so.
func NewHub() *Hub {
	return &Hub{epoch: rand.Text()[:12], limits: usual, stopped: make(chan struct{}), open: map[string]*topic{}}
}

// Start blocks until ctx ends and then closes all connections. It may be called
// once.
func (h *Hub) Start(ctx context.Context) error {
	<-ctx.Done()
	close(h.stopped)
	return nil
}

// Handle declares a topic that users of at least role may read. A name that
// ends in "/" declares every topic below it.
func (h *Hub) Handle(name, role string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rules = append(h.rules, rule{name, role})
}

// Publish numbers a change and hands it to the topic's readers. It never blocks.
func (h *Hub) Publish(name string, event Event) {
	row, err := json.Marshal(event.Row)
	if err != nil {
		slog.Error("live row cannot be encoded", "name", name, "error", err)
		return
	}
	if event.Row == nil {
		row = nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	current := h.topic(name)
	current.seq++
	current.touched = time.Now()
	data := message{Type: "event", Topic: name, Seq: current.seq, Op: event.Op, Key: event.Key, Row: row}.encode()
	if len(current.ring) == ringSize {
		current.ring = append(current.ring[:0], current.ring[1:]...)
	}
	current.ring = append(current.ring, entry{seq: current.seq, key: event.Key, data: data})
	for reader := range current.readers {
		reader.push(name+"\x00"+event.Key, data)
	}
}

// Wanted tells whether somebody reads a topic below a prefix, or has been given
// a page of it lately: publishing to any other would be work for nobody.
func (h *Hub) Wanted(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open[name] != nil
}

// Seq returns where a topic stands; REST puts it on pages so that a client
// knows which messages a page already holds. From then on a topic below a prefix
// is wanted.
func (h *Hub) Seq(name string) (epoch string, seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if strings.Contains(name, "/") {
		current := h.topic(name)
		current.touched = time.Now()
		return h.epoch, current.seq
	}
	if current := h.open[name]; current != nil {
		return h.epoch, current.seq
	}
	return h.epoch, h.floor
}

func (h *Hub) topic(name string) *topic {
	current := h.open[name]
	if current == nil {
		h.dropIdle()
		current = &topic{seq: h.floor, readers: map[*connection]struct{}{}, touched: time.Now()}
		h.open[name] = current
	}
	return current
}

// dropIdle forgets topics of single rows that nobody reads.
func (h *Hub) dropIdle() {
	for name, current := range h.open {
		if strings.Contains(name, "/") && len(current.readers) == 0 && time.Since(current.touched) > idleTopic {
			h.floor = max(h.floor, current.seq)
			delete(h.open, name)
		}
	}
}

// roleFor returns the least role that may read a topic.
func (h *Hub) roleFor(name string) (string, error) {
	for _, rule := range h.rules {
		below, prefix := strings.CutSuffix(rule.name, "/")
		if !prefix && rule.name == name || prefix && strings.HasPrefix(name, below+"/") && len(name) > len(rule.name) {
			return rule.role, nil
		}
	}
	return "", fmt.Errorf("there is no topic %q", name)
}

// subscribe adds a reader and sends what it missed since (epoch, seq), or asks
// it to fetch again when that is no longer known. A reader that names no epoch
// has missed nothing.
func (h *Hub) subscribe(reader *connection, asked request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if why := h.refusal(reader, asked.Topic); why != "" {
		reader.push("", message{Type: "denied", Topic: asked.Topic, Detail: why}.encode())
		return
	}
	current := h.topic(asked.Topic)
	current.readers[reader] = struct{}{}
	current.touched = time.Now()
	reader.push("", message{Type: "subscribed", Topic: asked.Topic, Epoch: h.epoch, Seq: current.seq}.encode())
	if asked.Epoch == "" {
		return
	}
	oldest := current.seq + 1
	if len(current.ring) > 0 {
		oldest = current.ring[0].seq
	}
	if asked.Epoch != h.epoch || asked.Seq > current.seq || asked.Seq+1 < oldest {
		reader.push("", message{Type: "resync", Topic: asked.Topic, Epoch: h.epoch, Seq: current.seq}.encode())
		return
	}
	for _, missed := range current.ring {
		if missed.seq > asked.Seq {
			reader.push(asked.Topic+"\x00"+missed.key, missed.data)
		}
	}
}

// refusal says why a reader may not have a topic; empty: it may.
func (h *Hub) refusal(reader *connection, name string) string {
	role, err := h.roleFor(name)
	switch {
	case err != nil:
		return err.Error()
	case !reader.allowed(role):
		return "this topic needs the role " + role
	case h.open[name] == nil && len(h.open) >= openTopics:
		return "there are too many topics"
	}
	return ""
}

func (h *Hub) unsubscribe(reader *connection, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leave(reader, name)
}

func (h *Hub) forget(reader *connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range h.open {
		h.leave(reader, name)
	}
}

// leave takes a reader off a topic, whose time without readers begins.
func (h *Hub) leave(reader *connection, name string) {
	current := h.open[name]
	if current == nil {
		return
	}
	if _, reads := current.readers[reader]; reads {
		delete(current.readers, reader)
		current.touched = time.Now()
	}
}
