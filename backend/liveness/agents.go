package liveness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"muster.dev/muster/backend/agentapi"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// Agents know, from the links of our agents, which clusters are alive. They
// keep that in memory and write a Cluster only when something has changed: at
// rest, a connected agent costs no write.
//
//	          Joined                    a frame
//	(none) ────────────► heard ◄──────────────────────┐
//	                       │ 15 s without a frame     │
//	                       └────────► silent ─────────┘
//	                                Ready=Unknown    Ready as last reported
//
// Whether the socket is open is another matter: Lost is shown at once, but a
// cluster whose link broke has its 15 seconds to come back.
type Agents struct {
	hub     client.Client
	live    client.Reader
	stages  registration.StageRecorder
	audit   Auditor
	changed func(cluster string)
	barred  func(cluster string) bool
	clock   clock.WithTicker

	queue workqueue.TypedRateLimitingInterface[string]
	wake  chan struct{} // an earlier deadline than the one waited for may be there

	mu      sync.Mutex
	started time.Time // when Start began to wait for agents
	agents  map[string]*agentState
}

// agentState is what the links told of one cluster. Its fields are guarded by
// Agents.mu, except those behind write.
type agentState struct {
	uid    types.UID // of the Cluster it joined as; empty until it has joined
	link   LinkState
	heard  time.Time // the last frame, by the hub's monotonic clock
	silent bool
	// stopped tells that the agent itself ended its last link because it stops.
	stopped bool
	// reported is the last inventory, nil before the first since the hub started.
	reported *clusterv1alpha1.ClusterStatus
	// write lets one write of the Cluster's status happen at a time.
	write sync.Mutex
}

// LinkState is the link of one agent as it is shown.
type LinkState struct {
	Connected bool `json:"connected"`
	// Since is when the link was opened or lost.
	Since time.Time `json:"since"`
	// Address the agent connected from, Version of the agent; they stay when the
	// link is lost.
	Address string `json:"address,omitempty" validate:"optional"`
	Version string `json:"version,omitempty" validate:"optional"`
} // @name cluster.LinkState

// AgentsDeps are what Agents work with.
type AgentsDeps struct {
	// Live reads from the API itself.
	Live client.Reader
	// Stages keeps the record of registrations.
	Stages registration.StageRecorder
	// Audit records the Clusters that agents bring; nil: nothing is recorded.
	Audit Auditor
	// Changed is told of each change of a link or of a written status. It must
	// not block.
	Changed func(cluster string)
	// Barred tells that a cluster was removed and has not been registered again;
	// may be nil.
	Barred func(cluster string) bool
	// Clock is the real one unless a test says otherwise.
	Clock clock.WithTicker
}

// Auditor records an intent, runs fn and records what came of it.
type Auditor interface {
	Do(ctx context.Context, action audit.Action, fn func(ctx context.Context) error) error
}

// noAudit is the Auditor that records nothing.
type noAudit struct{}

// Do implements Auditor.
func (noAudit) Do(ctx context.Context, _ audit.Action, do func(ctx context.Context) error) error {
	return do(ctx)
}

// livenessWorkers is how many Clusters are written at the same time when many
// agents fall silent at once.
const livenessWorkers = 8

// NewAgents returns Agents that write to the hub.
func NewAgents(hub client.Client, deps AgentsDeps) *Agents {
	if deps.Clock == nil {
		deps.Clock = clock.RealClock{}
	}
	if deps.Changed == nil {
		deps.Changed = func(string) {}
	}
	if deps.Audit == nil {
		deps.Audit = noAudit{}
	}
	if deps.Barred == nil {
		deps.Barred = func(string) bool { return false }
	}
	return &Agents{
		hub: hub, live: deps.Live, stages: deps.Stages, audit: deps.Audit, changed: deps.Changed, barred: deps.Barred, clock: deps.Clock,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "liveness", Clock: deps.Clock}),
		wake: make(chan struct{}, 1), agents: map[string]*agentState{},
	}
}

// SetupWithManager starts Agents with the manager.
func (l *Agents) SetupWithManager(m ctrl.Manager) error { return m.Add(l) }

// Start watches deadlines until ctx ends. Clusters that were served before the
// hub started count from now: their agents have as long to come back as any.
func (l *Agents) Start(ctx context.Context) error {
	if err := l.expectAll(ctx); err != nil {
		return err
	}
	var workers sync.WaitGroup
	for range livenessWorkers {
		workers.Go(func() { l.work(ctx) })
	}
	defer workers.Wait()
	defer l.queue.ShutDown()
	for {
		timer := l.clock.NewTimer(l.nextDeadline())
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-l.wake:
			timer.Stop()
		case <-timer.C():
		}
		for _, cluster := range l.findSilent() {
			l.queue.Add(cluster)
		}
	}
}

func (l *Agents) expectAll(ctx context.Context) error {
	var clusters clusterv1alpha1.ClusterList
	if err := l.hub.List(ctx, &clusters); err != nil {
		return fmt.Errorf("list clusters of agents: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.started = now
	for i := range clusters.Items {
		c := &clusters.Items[i]
		if !registration.HasOwnAgent(c) || c.DeletionTimestamp != nil || l.agents[c.Name] != nil {
			continue
		}
		l.agents[c.Name] = &agentState{heard: now, link: LinkState{Since: now}}
	}
	return nil
}

// nextDeadline is how long nobody can fall silent.
func (l *Agents) nextDeadline() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, next := l.clock.Now(), agentapi.Deadline
	for _, agent := range l.agents {
		if !agent.silent {
			next = min(next, agent.heard.Add(agentapi.Deadline).Sub(now))
		}
	}
	return max(next, time.Millisecond)
}

// findSilent marks and returns those whose time is over.
func (l *Agents) findSilent() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	var silent []string
	for cluster, agent := range l.agents {
		if !agent.silent && now.Sub(agent.heard) >= agentapi.Deadline {
			agent.silent = true
			silent = append(silent, cluster)
		}
	}
	return silent
}

func (l *Agents) work(ctx context.Context) {
	for {
		cluster, stop := l.queue.Get()
		if stop {
			return
		}
		if err := l.write(ctx, cluster); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "readiness not written", "cluster", cluster)
			l.queue.AddRateLimited(cluster)
		} else {
			l.queue.Forget(cluster)
		}
		l.queue.Done(cluster)
	}
}

func (l *Agents) agent(cluster string) *agentState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.agents[cluster]
}

// Report takes over a cluster's inventory and writes it. An error is the hub's
// own trouble; the inventory is kept and written later.
func (l *Agents) Report(ctx context.Context, cluster string, status clusterv1alpha1.ClusterStatus) error {
	l.Beat(cluster)
	l.mu.Lock()
	agent := l.agents[cluster]
	if agent != nil {
		agent.reported = status.DeepCopy()
	}
	l.mu.Unlock()
	if agent == nil {
		return fmt.Errorf("report of cluster %s: it has not joined", cluster)
	}
	if err := l.write(ctx, cluster); err != nil {
		l.queue.AddRateLimited(cluster)
		return err
	}
	l.stages.Advance(ctx, registration.Match{Cluster: cluster}, registration.StageInventory, registration.StageEvent{})
	if meta.IsStatusConditionTrue(status.Conditions, clusterv1alpha1.ClusterConditionReady) {
		l.stages.Advance(ctx, registration.Match{Cluster: cluster}, registration.StageReady, registration.StageEvent{})
	}
	return nil
}

// Beat says that an agent was heard. It neither blocks nor writes, unless the
// cluster had been given up.
func (l *Agents) Beat(cluster string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	agent := l.agents[cluster]
	if agent == nil {
		return
	}
	agent.heard = l.clock.Now()
	if agent.silent {
		agent.silent = false
		l.queue.Add(cluster)
	}
}

// Lost says that a link is gone; stopped, that the agent said it stops, so that
// it will not be back in a moment.
func (l *Agents) Lost(cluster, why string, stopped bool) {
	l.mu.Lock()
	agent := l.agents[cluster]
	if agent != nil {
		agent.link.Connected, agent.link.Since, agent.stopped = false, l.clock.Now(), stopped
	}
	l.mu.Unlock()
	if agent == nil {
		return
	}
	ctrl.Log.WithName("liveness").Info("link lost", "cluster", cluster, "reason", why)
	l.changed(cluster)
}

// Links returns the links of all agents seen since the hub started.
func (l *Agents) Links() map[string]LinkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	links := make(map[string]LinkState, len(l.agents))
	for cluster, agent := range l.agents {
		links[cluster] = agent.link
	}
	return links
}

// Link returns the link of one cluster's agent; ok is false if it has no agent
// of ours.
func (l *Agents) Link(cluster string) (state LinkState, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	agent := l.agents[cluster]
	if agent == nil {
		return LinkState{}, false
	}
	return agent.link, true
}

// Connected implements Links of the presence of members.
func (l *Agents) Connected(cluster string) (connected, settled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	agent := l.agents[cluster]
	settled = !l.started.IsZero() && l.clock.Since(l.started) >= agentapi.Deadline
	if agent == nil {
		return false, settled
	}
	gone := agent.stopped || l.clock.Since(agent.link.Since) >= agentapi.Deadline
	return agent.link.Connected, settled && gone
}

// write brings the Cluster's status to what is known: the last report, with
// Ready=Unknown if the agent is silent. It writes nothing if that is there.
func (l *Agents) write(ctx context.Context, cluster string) error {
	agent := l.agent(cluster)
	if agent == nil {
		return nil
	}
	agent.write.Lock()
	defer agent.write.Unlock()
	return retryConflict(ctx, func(ctx context.Context) error {
		var stored clusterv1alpha1.Cluster
		if err := l.live.Get(ctx, client.ObjectKey{Name: cluster}, &stored); err != nil {
			if client.IgnoreNotFound(err) == nil {
				l.drop(cluster, agent)
				return nil
			}
			return fmt.Errorf("read cluster %s: %w", cluster, err)
		}
		l.mu.Lock()
		reported, silent, uid := agent.reported, agent.silent, agent.uid
		l.mu.Unlock()
		wanted := stored.DeepCopy()
		if !registration.HasOwnAgent(wanted) || uid != "" && uid != stored.UID {
			return nil // it is somebody else's
		}
		mergeReport(&wanted.Status, reported, silent, l.clock.Now())
		if equality.Semantic.DeepEqual(stored.Status, wanted.Status) {
			return nil
		}
		began := l.clock.Now()
		if err := kube.PatchStatus(ctx, l.hub, &stored, wanted); err != nil {
			return fmt.Errorf("write status of cluster %s: %w", cluster, err)
		}
		syncing.Observe(l.clock.Since(began), cluster)
		l.changed(cluster)
		return nil
	})
}

// drop forgets an agent whose Cluster is gone, unless a new link replaced it.
func (l *Agents) drop(cluster string, agent *agentState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.agents[cluster] == agent && !agent.link.Connected {
		delete(l.agents, cluster)
	}
}

// mergeReport puts an agent's report into a status. Conditions that are not the
// agent's stay; a silent cluster keeps all but Ready (contract section 7.6).
func mergeReport(status *clusterv1alpha1.ClusterStatus, reported *clusterv1alpha1.ClusterStatus, silent bool, now time.Time) {
	if reported != nil {
		status.KubernetesVersion = reported.KubernetesVersion
		status.APIEnablements = reported.APIEnablements
		status.NodeSummary = reported.NodeSummary
		status.ResourceSummary = reported.ResourceSummary
		for _, condition := range reported.Conditions {
			condition.LastTransitionTime = metav1.Time{} // the hub's clock counts
			setCondition(&status.Conditions, condition, now)
		}
	}
	if silent {
		setCondition(&status.Conditions, unknownReady(status.Conditions, "The agent has not been heard for "+agentapi.Deadline.String()+"."), now)
	}
}

// unknownReady is Ready=Unknown, with the reason of contract section 7.6.
func unknownReady(conditions []metav1.Condition, message string) metav1.Condition {
	reason := clusterv1alpha1.ReasonClusterStatusUnknown
	ready := meta.FindStatusCondition(conditions, clusterv1alpha1.ClusterConditionReady)
	if ready == nil || ready.Reason == clusterv1alpha1.ReasonClusterStatusNeverUpdated {
		reason, message = clusterv1alpha1.ReasonClusterStatusNeverUpdated, "The agent has never reported."
	}
	return metav1.Condition{Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionUnknown, Reason: reason, Message: message}
}

// setCondition is meta.SetStatusCondition with a clock of our own.
func setCondition(conditions *[]metav1.Condition, condition metav1.Condition, now time.Time) {
	old := meta.FindStatusCondition(*conditions, condition.Type)
	if condition.LastTransitionTime.IsZero() && (old == nil || old.Status != condition.Status) {
		condition.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
	}
	meta.SetStatusCondition(conditions, condition)
}
