package workload

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/scheduling"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/manifest"
)

const (
	// eventsShown is how many events a detail shows.
	eventsShown = 50
	// detailTimeout bounds the making of a detail that is published.
	detailTimeout = 10 * time.Second
)

// Get returns one workload in detail. Everybody who is signed in may.
func (s *Service) Get(ctx context.Context, key fact.Key) (Detail, error) {
	if err := s.open(ctx); err != nil {
		return Detail{}, err
	}
	actor, _ := access.ActorFrom(ctx)
	epoch, seq := s.Live.Seq(topicOf(key.Ref())) // before reading: what comes later is a message
	seen, err := s.find(key)
	if err != nil {
		return Detail{}, err
	}
	s.pages.opened(seen.ref, actor.Name)
	detail, err := s.detail(ctx, seen, actor)
	if err != nil {
		return Detail{}, err
	}
	detail.Epoch, detail.Seq = epoch, seq
	return detail, nil
}

func topicOf(ref template.Ref) string { return Topic + "/" + fact.ID(ref) }

// publishDetails brings the details that are read up to date.
func (s *Service) publishDetails(ctx context.Context) {
	dues := s.pages.take(func(ref template.Ref) bool { return s.Live.Watched(topicOf(ref)) })
	for _, one := range dues {
		s.publishDetail(ctx, one)
	}
}

func (s *Service) publishDetail(ctx context.Context, one due) {
	seen, err := s.lookUp(one.ref)
	if err != nil {
		s.Live.Publish(topicOf(one.ref), live.Event{Op: live.OpDelete, Key: fact.ID(one.ref)})
		return
	}
	ctx, cancel := context.WithTimeout(ctx, detailTimeout)
	defer cancel()
	// The topic is for viewers: a message shows what they may see, whoever asked.
	detail, err := s.detail(ctx, seen, access.Actor{Name: one.reader, Role: access.RoleViewer})
	if err != nil {
		slog.Debug("workload detail could not be published", "namespace", one.ref.Namespace, "name", one.ref.Name, "error", err)
		s.pages.behind(one.ref)
		return
	}
	s.Live.Publish(topicOf(one.ref), live.Event{Op: live.OpUpsert, Key: fact.ID(one.ref), Row: detail})
}

func (s *Service) detail(ctx context.Context, seen view, actor access.Actor) (Detail, error) {
	around, err := s.surroundings(ctx, seen)
	if err != nil {
		return Detail{}, err
	}
	shown := ""
	if seen.template != nil {
		if shown, err = manifest.YAML(manifest.Cleaned(seen.template)); err != nil {
			return Detail{}, err
		}
	}
	events, err := s.events(ctx, seen, actor)
	if err != nil {
		return Detail{}, err
	}
	return Detail{
		Row: seen.row(), YAML: shown, Scheduled: conditionOf(seen.binding, workv1alpha2.Scheduled), FullyApplied: conditionOf(seen.binding, workv1alpha2.FullyApplied),
		Facts: seen.facts(around), Topology: seen.topology(around), Events: events,
	}, nil
}

// surroundings gathers what the chain of facts needs.
func (s *Service) surroundings(ctx context.Context, seen view) (surroundings, error) {
	around := surroundings{
		cluster: func(name string) *clusterv1alpha1.Cluster { return s.cluster(ctx, name) },
		exists:  func(holder fact.PolicyRef) bool { return s.policyExists(ctx, holder) },
	}
	if seen.policy() == nil && seen.template != nil {
		coming, err := s.coming(ctx, seen.template)
		if err != nil {
			return surroundings{}, err
		}
		around.coming = coming
	}
	if seen.binding != nil && len(seen.binding.BindingSpec().Clusters) == 0 && seen.policy() != nil {
		decided := scheduling.Decide(scheduling.Input{Spec: seen.binding.BindingSpec(), Status: seen.binding.BindingStatus()}, s.Scheduler.Snapshot())
		around.excluded = decided.Excluded
	}
	return around, nil
}

// cluster finds a cluster in memory; nil: there is none.
func (s *Service) cluster(ctx context.Context, name string) *clusterv1alpha1.Cluster {
	var found clusterv1alpha1.Cluster
	if err := s.Cache.Get(ctx, client.ObjectKey{Name: name}, &found, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	return &found
}

// policyExists says whether a policy does. What cannot be told counts as there.
func (s *Service) policyExists(ctx context.Context, holder fact.PolicyRef) bool {
	var object client.Object = &policyv1alpha1.ClusterPropagationPolicy{}
	if holder.Kind == policyv1alpha1.ResourceKindPropagationPolicy {
		object = &policyv1alpha1.PropagationPolicy{}
	}
	err := s.Cache.Get(ctx, client.ObjectKey{Namespace: holder.Namespace, Name: holder.Name}, object, client.UnsafeDisableDeepCopy)
	return !apierrors.IsNotFound(err)
}

// coming is the policy that takes an object which nobody holds.
func (s *Service) coming(ctx context.Context, object *unstructured.Unstructured) (*fact.PolicyRef, error) {
	pps, cpps, err := s.saved.Propagation(ctx, object.GetNamespace())
	if err != nil {
		return nil, err
	}
	claim, found := template.Choose(object, pps, cpps)
	if !found {
		return nil, nil
	}
	ref := fact.ClaimedBy(claim)
	return &ref, nil
}

// events are what components said about a workload, its binding and its Works,
// newest first, as the actor may see them.
func (s *Service) events(ctx context.Context, seen view, actor access.Actor) ([]Event, error) {
	hub, err := s.Clients(actor)
	if err != nil {
		return nil, fmt.Errorf("act as %s: %w", actor.Name, err)
	}
	about := []*fact.ObjectRef{{APIVersion: seen.ref.APIVersion, Kind: seen.ref.Kind, Namespace: seen.ref.Namespace, Name: seen.ref.Name}}
	if seen.binding != nil {
		about = append(about, seen.bindingRef())
	}
	events := []Event{}
	for _, object := range about {
		var list corev1.EventList
		err := hub.List(ctx, &list, client.InNamespace(eventNamespace(object)), client.Limit(eventsShown*4),
			client.MatchingFields{"involvedObject.kind": object.Kind, "involvedObject.name": object.Name})
		if apierrors.IsForbidden(err) {
			continue // events are an extra
		}
		if err != nil {
			return nil, fmt.Errorf("list events of %s %s: %w", object.Kind, object.Name, kube.Fault(err))
		}
		for i := range list.Items {
			events = append(events, eventOf(&list.Items[i]))
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return b.At.Compare(a.At) })
	return events[:min(eventsShown, len(events))], nil
}

// eventNamespace is where events about an object are kept.
func eventNamespace(object *fact.ObjectRef) string {
	if object.Namespace == "" {
		return corev1.NamespaceDefault
	}
	return object.Namespace
}

func eventOf(event *corev1.Event) Event {
	shown := Event{
		Type: event.Type, Reason: event.Reason, Message: event.Message, Count: max(1, event.Count), At: event.LastTimestamp.Time,
		About: event.InvolvedObject.Kind + "/" + event.InvolvedObject.Name,
	}
	if event.Series != nil {
		shown.Count, shown.At = max(1, event.Series.Count), event.Series.LastObservedTime.Time
	}
	for _, at := range []time.Time{event.EventTime.Time, event.FirstTimestamp.Time, event.CreationTimestamp.Time} {
		if shown.At.IsZero() {
			shown.At = at
		}
	}
	return shown
}
