package handshake

import "sync"

// health is what the health endpoint tells.
type health struct {
	mu      sync.Mutex
	serving bool
	problem string
}

func (h *health) set(serving bool, problem string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serving, h.problem = serving, problem
}

// note keeps the last problem of an agent that is not serving.
func (h *health) note(problem string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problem = problem
}

// State says whether the agent has an identity with which it serves its hub, and
// what is in the way if not.
func (a *Agent) State() (serving bool, problem string) {
	a.health.mu.Lock()
	defer a.health.mu.Unlock()
	return a.health.serving, a.health.problem
}
