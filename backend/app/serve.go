package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
)

// restartPause is waited before a hub that had to stop starts anew.
const restartPause = time.Second

// Serve runs a hub until ctx ends; serving is called when it serves for the first
// time. A replica on an existing API that could not renew its Lease, because the
// API was away or too slow, has to stop all that acts. It starts anew, and waits
// for the API as long as that takes: nobody may be there to start the process again.
func Serve(ctx context.Context, config Config, logs io.Writer, serving func(*App)) error {
	served := false
	for {
		err := serveOnce(ctx, config, logs, func(a *App) {
			if !served {
				served = true
				serving(a)
			}
		})
		if ctx.Err() != nil || !errors.Is(err, kube.ErrLeaseLost) && !(served && fault.Is(err, fault.KindUnavailable)) {
			return err
		}
		slog.Warn("the hub starts anew", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(restartPause):
		}
	}
}

// serveOnce runs a hub until it ends; serving is called before it returns, if at all.
func serveOnce(ctx context.Context, config Config, logs io.Writer, serving func(*App)) error {
	hub, err := New(config, logs)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		select {
		case <-hub.Serving():
			serving(hub)
		case <-ended:
		}
	}()
	err = hub.Start(ctx)
	close(ended)
	<-told
	slog.Info("hub stopped")
	return err
}
