package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/agent/tunnel"
	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/e2e/load"
)

// fleet is all agents and what they have counted.
type fleet struct {
	options     options
	log         *slog.Logger
	interpreter *interpret.Interpreter
	agents      []*agent
	doors       chan struct{} // as many tokens as first connections may go on at once
	welcomed    sync.WaitGroup
	counts      counters
	latency     load.Latency
}

// counters are what report tells, as they are counted.
type counters struct {
	sessions, resumed, refused, malformed     atomic.Uint64
	applied, removed, forgotten, synced, asks atomic.Uint64
	acks, confirmed, beats                    atomic.Uint64
}

func newFleet(o options, log *slog.Logger) *fleet {
	return &fleet{options: o, log: log, interpreter: interpret.Native(), doors: make(chan struct{}, max(o.ramp, 1))}
}

// add makes one more agent. It does not connect.
func (f *fleet) add(cluster string, hub *authority) error {
	certificate, err := hub.issue(cluster)
	if err != nil {
		return err
	}
	a := newAgent(f, cluster)
	a.link, err = tunnel.New(tunnel.Options{
		Server: hub.server, CA: hub.ca, Handler: a, Log: f.log.With("cluster", cluster),
		Certificate: func() (*tls.Certificate, error) { return certificate, nil },
	})
	if err != nil {
		return err
	}
	f.agents = append(f.agents, a)
	f.welcomed.Add(1)
	return nil
}

// run keeps all links until ctx ends. A few agents at a time connect first; an
// agent whose cluster is removed from the hub stays away.
func (f *fleet) run(ctx context.Context) error {
	var links errgroup.Group
	for _, a := range f.agents {
		select {
		case f.doors <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		links.Go(func() error {
			if err := a.link.Start(ctx); err != nil {
				f.log.Warn("agent ends", "cluster", a.cluster, "error", err)
			}
			return nil
		})
	}
	return links.Wait()
}

// awaitWelcomed returns once every agent has been welcomed; it is false if ctx
// ended before.
func (f *fleet) awaitWelcomed(ctx context.Context) bool {
	all := make(chan struct{})
	go func() {
		f.welcomed.Wait()
		close(all)
	}()
	select {
	case <-all:
		return true
	case <-ctx.Done():
		return false
	}
}

// slots spread the beats of all agents over the time of one.
const slots = 100

// beat lets every agent's heart beat, with one timer for all.
func (f *fleet) beat(ctx context.Context) error {
	ticker := time.NewTicker(agentapi.Heartbeat / slots)
	defer ticker.Stop()
	for slot := 0; ; slot = (slot + 1) % slots {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for i := slot; i < len(f.agents); i += slots {
			f.agents[i].beat()
		}
	}
}

// report is what the program prints.
type report struct {
	Agents    int `json:"agents"`
	Connected int `json:"connected"`
	// Works is what all agents hold.
	Works int `json:"works"`
	// Sessions counts welcomes, Resumed those that went on where the last ended.
	Sessions  uint64 `json:"sessions"`
	Resumed   uint64 `json:"resumed"`
	Refused   uint64 `json:"refused"`
	Malformed uint64 `json:"malformed"`
	// Applied, Removed and Forgotten count deliveries by their op; Incomplete counts
	// the sessions that began with other Works than the agent's.
	Applied    uint64 `json:"applied"`
	Removed    uint64 `json:"removed"`
	Forgotten  uint64 `json:"forgotten"`
	Synced     uint64 `json:"synced"`
	Incomplete uint64 `json:"incomplete"`
	Acks       uint64 `json:"acks"`
	Confirmed  uint64 `json:"confirmed"`
	Beats      uint64 `json:"beats"`
	// Latency is the time from an object's stamp to its first delivery.
	Latency load.Quantiles `json:"latency"`
}

func (f *fleet) report() report {
	c := &f.counts
	r := report{
		Agents: len(f.agents), Sessions: c.sessions.Load(), Resumed: c.resumed.Load(), Refused: c.refused.Load(), Malformed: c.malformed.Load(),
		Applied: c.applied.Load(), Removed: c.removed.Load(), Forgotten: c.forgotten.Load(), Synced: c.synced.Load(), Incomplete: c.asks.Load(),
		Acks: c.acks.Load(), Confirmed: c.confirmed.Load(), Beats: c.beats.Load(), Latency: f.latency.Take(),
	}
	for _, a := range f.agents {
		works, live := a.state()
		r.Works += works
		if live {
			r.Connected++
		}
	}
	return r
}
