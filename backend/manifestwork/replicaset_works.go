package manifestwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	ocmworkv1alpha1 "muster.dev/muster/backend/apis/ocm/work/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// target finds out which clusters each placement chose and what its rollout does
// now. A cluster that several placements chose belongs to the first.
func (r *ReplicaSetReconciler) target(ctx context.Context, s *scope) error {
	taken := map[string]bool{}
	for _, ref := range s.stored.Spec.PlacementRefs {
		groups, err := r.decided(ctx, s.stored.Namespace, ref.Name)
		if err != nil {
			return err
		}
		if groups == nil {
			s.missing = append(s.missing, ref.Name)
			continue
		}
		t := &target{ref: ref}
		for _, group := range groups {
			batch := Batch{Name: group.name, Index: group.index}
			for _, cluster := range group.clusters {
				if !taken[cluster] {
					taken[cluster] = true
					batch.Members = append(batch.Members, progressOf(cluster, s.works[cluster], &s.stored.Spec.ManifestWorkTemplate))
				}
			}
			t.batches = append(t.batches, batch)
		}
		if len(together(t.batches)) == 0 {
			s.empty = append(s.empty, ref.Name)
		}
		if t.step, err = Advance(&ref.RolloutStrategy, t.batches, r.clock.Now()); err != nil {
			return fmt.Errorf("rollout over placement %s: %w", ref.Name, err)
		}
		if at := t.step.Again; !at.IsZero() && (s.again.IsZero() || at.Before(s.again)) {
			s.again = at
		}
		s.placements = append(s.placements, t)
	}
	return nil
}

// decisionGroup are the clusters of one decision group.
type decisionGroup struct {
	name     string
	index    int32
	clusters []string
}

// decided are the clusters that a placement chose, by group; nil: it has decided
// nothing.
func (r *ReplicaSetReconciler) decided(ctx context.Context, namespace, placement string) ([]decisionGroup, error) {
	var list ocmv1beta1.PlacementDecisionList
	err := r.hub.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{ocmv1beta1.PlacementLabel: placement}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list decisions of placement %s/%s: %w", namespace, placement, err)
	}
	decisions := slices.Clone(list.Items)
	slices.SortFunc(decisions, func(a, b ocmv1beta1.PlacementDecision) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name)) // they end in numbers
	})
	var groups []decisionGroup
	for i := range decisions {
		d := &decisions[i]
		if d.Status.Decisions == nil {
			return nil, nil // still to come
		}
		index, err := strconv.ParseInt(d.Labels[ocmv1beta1.DecisionGroupIndexLabel], 10, 32)
		if err != nil {
			index = 0 // somebody else's decision, without groups
		}
		name := d.Labels[ocmv1beta1.DecisionGroupNameLabel]
		at := slices.IndexFunc(groups, func(g decisionGroup) bool { return g.index == int32(index) && g.name == name })
		if at < 0 {
			at, groups = len(groups), append(groups, decisionGroup{name: name, index: int32(index)})
		}
		for _, choice := range d.Status.Decisions {
			groups[at].clusters = append(groups[at].clusters, choice.ClusterName)
		}
	}
	slices.SortStableFunc(groups, func(a, b decisionGroup) int { return cmp.Compare(a.index, b.index) })
	return groups, nil
}

// apply writes the works whose turn it is, and deletes those of clusters that are
// no longer chosen. Every cluster gets its try; the first problem is returned.
func (r *ReplicaSetReconciler) apply(ctx context.Context, s *scope) error {
	group := new(errgroup.Group)
	group.SetLimit(writes)
	chosen := map[string]string{}
	for _, t := range s.placements {
		for _, member := range together(t.batches) {
			chosen[member.Cluster] = t.ref.Name
		}
		for _, cluster := range t.step.Apply {
			group.Go(func() error { return r.write(ctx, s, cluster, t.ref.Name) })
		}
	}
	for cluster, work := range s.works {
		placement := chosen[cluster]
		switch {
		case placement == "" && !slices.Contains(s.missing, work.Labels[ocmworkv1alpha1.PlacementNameLabel]):
			group.Go(func() error { return r.delete(ctx, work) })
		case placement != "" && placement != work.Labels[ocmworkv1alpha1.PlacementNameLabel]:
			group.Go(func() error { return r.relabel(ctx, work, placement) })
		}
	}
	return group.Wait()
}

// errForeign is what is said of a work that somebody else made.
var errForeign = errors.New("it exists and is not of this replica set")

// write brings a cluster's work to the current template. Labels of the replica
// set are on its works, too.
func (r *ReplicaSetReconciler) write(ctx context.Context, s *scope, cluster, placement string) error {
	template := s.stored.Spec.ManifestWorkTemplate.DeepCopy()
	told := r.clock.Now().UTC().Format(time.RFC3339)
	labels := merged(maps.Clone(s.stored.Labels), map[string]string{ocmworkv1alpha1.ReplicaSetLabel: ownerOf(s.stored), ocmworkv1alpha1.PlacementNameLabel: placement})
	stored := s.works[cluster]
	if stored == nil {
		work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster, Name: s.stored.Name, Labels: labels, Annotations: map[string]string{annotationToldAt: told},
		}, Spec: *template}
		err := r.hub.Create(ctx, work)
		if apierrors.IsAlreadyExists(err) {
			return r.explain(ctx, work)
		}
		if err != nil {
			return fmt.Errorf("create work %s/%s: %w", cluster, work.Name, err)
		}
		return nil
	}
	work := stored.DeepCopy()
	work.Spec = *template
	work.Labels = merged(work.Labels, labels)
	work.Annotations = merged(work.Annotations, map[string]string{annotationToldAt: told})
	if err := kube.Patch(ctx, r.hub, stored, work); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("update work %s/%s: %w", cluster, work.Name, err)
	}
	return nil
}

// explain tells whether a work that exists already is our own, which the cache
// has yet to show.
func (r *ReplicaSetReconciler) explain(ctx context.Context, work *ocmworkv1.ManifestWork) error {
	existing := new(ocmworkv1.ManifestWork)
	err := r.hub.Get(ctx, client.ObjectKeyFromObject(work), existing)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && existing.Labels[ocmworkv1alpha1.ReplicaSetLabel] != work.Labels[ocmworkv1alpha1.ReplicaSetLabel] {
		err = errForeign
	}
	if err != nil {
		return fmt.Errorf("create work %s/%s: %w", work.Namespace, work.Name, err)
	}
	return nil
}

// relabel notes that a work is now there for another placement.
func (r *ReplicaSetReconciler) relabel(ctx context.Context, stored *ocmworkv1.ManifestWork, placement string) error {
	work := stored.DeepCopy()
	work.Labels = merged(work.Labels, map[string]string{ocmworkv1alpha1.PlacementNameLabel: placement})
	if err := kube.Patch(ctx, r.hub, stored, work); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("update work %s/%s: %w", work.Namespace, work.Name, err)
	}
	return nil
}

func merged(into, more map[string]string) map[string]string {
	if into == nil {
		into = map[string]string{}
	}
	maps.Copy(into, more)
	return into
}
