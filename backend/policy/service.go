package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"muster.dev/muster/backend/access"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
)

// servedPoll is how often Start looks whether a kind is served.
const servedPoll = 100 * time.Millisecond

// Topic carries the live rows of policies, by Row.Key; viewers may read it.
const Topic = "policies"

// Auditor records an intent, runs fn and records what came of it.
type Auditor interface {
	Do(ctx context.Context, action audit.Action, fn func(ctx context.Context) error) error
}

// Publisher brings changed rows to browsers.
type Publisher interface {
	Publish(topic string, event live.Event)
	Seq(topic string) (epoch string, seq uint64)
}

// Cache reads policies from memory and tells of their changes; the manager's
// cache is one.
type Cache interface {
	client.Reader
	GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error)
}

// ServiceOptions are what a Service works with.
type ServiceOptions struct {
	// Cache is shared by all readers; whoever may view may see all of it.
	Cache Cache
	// Clients gives the hub API as the actor sees it, not from a cache.
	Clients func(actor access.Actor) (client.Client, error)
	Audit   Auditor
	Live    Publisher
	// CRDs are the definitions of the kinds, deploy.CRDs().
	CRDs fs.FS
	// Misses are the policies that select nothing; nil if nobody looks.
	Misses *Misses
}

// Service is what the dashboard and REST do with policies, on behalf of whoever
// acts in ctx.
type Service struct {
	ServiceOptions
	schemas map[string]*kindSchema
	// publishing keeps rows of one policy in order.
	publishing sync.Mutex
	fleet      fleet
}

// NewService returns a Service; Start lets it follow the policies.
func NewService(options ServiceOptions) (*Service, error) {
	schemas, err := loadSchemas(options.CRDs)
	if err != nil {
		return nil, err
	}
	s := &Service{ServiceOptions: options, schemas: schemas, fleet: fleet{names: map[string]struct{}{}}}
	options.Misses.follow(s.publishAgain)
	return s, nil
}

// Start publishes the changes of policies until ctx ends. A hub that starts for
// the first time serves the kinds a moment after it serves; Start waits for them.
func (s *Service) Start(ctx context.Context) error {
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { s.changed(nil, object) }, UpdateFunc: s.changed, DeleteFunc: s.deleted,
	}
	for i := range Kinds {
		informer, err := s.informer(ctx, Kinds[i].empty())
		if ctx.Err() != nil {
			return nil // stopped before it began
		}
		if err != nil {
			return fmt.Errorf("follow %s: %w", Kinds[i].Resource, err)
		}
		registered, err := informer.AddEventHandler(handler)
		if err != nil {
			return fmt.Errorf("follow %s: %w", Kinds[i].Resource, err)
		}
		defer func() {
			if err := informer.RemoveEventHandler(registered); err != nil {
				slog.Debug("policy events could not be left", "error", err)
			}
		}()
	}
	leave, err := s.followClusters(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("follow clusters: %w", err)
	}
	<-ctx.Done()
	return leave()
}

func (s *Service) informer(ctx context.Context, kind client.Object) (cache.Informer, error) {
	ticker := time.NewTicker(servedPoll)
	defer ticker.Stop()
	for {
		informer, err := s.Cache.GetInformer(ctx, kind)
		if !notServed(err) {
			return informer, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// notServed says whether an error means that a kind is not served yet.
func notServed(err error) bool {
	var undiscovered *apiutil.ErrResourceDiscoveryFailed
	return meta.IsNoMatchError(err) || errors.As(err, &undiscovered)
}

func (s *Service) changed(old, object any) {
	policy, ok := object.(client.Object)
	if !ok {
		return
	}
	if before, ok := old.(client.Object); ok && before.GetResourceVersion() == policy.GetResourceVersion() {
		return // a resync
	}
	s.publish(func() (client.Object, error) { return policy, nil })
}

// publishAgain publishes a policy of which something is known anew beside itself.
func (s *Service) publishAgain(target Target) {
	kind, err := KindOf(target.Resource)
	if err != nil {
		return
	}
	s.publish(func() (client.Object, error) {
		policy := kind.empty()
		err := s.Cache.Get(context.Background(), client.ObjectKey{Namespace: target.Namespace, Name: target.Name}, policy)
		return policy, err
	})
}

// publish shows browsers a policy, unless it is gone.
func (s *Service) publish(read func() (client.Object, error)) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	policy, err := read()
	if err != nil {
		return // its deletion is told by itself
	}
	if row, ok := s.rowOf(policy); ok {
		s.Live.Publish(Topic, live.Event{Op: live.OpUpsert, Key: row.Key(), Row: row})
	}
}

// rowOf is a policy as it is shown, with what is known of it beside itself.
func (s *Service) rowOf(policy client.Object) (Row, bool) {
	row, ok := rowOf(policy)
	if ok {
		s.complete(&row)
	}
	return row, ok
}

// complete adds to a row what is known beside the policy itself.
func (s *Service) complete(row *Row) {
	row.Misses, row.MissingClusters = s.Misses.Of(row.target()), s.fleet.missing(row.Clusters)
}

func (s *Service) deleted(object any) {
	if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	policy, ok := object.(client.Object)
	if !ok {
		return
	}
	if row, ok := rowOf(policy); ok {
		s.Live.Publish(Topic, live.Event{Op: live.OpDelete, Key: row.Key()})
	}
}

// List returns a page of policies. Everybody who is signed in may.
func (s *Service) List(ctx context.Context, query Query) (Listing, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return Listing{}, err
	}
	if err := query.prepare(); err != nil {
		return Listing{}, err
	}
	var rows []Row
	for i := range Kinds {
		if !query.wants(&Kinds[i]) {
			continue
		}
		list := Kinds[i].list()
		if err := s.Cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return Listing{}, cacheFault("list "+Kinds[i].Resource, err)
		}
		err := meta.EachListItem(list, func(object runtime.Object) error {
			if policy, ok := object.(client.Object); ok {
				if row, ok := s.rowOf(policy); ok {
					rows = append(rows, row)
				}
			}
			return nil
		})
		if err != nil {
			return Listing{}, fmt.Errorf("list %s: %w", Kinds[i].Resource, err)
		}
	}
	return query.apply(rows), nil
}

// cacheFault is an error of reading: a starting hub has not filled its cache yet,
// or does not serve policies yet.
func cacheFault(doing string, err error) error {
	var early *cache.ErrCacheNotStarted
	if errors.As(err, &early) || notServed(err) {
		return fault.Unavailable("the hub is starting").WithFix("try again in a moment").Wrap(err)
	}
	return fmt.Errorf("%s: %w", doing, kube.Fault(err))
}

// Get returns one policy, whole, as the actor may see it.
func (s *Service) Get(ctx context.Context, ref Ref) (Detail, error) {
	hub, err := s.as(ctx, access.RoleViewer)
	if err != nil {
		return Detail{}, err
	}
	object, err := fetch(ctx, hub, ref)
	if err != nil {
		return Detail{}, err
	}
	return s.detailOf(ref.Kind, object)
}

// detailOf shows an object with what is known of it beside itself.
func (s *Service) detailOf(kind Kind, object *unstructured.Unstructured) (Detail, error) {
	detail, err := detailOf(kind, object)
	s.complete(&detail.Row)
	return detail, err
}

// Schema returns the JSON schema of a kind, for editors.
func (s *Service) Schema(ctx context.Context, resource string) (map[string]any, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return nil, err
	}
	kind, err := KindOf(resource)
	if err != nil {
		return nil, err
	}
	return s.schemas[kind.Resource].document, nil
}

// Delete removes a policy as the actor, who needs to be an operator and repeats
// its name. What it propagated stays in the members.
func (s *Service) Delete(ctx context.Context, ref Ref, confirm string) error {
	action := audit.Action{Verb: "delete", Kind: ref.Kind.Name, Namespace: ref.Namespace, Name: ref.Name, Needs: access.RoleOperator}
	return s.Audit.Do(ctx, action, func(ctx context.Context) error {
		if confirm != ref.Name {
			return fault.Invalid("to remove %s, confirm its name", ref).WithField("confirm", "must be "+ref.Name)
		}
		hub, err := s.as(ctx, access.RoleOperator)
		if err != nil {
			return err
		}
		object, err := fetch(ctx, hub, ref)
		if err != nil {
			return err
		}
		tell(ctx, difference(ref.Kind, object, nil))
		if err := hub.Delete(ctx, object, client.Preconditions{UID: ptr.To(object.GetUID())}); err != nil {
			return refusal(ref, err)
		}
		return nil
	})
}

// tell adds a difference to the audit entry under way.
func tell(ctx context.Context, difference map[string]string) {
	for path, change := range difference {
		audit.SetDetail(ctx, path, change)
	}
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

// fetch reads a policy with its managed fields. It fails with fault.NotFound.
func fetch(ctx context.Context, hub client.Client, ref Ref) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(policyv1alpha1.GroupVersion.WithKind(ref.Kind.Name))
	err := kube.Fault(hub.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, object))
	switch {
	case fault.Is(err, fault.KindNotFound):
		return nil, fault.NotFound("there is no %s", ref)
	case err != nil:
		return nil, cacheFault("read "+ref.String(), err)
	}
	return object, nil
}
