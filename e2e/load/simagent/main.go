// Command simagent plays up to 10,000 muster-agents in one process, over the true
// link: a WebSocket and a client certificate each, the frames of package agentapi,
// the reconnecting of package agent/tunnel.
//
// The members behind them are make-believe: a Work is applied as soon as it
// arrives (or --delay later), and its workloads are ready at once.
//
//	simagent --agents 1000 --data-dir .muster
//
// The certificates are signed with the hub's own authority, which is read from its
// data directory: a benchmark of links need not wait for certificate requests. The
// hub makes the Clusters when the agents say hello.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/e2e/load"
)

// options are the flags.
type options struct {
	agents, ramp       int
	name, dataDir, hub string
	kubernetes         string
	delay              time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.agents, "agents", 1, "how many agents to play")
	flag.IntVar(&o.ramp, "ramp", 64, "how many may be connecting for the first time at once")
	flag.StringVar(&o.name, "name", "sim", "what the clusters' names begin with")
	flag.StringVar(&o.dataDir, "data-dir", ".muster", "data directory of the hub, for its address and its certificate authority")
	flag.StringVar(&o.hub, "hub", "", "https address of the hub, if it is not that of the data directory")
	flag.StringVar(&o.kubernetes, "kubernetes", "v1.36.3", "version the members claim to have")
	flag.DurationVar(&o.delay, "delay", 0, "how long a member takes to apply a Work")
	flag.Parse()
	load.Main(func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) error {
	authority, err := readAuthority(o.dataDir)
	if err != nil {
		return err
	}
	if o.hub != "" {
		authority.server = o.hub
	}
	f := newFleet(o, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	for i := range o.agents {
		if err := f.add(fmt.Sprintf("%s-%05d", o.name, i+1), authority); err != nil {
			return err
		}
	}
	reports := load.NewReports(os.Stdout, f.report)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.run(ctx) })
	group.Go(func() error { return f.beat(ctx) })
	group.Go(func() error { return reports.StartAfter(ctx, f.ramp) })
	return group.Wait()
}
