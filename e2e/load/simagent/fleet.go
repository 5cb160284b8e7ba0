package main

import (
	"context"
	"crypto/tls"
	"log/slog"
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
	ramp        *load.Ramp // of first connections, until the hub welcomes or refuses them
	counters    load.Counters
	latency     load.Latency
}

func newFleet(o options, log *slog.Logger) *fleet {
	return &fleet{options: o, log: log, interpreter: interpret.Native(), ramp: load.NewRamp(o.ramp)}
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
	f.ramp.Expect()
	return nil
}

// run keeps all links until ctx ends. A few agents at a time connect first; an
// agent whose cluster is removed from the hub stays away.
func (f *fleet) run(ctx context.Context) error {
	var links errgroup.Group
	for _, a := range f.agents {
		if !f.ramp.Enter(ctx) {
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

// report is what the program prints. Its counts:
//
//   - agents, connected, works: what there is now
//   - sessions, resumed, refused: how links began
//   - applied, removed, forgotten, synced: deliveries by their op
//   - incomplete: sessions that began with other Works than the agent's
//   - acks, confirmed, beats, malformed: frames
func (f *fleet) report() load.Report {
	r := load.Report{Counts: f.counters.Counts(), Latency: f.latency.Take()}
	r.Counts["agents"] = uint64(len(f.agents))
	for _, a := range f.agents {
		works, live := a.state()
		r.Counts["works"] += uint64(works)
		if live {
			r.Counts["connected"]++
		}
	}
	return r
}
