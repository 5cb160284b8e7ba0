package workload

import (
	"context"
	"fmt"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"slices"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/propagation"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/manifest"
)

// diffClusters bounds the clusters of one diff.
const diffClusters = 20

// overriderReplicas names, beside the overriders of policies, what scheduling
// changes: the number of replicas.
const overriderReplicas = "replicas"

// ClusterManifest is a template as one cluster gets it.
type ClusterManifest struct {
	Name    string            `json:"name"`
	YAML    string            `json:"yaml"`
	Changes []manifest.Change `json:"changes"`
	// Error says why the cluster cannot get it.
	Error string `json:"error,omitempty" validate:"optional"`
}

// OverrideDiff is a template and what becomes of it in clusters.
type OverrideDiff struct {
	// Template is the YAML as it would go without overrides.
	Template string            `json:"template"`
	Clusters []ClusterManifest `json:"clusters"`
}

// Diff tells what clusters get of a workload, and which rule changed what. With
// no clusters named, it tells of the first ones. Everybody who is signed in may.
func (s *Service) Diff(ctx context.Context, key fact.Key, names []string) (OverrideDiff, error) {
	if err := s.open(ctx); err != nil {
		return OverrideDiff{}, err
	}
	seen, err := s.find(key)
	if err != nil {
		return OverrideDiff{}, err
	}
	if seen.template == nil || seen.binding == nil {
		return OverrideDiff{}, fault.Conflict("%s %s goes to no cluster", seen.ref.Kind, seen.ref.Name).WithFix("wait until a policy has taken it")
	}
	chosen, err := chooseTargets(seen, names)
	if err != nil {
		return OverrideDiff{}, err
	}
	overrides, err := s.saved.Overrides(ctx, seen.ref.Namespace)
	if err != nil {
		return OverrideDiff{}, err
	}
	plain, err := propagation.Render(ctx, propagation.Source{Template: seen.template, Binding: seen.binding}, s.Interpreter, propagation.Target{}, &clusterv1alpha1.Cluster{})
	if err != nil {
		return OverrideDiff{}, fmt.Errorf("render %s: %w", seen.ref.Name, err)
	}
	var diff OverrideDiff
	if diff.Template, err = manifest.YAML(manifest.Masked(plain.Object)); err != nil {
		return OverrideDiff{}, err
	}
	d := differ{
		service: s, seen: seen, plain: plain.Object,
		bare:  propagation.NewRenderer(propagation.Source{Template: seen.template, Binding: seen.binding}, s.Interpreter),
		final: propagation.NewRenderer(propagation.Source{Template: seen.template, Binding: seen.binding, Overrides: overrides}, s.Interpreter),
	}
	diff.Clusters = make([]ClusterManifest, 0, len(chosen))
	for _, target := range chosen {
		shown, err := d.shown(ctx, target)
		if err != nil {
			return OverrideDiff{}, err
		}
		diff.Clusters = append(diff.Clusters, shown)
	}
	return diff, nil
}

func chooseTargets(seen view, names []string) ([]propagation.Target, error) {
	all := propagation.Targets(seen.binding.BindingSpec())
	if len(names) == 0 {
		return all[:min(diffClusters, len(all))], nil
	}
	if len(names) > diffClusters {
		return nil, fault.Invalid("%d clusters are too many to compare", len(names)).WithField("cluster", fmt.Sprintf("name %d at most", diffClusters))
	}
	chosen := make([]propagation.Target, 0, len(names))
	for _, name := range names {
		i := slices.IndexFunc(all, func(t propagation.Target) bool { return t.Cluster == name })
		if i < 0 {
			return nil, fault.NotFound("%s %s does not go to %s", seen.ref.Kind, seen.ref.Name, name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// differ makes the manifests of one diff.
type differ struct {
	service *Service
	seen    view
	plain   *unstructured.Unstructured // neither replicas nor overrides
	bare    *propagation.Renderer      // replicas, no overrides
	final   *propagation.Renderer
}

func (d *differ) shown(ctx context.Context, target propagation.Target) (ClusterManifest, error) {
	shown := ClusterManifest{Name: target.Cluster, Changes: []manifest.Change{}}
	cluster := d.service.cluster(ctx, target.Cluster)
	if cluster == nil {
		shown.Error = fact.Say(fact.LevelError, fact.CodeMemberGone, "cluster", target.Cluster).Text
		return shown, nil
	}
	bare, err := d.bare.Render(ctx, target, cluster)
	if err != nil {
		return ClusterManifest{}, fmt.Errorf("render %s for %s: %w", d.seen.ref.Name, target.Cluster, err)
	}
	final, err := d.final.Render(ctx, target, cluster)
	if err != nil {
		shown.Error = err.Error() // names the policy, the rule and the way out, and no value of a Secret
		final = bare
	}
	if shown.YAML, err = manifest.YAML(manifest.Masked(final.Object)); err != nil {
		return ClusterManifest{}, err
	}
	shown.Changes, err = manifest.Changes(d.scheduled(bare.Object), final.Changes, shown.YAML, manifest.IsSecret(final.Object))
	return shown, err
}

// scheduled are the changes that come from scheduling.
func (d *differ) scheduled(bare *unstructured.Unstructured) []manifest.Change {
	var by fact.PolicyRef
	if holder := d.seen.policy(); holder != nil {
		by = *holder
	}
	var changes []manifest.Change
	manifest.Differences("", d.plain.Object, bare.Object, func(path string, before, after any) {
		changes = append(changes, manifest.Change{Path: path, Before: before, After: after, Policy: by, Overrider: overriderReplicas})
	})
	return changes
}
