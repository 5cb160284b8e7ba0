package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/enrolment"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
	"muster.dev/muster/backend/tunnel"
	"muster.dev/muster/backend/workload"
	"muster.dev/muster/deploy"
)

const (
	readyPoll  = 5 * time.Millisecond
	readyLimit = time.Minute
)

// hub is what stands on a serving control plane.
type hub struct {
	manager       ctrl.Manager
	judge         *identity.Authorizer
	tokens        *token.Watch
	tokenService  *token.Service
	registrations *registration.Records
	clusters      *cluster.Service
	enrolment     *enrolment.Service
	workloads     *workload.Service
	policies      *policy.Service
	link          *tunnel.Link
	manifest      *token.Manifest
	proxy         *tunnel.Proxy
	managed       *managedREST
	parts         []part
}

// part is anything of the hub that runs.
type part interface {
	Start(ctx context.Context) error
}

func newLive() *live.Hub {
	hub := live.NewHub()
	for topic, role := range map[string]access.Role{
		"clusters": access.RoleViewer, "registrations": access.RoleViewer, "registrations/": access.RoleViewer, cluster.WorksTopics: access.RoleViewer,
		policy.Topic: access.RoleViewer, workload.Topic: access.RoleViewer, workload.Topic + "/": access.RoleViewer, workload.EffectTopic: access.RoleViewer,
		token.Topic: access.RoleOperator, "audit": access.RoleViewer, "users": access.RoleAdmin,
	} {
		hub.Handle(topic, string(role))
	}
	for topic, role := range managedTopics {
		hub.Handle(topic, string(role))
	}
	return hub
}

// newHub builds domains and controllers; nothing runs yet.
func (a *App) newHub() (*hub, error) {
	config := a.plane.Config()
	manager, err := kube.NewManagerOf(config, a.sources(), slog.New(sorted{slog.Default().Handler()}))
	if err != nil {
		return nil, err
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build hub client: %w", err)
	}
	purger, err := kube.NewPurger(config)
	if err != nil {
		return nil, err
	}
	impersonator := kube.NewImpersonator(config, kube.ImpersonatorOptions{})
	clients := func(actor access.Actor) (client.Client, error) { return impersonator.As(actor) }
	members := kube.NewMembers(manager.GetAPIReader(), clock.RealClock{})

	h := &hub{manager: manager, judge: a.authorizer}
	h.tokens = token.NewWatch(clientset, a.live, func(ctx context.Context, id string) { h.registrations.TokenRevoked(ctx, id) })
	h.registrations = registration.NewRecords(registration.Options{DB: a.db, Live: a.live, Tokens: h.tokens})
	address := token.Hub{Address: a.config.Advertise, CA: a.plane.CA()}
	h.tokenService = token.NewService(token.Options{Clients: clients, Audit: a.audit, Hub: address})
	h.manifest, err = token.NewManifest(token.ManifestOptions{Secrets: manager.GetAPIReader(), Hub: address, Image: a.config.AgentImage, Templates: deploy.Join()})
	if err != nil {
		return nil, err
	}
	var clusters atomic.Pointer[cluster.Service]
	liveness, err := cluster.SetupWithManager(manager, cluster.ControllerDeps{
		Members: members, Purger: purger, Stages: h.registrations, Audit: a.audit, Authorizer: a.authorizer, Admission: a.admission,
		Changed: func(name string) {
			if service := clusters.Load(); service != nil {
				service.LinkChanged(name)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	spread, err := a.newSpread(manager, members)
	if err != nil {
		return nil, err
	}
	h.clusters = cluster.NewService(cluster.ServiceOptions{
		Cache: manager.GetCache(), Hub: manager.GetClient(), Clients: clients, Audit: a.audit, Live: a.live,
		Registrations: h.registrations, Link: liveness.Link,
	})
	h.enrolment = enrolment.NewService(enrolment.ServiceOptions{
		Cache: manager.GetCache(), Hub: manager.GetClient(), Clients: clients, Audit: a.audit, Live: a.live,
		Tokens: h.tokenService, Registrations: h.registrations, Policy: a.addressPolicy(),
	})
	clusters.Store(h.clusters)
	h.link = tunnel.NewLink(tunnel.Options{
		Client: manager.GetClient(), Store: manager.GetCache(), Liveness: liveness, Interpreters: spread.interpreter, Version: a.config.Version, Log: slog.Default(),
		ManifestWorks: true,
	})
	h.proxy = tunnel.NewProxy(members)
	h.workloads = spread.workloads(a, clients)
	h.policies, err = policy.NewService(policy.ServiceOptions{Cache: manager.GetCache(), Clients: clients, Audit: a.audit, Live: a.live, CRDs: deploy.CRDs(), Misses: spread.misses})
	if err != nil {
		return nil, err
	}
	if h.managed, err = a.newManaged(manager, clients); err != nil {
		return nil, err
	}
	if err := joinDialects(manager); err != nil {
		return nil, err
	}
	h.parts = []part{manager, h.managed, h.workloads, h.policies, h.tokens, h.registrations, h.enrolment, h.clusters, h.link, a.access, a.live}
	return h, nil
}

// first are the kinds that the hub reads before it serves: what requests of agents
// are judged by, and what a user sees first.
var first = []client.Object{&clusterv1alpha1.Cluster{}, &certificatesv1.CertificateSigningRequest{}}

// sources are where the manager reads from. What is not needed to serve is read
// once the hub serves: of thousands of clusters that takes longer than all else.
func (a *App) sources() kube.Sources {
	from := kube.Sources{Later: a.serving, First: first}
	if stored := a.plane.Direct(); stored != nil {
		from.Direct = stored
	}
	return from
}

// addressPolicy keeps REST from making the hub dial itself.
func (a *App) addressPolicy() reach.AddressPolicy {
	policy := reach.AddressPolicy{Allow: a.config.AllowMemberCIDRs}
	for _, address := range []string{a.config.Listen, a.config.DashboardListen} {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		if number, err := strconv.ParseUint(port, 10, 16); err == nil {
			policy.OwnPorts = append(policy.OwnPorts, uint16(number))
		}
	}
	return policy
}

// start runs every part until ctx ends.
func (h *hub) start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range h.parts {
		group.Go(func() error { return part.Start(ctx) })
	}
	return group.Wait()
}

// wait returns once requests can be judged and clusters be shown.
func (h *hub) wait(ctx context.Context) error {
	for _, kind := range first {
		if err := kube.Filled(ctx, h.manager.GetCache(), kind); err != nil {
			return err
		}
	}
	return h.until(ctx, h.tokens.Ready, h.managed.book.Ready, h.judge.Ready)
}

// fill returns once every cache is filled and links are accepted.
func (h *hub) fill(ctx context.Context) error {
	if !h.manager.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the controllers' caches could not be filled")
	}
	return h.until(ctx, h.link.Ready)
}

// until returns once all of several parts are ready.
func (h *hub) until(ctx context.Context, ready ...func() error) error {
	ticker, limit := time.NewTicker(readyPoll), time.NewTimer(readyLimit)
	defer ticker.Stop()
	defer limit.Stop()
	for {
		var err error
		for _, part := range ready {
			err = errors.Join(err, part())
		}
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-limit.C:
			return fmt.Errorf("start the hub: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
