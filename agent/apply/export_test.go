package apply

// Parked tells that a Work waits for the next session: nothing of it is under way.
func (w *Worker) Parked(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.parked[name]
	return ok
}
