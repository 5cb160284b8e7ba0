package loadtest

import (
	"context"
	"maps"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/rest"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// Steps of a member of Open Cluster Management on its way into a hub.
const (
	StepAnnounced = "announced" // the ManagedCluster is there
	StepAsked     = "asked"     // the certificate request is
	StepApproved  = "approved"  // somebody or a rule approved that
	StepIssued    = "issued"    // it has its certificate
	StepConsent   = "consent"   // spec.hubAcceptsClient
	StepAccepted  = "accepted"  // the hub has made what goes with that
	StepJoined    = "joined"    // the agent has seen it
	StepAvailable = "available" // and says that the member is well
)

// Joins notes when members have come how far.
type Joins struct {
	mu      sync.Mutex
	at      map[string]map[string]time.Time // by cluster and step
	count   map[string]int                  // by step
	last    map[string]time.Time            // by step
	changed chan struct{}                   // closed and replaced at every new step
}

// FollowJoins follows the members of a hub from now until ctx ends.
func FollowJoins(ctx context.Context, hub *rest.Config) (*Joins, error) {
	j := &Joins{at: map[string]map[string]time.Time{}, count: map[string]int{}, last: map[string]time.Time{}, changed: make(chan struct{})}
	if err := Watch(ctx, hub, "/apis/"+ocmv1.GroupVersion.String()+"/managedclusters", j.seeCluster); err != nil {
		return nil, err
	}
	return j, Watch(ctx, hub, "/apis/"+certificatesv1.SchemeGroupVersion.String()+"/certificatesigningrequests", j.seeRequest)
}

func (j *Joins) seeCluster(e *Event) {
	now := time.Now()
	j.note(e.Object.Metadata.Name, StepAnnounced, now, true)
	j.note(e.Object.Metadata.Name, StepConsent, now, e.Object.Spec.HubAcceptsClient)
	for step, condition := range map[string]string{StepAccepted: ocmv1.ConditionHubAccepted, StepJoined: ocmv1.ConditionJoined, StepAvailable: ocmv1.ConditionAvailable} {
		j.note(e.Object.Metadata.Name, step, now, e.True(condition))
	}
}

func (j *Joins) seeRequest(e *Event) {
	now, cluster := time.Now(), e.Object.Metadata.Labels[ocmv1.ClusterNameLabel]
	j.note(cluster, StepAsked, now, true)
	j.note(cluster, StepApproved, now, e.True(string(certificatesv1.CertificateApproved)))
	j.note(cluster, StepIssued, now, e.Object.Status.Certificate != "")
}

func (j *Joins) note(cluster, step string, now time.Time, is bool) {
	if cluster == "" || !is {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.at[cluster] == nil {
		j.at[cluster] = map[string]time.Time{}
	}
	if _, known := j.at[cluster][step]; known {
		return
	}
	j.at[cluster][step], j.last[step] = now, now
	j.count[step]++
	close(j.changed)
	j.changed = make(chan struct{})
}

// Await returns when a cluster has come to each step, as soon as it has come to one.
func (j *Joins) Await(ctx context.Context, cluster, step string) (map[string]time.Time, error) {
	for {
		j.mu.Lock()
		at, changed := maps.Clone(j.at[cluster]), j.changed
		j.mu.Unlock()
		if _, there := at[step]; there {
			return at, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return at, ctx.Err()
		}
	}
}

// AwaitCount returns when the last of so many clusters has come to a step.
func (j *Joins) AwaitCount(ctx context.Context, step string, count int) (time.Time, error) {
	for {
		j.mu.Lock()
		seen, last, changed := j.count[step], j.last[step], j.changed
		j.mu.Unlock()
		if seen >= count {
			return last, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return last, ctx.Err()
		}
	}
}
