package liveness

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
)

// Joined makes sure that the Cluster of a connecting agent exists as the agent
// describes it. It refuses, as fault.Conflict, a name that another cluster has
// (MU-105) and a cluster that has another name (MU-106); it adopts a Cluster of
// the same id. While a Cluster is being removed its agent is let in, since it has
// to take the objects out of the member.
func (l *Agents) Joined(ctx context.Context, cluster string, h agentapi.Hello, source string) error {
	if err := identity.CheckName(cluster); err != nil {
		return err
	}
	var uid types.UID
	err := retryConflict(ctx, func(ctx context.Context) (err error) {
		uid, err = l.ensure(ctx, cluster, h, source)
		return err
	})
	if refusal, ok := fault.As(err); ok {
		l.stages.Fail(ctx, registration.Match{Cluster: cluster}, registration.StageLink, registration.Failure{Code: refusal.Code, Cause: refusal.Message, Fix: refusal.Fix, Source: source})
		return err
	}
	if err != nil {
		return fmt.Errorf("join cluster %s: %w", cluster, err)
	}
	l.mu.Lock()
	agent := l.agents[cluster]
	if agent == nil || agent.uid != "" && agent.uid != uid { // what was reported of a former Cluster does not count
		agent = &agentState{}
		l.agents[cluster] = agent
	}
	agent.uid = uid
	now := l.clock.Now()
	wasSilent := agent.silent
	agent.heard, agent.silent = now, false
	agent.link = LinkState{Connected: true, Since: now, Address: source, Version: h.AgentVersion}
	l.mu.Unlock()
	if wasSilent {
		l.queue.Add(cluster)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	l.stages.Advance(ctx, registration.Match{Cluster: cluster}, registration.StageLink, registration.StageEvent{Source: source, Detail: "agent " + h.AgentVersion})
	l.changed(cluster)
	return nil
}

// ensure creates or updates the Cluster and returns its UID.
func (l *Agents) ensure(ctx context.Context, name string, h agentapi.Hello, source string) (types.UID, error) {
	var stored clusterv1alpha1.Cluster
	err := l.live.Get(ctx, client.ObjectKey{Name: name}, &stored)
	if apierrors.IsNotFound(err) {
		if l.barred(name) {
			return "", fault.Forbidden("the cluster %s was removed from the hub", name).WithCode(registration.CodeLinkRefused).
				WithFix("register it again: its old certificate does not bring it back")
		}
		made := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull}}
		describe(made, h)
		// The hub writes it, the agent asked for it.
		asked := access.WithActor(ctx, access.Actor{Name: apis.AgentUserPrefix + name, Source: source, Via: access.ViaHubAPI})
		action := audit.Action{Verb: "register", Kind: clusterv1alpha1.ResourceKindCluster, Name: name, Detail: map[string]string{"agent": h.AgentVersion}}
		if err := l.audit.Do(asked, action, func(ctx context.Context) error { return sameClusterFault(l.hub.Create(ctx, made)) }); err != nil {
			return "", err
		}
		return made.UID, l.awaitCached(ctx, name)
	}
	if err != nil {
		return "", err
	}
	if stored.DeletionTimestamp != nil && stored.Spec.ID == h.ClusterID {
		return stored.UID, nil
	}
	if err := adoptable(&stored, h); err != nil {
		return "", err
	}
	wanted := stored.DeepCopy()
	describe(wanted, h)
	return stored.UID, sameClusterFault(kube.Patch(ctx, l.hub, &stored, wanted))
}

// awaitCached returns once the hub's cache shows a Cluster that was just made:
// whoever handles the link next reads it there.
func (l *Agents) awaitCached(ctx context.Context, name string) error {
	return wait.PollUntilContextTimeout(ctx, time.Millisecond, cacheLimit, true, func(ctx context.Context) (bool, error) {
		err := l.hub.Get(ctx, client.ObjectKey{Name: name}, new(clusterv1alpha1.Cluster))
		return err == nil, client.IgnoreNotFound(err)
	})
}

// cacheLimit bounds how far the hub's cache may be behind its store.
const cacheLimit = 5 * time.Second

// adoptable says whether the agent may speak for a Cluster that exists.
func adoptable(c *clusterv1alpha1.Cluster, h agentapi.Hello) error {
	switch {
	case c.Spec.ID != "" && c.Spec.ID != h.ClusterID:
		return fault.Conflict("the name %s belongs to another cluster", c.Name).WithCode(registration.CodeNameTaken).
			WithFix("register this one under another name, or remove the other first")
	case c.Spec.SyncMode != clusterv1alpha1.Pull:
		return fault.Conflict("the cluster %s is registered already, and the hub connects to it (push)", c.Name).WithCode(registration.CodeNameTaken).
			WithFix("remove that registration first: muster unjoin " + c.Name)
	}
	return nil
}

// describe puts what the agent says into its Cluster. What the agent does not
// say stays, since operators may have set it.
func describe(c *clusterv1alpha1.Cluster, h agentapi.Hello) {
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, registration.AnnotationAgent, registration.AgentMuster)
	c.Spec.ID = h.ClusterID
	for field, said := range map[*string]string{
		&c.Spec.APIEndpoint: h.APIEndpoint, &c.Spec.ProxyURL: h.ProxyURL, &c.Spec.Provider: h.Provider, &c.Spec.Region: h.Region,
	} {
		if said != "" {
			*field = said
		}
	}
	if len(h.Zones) > 0 && !slices.Equal(c.Spec.Zones, h.Zones) {
		c.Spec.Zones = slices.Clone(h.Zones)
	}
}

// sameClusterFault words the refusal of an id that another Cluster has.
func sameClusterFault(err error) error {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Code != http.StatusConflict || status.Status().Details == nil {
		return err
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldValueDuplicate && cause.Field == "spec.id" {
			return fault.Conflict("this cluster is registered already, under the name %s", cause.Message).WithCode(registration.CodeSameCluster).
				WithFix("use the name " + cause.Message + ", or remove that registration first")
		}
	}
	return err
}

var conflictBackoff = wait.Backoff{Steps: 6, Duration: 5 * time.Millisecond, Factor: 3, Jitter: 0.2}

// retryConflict runs a read and a write again when somebody else wrote between.
func retryConflict(ctx context.Context, run func(ctx context.Context) error) error {
	return retry.OnError(conflictBackoff, func(err error) bool {
		if _, refused := fault.As(err); refused {
			return false
		}
		return ctx.Err() == nil && (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err))
	}, func() error { return run(ctx) })
}
