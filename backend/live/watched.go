package live

// Watched says whether anybody reads the topic now. What costs much to make need
// not be published to nobody, if it is published once somebody comes.
func (h *Hub) Watched(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	current := h.open[name]
	return current != nil && len(current.readers) > 0
}
