package live

import "testing"

func TestWatched(t *testing.T) {
	hub := NewHub()
	hub.Publish("a", Event{Op: OpDelete, Key: "k"})
	if hub.Watched("a") || hub.Watched("b") {
		t.Error("nobody reads")
	}
	reader := &connection{}
	hub.mu.Lock()
	hub.topic("a").readers[reader] = struct{}{}
	hub.mu.Unlock()
	if !hub.Watched("a") {
		t.Error("somebody reads")
	}
	hub.unsubscribe(reader, "a")
	if hub.Watched("a") {
		t.Error("the reader has left")
	}
}
