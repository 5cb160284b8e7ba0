package managedcluster

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// longestPatience bounds what a cluster can ask for.
const longestPatience = 366 * 24 * time.Hour

// patience is how long an agent may not renew (contract section 2.7).
func patience(cluster *ocmv1.ManagedCluster) time.Duration {
	seconds := int64(cluster.Spec.LeaseDurationSeconds)
	if seconds <= 0 {
		seconds = ocmv1.DefaultLeaseDurationSeconds
	}
	if seconds *= ocmv1.LeaseDurationTimes; seconds > int64(longestPatience/time.Second) {
		return longestPatience
	}
	return time.Duration(seconds) * time.Second
}

// clockState is what a cluster's last renewal says about its clock.
type clockState int

const (
	// clockUnknown: no renewal was seen yet, the condition stays as it is.
	clockUnknown clockState = iota
	clockSynced
	clockOff
)

// heartbeat is what the hub has heard of a cluster's agent.
type heartbeat struct {
	cluster   types.UID
	renewed   string // the renewal, as text
	available metav1.ConditionStatus
	// since is when it was heard last, by the hub's own clock.
	since time.Time
	clock clockState
}

// heartbeats are the last signs of life of all agents.
type heartbeats struct {
	mu   sync.Mutex
	last map[string]heartbeat // by cluster
}

func (h *heartbeats) forget(cluster string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.last, cluster)
}

func (h *heartbeats) known(cluster *ocmv1.ManagedCluster) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last[cluster.Name].cluster == cluster.UID
}

// look takes a look at a cluster and its Lease and returns what was heard last. A
// renewal counts, and so does an agent that says how its cluster is. What a first
// look finds was heard at first, a time that its caller knows better.
func (h *heartbeats) look(cluster *ocmv1.ManagedCluster, lease *coordinationv1.Lease, now, first time.Time) heartbeat {
	current := heartbeat{cluster: cluster.UID, since: now}
	if lease.Spec.RenewTime != nil {
		current.renewed = lease.Spec.RenewTime.UTC().Format(time.RFC3339Nano)
	}
	if condition := meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionAvailable); condition != nil {
		current.available = condition.Status
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.last[cluster.Name]
	current.clock = before.clock
	switch {
	case before.cluster != cluster.UID:
		current.since, current.clock = first, clockUnknown
	case before.renewed != current.renewed:
		current.clock = clockOf(lease, now, patience(cluster))
	case before.available != current.available && current.available != metav1.ConditionUnknown && current.available != "":
	default:
		current.since = before.since
	}
	h.last[cluster.Name] = current
	return current
}

// clockOf judges a renewal that has just come.
func clockOf(lease *coordinationv1.Lease, now time.Time, tolerance time.Duration) clockState {
	if lease.Spec.RenewTime == nil {
		return clockUnknown
	}
	if now.Sub(lease.Spec.RenewTime.Time).Abs() < tolerance {
		return clockSynced
	}
	return clockOff
}

// lastWritten is when a Lease was last written, by the clock of the API that keeps
// it. It is what a hub that has just started knows of an agent.
func lastWritten(lease *coordinationv1.Lease) (time.Time, bool) {
	var last time.Time
	for _, entry := range lease.ManagedFields {
		if entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last, !last.IsZero()
}

// heardSince is since when an agent is judged whose Lease was last written then. A
// Lease that is older than its cluster was left by another one of the name: the
// agent that comes now is waited for since the hub decided about its cluster.
func heardSince(cluster *ocmv1.ManagedCluster, written, now time.Time) time.Time {
	if created := cluster.CreationTimestamp.Time; written.Before(created) {
		written = created
		if decided := meta.FindStatusCondition(cluster.Status.Conditions, ocmv1.ConditionHubAccepted); decided != nil && decided.LastTransitionTime.After(created) {
			written = decided.LastTransitionTime.Time
		}
	}
	if written.After(now) {
		return now
	}
	return written
}

// clockCondition is what to say about a cluster's clock; false leaves what is
// said.
func clockCondition(cluster *ocmv1.ManagedCluster, state clockState) (metav1.Condition, bool) {
	if cluster.Annotations[ocmv1.SkipClockSyncCheckAnnotation] == "true" {
		state = clockSynced
	}
	switch state {
	case clockSynced:
		return metav1.Condition{
			Type: ocmv1.ConditionClockSynced, Status: metav1.ConditionTrue, Reason: ocmv1.ReasonClockSynced,
			Message: "The clocks of cluster and hub agree.",
		}, true
	case clockOff:
		return metav1.Condition{
			Type: ocmv1.ConditionClockSynced, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonClockOutOfSync,
			Message: "The clocks of cluster and hub differ by more than " + duration.HumanDuration(patience(cluster)) + ". Until they agree, the agent does not report.",
		}, true
	}
	return metav1.Condition{}, false
}

// silentCondition says that an agent was not heard for too long.
func silentCondition(cluster *ocmv1.ManagedCluster) metav1.Condition {
	return metav1.Condition{
		Type: ocmv1.ConditionAvailable, Status: metav1.ConditionUnknown, Reason: ocmv1.ReasonLeaseUpdateStopped,
		Message: "The agent has not renewed its lease for " + duration.HumanDuration(patience(cluster)) + ".",
	}
}
