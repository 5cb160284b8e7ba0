package workload

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/override"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/propagation"
	"muster.dev/muster/backend/template"
)

// overriding tells what objects would become with a draft among the override
// policies.
type overriding struct {
	service *Service
	draft   parsed
	// byNamespace are the policies of a namespace with the draft in its place.
	byNamespace map[string]override.Policies
}

func (s *Service) newOverriding(_ context.Context, p parsed) (*overriding, error) {
	return &overriding{service: s, draft: p, byNamespace: map[string]override.Policies{}}, nil
}

// policies are the override policies that would be there.
func (o *overriding) policies(ctx context.Context, namespace string) (override.Policies, error) {
	if known, ok := o.byNamespace[namespace]; ok {
		return known, nil
	}
	all, err := o.service.overridePolicies(ctx, namespace)
	if err != nil {
		return all, err
	}
	switch draft := o.draft.object.(type) {
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

func (o *overriding) item(ctx context.Context, object *unstructured.Unstructured) (PreviewItem, error) {
	item := itemFor(object)
	seen, known := o.service.projection.look(template.RefOf(object))
	seen.template = object
	if known {
		item.Current = seen.policy()
	}
	switch {
	case policy.MatchOverride(overrideSpecOf(o.draft.object), object) == policy.MatchNone || !inReach(o.draft.ref, object):
		item.because(say(LevelInfo, CodePreviewNoMatch))
		return item, nil
	case !known || seen.binding == nil || len(propagation.Targets(seen.binding.BindingSpec())) == 0:
		item.because(say(LevelInfo, CodePreviewNowhere))
		return item, nil
	}
	overrides, err := o.policies(ctx, object.GetNamespace())
	if err != nil {
		return item, err
	}
	renderer := propagation.NewRenderer(propagation.Source{Template: object, Binding: seen.binding, Overrides: overrides}, o.service.Interpreter)
	changed := map[*propagation.Rendered][]OverrideChange{} // clusters that get the same share it
	snapshot := o.service.Scheduler.Snapshot()
	for _, target := range propagation.Targets(seen.binding.BindingSpec()) {
		cluster := snapshot.Get(target.Cluster)
		if cluster == nil {
			continue
		}
		rendered, err := renderer.Render(ctx, target, cluster)
		if err != nil {
			item.Overrides = append(item.Overrides, PreviewOverride{Cluster: target.Cluster, Changes: []OverrideChange{}, Error: err.Error()})
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
			item.Overrides = append(item.Overrides, PreviewOverride{Cluster: target.Cluster, Changes: changes})
		}
	}
	item.Takes = true
	item.because(say(LevelOK, CodePreviewChanges, "count", number(len(item.Overrides)), "clusters", number(len(propagation.Targets(seen.binding.BindingSpec())))))
	return item, nil
}

func overrideChanges(rendered *propagation.Rendered) ([]OverrideChange, error) {
	text, err := yamlOf(masked(rendered.Object))
	if err != nil {
		return nil, err
	}
	changes, err := changesOf(nil, rendered.Changes, text, isSecret(rendered.Object))
	if err != nil {
		return nil, fmt.Errorf("find lines of %s: %w", rendered.Object.GetName(), err)
	}
	return changes, nil
}
