// Command muster-agent joins a cluster to a Muster hub and serves it from within.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"muster.dev/muster/agent"
	"muster.dev/muster/agent/interpret"
)

// version is set by the build.
var version = "dev"

func main() {
	interpret.RunSandboxIfAsked() // this binary is its own sandbox for scripts
	agent.Version = version
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	os.Exit(report(os.Stderr, err))
}
