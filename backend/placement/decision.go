package placement

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	"muster.dev/muster/backend/kube"
)

// ensureDecisions writes the outcome into PlacementDecisions, deletes those that
// are too many, and notes their names.
func (r *Reconciler) ensureDecisions(ctx context.Context, s *scope) error {
	var stored ocmv1beta1.PlacementDecisionList
	err := r.hub.List(ctx, &stored, client.InNamespace(s.stored.Namespace), client.MatchingLabels{ocmv1beta1.PlacementLabel: s.stored.Name},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list decisions of placement %s/%s: %w", s.stored.Namespace, s.stored.Name, err)
	}
	existing := map[string]*ocmv1beta1.PlacementDecision{}
	for i := range stored.Items {
		existing[stored.Items[i].Name] = &stored.Items[i]
	}
	s.names = make([][]string, len(s.out.Groups))
	number := 0
	for i, group := range s.out.Groups {
		for _, choices := range group.Slices() {
			number++
			wanted := decisionFor(s.stored, group, number, choices)
			s.names[i] = append(s.names[i], wanted.Name)
			if err := r.ensureDecision(ctx, existing[wanted.Name], wanted); err != nil {
				return err
			}
			delete(existing, wanted.Name)
		}
	}
	for name, decision := range existing {
		if !metav1.IsControlledBy(decision, s.stored) {
			continue // somebody else's
		}
		if err := r.hub.Delete(ctx, decision); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete decision %s/%s: %w", s.stored.Namespace, name, err)
		}
	}
	return nil
}

// decisionFor is one PlacementDecision of a placement.
func decisionFor(placement *ocmv1beta1.Placement, group Group, number int, choices []Choice) *ocmv1beta1.PlacementDecision {
	decision := &ocmv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: placement.Namespace, Name: fmt.Sprintf("%s-decision-%d", placement.Name, number),
		Labels: map[string]string{
			ocmv1beta1.PlacementLabel:          placement.Name,
			ocmv1beta1.DecisionGroupNameLabel:  group.Name,
			ocmv1beta1.DecisionGroupIndexLabel: strconv.Itoa(group.Index),
		},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(placement, ocmv1beta1.GroupVersion.WithKind("Placement"))},
	}}
	decision.Status.Decisions = []ocmv1beta1.ClusterDecision{}
	for _, choice := range choices {
		entry := ocmv1beta1.ClusterDecision{ClusterName: choice.Cluster}
		if placement.Spec.SortBy == ocmv1beta1.SortByScore {
			entry.Score = ptr.To(choice.Score)
		}
		decision.Status.Decisions = append(decision.Status.Decisions, entry)
	}
	return decision
}

// ensureDecision brings a PlacementDecision about; stored is nil if there is none.
func (r *Reconciler) ensureDecision(ctx context.Context, stored, wanted *ocmv1beta1.PlacementDecision) error {
	if stored == nil {
		stored = wanted.DeepCopy()
		if err := r.hub.Create(ctx, stored); err != nil {
			return fmt.Errorf("create decision %s/%s: %w", wanted.Namespace, wanted.Name, err)
		}
	}
	changed := stored.DeepCopy()
	changed.OwnerReferences = wanted.OwnerReferences
	for key, value := range wanted.Labels {
		if old, ok := changed.Labels[key]; !ok || old != value {
			if changed.Labels == nil {
				changed.Labels = map[string]string{}
			}
			changed.Labels[key] = value
		}
	}
	if !equality.Semantic.DeepEqual(stored.ObjectMeta, changed.ObjectMeta) {
		if err := kube.Patch(ctx, r.hub, stored, changed); err != nil {
			return fmt.Errorf("update decision %s/%s: %w", wanted.Namespace, wanted.Name, err)
		}
		stored = changed.DeepCopy()
	}
	if stored.Status.Decisions != nil && equality.Semantic.DeepEqual(stored.Status, wanted.Status) {
		return nil
	}
	// An empty decision is written out: readers tell it from one that is still to
	// come.
	changed.Status = wanted.Status
	err := r.hub.Status().Patch(ctx, changed, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("update status of decision %s/%s: %w", wanted.Namespace, wanted.Name, err)
	}
	return nil
}
