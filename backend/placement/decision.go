package placement

import (
	"context"
	"fmt"
	"maps"
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
//
// A cluster that stays chosen is in some decision at every moment, also while it
// moves from one to another: readers take things away from clusters that they no
// longer find. So where clusters move, the decisions that they leave keep them in
// the first of two rounds.
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
	wanted := decisionsFor(s)
	moving := movingFrom(existing, wanted)
	for _, decision := range wanted {
		if len(moving) == 0 {
			break
		}
		both := decision.DeepCopy()
		both.Status.Decisions = append(both.Status.Decisions, moving[decision.Name]...)
		if existing[decision.Name], err = r.ensureDecision(ctx, existing[decision.Name], both); err != nil {
			return err
		}
	}
	for _, decision := range wanted {
		if _, err := r.ensureDecision(ctx, existing[decision.Name], decision); err != nil {
			return err
		}
		delete(existing, decision.Name)
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

// decisionsFor are the PlacementDecisions of an outcome. It notes their names.
func decisionsFor(s *scope) []*ocmv1beta1.PlacementDecision {
	var wanted []*ocmv1beta1.PlacementDecision
	s.names = make([][]string, len(s.out.Groups))
	for i, group := range s.out.Groups {
		for _, choices := range group.Slices() {
			decision := decisionFor(s.stored, group, len(wanted)+1, choices)
			s.names[i] = append(s.names[i], decision.Name)
			wanted = append(wanted, decision)
		}
	}
	return wanted
}

// movingFrom are the clusters that leave a decision for another one, by the name
// of the decision that they leave.
func movingFrom(existing map[string]*ocmv1beta1.PlacementDecision, wanted []*ocmv1beta1.PlacementDecision) map[string][]ocmv1beta1.ClusterDecision {
	future := map[string]string{}
	for _, decision := range wanted {
		for _, choice := range decision.Status.Decisions {
			future[choice.ClusterName] = decision.Name
		}
	}
	moving := map[string][]ocmv1beta1.ClusterDecision{}
	for name, decision := range existing {
		for _, choice := range decision.Status.Decisions {
			if at, stays := future[choice.ClusterName]; stays && at != name {
				moving[name] = append(moving[name], choice)
			}
		}
	}
	return moving
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

// ensureDecision brings a PlacementDecision about and returns it as it is stored
// then; stored is nil if there is none.
func (r *Reconciler) ensureDecision(ctx context.Context, stored, wanted *ocmv1beta1.PlacementDecision) (*ocmv1beta1.PlacementDecision, error) {
	if stored == nil {
		stored = wanted.DeepCopy()
		if err := r.hub.Create(ctx, stored); err != nil {
			return nil, fmt.Errorf("create decision %s/%s: %w", wanted.Namespace, wanted.Name, err)
		}
	}
	changed := stored.DeepCopy()
	changed.OwnerReferences = wanted.OwnerReferences
	if changed.Labels == nil {
		changed.Labels = map[string]string{}
	}
	maps.Copy(changed.Labels, wanted.Labels)
	if !equality.Semantic.DeepEqual(stored.ObjectMeta, changed.ObjectMeta) {
		if err := kube.Patch(ctx, r.hub, stored, changed); err != nil {
			return nil, fmt.Errorf("update decision %s/%s: %w", wanted.Namespace, wanted.Name, err)
		}
		stored = changed.DeepCopy()
	}
	if stored.Status.Decisions != nil && equality.Semantic.DeepEqual(stored.Status, wanted.Status) {
		return stored, nil
	}
	// An empty decision is written out: readers tell it from one that is still to
	// come.
	changed.Status = wanted.Status
	err := r.hub.Status().Patch(ctx, changed, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return nil, fmt.Errorf("update status of decision %s/%s: %w", wanted.Namespace, wanted.Name, err)
	}
	return changed, nil
}
