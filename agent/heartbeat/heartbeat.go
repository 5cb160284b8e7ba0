// Package heartbeat tells the hub that the agent is alive and what its member is
// like: a beat at the pace the hub sets, the complete inventory at the begin of
// each session, afterwards only the parts that change.
package heartbeat

import (
	"context"
	"sync"
	"time"

	"muster.dev/muster/backend/agentapi"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Heart beats. Its methods may be called side by side.
type Heart struct {
	send func(agentapi.Frame)
	pace chan time.Duration

	mu    sync.Mutex
	known *clusterv1alpha1.ClusterStatus // of the member; nil until the first report
	told  *clusterv1alpha1.ClusterStatus // to the hub, in this session
	live  bool                           // a session has begun
}

// New returns a heart that sends frames with send, which must not block and may
// drop them while there is no link.
func New(send func(agentapi.Frame)) *Heart {
	return &Heart{send: send, pace: make(chan time.Duration, 1)}
}

// Start beats until ctx ends.
func (h *Heart) Start(ctx context.Context) error {
	every := agentapi.Heartbeat
	timer := time.NewTimer(every)
	defer timer.Stop()
	for sequence := uint64(1); ; {
		select {
		case <-ctx.Done():
			return nil
		case every = <-h.pace:
			timer.Reset(every)
		case <-timer.C:
			h.send(&agentapi.Beat{Sequence: sequence})
			sequence++
			timer.Reset(every)
		}
	}
}

// Begin starts a session: the hub gets everything anew.
func (h *Heart) Begin(welcome *agentapi.Welcome) {
	select {
	case <-h.pace: // an older one that was not taken
	default:
	}
	h.pace <- time.Duration(welcome.HeartbeatSeconds) * time.Second
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live, h.told = true, nil
	h.tell()
}

// Report takes the member's inventory.
func (h *Heart) Report(status clusterv1alpha1.ClusterStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known = &status
	h.tell()
}

// tell sends what the hub does not know yet. The lock is held.
func (h *Heart) tell() {
	if h.known == nil || !h.live {
		return
	}
	if h.told == nil {
		h.send(agentapi.CompleteStatus(*h.known))
	} else if delta, changed := agentapi.StatusDelta(*h.told, *h.known); changed {
		h.send(delta)
	}
	h.told = h.known
}
