package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/controlplane/registry"
)

const (
	// compaction is for how long at least storage keeps what was; watches may begin
	// that far back.
	compaction = 5 * time.Minute
	readyPoll  = 10 * time.Millisecond
	readyLimit = 2 * time.Minute
)

// errStarting is what Ready says until everything serves.
var errStarting = errors.New("the control plane is starting")

// Embedded is the plane in this process: etcd, API server and controllers.
// Kubernetes' flags and feature gates are global, so there can be one only.
type Embedded struct {
	options Options
	pki     *PKI
	ca      []byte
	ln      net.Listener
	config  atomic.Pointer[rest.Config]
	direct  atomic.Pointer[registry.Direct]
	ready   atomic.Bool
	serving chan struct{}
}

var _ Plane = (*Embedded)(nil)

// NewEmbedded prepares key material and takes the hub API's port; Start serves.
func NewEmbedded(options Options) (*Embedded, error) {
	pki, err := NewPKI(options.DataDir)
	if err != nil {
		return nil, err
	}
	ca, err := pki.CA()
	if err != nil {
		return nil, fmt.Errorf("read certificate authority: %w", err)
	}
	hosts, err := servingHosts(options.Listen, options.Advertise)
	if err != nil {
		return nil, err
	}
	if err := pki.EnsureServing(append(hosts, options.CertHosts...)); err != nil {
		return nil, err
	}
	if _, err := pki.EnsureAdminKubeconfig(options.DataDir, options.Advertise); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", options.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for the hub API (--listen): %w", err)
	}
	return &Embedded{options: options, pki: pki, ca: ca, ln: ln, serving: make(chan struct{})}, nil
}

// Config implements Plane. It is nil until the API server has been built.
func (e *Embedded) Config() *rest.Config {
	config := e.config.Load()
	if config == nil {
		return nil
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // we share a process: back-pressure is the server's
	// The API server asks itself in protobuf, which our own kinds do not speak.
	config.ContentType, config.AcceptContentTypes = "", ""
	return config
}

// Direct implements Plane. It is nil until the API server has been built.
func (e *Embedded) Direct() *registry.Direct { return e.direct.Load() }

// CA implements Plane.
func (e *Embedded) CA() []byte { return e.ca }

// PKI is the key material, for the dashboard's certificate.
func (e *Embedded) PKI() *PKI { return e.pki }

// Serving is closed once the plane is ready for the first time.
func (e *Embedded) Serving() <-chan struct{} { return e.serving }

// Ready implements Plane.
func (e *Embedded) Ready() error {
	if !e.ready.Load() {
		return errStarting
	}
	return nil
}

// Start implements Plane. Storage outlives the API server, which outlives the
// controllers.
func (e *Embedded) Start(ctx context.Context) error {
	if err := e.run(ctx); ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return nil // stopped while starting
}

func (e *Embedded) run(ctx context.Context) error {
	defer e.ready.Store(false)
	// While the API server is built one core rests; later none does.
	kinds := sync.OnceValues(func() ([]*apiextensionsv1.CustomResourceDefinition, error) { return readCRDs(e.options.CRDs) })
	go func() { _, _ = kinds() }() // populate asks again, and hears of the error
	store, err := startStorage(ctx, e.options.DataDir)
	if err != nil {
		return errors.Join(err, e.ln.Close())
	}
	defer store.close()
	backend := registry.NewBackend(func() *clientv3.Client { return newStorageClient(store.server.Server) }, compaction)
	defer backend.Stop()
	server := &apiServer{options: e.options, pki: e.pki, storage: store, backend: backend, ln: e.ln, ready: e.Ready}
	aggregator, err := server.build(ctx)
	if err != nil {
		return err
	}
	e.direct.Store(server.direct)
	e.config.Store(aggregator.GenericAPIServer.LoopbackClientConfig)
	group, ctx := errgroup.WithContext(ctx)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group.Go(func() error { return server.run(serving, aggregator) })
	group.Go(func() error { return e.populate(ctx, kinds) })
	group.Go(func() error {
		// A controller that is being started ends the process if it finds no API.
		defer stop()
		return e.control(ctx, backend)
	})
	return group.Wait()
}

// control runs Kubernetes' own controllers until ctx ends.
func (e *Embedded) control(ctx context.Context, backend *registry.Backend) error {
	for _, begin := range []<-chan struct{}{e.serving, e.options.Later} {
		if begin == nil {
			continue
		}
		select {
		case <-begin:
		case <-ctx.Done():
			return nil
		}
	}
	loops := &controllers{config: e.Config(), pki: e.pki, backend: backend, direct: e.Direct()}
	if err := loops.start(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// populate waits for the API and fills it with what the hub needs, the definitions
// of its own kinds among it.
func (e *Embedded) populate(ctx context.Context, definitions func() ([]*apiextensionsv1.CustomResourceDefinition, error)) error {
	config := e.Config()
	if err := waitFor(ctx, config, "/livez/ping"); err != nil {
		return err
	}
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() error {
		kinds, err := definitions()
		if err != nil {
			return err
		}
		if err := installCRDs(groupContext, config, kinds); err != nil {
			return err
		}
		if err := waitFor(groupContext, config, "/readyz"); err != nil {
			return err
		}
		return awaitServed(groupContext, config, kinds)
	})
	group.Go(func() error {
		// Readiness covers the API server's caches and the bootstrap roles.
		if err := waitFor(groupContext, config, "/readyz"); err != nil {
			return err
		}
		if err := bootstrapHub(groupContext, config, e.options.Advertise, e.ca); err != nil {
			return err
		}
		if e.options.Bootstrap != nil {
			if err := e.options.Bootstrap(groupContext, config); err != nil {
				return fmt.Errorf("bootstrap the domains: %w", err)
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	e.ready.Store(true)
	close(e.serving)
	slog.Debug("control plane ready", "address", e.ln.Addr().String())
	return nil
}

// waitFor returns once the API server says ok at a path.
func waitFor(ctx context.Context, config *rest.Config, path string) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("build readiness client: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, readyPoll, readyLimit, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			return false, nil // not listening yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("wait for %s of the api server: %w", path, err)
	}
	return nil
}
