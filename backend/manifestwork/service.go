package manifestwork

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
)

// Topics is the prefix of the live topics of single clusters' ManifestWorks; their
// rows are Row, keyed by name. Viewers may read them.
const Topics = "manifest-works/"

// kindWork is what the audit calls our noun.
const kindWork = "ManifestWork"

// Auditor records an intent, runs fn and records what came of it.
type Auditor interface {
	Do(ctx context.Context, action audit.Action, fn func(ctx context.Context) error) error
}

// Publisher brings changed rows to browsers.
type Publisher interface {
	Publish(topic string, event live.Event)
	Seq(topic string) (epoch string, seq uint64)
	// Wanted tells whether anybody reads a topic below a prefix.
	Wanted(topic string) bool
}

// ServiceOptions are what a Service works with.
type ServiceOptions struct {
	// Cache is shared by all readers; whoever may view may see which works there are.
	Cache kube.Cache
	// Clients gives the hub API as the actor sees it, not from a cache.
	Clients func(actor access.Actor) (client.Client, error)
	Audit   Auditor
	Live    Publisher
}

// Service is what the dashboard and REST do with ManifestWorks, on behalf of
// whoever acts in ctx.
type Service struct{ ServiceOptions }

// NewService returns a Service; Start lets it follow the works.
func NewService(options ServiceOptions) *Service { return &Service{options} }

// Start publishes the changes of works to those who look at their cluster, until
// ctx ends.
func (s *Service) Start(ctx context.Context) error {
	return kube.Follow(ctx, s.Cache, &ocmworkv1.ManifestWork{}, func(before, after client.Object) {
		object := after
		if object == nil {
			object = before
		}
		topic := Topics + object.GetNamespace()
		if !s.Live.Wanted(topic) {
			return
		}
		event := live.Event{Op: live.OpDelete, Key: object.GetName()}
		if work, ok := after.(*ocmworkv1.ManifestWork); ok {
			event.Op, event.Row = live.OpUpsert, rowOf(work)
		}
		s.Live.Publish(topic, event)
	})
}

// Query says which works of a cluster to list. Empty fields fit all.
type Query struct {
	// Text is looked for in the name.
	Text string
	// States fits any of applied, available, failed and pending.
	States []string
}

// The states that a list can be narrowed to.
const (
	stateAvailable = "available"
	stateApplied   = "applied"
	stateFailed    = "failed"
	statePending   = "pending"
)

var states = []string{stateAvailable, stateApplied, stateFailed, statePending}

// stateOf is a work in one word.
func stateOf(row *Row) string {
	switch {
	case row.Applied == string(metav1.ConditionFalse):
		return stateFailed
	case row.Available == string(metav1.ConditionTrue) && row.Applied == string(metav1.ConditionTrue):
		return stateAvailable
	case row.Applied == string(metav1.ConditionTrue):
		return stateApplied
	}
	return statePending
}

// List returns the works of a cluster that fit a query, and how many there are of
// each state. Everybody who is signed in may.
func (s *Service) List(ctx context.Context, cluster string, query Query) (rows []Row, counts map[string]int, err error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return nil, nil, err
	}
	for _, state := range query.States {
		if !slices.Contains(states, state) {
			return nil, nil, fault.Invalid("there is no state %q", state).WithField("state", "use available, applied, failed or pending")
		}
	}
	var works ocmworkv1.ManifestWorkList
	if err := s.Cache.List(ctx, &works, client.InNamespace(cluster), client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, kube.CacheFault("list manifest works of "+cluster, err)
	}
	counts = map[string]int{}
	for _, state := range states {
		counts[state] = 0
	}
	for i := range works.Items {
		row := rowOf(&works.Items[i])
		if !contains(row.Name, query.Text) {
			continue
		}
		state := stateOf(&row)
		counts[state]++
		if len(query.States) == 0 || slices.Contains(query.States, state) {
			rows = append(rows, row)
		}
	}
	return rows, counts, nil
}

// Get returns one work in detail, as the actor may see it.
func (s *Service) Get(ctx context.Context, cluster, name string) (Detail, error) {
	hub, err := s.as(ctx, access.RoleViewer)
	if err != nil {
		return Detail{}, err
	}
	work, err := find(ctx, hub, cluster, name)
	if err != nil {
		return Detail{}, err
	}
	return detailOf(work), nil
}

// Delete removes a work as the actor, who needs to be an operator and repeats its
// name. What becomes of its objects in the cluster is the work's delete policy.
func (s *Service) Delete(ctx context.Context, cluster, name, confirm string) error {
	action := audit.Action{Verb: "delete", Kind: kindWork, Namespace: cluster, Name: name, Needs: access.RoleOperator}
	return s.Audit.Do(ctx, action, func(ctx context.Context) error {
		if confirm != name {
			return fault.Invalid("the name was not repeated").WithField("confirm", "must be "+name)
		}
		hub, err := s.as(ctx, access.RoleOperator)
		if err != nil {
			return err
		}
		work, err := find(ctx, hub, cluster, name)
		if err != nil {
			return err
		}
		if metav1.GetControllerOf(work) != nil || work.Labels[ownerLabel] != "" {
			return fault.Conflict("manifest work %s belongs to a replica set, which would make it again", name).WithFix("change or delete the ManifestWorkReplicaSet")
		}
		if err := hub.Delete(ctx, work, client.Preconditions{UID: &work.UID}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete manifest work %s/%s: %w", cluster, name, kube.Fault(err))
		}
		return nil
	})
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

func find(ctx context.Context, hub client.Reader, cluster, name string) (*ocmworkv1.ManifestWork, error) {
	var work ocmworkv1.ManifestWork
	err := hub.Get(ctx, client.ObjectKey{Namespace: cluster, Name: name}, &work)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, fault.NotFound("there is no manifest work %s for cluster %s", name, cluster)
	}
	if err != nil {
		return nil, fmt.Errorf("read manifest work %s/%s: %w", cluster, name, kube.Fault(err))
	}
	return &work, nil
}
