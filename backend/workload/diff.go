package workload

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/override"
	"muster.dev/muster/backend/propagation"
)

// diffClusters bounds the clusters of one diff.
const diffClusters = 20

// overriderReplicas names, beside the overriders of policies, what scheduling
// changes: the number of replicas.
const overriderReplicas = "replicas"

// OverrideChange is one changed place of a manifest and the rule that changed it.
type OverrideChange struct {
	// Path is a JSON pointer.
	Path string `json:"path"`
	// Line is that of the cluster's YAML, from 1; 0 if the change took it away.
	Line int `json:"line"`
	// Before and After are the values there, absent if there was or is none.
	Before any       `json:"before,omitempty" validate:"optional"`
	After  any       `json:"after,omitempty" validate:"optional"`
	Policy PolicyRef `json:"policy"`
	// Rule is the position in overrideRules, from 0.
	Rule int `json:"rule"`
	// Overrider is the list in the rule, such as imageOverrider; "replicas" for
	// what scheduling by the propagation policy changed.
	Overrider string `json:"overrider"`
}

// ClusterManifest is a template as one cluster gets it.
type ClusterManifest struct {
	Name    string           `json:"name"`
	YAML    string           `json:"yaml"`
	Changes []OverrideChange `json:"changes"`
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
func (s *Service) Diff(ctx context.Context, key Key, names []string) (OverrideDiff, error) {
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
	overrides, err := s.overridePolicies(ctx, seen.ref.Namespace)
	if err != nil {
		return OverrideDiff{}, err
	}
	plain, err := propagation.Render(ctx, propagation.Source{Template: seen.template, Binding: seen.binding}, s.Interpreter, propagation.Target{}, &clusterv1alpha1.Cluster{})
	if err != nil {
		return OverrideDiff{}, fmt.Errorf("render %s: %w", seen.ref.Name, err)
	}
	var diff OverrideDiff
	if diff.Template, err = yamlOf(masked(plain.Object)); err != nil {
		return OverrideDiff{}, err
	}
	d := differ{
		service: s, seen: seen, plain: plain.Object,
		bare:  propagation.NewRenderer(propagation.Source{Template: seen.template, Binding: seen.binding}, s.Interpreter),
		final: propagation.NewRenderer(propagation.Source{Template: seen.template, Binding: seen.binding, Overrides: overrides}, s.Interpreter),
	}
	diff.Clusters = make([]ClusterManifest, 0, len(chosen))
	for _, target := range chosen {
		manifest, err := d.manifest(ctx, target)
		if err != nil {
			return OverrideDiff{}, err
		}
		diff.Clusters = append(diff.Clusters, manifest)
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

func (d *differ) manifest(ctx context.Context, target propagation.Target) (ClusterManifest, error) {
	shown := ClusterManifest{Name: target.Cluster, Changes: []OverrideChange{}}
	cluster := d.service.cluster(ctx, target.Cluster)
	if cluster == nil {
		shown.Error = say(LevelError, CodeMemberGone, "cluster", target.Cluster).Text
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
	if shown.YAML, err = yamlOf(masked(final.Object)); err != nil {
		return ClusterManifest{}, err
	}
	shown.Changes, err = changesOf(d.scheduled(bare.Object), final.Changes, shown.YAML, isSecret(final.Object))
	return shown, err
}

// scheduled are the changes that come from scheduling.
func (d *differ) scheduled(bare *unstructured.Unstructured) []OverrideChange {
	var by PolicyRef
	if holder := d.seen.policy(); holder != nil {
		by = *holder
	}
	var changes []OverrideChange
	differences("", d.plain.Object, bare.Object, func(path string, before, after any) {
		changes = append(changes, OverrideChange{Path: path, Before: before, After: after, Policy: by, Overrider: overriderReplicas})
	})
	return changes
}

// differences tells every path at which two trees of objects differ.
func differences(path string, before, after any, tell func(path string, before, after any)) {
	first, isMap := before.(map[string]any)
	second, alsoMap := after.(map[string]any)
	if !isMap || !alsoMap {
		if !reflect.DeepEqual(before, after) {
			tell(path, before, after)
		}
		return
	}
	keys := slices.Sorted(maps.Keys(first))
	for key := range second {
		if _, known := first[key]; !known {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		differences(path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), first[key], second[key], tell)
	}
}

// changesOf adds what overrides changed, and the lines of all changes.
func changesOf(changes []OverrideChange, overridden []override.Change, text string, secret bool) ([]OverrideChange, error) {
	at, err := linesOf(text)
	if err != nil {
		return nil, err
	}
	all := make([]OverrideChange, 0, len(changes)+len(overridden))
	all = append(all, changes...)
	for _, change := range overridden {
		all = append(all, OverrideChange{
			Path: change.Path, Before: change.Before, After: change.After, Rule: change.Rule, Overrider: change.Overrider,
			Policy: policyRef(change.Policy.Kind, change.Policy.Namespace, change.Policy.Name),
		})
	}
	for i := range all {
		all[i].Line = at.at(all[i].Path)
		if secret {
			all[i].Before, all[i].After = maskedChange(all[i].Path, all[i].Before), maskedChange(all[i].Path, all[i].After)
		}
	}
	return all, nil
}

// overridePolicies are the override policies that may mean objects of a
// namespace; they belong to the cache and must not be changed.
func (s *Service) overridePolicies(ctx context.Context, namespace string) (override.Policies, error) {
	var all override.Policies
	var cluster policyv1alpha1.ClusterOverridePolicyList
	if err := s.Cache.List(ctx, &cluster, client.UnsafeDisableDeepCopy); err != nil {
		return all, cacheFault("list cluster override policies", err)
	}
	for i := range cluster.Items {
		all.Cluster = append(all.Cluster, &cluster.Items[i])
	}
	if namespace == "" {
		return all, nil
	}
	var namespaced policyv1alpha1.OverridePolicyList
	if err := s.Cache.List(ctx, &namespaced, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return all, cacheFault("list override policies", err)
	}
	for i := range namespaced.Items {
		all.Namespaced = append(all.Namespaced, &namespaced.Items[i])
	}
	return all, nil
}

// propagationPolicies are the propagation policies that may mean objects of a
// namespace; they belong to the cache and must not be changed.
func (s *Service) propagationPolicies(ctx context.Context, namespace string) ([]*policyv1alpha1.PropagationPolicy, []*policyv1alpha1.ClusterPropagationPolicy, error) {
	var cluster policyv1alpha1.ClusterPropagationPolicyList
	if err := s.Cache.List(ctx, &cluster, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, cacheFault("list cluster propagation policies", err)
	}
	cpps := make([]*policyv1alpha1.ClusterPropagationPolicy, 0, len(cluster.Items))
	for i := range cluster.Items {
		cpps = append(cpps, &cluster.Items[i])
	}
	if namespace == "" {
		return nil, cpps, nil
	}
	var namespaced policyv1alpha1.PropagationPolicyList
	if err := s.Cache.List(ctx, &namespaced, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, cacheFault("list propagation policies", err)
	}
	pps := make([]*policyv1alpha1.PropagationPolicy, 0, len(namespaced.Items))
	for i := range namespaced.Items {
		pps = append(pps, &namespaced.Items[i])
	}
	return pps, cpps, nil
}
