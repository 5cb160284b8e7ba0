package handshake

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// refusedFor is how long a hub may refuse the certificate (401) before the agent
// introduces itself anew.
const refusedFor = 30 * time.Second

// refused notes what the hub said instead of what it was asked for. It says whether
// the hub has refused the certificate for so long that it is not going to know it
// again: one refusal may be of an API server that has only just begun.
func (s *service) refused(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !apierrors.IsUnauthorized(err):
		s.refusing = time.Time{}
	case s.refusing.IsZero():
		s.refusing = time.Now()
	}
	return !s.refusing.IsZero() && time.Since(s.refusing) > refusedFor
}

// heardOf notes that the hub gave what it was asked for, unless it did not.
func (s *service) heardOf(err error) {
	if err == nil {
		s.mu.Lock()
		s.heard, s.refusing = time.Now(), time.Time{}
		s.mu.Unlock()
	}
}

// silence is for how long the hub has given nothing. No connection is no answer, nor
// is a refusal: that of a hub which has deleted the cluster is all there is.
func (s *service) silence() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.heard)
}

// ask looks at the own ManagedCluster if the hub was not heard for a while: it may
// have had nothing to say, and leases may be longer than the patience with it.
func (s *service) ask(ctx context.Context) {
	if s.silence() < s.o.HubTimeout/3 {
		return
	}
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := s.hub.Resource(managedClusters).Get(within, s.identity.Cluster, metav1.GetOptions{})
	s.heardOf(err)
}

// judgeHub makes it the next hub's turn when this one has turned the cluster down,
// or is silent for too long (contract 2.5, several hubs).
func (s *service) judgeHub(ctx context.Context) error {
	tick := time.NewTicker(min(s.o.HubTimeout/10, 5*time.Second))
	defer tick.Stop()
	good := time.Now()
	for {
		_, turned := s.stands.now()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-turned: // what the hub takes back, it takes at once
		}
		s.ask(ctx)
		cluster, silent := s.current(), s.silence() > s.o.HubTimeout
		switch {
		case isAccepted(cluster) && cluster.Spec.HubAcceptsClient && !silent:
			good = time.Now()
		case cluster != nil && !cluster.Spec.HubAcceptsClient && (s.wasAccepted.Load() || meta.IsStatusConditionFalse(cluster.Status.Conditions, ocmv1.ConditionHubAccepted)):
			s.log.Warn("the hub has turned the cluster down", "cluster", s.identity.Cluster, "hub", s.identity.Hub.Server)
			return s.agent.nextHub(ctx)
		case silent || time.Since(good) > s.o.HubTimeout:
			s.log.Warn("the hub is silent", "cluster", s.identity.Cluster, "hub", s.identity.Hub.Server)
			return s.agent.nextHub(ctx)
		}
	}
}
