package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/kube"
)

// staleCheck is how often the leader closes audit entries that hubs which are
// gone left open.
const staleCheck = 10 * time.Minute

// externalHub is the hub of one dialect, on an existing API. Of several replicas
// all serve REST, the dashboard and webhooks; controllers run on the leader.
type externalHub struct {
	app     *App
	manager ctrl.Manager
	managed *managedREST
	hub     client.Client // reads from the API itself
	// identity tells this replica from all others.
	identity string
	parts    []part
}

var _ upper = (*externalHub)(nil)

// newExternalHub builds domains and controllers; nothing runs yet.
func (a *App) newExternalHub() (*externalHub, error) {
	config := a.external.Config()
	warnOfAdministrator(a.external.User())
	identity := newIdentity()
	elected, err := kube.NewElectedManager(config, slog.New(sorted{slog.Default().Handler()}),
		kube.Election{Namespace: a.external.Namespace(), Name: LeaderLease, Identity: identity})
	if err != nil {
		return nil, err
	}
	hub, err := client.New(config, client.Options{Scheme: kube.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("build hub client: %w", err)
	}
	h := &externalHub{app: a, manager: elected, hub: hub, identity: identity}
	impersonator := kube.NewImpersonator(config, kube.ImpersonatorOptions{})
	clients := func(actor access.Actor) (client.Client, error) { return impersonator.As(actor) }
	if h.managed, err = a.newManaged(elected, clients); err != nil {
		return nil, err
	}
	for _, leads := range []func(context.Context) error{tellLeader, a.external.Lead, a.closeStale} {
		if err := elected.Add(manager.RunnableFunc(leads)); err != nil {
			return nil, fmt.Errorf("add what the leader does: %w", err)
		}
	}
	h.parts = []part{elected, h.managed, a.access, a.live}
	return h, nil
}

// newIdentity names a replica after its machine or pod.
func newIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "hub"
	}
	return host + "_" + strings.ToLower(rand.Text()[:12])
}

// tellLeader runs on the leader only.
func tellLeader(ctx context.Context) error {
	slog.Info("this replica acts for all")
	<-ctx.Done()
	return nil
}

// closeStale runs on the leader only.
func (a *App) closeStale(ctx context.Context) error {
	ticker := time.NewTicker(staleCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if _, err := a.audit.MarkStaleUnknown(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("open audit entries of hubs that are gone could not be closed", "error", err)
		}
	}
}

func (h *externalHub) start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.app.guardDatabase(ctx, h.hub, h.identity) })
	for _, part := range h.parts {
		group.Go(func() error { return part.Start(ctx) })
	}
	return group.Wait()
}

func (h *externalHub) wait(ctx context.Context) error {
	if !h.manager.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the controllers' caches could not be filled")
	}
	return ctx.Err()
}

// fill returns at once: wait has waited for everything.
func (h *externalHub) fill(context.Context) error { return nil }

// open makes the first administrator, whose password is kept in memory for
// Welcome and nowhere else. Of several replicas one makes it.
func (h *externalHub) open(ctx context.Context) error {
	password, created, err := h.app.access.EnsureFirstAdmin(ctx)
	if err != nil {
		return fmt.Errorf("make the first administrator: %w", err)
	}
	if created {
		h.app.first.password = password
	}
	return nil
}

func (h *externalHub) server() (*httpapi.Server, error) { return h.app.newExternalServer(h) }
