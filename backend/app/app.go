package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/controlplane"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/policy/admission"
	"muster.dev/muster/migrations"
)

const databaseStartLimit = 30 * time.Second

// App is the hub: everything in one process.
type App struct {
	config Config
	lock   *lock
	db     *database.DB
	plane  controlplane.Plane
	// One of the two is the plane, the other is nil.
	embedded *controlplane.Embedded
	external *controlplane.External

	live   *live.Hub
	audit  *audit.Service
	access *access.Service

	// What the control plane asks before there is a control plane to answer from.
	authorizer  *identity.Authorizer
	admission   *identity.Admission
	policies    *admission.Admission
	hub         atomic.Pointer[hub]
	dialect     *dialect     // of Open Cluster Management
	confinement *confinement // of its agents, on the plane in this process

	first     firstRun
	dashboard net.Listener
	serving   chan struct{}
	working   chan struct{} // closed once all controllers are at work
	grown     func()        // ends what letGrow allows
}

// New prepares a hub: it takes the data directory and the ports, and brings the
// database up to date. Start serves. Log lines go to logs.
func New(config Config, logs io.Writer) (_ *App, err error) {
	startLogging(logs, config.LogLevel)
	for _, gate := range config.IdleGates {
		slog.Warn("feature gate has no effect", "name", gate)
	}
	a := &App{
		config: config, live: newLive(), serving: make(chan struct{}), working: make(chan struct{}),
		authorizer: identity.NewAuthorizer(), admission: identity.NewAdmission(), policies: admission.New(), dialect: newDialect(), confinement: newConfinement(),
	}
	if err := config.prepareDataDir(); err != nil {
		return nil, err
	}
	if a.lock, err = acquireLock(config.DataDir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.release())
		}
	}()
	if a.dashboard, err = net.Listen("tcp", config.DashboardListen); err != nil {
		return nil, fmt.Errorf("listen for the dashboard (--dashboard-listen): %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseStartLimit)
	defer cancel()
	if err := a.openDatabase(ctx); err != nil {
		return nil, err
	}
	if config.External != nil {
		return a, a.newExternalPlane()
	}
	if a.embedded, err = controlplane.NewEmbedded(a.planeOptions()); err != nil {
		return nil, err
	}
	a.plane = a.embedded
	return a, nil
}

func (a *App) openDatabase(ctx context.Context) (err error) {
	if a.db, err = database.Open(ctx, a.config.Database); err != nil {
		return err
	}
	if err := a.db.Migrate(ctx, migrations.FS); err != nil {
		return err
	}
	a.audit = audit.NewService(a.db, a.live)
	a.access = access.NewService(access.Options{DB: a.db, Audit: a.audit, Live: a.live})
	markOpen := a.audit.MarkOpenUnknown
	if a.shared() {
		markOpen = a.audit.MarkStaleUnknown
	}
	if _, err := markOpen(ctx); err != nil {
		return fmt.Errorf("mark the last run's open audit entries: %w", err)
	}
	return nil
}

func (a *App) release() (err error) {
	if a.dashboard != nil {
		// The server has closed it, if there was one.
		if err = a.dashboard.Close(); errors.Is(err, net.ErrClosed) {
			err = nil
		}
	}
	if a.db != nil {
		err = errors.Join(err, a.db.Close())
	}
	return errors.Join(err, a.lock.release())
}

// Serving is closed once everything serves.
func (a *App) Serving() <-chan struct{} { return a.serving }

// RegisterCommand is the complete register command with the first run's token.
func (a *App) RegisterCommand() string { return a.first.register }

// Start serves until ctx ends. The control plane starts first and stops last.
func (a *App) Start(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, a.release()) }()
	a.grown = letGrow(controlplane.StoredBytes(a.config.DataDir))
	defer a.grown()
	group, above := errgroup.WithContext(ctx)
	below, stopPlane := context.WithCancel(context.WithoutCancel(ctx))
	defer stopPlane()
	plane := make(chan error, 1)
	group.Go(func() error {
		if err := a.access.PrepareFirstAdmin(above); err != nil && above.Err() == nil {
			slog.Debug("the first password is not prepared", "error", err) // the first run makes it then
		}
		return nil
	})
	group.Go(func() error {
		go func() { plane <- a.plane.Start(below) }()
		select {
		case err := <-plane:
			plane <- err
			return err
		case <-above.Done():
			return nil
		}
	})
	group.Go(func() error {
		select {
		case <-a.plane.Serving():
			return a.startAbove(above)
		case <-above.Done():
			return nil
		}
	})
	err = group.Wait()
	stopPlane()
	return errors.Join(err, <-plane)
}

// upper is what stands on a plane.
type upper interface {
	// start runs controllers and services until ctx ends.
	start(ctx context.Context) error
	// wait returns once requests can be answered.
	wait(ctx context.Context) error
	// fill returns once all controllers are at work.
	fill(ctx context.Context) error
	// open lets those in who were to wait for that, and makes what a first run
	// needs.
	open(ctx context.Context) error
	// server builds the web server of dashboard and REST.
	server() (*httpapi.Server, error)
}

// newUpper builds what stands on this hub's plane; nothing runs yet.
func (a *App) newUpper() (upper, error) {
	if a.external != nil {
		return a.newExternalHub()
	}
	hub, err := a.newHub()
	if err != nil {
		return nil, err
	}
	return &embeddedHub{hub, a}, nil
}

// embeddedHub is the hub of both dialects, on the plane in this process.
type embeddedHub struct {
	*hub
	app *App
}

func (h *embeddedHub) open(ctx context.Context) error {
	h.app.hub.Store(h.hub)
	return h.app.firstRun(ctx, h.hub)
}

func (h *embeddedHub) server() (*httpapi.Server, error) { return h.app.newServer(h.hub) }

// startAbove runs what stands on the control plane: controllers, then the web
// server, which stops first.
func (a *App) startAbove(ctx context.Context) error {
	lower, stopLower := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLower()
	hub, err := a.newUpper()
	if err != nil {
		return err
	}
	group, inner := errgroup.WithContext(lower)
	group.Go(func() error { return hub.start(inner) })
	group.Go(func() error { return keepSmall(inner, a.working, a.grown) })
	group.Go(func() error { return a.awaitWork(inner, hub) })
	group.Go(func() error {
		defer stopLower()
		if err := hub.wait(inner); err != nil {
			return err
		}
		if err := hub.open(inner); err != nil {
			return err
		}
		server, err := hub.server()
		if err != nil {
			return err
		}
		close(a.serving)
		slog.Info("hub serving", "address", a.address())
		serverContext, stopServer := context.WithCancel(ctx)
		defer stopServer()
		defer context.AfterFunc(inner, stopServer)()
		return server.Start(serverContext)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// awaitWork tells when the hub has read what it serves only later: then agents may
// link, and controllers are at work.
func (a *App) awaitWork(ctx context.Context, hub upper) error {
	select {
	case <-a.serving:
	case <-ctx.Done():
		return nil
	}
	begin := time.Now()
	if err := hub.fill(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	close(a.working)
	slog.Info("hub at work", "after", time.Since(begin).Round(time.Millisecond).String())
	return nil
}
