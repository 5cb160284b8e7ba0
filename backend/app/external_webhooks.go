package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/controlplane"
	"muster.dev/muster/backend/kube"
)

// Webhooks answers an existing API's questions about admission, and does nothing
// else: it has no state, so that there may be any number of them.
type Webhooks struct {
	plane   *controlplane.External
	dialect *dialect
}

// NewWebhooks takes the port of config's webhooks. Log lines go to logs.
func NewWebhooks(config Config, logs io.Writer) (*Webhooks, error) {
	startLogging(logs, config.LogLevel)
	a := &App{config: config, dialect: newDialect()}
	options, err := a.externalOptions(config.External)
	if err != nil {
		return nil, err
	}
	options.InstallCRDs, options.Webhooks.Configure, options.Stateless = false, false, true
	options.Bootstrap = func(_ context.Context, config *rest.Config) error {
		hub, err := client.New(config, client.Options{Scheme: kube.Scheme()})
		if err != nil {
			return fmt.Errorf("build hub client: %w", err)
		}
		a.dialect.useClient(hub)
		return nil
	}
	plane, err := controlplane.NewExternal(options)
	if err != nil {
		return nil, err
	}
	return &Webhooks{plane: plane, dialect: a.dialect}, nil
}

// Serving is closed once everything is answered.
func (w *Webhooks) Serving() <-chan struct{} { return w.plane.Serving() }

// Start answers until ctx ends.
func (w *Webhooks) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.plane.Start(ctx) })
	group.Go(func() error {
		select {
		case <-w.plane.Serving():
			slog.Info("webhooks served", "address", w.plane.Address())
		case <-ctx.Done():
		}
		return nil
	})
	return group.Wait()
}
