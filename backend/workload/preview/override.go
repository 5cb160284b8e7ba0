package preview

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/override"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/propagation"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/draft"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/manifest"
)

// overriding tells what objects would become with a draft among the override
// policies.
type overriding struct {
	service *Previewer
	draft   draft.Policy
	// byNamespace are the policies of a namespace with the draft in its place.
	byNamespace map[string]override.Policies
}

func (s *Previewer) newOverriding(_ context.Context, p draft.Policy) (*overriding, error) {
	return &overriding{service: s, draft: p, byNamespace: map[string]override.Policies{}}, nil
}

// policies are the override policies that would be there.
func (o *overriding) policies(ctx context.Context, namespace string) (override.Policies, error) {
	if known, ok := o.byNamespace[namespace]; ok {
		return known, nil
	}
	all, err := o.service.Saved.Overrides(ctx, namespace)
	if err != nil {
		return all, err
	}
	switch draft := o.draft.Object.(type) {
	case *policyv1alpha1.ClusterOverridePolicy:
		all.Cluster = replacedBy(all.Cluster, draft)
	case *policyv1alpha1.OverridePolicy:
		if draft.Namespace == namespace {
			all.Namespaced = replacedBy(all.Namespaced, draft)
		}
	}
	o.byNamespace[namespace] = all
	return all, nil
}

// replacedBy puts a policy in place of the one of its name.
func replacedBy[P interface{ GetName() string }](all []P, draft P) []P {
	kept := make([]P, 0, len(all)+1)
	for _, one := range all {
		if one.GetName() != draft.GetName() {
			kept = append(kept, one)
		}
	}
	return append(kept, draft)
}

func (o *overriding) item(ctx context.Context, object *unstructured.Unstructured) (Item, error) {
	item := itemFor(object)
	binding := o.service.Known.Binding(template.RefOf(object))
	if claim, held := template.ClaimIn(object); held {
		ref := fact.ClaimedBy(claim)
		item.Current = &ref
	}
	switch {
	case policy.MatchOverride(o.draft.Override(), object) == policy.MatchNone || !inReach(o.draft.Ref, object):
		item.because(fact.Say(fact.LevelInfo, fact.CodePreviewNoMatch))
		return item, nil
	case binding == nil || len(propagation.Targets(binding.BindingSpec())) == 0:
		item.because(fact.Say(fact.LevelInfo, fact.CodePreviewNowhere))
		return item, nil
	}
	overrides, err := o.policies(ctx, object.GetNamespace())
	if err != nil {
		return item, err
	}
	renderer := propagation.NewRenderer(propagation.Source{Template: object, Binding: binding, Overrides: overrides}, o.service.Interpreter)
	changed := map[*propagation.Rendered][]manifest.Change{} // clusters that get the same share it
	snapshot := o.service.Scheduler.Snapshot()
	for _, target := range propagation.Targets(binding.BindingSpec()) {
		cluster := snapshot.Get(target.Cluster)
		if cluster == nil {
			continue
		}
		rendered, err := renderer.Render(ctx, target, cluster)
		if err != nil {
			item.Overrides = append(item.Overrides, Override{Cluster: target.Cluster, Changes: []manifest.Change{}, Error: err.Error()})
			continue
		}
		changes, done := changed[rendered]
		if !done {
			if changes, err = overrideChanges(rendered); err != nil {
				return item, err
			}
			changed[rendered] = changes
		}
		if len(changes) > 0 {
			item.Overrides = append(item.Overrides, Override{Cluster: target.Cluster, Changes: changes})
		}
	}
	item.Takes = true
	item.because(fact.Say(fact.LevelOK, fact.CodePreviewChanges, "count", fact.Number(len(item.Overrides)), "clusters", fact.Number(len(propagation.Targets(binding.BindingSpec())))))
	return item, nil
}

func overrideChanges(rendered *propagation.Rendered) ([]manifest.Change, error) {
	text, err := manifest.YAML(manifest.Masked(rendered.Object))
	if err != nil {
		return nil, err
	}
	changes, err := manifest.Changes(nil, rendered.Changes, text, manifest.IsSecret(rendered.Object))
	if err != nil {
		return nil, fmt.Errorf("find lines of %s: %w", rendered.Object.GetName(), err)
	}
	return changes, nil
}
