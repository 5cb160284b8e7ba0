package load

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a program until it ends or is told to.
func Main(run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}
