package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/controlplane/registry"
	"muster.dev/muster/backend/controlplane/webhook"
	"muster.dev/muster/backend/fault"
)

const (
	// apiCheck is how often an external API is asked whether it answers.
	apiCheck = 5 * time.Second
	// apiPatience bounds one such question.
	apiPatience = 10 * time.Second
	// apiPoll is how often it is asked at the start.
	apiPoll = 250 * time.Millisecond
)

// ExternalOptions say which API an External plane stands on, and what the hub
// adds to it.
type ExternalOptions struct {
	// API is how the hub reaches the existing Kubernetes API.
	API *rest.Config
	// Namespace holds the hub's own objects there: its leader's Lease and the
	// Secret its serving certificates are signed with.
	Namespace string
	// Advertise is the host:port under which members reach the API; empty: what
	// cluster-info says, else the host of API.
	Advertise string
	// CRDs holds the custom resource definitions the hub needs, at its root.
	CRDs fs.FS
	// InstallCRDs is false when somebody else, an operator, installs them: the
	// plane then waits until they are served.
	InstallCRDs bool
	// Bootstrap writes what the domains want to exist before the plane is ready;
	// may be nil. Every replica calls it.
	Bootstrap func(ctx context.Context, config *rest.Config) error
	// Webhooks are how the API asks for admission.
	Webhooks webhook.Options
	// Stateless is for a plane that only answers webhooks: if it has files to
	// serve them with, it keeps nothing in Namespace.
	Stateless bool
	// Signing is for a cluster whose own signer is off.
	Signing SigningOptions
}

// External is a plane that somebody else runs. It serves no API itself, only
// the webhooks the API calls; roles, watches and storage are the API's own.
//
//	Start (every replica): API answers → CA, namespace, kinds, Bootstrap → webhooks answer → ready
//	Lead  (the leader):    webhook configurations are written and kept; certificates are signed, or it is told that nobody does
type External struct {
	options   ExternalOptions
	client    kubernetes.Interface
	authority *servingAuthority
	webhooks  *webhook.Server

	found   atomic.Pointer[finding]
	ready   atomic.Pointer[error] // nil: starting
	serving chan struct{}
}

var _ Plane = (*External)(nil)

// finding is what the plane learns from the API.
type finding struct {
	ca      []byte
	address string
	user    string
}

// NewExternal prepares a plane on an existing API and takes the webhooks' port;
// Start connects.
func NewExternal(options ExternalOptions) (*External, error) {
	options.API = rest.CopyConfig(options.API)
	options.API.QPS = -1 // back-pressure is the server's
	client, err := kubernetes.NewForConfig(options.API)
	if err != nil {
		return nil, fmt.Errorf("build client of the existing api: %w", err)
	}
	if err := options.Signing.check(); err != nil {
		return nil, err
	}
	e := &External{options: options, client: client, serving: make(chan struct{})}
	e.authority = newServingAuthority(client, options.Namespace)
	hosts, err := webhookHosts(options.Webhooks, options.Namespace)
	if err != nil {
		return nil, err
	}
	authority := webhook.Authority{Certificate: e.Certificate(hosts), Bundle: e.authority.bundle}
	if e.webhooks, err = webhook.NewServer(options.Webhooks, authority, e.Ready); err != nil {
		return nil, err
	}
	return e, nil
}

// Config implements Plane.
func (e *External) Config() *rest.Config { return rest.CopyConfig(e.options.API) }

// Direct implements Plane: the objects are another process's.
func (e *External) Direct() *registry.Direct { return nil }

// CA implements Plane.
func (e *External) CA() []byte { return e.finding().ca }

// Serving implements Plane.
func (e *External) Serving() <-chan struct{} { return e.serving }

// Address is the host:port under which members reach the API, once it is known.
func (e *External) Address() string { return e.finding().address }

// User is the name that the API knows the hub by, once it is known.
func (e *External) User() string { return e.finding().user }

// Namespace holds the hub's own objects.
func (e *External) Namespace() string { return e.options.Namespace }

func (e *External) finding() finding {
	if found := e.found.Load(); found != nil {
		return *found
	}
	return finding{}
}

// Ready implements Plane. It also tells when the API stops answering later on.
func (e *External) Ready() error {
	state := e.ready.Load()
	if state == nil {
		return errStarting
	}
	return *state
}

// Certificate returns serving certificates for hosts, signed by an authority
// that all replicas share, for the hub's other listeners.
func (e *External) Certificate(hosts []string) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return e.authority.certificate(hosts) }
}

// Start implements Plane. Webhooks answer before Bootstrap writes: the API asks
// them about those writes too, if an earlier run left their configurations.
func (e *External) Start(ctx context.Context) error {
	if err := e.prepare(ctx); err != nil {
		closing := e.webhooks.Close()
		if ctx.Err() != nil {
			return closing // stopped while starting
		}
		return errors.Join(err, closing)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.webhooks.Start(ctx) })
	if !e.keepsNothing() {
		group.Go(func() error { return e.authority.keep(ctx) })
	}
	group.Go(func() error {
		if err := e.bootstrap(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		e.ready.Store(new(error))
		close(e.serving)
		slog.Debug("control plane ready", "address", e.options.API.Host)
		e.watchAPI(ctx)
		return nil
	})
	return group.Wait()
}

// prepare learns what the API is and fills it with the kinds that the hub needs.
func (e *External) prepare(ctx context.Context) error {
	if err := e.awaitAPI(ctx); err != nil {
		return err
	}
	found, err := e.explore(ctx)
	if err != nil {
		return err
	}
	e.found.Store(found)
	if err := e.kinds(ctx); err != nil {
		return e.explain("install its own kinds", err)
	}
	if e.keepsNothing() {
		return nil
	}
	if err := e.ensureNamespace(ctx); err != nil {
		return err
	}
	return e.explain("keep the authority of its serving certificates", e.authority.load(ctx))
}

func (e *External) keepsNothing() bool {
	return e.options.Stateless && e.options.Webhooks.CertFile != ""
}

func (e *External) bootstrap(ctx context.Context) error {
	if e.options.Bootstrap == nil {
		return nil
	}
	return e.explain("write its own objects", e.options.Bootstrap(ctx, e.Config()))
}

func (e *External) kinds(ctx context.Context) error {
	wanted, err := readCRDs(e.options.CRDs)
	if err == nil && e.options.InstallCRDs {
		err = installCRDs(ctx, e.Config(), wanted)
	}
	if err != nil {
		return err
	}
	return awaitServed(ctx, e.Config(), wanted)
}

// explain words a refusal for the hub's operator: the right is missing.
func (e *External) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	if apierrors.IsForbidden(err) {
		return fault.Forbidden("the hub may not %s: %s", what, err.Error()).
			WithFix("give " + e.finding().user + " the roles of deploy/external/rbac.yaml").Wrap(err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (e *External) ensureNamespace(ctx context.Context) error {
	name := e.options.Namespace
	_, err := e.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = e.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return e.explain("keep its namespace "+name, err)
}

// awaitAPI returns once the API answers; an API that does not know the hub is
// an error at once.
func (e *External) awaitAPI(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, apiPoll, readyLimit, true, func(ctx context.Context) (bool, error) {
		last = e.askAPI(ctx)
		return last == nil, refusedCredentials(last)
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	if apierrors.IsUnauthorized(last) {
		return fault.Unauthenticated("the existing Kubernetes API at %s does not accept the hub's credentials", e.options.API.Host).
			WithFix("check the kubeconfig given with --kubeconfig").Wrap(last)
	}
	return fault.Unavailable("the existing Kubernetes API at %s does not answer", e.options.API.Host).
		WithFix("see that it runs and that the kubeconfig names the right server and CA").Wrap(last)
}

func refusedCredentials(err error) error {
	if apierrors.IsUnauthorized(err) {
		return err
	}
	return nil
}

func (e *External) askAPI(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	var code int
	err := e.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&code).Error()
	if code == http.StatusForbidden {
		return nil // it answers, if only that
	}
	return err
}

// watchAPI keeps readiness up to date until ctx ends.
func (e *External) watchAPI(ctx context.Context) {
	ticker := time.NewTicker(apiCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		state := error(nil)
		if err := e.askAPI(ctx); err != nil && ctx.Err() == nil {
			state = fault.Unavailable("the Kubernetes API under the hub does not answer").Wrap(err)
		}
		if was := e.Ready(); (was == nil) != (state == nil) {
			slog.Warn("readiness of the api under the hub changed", "address", e.options.API.Host, "ready", state == nil)
		}
		e.ready.Store(&state)
	}
}

// explore learns who the hub is to the API, and how members reach and verify it.
func (e *External) explore(ctx context.Context) (*finding, error) {
	review, err := e.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask the api who the hub is: %w", err)
	}
	published, err := e.clusterInfo(ctx)
	if err != nil {
		return nil, err
	}
	found := &finding{user: review.Status.UserInfo.Username}
	if found.ca, err = e.findCA(ctx, published); err != nil {
		return nil, err
	}
	found.address = e.findAddress(published)
	if _, _, err := net.SplitHostPort(found.address); err != nil {
		return nil, fault.Invalid("%q is no address under which members could reach the API", found.address).WithFix("pass --advertise HOST:PORT")
	}
	return found, nil
}

// Lead does what one of several replicas does for all, until ctx ends.
func (e *External) Lead(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if e.options.Webhooks.Configure {
		group.Go(func() error {
			return e.explain("write its webhook configurations", e.webhooks.Keep(ctx, e.client, e.options.Namespace))
		})
	}
	if e.options.Signing.Sign {
		group.Go(func() error { return e.sign(ctx) })
	}
	group.Go(func() error { return e.watchSigner(ctx) })
	return group.Wait()
}
