package handshake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// DefaultHubTimeout is how long one of several hubs may stay silent.
	DefaultHubTimeout = 10 * time.Minute
	// DefaultMaxCustomClaims is how many claims beside the reserved ones are told.
	DefaultMaxCustomClaims = 20
	// requestTimeout bounds a request that is not a watch.
	requestTimeout = 10 * time.Second
)

// Options say for whom an agent registers, and where.
type Options struct {
	// Cluster is the name the hub is to know the member by. Default: that of the
	// stored identity, else a random UUID.
	Cluster string
	// Agent tells agents of one cluster apart. Default: as stored, else random.
	Agent string
	// Bootstraps say how to introduce oneself, to one hub or to several in the
	// order in which they are tried.
	Bootstraps []Source
	// Store keeps the identity.
	Store Store
	// Member reaches the member's API.
	Member *rest.Config

	// ExternalURLs are how others reach the member's API.
	ExternalURLs []string
	// Annotations are brought to the ManagedCluster when it is made; those without
	// the prefix for agents are left out.
	Annotations map[string]string
	// CertificateSeconds is the lifetime to ask for; 0 leaves it to the hub.
	CertificateSeconds int32
	// HubTimeout is how long a hub may stay silent before the next is tried, where
	// there are several. Default: DefaultHubTimeout.
	HubTimeout time.Duration
	// HubQPS and HubBurst limit requests to the hub. Default: no limit.
	HubQPS   float32
	HubBurst int

	Claims Claims
	// Addons switches the care for add-ons on.
	Addons bool

	// Beside runs whenever the agent serves a hub, until ctx ends. An error of it
	// ends serving, which then begins again.
	Beside func(ctx context.Context, hub Hub) error
	Log    *slog.Logger
}

// Claims say which claims of the member the hub is told.
type Claims struct {
	// Enabled switches ClusterClaims on, Properties also ClusterProperties.
	Enabled, Properties bool
	// Max is how many claims beside the reserved ones are told.
	Max int
	// ReservedSuffixes are ends of names that make a claim a reserved one.
	ReservedSuffixes []string
}

// Hub is a hub that the agent serves.
type Hub struct {
	// Server is its address, Cluster and Agent who the agent is there.
	Server, Cluster, Agent string
	// Config signs in with the agent's certificate.
	Config *rest.Config
	// Accepted is closed once the hub is seen to accept the cluster.
	Accepted <-chan struct{}
}

// Reasons why the agent stops serving a hub, or introducing itself there.
var (
	errSourceChanged = errors.New("the bootstrap kubeconfig has changed")
	errExpired       = errors.New("the certificate has expired")
	errRefused       = errors.New("the hub does not know the certificate any more")
	errRenewed       = errors.New("the certificate was renewed")
	errNextHub       = errors.New("it is the next hub's turn")
	errDenied        = errors.New("the hub denies the cluster")
)

// Agent registers one member. Run may be called once.
type Agent struct {
	o        Options
	log      *slog.Logger
	member   *memberWatch
	cluster  string
	agent    string
	turn     int // index of the bootstrap in use
	rotation *rotation
	health   health
}

// New returns an agent. It does not connect.
func New(o Options) (*Agent, error) {
	if len(o.Bootstraps) == 0 || o.Store == nil || o.Member == nil {
		return nil, errors.New("an agent needs a bootstrap kubeconfig, a store and a member")
	}
	if o.CertificateSeconds != 0 && o.CertificateSeconds < 3600 {
		return nil, errors.New("a certificate must be asked for one hour at least")
	}
	if o.HubTimeout == 0 {
		o.HubTimeout = DefaultHubTimeout
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	member, err := newMemberWatch(o.Member, o.Claims, o.Log)
	if err != nil {
		return nil, err
	}
	return &Agent{o: o, log: o.Log, member: member}, nil
}

// Run registers the member and serves its hub until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	watching := make(chan struct{})
	go func() { defer close(watching); a.member.run(ctx) }()
	defer func() { stop(); <-watching }()
	stored, err := a.recall(ctx)
	if err != nil {
		return err
	}
	a.turn = a.turnOf(ctx, stored)
	for pause := pauseFirst; ctx.Err() == nil; {
		began := time.Now()
		err := a.once(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errRenewed), errors.Is(err, errSourceChanged), errors.Is(err, errExpired), errors.Is(err, errRefused), errors.Is(err, errNextHub), errors.Is(err, errDenied):
			a.log.Info("registration starts over", "cluster", a.cluster, "reason", err)
			if time.Since(began) > time.Second {
				pause = pauseFirst
				continue
			}
		case err != nil:
			a.log.Warn("registration interrupted", "cluster", a.cluster, "error", err, "retry", pause)
		}
		wait(ctx, pause)
		pause = min(2*pause, pauseMost)
		if time.Since(began) > time.Minute {
			pause = pauseFirst
		}
	}
	return nil
}

const (
	pauseFirst = 100 * time.Millisecond
	pauseMost  = 10 * time.Second
)

// once goes through the phases for the hub whose turn it is.
func (a *Agent) once(ctx context.Context) error {
	source := a.o.Bootstraps[a.turn]
	bootstrap, err := source.Load(ctx)
	if err != nil {
		bootstrap = nil // an identity may do without
	}
	identity, err2 := a.o.Store.Load(ctx)
	if err2 != nil {
		return fmt.Errorf("read the identity: %w", err2)
	}
	phase, end := context.WithCancelCause(ctx)
	defer end(nil)
	go a.follow(phase, source, bootstrap, end)
	why := a.unusable(identity, bootstrap, time.Now())
	if why != "" {
		if bootstrap == nil {
			a.health.set(false, "no bootstrap kubeconfig")
			err = fmt.Errorf("read %s: %w", source, err)
			if len(a.o.Bootstraps) == 1 {
				return err
			}
			a.log.Warn("there is no way to the hub", "cluster", a.cluster, "error", err)
			return a.nextHub(ctx)
		}
		a.log.Info("introducing the cluster to the hub", "cluster", a.cluster, "hub", bootstrap.Hub.Server, "reason", why)
		if identity, err = a.introduce(phase, bootstrap); err != nil {
			return cause(phase, err)
		}
	}
	a.health.set(true, "")
	return cause(phase, a.serve(phase, identity, bootstrap, why != ""))
}

// cause prefers the reason for which a phase was ended to what that led to.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return err
}

// follow ends a phase when the bootstrap kubeconfig it began with has changed.
func (a *Agent) follow(ctx context.Context, source Source, began *Bootstrap, end context.CancelCauseFunc) {
	tick := time.NewTicker(source.Every())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := source.Load(ctx)
		if err != nil {
			continue // while it is gone, what we have goes on
		}
		if began == nil || now.Fingerprint != began.Fingerprint {
			end(errSourceChanged)
			return
		}
	}
}

// nextHub makes it the next hub's turn, if there is another that somebody knows the
// way to.
func (a *Agent) nextHub(ctx context.Context) error {
	for range a.o.Bootstraps {
		a.turn = (a.turn + 1) % len(a.o.Bootstraps)
		if _, err := a.o.Bootstraps[a.turn].Load(ctx); err == nil {
			break
		}
	}
	return errNextHub
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
