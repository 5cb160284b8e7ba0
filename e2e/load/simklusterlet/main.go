// Command simklusterlet plays up to some thousands of members of Open Cluster
// Management in one process. Each is registered by the product's own registration
// agent (package agent/handshake), over a connection of its own: bootstrap identity,
// ManagedCluster and certificate request, certificate, status, lease. The members
// behind them are make-believe: they answer within the process.
//
//	simklusterlet --agents 1000 --kubeconfig .muster/admin.kubeconfig
//
// All are introduced by one token of the account agent-registration-bootstrap, which
// the program asks for. Who approves and accepts is the hub's business: start it
// with --auto-approve-users. A ManifestWork is taken on and told to be applied as
// soon as it arrives, by the two writes that the work agent makes of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/e2e/load"
)

// options are the flags.
type options struct {
	agents, ramp     int
	name, kubeconfig string
	kubernetes       string
}

func main() {
	var o options
	flag.IntVar(&o.agents, "agents", 1, "how many members to play")
	flag.IntVar(&o.ramp, "ramp", 64, "how many may be registering at once")
	flag.StringVar(&o.name, "name", "sim", "what the clusters' names begin with")
	flag.StringVar(&o.kubeconfig, "kubeconfig", ".muster/admin.kubeconfig", "the hub's administrator, who hands out the bootstrap token")
	flag.StringVar(&o.kubernetes, "kubernetes", "v1.36.3", "version the members claim to have")
	flag.Parse()
	load.Main(func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) error {
	f := newFleet(o, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	countRequests(&f.counters)
	door, err := openDoor(ctx, o.kubeconfig)
	if err != nil {
		return err
	}
	for i := range o.agents {
		if err := f.add(fmt.Sprintf("%s-%05d", o.name, i+1), door); err != nil {
			return err
		}
	}
	reports := load.NewReports(os.Stdout, f.report)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.run(ctx) })
	group.Go(func() error { return reports.StartAfter(ctx, f.ramp) })
	return group.Wait()
}
