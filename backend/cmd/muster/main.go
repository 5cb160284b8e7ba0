// Command muster is the hub: it serves the dashboard and the Kubernetes-style
// hub API, and joins, lists and removes member clusters.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"muster.dev/muster/agent/interpret"
)

func main() {
	interpret.RunSandboxIfAsked() // this binary is its own sandbox for scripts
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprint(os.Stderr, explain(err))
		os.Exit(1)
	}
}
