package main

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/agent/handshake"
	"muster.dev/muster/e2e/load"
)

// fleet is all members and what they have counted.
type fleet struct {
	options  options
	log      *slog.Logger
	agents   []*agent
	ramp     *load.Ramp // of registrations, until the hub accepts them
	accepted atomic.Int64
	counters load.Counters
	latency  load.Latency
}

// agent is one member's registration agent.
type agent struct {
	*handshake.Agent
	cluster string
	began   time.Time
	through sync.Once // once the hub accepts the cluster
}

func newFleet(o options, log *slog.Logger) *fleet {
	return &fleet{options: o, log: log, ramp: load.NewRamp(o.ramp)}
}

// add makes one more agent. It does not connect.
func (f *fleet) add(cluster string, d *door) error {
	a := &agent{cluster: cluster}
	var err error
	a.Agent, err = handshake.New(handshake.Options{
		Cluster: cluster, Agent: "sim", Bootstraps: []handshake.Source{d.source(cluster)}, Store: &memory{}, Member: newMember(f.options.kubernetes),
		ExternalURLs: []string{"https://" + cluster + ".invalid:6443"}, Claims: handshake.Claims{Enabled: true, Max: handshake.DefaultMaxCustomClaims},
		Log:    f.log.With("cluster", cluster),
		Beside: func(ctx context.Context, hub handshake.Hub) error { return f.beside(ctx, a, hub) },
	})
	if err != nil {
		return err
	}
	f.agents = append(f.agents, a)
	f.ramp.Expect()
	return nil
}

// run keeps all agents running until ctx ends. Some at a time register.
func (f *fleet) run(ctx context.Context) error {
	var running errgroup.Group
	for _, a := range f.agents {
		if !f.ramp.Enter(ctx) {
			break
		}
		a.began = time.Now()
		running.Go(func() error { return a.Run(ctx) })
	}
	return running.Wait()
}

// beside is what a work agent does of what costs the hub something.
func (f *fleet) beside(ctx context.Context, a *agent, hub handshake.Hub) error {
	select {
	case <-hub.Accepted:
	case <-ctx.Done():
		return nil
	}
	a.through.Do(func() {
		f.latency.Note(time.Since(a.began))
		f.accepted.Add(1)
		f.ramp.Through()
	})
	return f.work(ctx, hub)
}

// report is what the program prints. Its counts:
//
//   - agents, accepted: what there is now
//   - hub requests: all of them, those that open a watch included
//   - VERB PATH: those that are no watch
//   - works: ManifestWorks taken on
//
// Latency is the time from the start of an agent to its being accepted.
func (f *fleet) report() load.Report {
	r := load.Report{Counts: f.counters.Counts(), Latency: f.latency.Take()}
	r.Counts["agents"], r.Counts["accepted"] = uint64(len(f.agents)), uint64(f.accepted.Load())
	return r
}
