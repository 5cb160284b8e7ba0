package liveness

import (
	"context"
	"net/http"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// Presence tells, while a Cluster is being removed, whether somebody can still
// take its objects out of the member.
type Presence interface {
	// Present names who would, or why nobody can.
	Present(ctx context.Context, c *clusterv1alpha1.Cluster) (present bool, who string)
	// Forget drops what is known of a cluster.
	Forget(cluster string)
}

const (
	// leaderSilence is how long the leader Lease of an unmodified agent may go
	// without renewal: an agent that cannot renew for so long gives up by itself.
	leaderSilence = 10 * time.Second
	// heartbeatSilence is the same for one without leader election.
	heartbeatSilence = 25 * time.Second
	// probeTimeout and probesFailed judge a push member that was Ready.
	presenceProbe = 3 * time.Second
	probesFailed  = 2
)

// Links knows which of our agents are connected.
type Links interface {
	// Connected tells whether the agent has a link; settled, whether a living
	// agent would have come back by now, to a hub that started or from a link
	// that broke.
	Connected(cluster string) (connected, settled bool)
}

// presences implements Presence for all sync modes.
type presences struct {
	live    client.Reader
	members *kube.Members
	links   Links
	clock   clock.PassiveClock

	mu   sync.Mutex
	seen map[string]*presenceSeen
}

type presenceSeen struct {
	probes int // failed in a row
	lease  string
	since  time.Time // when the lease was first seen as it is
}

// NewPresence returns the Presence of the hub.
func NewPresence(live client.Reader, members *kube.Members, links Links, clock clock.PassiveClock) Presence {
	return &presences{live: live, members: members, links: links, clock: clock, seen: map[string]*presenceSeen{}}
}

// Forget implements Presence.
func (p *presences) Forget(cluster string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, cluster)
}

func (p *presences) of(cluster string) *presenceSeen {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.seen[cluster]
	if known == nil {
		known = &presenceSeen{}
		p.seen[cluster] = known
	}
	return known
}

// Present implements Presence. A cluster that is not Ready is left as it is, in
// every mode (contract section 4.5).
func (p *presences) Present(ctx context.Context, c *clusterv1alpha1.Cluster) (bool, string) {
	if registration.HasOwnAgent(c) {
		connected, settled := p.links.Connected(c.Name)
		switch {
		case connected:
			return true, "the agent"
		case !settled:
			return true, "the agent, which may still come back,"
		}
		return false, "the agent is not connected"
	}
	if !meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterConditionReady) {
		return false, "the cluster is not ready"
	}
	if registration.Mirrored(c) {
		return true, "the agent" // its ManifestWorks are waited for
	}
	if c.Spec.SyncMode == clusterv1alpha1.Push {
		return p.memberAnswers(ctx, c)
	}
	return p.agentRenews(ctx, c)
}

// memberAnswers probes a push member, since Ready may be half a minute old.
func (p *presences) memberAnswers(ctx context.Context, c *clusterv1alpha1.Cluster) (bool, string) {
	known := p.of(c.Name)
	ctx, cancel := context.WithTimeout(ctx, presenceProbe)
	defer cancel()
	config, err := p.members.Config(ctx, c)
	code := 0
	if err == nil {
		code, err = kube.Probe(ctx, config)
	}
	if err == nil && code != http.StatusUnauthorized {
		known.probes = 0
		return true, "the hub"
	}
	if known.probes++; known.probes >= probesFailed {
		return false, "the member does not answer"
	}
	return true, "the hub"
}

// agentRenews watches the Leases of an unmodified agent by the hub's clock; what
// the agent writes into them comes from another one.
func (p *presences) agentRenews(ctx context.Context, c *clusterv1alpha1.Cluster) (bool, string) {
	known, silence := p.of(c.Name), leaderSilence
	state, found, err := p.leases(ctx, client.MatchingFields{"metadata.name": identity.LeaderLease(c.Name)})
	if err == nil && !found {
		silence = heartbeatSilence
		state, found, err = p.leases(ctx, client.InNamespace(apis.ClusterNamespace), client.MatchingFields{"metadata.name": c.Name})
	}
	now := p.clock.Now()
	switch {
	case err != nil:
		return true, "the agent"
	case !found:
		return false, "the agent holds no lease"
	case known.lease != state:
		known.lease, known.since = state, now
	case now.Sub(known.since) > silence:
		return false, "the agent has stopped renewing its lease"
	}
	return true, "the agent"
}

// leases condenses Leases to a text that changes with each renewal.
func (p *presences) leases(ctx context.Context, options ...client.ListOption) (state string, found bool, err error) {
	var leases coordinationv1.LeaseList
	if err := p.live.List(ctx, &leases, options...); err != nil {
		return "", false, err
	}
	for i := range leases.Items {
		state += leases.Items[i].ResourceVersion + " "
	}
	return state, len(leases.Items) > 0, nil
}
