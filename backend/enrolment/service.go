package enrolment

import (
	"context"
	"fmt"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

// kindCluster and kindRegistration are what the audit calls what we make.
const (
	kindCluster      = "Cluster"
	kindRegistration = "Registration"
)

// Auditor records an intent, runs fn and records what came of it.
type Auditor interface {
	Do(ctx context.Context, action audit.Action, fn func(ctx context.Context) error) error
}

// Cache reads Clusters from memory; the manager's cache is one.
type Cache interface {
	client.Reader
	GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error)
}

// TokenMaker makes and revokes join tokens as the actor of ctx.
type TokenMaker interface {
	Create(ctx context.Context, spec token.Spec, placement token.Placement) (token.Created, error)
	Delete(ctx context.Context, id string) error
}

// ServiceOptions are what a Service works with.
type ServiceOptions struct {
	Cache Cache
	// Hub acts as the hub itself. It is used for what no user asked for at that
	// moment: labels of a Cluster that has appeared, taking back after a crash.
	Hub client.Client
	// Clients gives the hub API as the actor sees it.
	Clients       func(actor access.Actor) (client.Client, error)
	Audit         Auditor
	Live          registration.Publisher
	Tokens        TokenMaker
	Registrations *registration.Records
	// Policy says which member addresses REST may make the hub dial.
	Policy reach.AddressPolicy
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Service is what the dashboard and REST do to join clusters, on behalf of
// whoever acts in ctx.
type Service struct {
	ServiceOptions
	limits *limits
	tasks  joining.Tasks

	mu    sync.Mutex
	joins map[string]*running // by registration
}

// NewService returns a Service; Start lets it begin joins.
func NewService(options ServiceOptions) *Service {
	if options.Now == nil {
		options.Now = time.Now
	}
	s := &Service{ServiceOptions: options, limits: newLimits(), joins: map[string]*running{}}
	options.Registrations.OnAppeared(s.label)
	return s
}

// Start goes on with the joins that a stop of the hub interrupted, until ctx
// ends; then it waits for running ones to take back what they made.
func (s *Service) Start(ctx context.Context) error {
	informer, err := s.Cache.GetInformer(ctx, &clusterv1alpha1.Cluster{})
	if err != nil && ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return fmt.Errorf("follow clusters that join: %w", err)
	}
	s.tasks.Open(ctx)
	select {
	case <-s.Registrations.Loaded():
		if toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			s.recover(ctx)
		}
	case <-ctx.Done():
	}
	<-ctx.Done()
	s.tasks.Close()
	return nil
}

// Ready says whether joins can begin.
func (s *Service) Ready() error {
	select {
	case <-s.Registrations.Loaded():
	default:
		return fault.Unavailable("the registrations are not loaded yet")
	}
	if s.tasks.Ended() {
		return fault.Unavailable("joins cannot begin yet")
	}
	return nil
}

// as is the hub API as the actor of ctx, who must have a role.
func (s *Service) as(ctx context.Context, least access.Role) (client.Client, error) {
	if err := access.Require(ctx, least); err != nil {
		return nil, err
	}
	actor, _ := access.ActorFrom(ctx)
	hub, err := s.Clients(actor)
	if err != nil {
		return nil, fmt.Errorf("act as %s: %w", actor.Name, err)
	}
	return hub, nil
}

// label puts the labels of a registration on its Cluster.
func (s *Service) label(ctx context.Context, name string, labels map[string]string) error {
	var cluster clusterv1alpha1.Cluster
	if err := s.Hub.Get(ctx, client.ObjectKey{Name: name}, &cluster); err != nil {
		return fmt.Errorf("read cluster %s: %w", name, err)
	}
	before := cluster.DeepCopy()
	if cluster.Labels == nil {
		cluster.Labels = map[string]string{}
	}
	for key, value := range labels {
		cluster.Labels[key] = value
	}
	return s.Hub.Patch(ctx, &cluster, client.MergeFrom(before))
}
