package workload

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/override"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/workload/draft"
	"muster.dev/muster/backend/workload/fact"
)

// Effected is how a policy's will is done in one cluster, in one word.
type Effected string

// The states of a policy's effect in one cluster.
const (
	EffectApplied   Effected = "applied"
	EffectFailed    Effected = "failed"
	EffectPending   Effected = "pending"
	EffectSuspended Effected = "suspended"
)

// EffectCounts counts objects in clusters by how a policy's will is done.
type EffectCounts struct {
	Applied   int `json:"applied"`
	Failed    int `json:"failed"`
	Pending   int `json:"pending"`
	Suspended int `json:"suspended"`
	// Drifted counts where an object was changed in the cluster and set back since
	// it was sent last. They count as applied, too.
	Drifted int `json:"drifted"`
}

func (c *EffectCounts) add(cluster *EffectCluster) {
	if cluster.DriftedAt != nil {
		c.Drifted++
	}
	switch cluster.State {
	case EffectApplied:
		c.Applied++
	case EffectFailed:
		c.Failed++
	case EffectPending:
		c.Pending++
	case EffectSuspended:
		c.Suspended++
	}
}

// EffectCluster is how a policy's will is done in one cluster.
type EffectCluster struct {
	Name    string   `json:"name"`
	State   Effected `json:"state" enums:"applied,failed,pending,suspended"`
	Message string   `json:"message,omitempty" validate:"optional"`
	Health  string   `json:"health" enums:"Healthy,Unhealthy,Unknown"`
	// DriftedAt is when the object was last found changed in the cluster and set
	// back, since it was sent last.
	DriftedAt *time.Time `json:"driftedAt,omitempty" validate:"optional"`
}

// driftIn is when drift was last found in what a Work sent.
func driftIn(work *workv1alpha1.Work) *time.Time {
	if work == nil {
		return nil
	}
	drifted := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkDrifted)
	if drifted == nil || drifted.ObservedGeneration != work.Generation {
		return nil
	}
	return &drifted.LastTransitionTime.Time
}

// EffectItem is one object that a policy is in effect for.
type EffectItem struct {
	ID         string `json:"id"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty" validate:"optional"`
	Name       string `json:"name"`
	// Since is when the object was scheduled by the policy last, or for overrides
	// when the last cluster got it.
	Since    *time.Time      `json:"since,omitempty" validate:"optional"`
	Clusters []EffectCluster `json:"clusters"`
}

// EffectQuery says which page of a policy's effect to show.
type EffectQuery struct {
	// After is the id of the last item of the page before.
	After string
	Limit int
}

// Effect is one page of what a policy does.
type Effect struct {
	Counts  EffectCounts
	Items   []EffectItem
	Next    string
	Matched int
}

// Effect tells which objects a policy is in effect for, and how that goes in
// each cluster. Everybody who is signed in may.
func (s *Service) Effect(ctx context.Context, resource, namespace, name string, query EffectQuery) (Effect, error) {
	if err := s.open(ctx); err != nil {
		return Effect{}, err
	}
	ref, err := fact.PolicyAt(resource, namespace, name)
	if err != nil {
		return Effect{}, err
	}
	found, err := s.saved.Get(ctx, ref)
	if err != nil {
		return Effect{}, err
	}
	var items []EffectItem
	switch spec := draft.OverrideOf(found); {
	case spec != nil:
		items = s.overridden(ref, spec)
	default:
		items = s.propagated(ref)
	}
	return query.cut(items), nil
}

// cut makes a page of all items.
func (q EffectQuery) cut(items []EffectItem) Effect {
	slices.SortFunc(items, func(a, b EffectItem) int { return cmp.Compare(a.ID, b.ID) })
	page := Effect{Matched: len(items), Items: []EffectItem{}}
	for i := range items {
		for c := range items[i].Clusters {
			page.Counts.add(&items[i].Clusters[c])
		}
		if items[i].ID <= q.After && q.After != "" {
			continue
		}
		if len(page.Items) < q.Limit {
			page.Items = append(page.Items, items[i])
		} else if page.Next == "" {
			page.Next = page.Items[len(page.Items)-1].ID
		}
	}
	return page
}

func itemOf(row *Row) EffectItem {
	return EffectItem{ID: row.ID, APIVersion: row.APIVersion, Kind: row.Kind, Namespace: row.Namespace, Name: row.Name, Clusters: []EffectCluster{}}
}

// propagated are the objects that a propagation policy holds.
func (s *Service) propagated(ref fact.PolicyRef) []EffectItem {
	var items []EffectItem
	for _, seen := range s.projection.views(func(row *Row) bool { return row.Policy != nil && *row.Policy == ref }) {
		row := seen.row()
		item := itemOf(&row)
		for i := range row.Clusters {
			cluster := &row.Clusters[i]
			item.Clusters = append(item.Clusters, effectIn(cluster, seen.works[cluster.Name]))
		}
		if seen.binding != nil {
			item.Since = sinceOf(seen.binding)
		}
		items = append(items, item)
	}
	return items
}

func effectIn(placed *PlacedCluster, work *workv1alpha1.Work) EffectCluster {
	return EffectCluster{Name: placed.Name, State: effectOf(placed.State), Message: placed.Message, Health: placed.Health, DriftedAt: driftIn(work)}
}

func effectOf(state Placed) Effected {
	switch state {
	case PlacedFailed:
		return EffectFailed
	case PlacedPending:
		return EffectPending
	case PlacedSuspended:
		return EffectSuspended
	}
	return EffectApplied // it is there, healthy or not yet
}

// sinceOf is when a binding was scheduled last.
func sinceOf(binding workv1alpha2.Binding) *time.Time {
	if at := binding.BindingStatus().LastScheduledTime; at != nil {
		return &at.Time
	}
	created := binding.GetCreationTimestamp().Time
	return &created
}

// overridden are the objects that an override policy means and that go to a
// cluster one of its rules means.
func (s *Service) overridden(ref fact.PolicyRef, spec *policyv1alpha1.OverrideSpec) []EffectItem {
	snapshot := s.Scheduler.Snapshot()
	rules := spec.OverrideRules
	if len(rules) == 0 {
		rules = []policyv1alpha1.RuleWithCluster{{TargetCluster: spec.TargetCluster, Overriders: spec.Overriders}}
	}
	var items []EffectItem
	for _, seen := range s.projection.views(func(row *Row) bool { return ref.Namespace == "" || row.Namespace == ref.Namespace }) {
		if seen.template == nil || policy.MatchOverride(spec, seen.template) == policy.MatchNone {
			continue
		}
		row := seen.row()
		item := itemOf(&row)
		for i := range row.Clusters {
			cluster := snapshot.Get(row.Clusters[i].Name)
			if cluster == nil || !slices.ContainsFunc(rules, func(rule policyv1alpha1.RuleWithCluster) bool {
				return policy.MatchesCluster(rule.TargetCluster, cluster)
			}) {
				continue
			}
			shown, since := overriddenIn(ref, &row.Clusters[i], seen.works[cluster.Name])
			item.Clusters = append(item.Clusters, shown)
			if since != nil && (item.Since == nil || since.After(*item.Since)) {
				item.Since = since
			}
		}
		if len(item.Clusters) > 0 {
			items = append(items, item)
		}
	}
	return items
}

// overriddenIn tells whether a cluster has what an override policy makes of an
// object, as its Work says.
func overriddenIn(ref fact.PolicyRef, placed *PlacedCluster, work *workv1alpha1.Work) (EffectCluster, *time.Time) {
	shown := effectIn(placed, work)
	if work == nil || !recorded(work, ref) {
		shown.State = EffectPending
		return shown, nil
	}
	if shown.State != EffectApplied {
		return shown, nil
	}
	applied := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied)
	if applied == nil || applied.Status != metav1.ConditionTrue {
		return shown, nil
	}
	return shown, &applied.LastTransitionTime.Time
}

// recorded says whether a Work was made with an override policy (contract
// section 3.4).
func recorded(work *workv1alpha1.Work, ref fact.PolicyRef) bool {
	key := policyv1alpha1.AppliedClusterOverridesAnnotation
	if ref.Kind == policyv1alpha1.ResourceKindOverridePolicy {
		key = policyv1alpha1.AppliedOverridesAnnotation
	}
	var applied []override.Applied
	if err := json.Unmarshal([]byte(work.Annotations[key]), &applied); err != nil {
		return false // there is none
	}
	return slices.ContainsFunc(applied, func(a override.Applied) bool { return a.PolicyName == ref.Name })
}
