package live

import (
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
)

// Hub numbers changes and hands them to connections.
type Hub struct {
	epoch string
	mu    sync.Mutex
	rules []rule
	open  map[string]*topic
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
	return &Hub{epoch: rand.Text()[:12], open: map[string]*topic{}}
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

// Seq returns where a topic stands; REST puts it on pages so that a client
// knows which messages a page already holds.
func (h *Hub) Seq(name string) (epoch string, seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if current := h.open[name]; current != nil {
		seq = current.seq
	}
	return h.epoch, seq
}

func (h *Hub) topic(name string) *topic {
	current := h.open[name]
	if current == nil {
		h.dropIdle()
		current = &topic{readers: map[*connection]struct{}{}, touched: time.Now()}
		h.open[name] = current
	}
	return current
}

// dropIdle forgets topics of single rows that nobody reads. Their numbers start
// anew, which a returning client's larger number tells apart.
func (h *Hub) dropIdle() {
	for name, current := range h.open {
		if strings.Contains(name, "/") && len(current.readers) == 0 && time.Since(current.touched) > idleTopic {
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
// it to fetch again when that is no longer known.
func (h *Hub) subscribe(reader *connection, asked request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	role, err := h.roleFor(asked.Topic)
	if err != nil || !reader.allowed(role) {
		detail := "this topic needs the role " + role
		if err != nil {
			detail = err.Error()
		}
		reader.push("", message{Type: "denied", Topic: asked.Topic, Detail: detail}.encode())
		return
	}
	current := h.topic(asked.Topic)
	current.readers[reader] = struct{}{}
	reader.push("", message{Type: "subscribed", Topic: asked.Topic, Epoch: h.epoch, Seq: current.seq}.encode())
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

func (h *Hub) unsubscribe(reader *connection, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if current := h.open[name]; current != nil {
		delete(current.readers, reader)
	}
}

func (h *Hub) forget(reader *connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, current := range h.open {
		delete(current.readers, reader)
	}
}
