package placement

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
)

const (
	// Topic carries the live rows of placements, by Row.Key; viewers may read it.
	Topic = "placements"
	// SetsTopic carries the live rows of sets, by name; viewers may read it.
	SetsTopic = "cluster-sets"
)

// Auditor records an intent, runs fn and records what came of it.
type Auditor interface {
	Do(ctx context.Context, action audit.Action, fn func(ctx context.Context) error) error
}

// Publisher brings changed rows to browsers.
type Publisher interface {
	Publish(topic string, event live.Event)
	Seq(topic string) (epoch string, seq uint64)
}

// ServiceOptions are what a Service works with.
type ServiceOptions struct {
	// Cache is shared by all readers; whoever may view may see all of it.
	Cache kube.Cache
	// Clients gives the hub API as the actor sees it, not from a cache.
	Clients func(actor access.Actor) (client.Client, error)
	Audit   Auditor
	Live    Publisher
}

// Service is what the dashboard and REST do with sets and placements, on behalf of
// whoever acts in ctx.
type Service struct{ ServiceOptions }

// NewService returns a Service; Start lets it follow sets and placements.
func NewService(options ServiceOptions) *Service { return &Service{options} }

// Start publishes the changes of placements and sets until ctx ends. A placement
// changes with its decisions, and what a set holds with its clusters and bindings.
func (s *Service) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	follow := func(object client.Object, tell func(before, after client.Object)) {
		group.Go(func() error { return kube.Follow(ctx, s.Cache, object, tell) })
	}
	follow(&ocmv1beta1.Placement{}, s.placementChanged)
	follow(&ocmv1beta1.PlacementDecision{}, s.decisionChanged)
	sets := &setFeed{read: s.sets, publish: func(event live.Event) { s.Live.Publish(SetsTopic, event) }, changed: make(chan struct{}, 1)}
	group.Go(func() error { sets.run(ctx); return nil })
	follow(&ocmv1beta2.ManagedClusterSet{}, func(_, _ client.Object) { sets.touch() })
	follow(&ocmv1beta2.ManagedClusterSetBinding{}, func(_, _ client.Object) { sets.touch() })
	follow(&ocmv1.ManagedCluster{}, func(before, after client.Object) {
		if before == nil || after == nil || !maps.Equal(before.GetLabels(), after.GetLabels()) {
			sets.touch()
		}
	})
	return group.Wait()
}

func (s *Service) placementChanged(before, after client.Object) {
	event := live.Event{Op: live.OpUpsert}
	object := after
	if after == nil {
		event.Op, object = live.OpDelete, before
	}
	event.Key = object.GetNamespace() + "/" + object.GetName()
	if found, ok := after.(*ocmv1beta1.Placement); ok {
		event.Row = rowOf(found)
	}
	s.Live.Publish(Topic, event)
}

// decisionChanged publishes the placement of a decision: other clusters may be
// chosen while their number, and so its status, stays.
func (s *Service) decisionChanged(before, after client.Object) {
	decision := after
	if after == nil {
		decision = before
	}
	var object ocmv1beta1.Placement
	key := client.ObjectKey{Namespace: decision.GetNamespace(), Name: decision.GetLabels()[ocmv1beta1.PlacementLabel]}
	if key.Name != "" && s.Cache.Get(context.Background(), key, &object) == nil {
		s.placementChanged(&object, &object)
	}
}

// Query says which placements to list. Empty fields fit all.
type Query struct {
	// Text is looked for in namespace, name and sets.
	Text       string
	Namespaces []string
	States     []string
}

// List returns the placements that fit a query. Everybody who is signed in may.
func (s *Service) List(ctx context.Context, query Query) ([]Row, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return nil, err
	}
	var placements ocmv1beta1.PlacementList
	if err := s.Cache.List(ctx, &placements, client.UnsafeDisableDeepCopy); err != nil {
		return nil, kube.CacheFault("list placements", err)
	}
	rows, text := []Row{}, strings.ToLower(strings.TrimSpace(query.Text))
	for i := range placements.Items {
		row := rowOf(&placements.Items[i])
		fits := text == "" || slices.ContainsFunc(append([]string{row.Key()}, row.Sets...), func(part string) bool {
			return strings.Contains(strings.ToLower(part), text)
		})
		if fits && (len(query.Namespaces) == 0 || slices.Contains(query.Namespaces, row.Namespace)) && (len(query.States) == 0 || slices.Contains(query.States, row.State)) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Get returns a placement with its decisions and, for every other cluster, why it
// is left out. Everybody who is signed in may.
func (s *Service) Get(ctx context.Context, namespace, name string) (PlacementDetail, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return PlacementDetail{}, err
	}
	var object ocmv1beta1.Placement
	err := s.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &object)
	if apierrors.IsNotFound(err) {
		return PlacementDetail{}, fault.NotFound("there is no placement %s in namespace %s", name, namespace)
	}
	if err != nil {
		return PlacementDetail{}, kube.CacheFault("read placement "+name, err)
	}
	in, decisions, err := s.input(ctx, &object)
	if err != nil {
		return PlacementDetail{}, err
	}
	spec, err := specOf(&object)
	if err != nil {
		return PlacementDetail{}, fmt.Errorf("encode placement %s: %w", name, err)
	}
	detail := PlacementDetail{Row: rowOf(&object), BoundSets: []string{}, Chosen: chosenBy(decisions), Left: []LeftOutCluster{}, Spec: spec}
	outcome := Decide(in)
	if outcome.Misconfigured != "" {
		return detail, nil
	}
	detail.BoundSets = append(detail.BoundSets, outcome.Sets...)
	for _, left := range outcome.Left {
		if !slices.Contains(in.Current, left.Cluster) {
			detail.Left = append(detail.Left, LeftOutCluster(left))
		}
	}
	return detail, nil
}

// specOf is a placement's spec as YAML, without what is empty.
func specOf(object *ocmv1beta1.Placement) (string, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&object.Spec)
	if err != nil {
		return "", err
	}
	if strategy, ok, _ := unstructured.NestedMap(fields, "decisionStrategy", "groupStrategy"); ok && fmt.Sprint(strategy["clustersPerDecisionGroup"]) == "0" {
		unstructured.RemoveNestedField(fields, "decisionStrategy", "groupStrategy", "clustersPerDecisionGroup")
	}
	prune(fields)
	spec, err := yaml.Marshal(fields)
	return string(spec), err
}

// prune takes out what holds nothing. A selector that chooses everything is
// written {} and says as much when it is left out.
func prune(fields map[string]any) {
	for key, value := range fields {
		if list, ok := value.([]any); ok {
			for _, item := range list {
				if one, ok := item.(map[string]any); ok {
					prune(one)
				}
			}
		}
		if inner, ok := value.(map[string]any); ok {
			if prune(inner); len(inner) == 0 {
				delete(fields, key)
			}
		}
	}
}

// input is what the hub's own decision about a placement depends on, and the
// decisions there are. Scores that change do not move a cluster here: the page
// explains what was decided.
func (s *Service) input(ctx context.Context, object *ocmv1beta1.Placement) (Input, []ocmv1beta1.PlacementDecision, error) {
	in := Input{Placement: object, KeepCurrent: true, Now: time.Now()}
	var decisions ocmv1beta1.PlacementDecisionList
	var bindings ocmv1beta2.ManagedClusterSetBindingList
	var sets ocmv1beta2.ManagedClusterSetList
	var clusters ocmv1.ManagedClusterList
	var scores ocmv1alpha1.AddOnPlacementScoreList
	for _, read := range []struct {
		list    client.ObjectList
		options []client.ListOption
	}{
		{&decisions, []client.ListOption{client.InNamespace(object.Namespace), client.MatchingLabels{ocmv1beta1.PlacementLabel: object.Name}}},
		{&bindings, []client.ListOption{client.InNamespace(object.Namespace)}}, {&sets, nil}, {&clusters, nil}, {&scores, nil},
	} {
		if err := s.Cache.List(ctx, read.list, append(read.options, client.UnsafeDisableDeepCopy)...); err != nil {
			return Input{}, nil, kube.CacheFault("read what placement "+object.Name+" depends on", err)
		}
	}
	in.Bindings, in.Sets, in.Clusters, in.Scores = bindings.Items, sets.Items, clusters.Items, scores.Items
	for i := range decisions.Items {
		for _, decision := range decisions.Items[i].Status.Decisions {
			in.Current = append(in.Current, decision.ClusterName)
		}
	}
	return in, decisions.Items, nil
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
