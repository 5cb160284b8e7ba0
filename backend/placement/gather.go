package placement

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
)

// Gather reads what Decide needs for a placement. What it returns belongs to the
// reader, which is a cache as a rule, and must not be changed.
func Gather(ctx context.Context, reader client.Reader, placement *ocmv1beta1.Placement, now time.Time) (Input, error) {
	in := Input{Placement: placement, Elsewhere: map[string]int{}, Now: now}
	var (
		bindings  ocmv1beta2.ManagedClusterSetBindingList
		sets      ocmv1beta2.ManagedClusterSetList
		clusters  ocmv1.ManagedClusterList
		decisions ocmv1beta1.PlacementDecisionList
		scores    ocmv1alpha1.AddOnPlacementScoreList
	)
	lists := map[client.ObjectList][]client.ListOption{
		&bindings: {client.InNamespace(placement.Namespace)}, &sets: nil, &clusters: nil, &decisions: nil,
	}
	if readsScores(&placement.Spec) {
		lists[&scores] = nil
	}
	for list, options := range lists {
		if err := reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
			return in, fmt.Errorf("read what placement %s/%s depends on: %w", placement.Namespace, placement.Name, err)
		}
	}
	in.Bindings, in.Sets, in.Clusters, in.Scores = bindings.Items, sets.Items, clusters.Items, scores.Items
	own := types.NamespacedName{Namespace: placement.Namespace, Name: placement.Name}
	seen := map[types.NamespacedName]map[string]bool{}
	for i := range decisions.Items {
		owner := placementOf(&decisions.Items[i])
		if owner.Name == "" {
			continue
		}
		if seen[owner] == nil {
			seen[owner] = map[string]bool{}
		}
		for _, choice := range decisions.Items[i].Status.Decisions {
			if seen[owner][choice.ClusterName] {
				continue
			}
			seen[owner][choice.ClusterName] = true
			if owner == own {
				in.Current = append(in.Current, choice.ClusterName)
			} else {
				in.Elsewhere[choice.ClusterName]++
			}
		}
	}
	return in, nil
}

// placementOf is the placement that a decision was made for.
func placementOf(decision *ocmv1beta1.PlacementDecision) types.NamespacedName {
	return types.NamespacedName{Namespace: decision.Namespace, Name: decision.Labels[ocmv1beta1.PlacementLabel]}
}

// readsScores says whether add-ons' scores may matter.
func readsScores(spec *ocmv1beta1.PlacementSpec) bool {
	for i := range spec.Predicates {
		if len(spec.Predicates[i].RequiredClusterSelector.CelSelector.CelExpressions) > 0 {
			return true
		}
	}
	for _, config := range spec.PrioritizerPolicy.Configurations {
		if config.ScoreCoordinate != nil && config.ScoreCoordinate.Type == ocmv1beta1.ScoreAddOn {
			return true
		}
	}
	return false
}
