package workload

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/backend/access"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/template"
)

// Limits of the objects that a preview looks at.
const (
	previewDefault = 10
	previewMost    = 50
)

// Changed says what becomes of a cluster, in one word.
type Changed string

// What becomes of a cluster.
const (
	ChangedNew   Changed = "new"
	ChangedKept  Changed = "kept"
	ChangedMore  Changed = "more"
	ChangedFewer Changed = "fewer"
)

// PreviewCluster is a cluster that an object would go to.
type PreviewCluster struct {
	Name     string `json:"name"`
	Replicas *int32 `json:"replicas,omitempty" validate:"optional"`
	// Now is how many replicas it has now; absent if it has none or is new.
	Now    *int32  `json:"now,omitempty" validate:"optional"`
	Change Changed `json:"change" enums:"new,kept,more,fewer"`
}

// PreviewLeave is a cluster that an object would leave.
type PreviewLeave struct {
	Name     string `json:"name"`
	Replicas *int32 `json:"replicas,omitempty" validate:"optional"`
}

// PreviewExclusion is a cluster that is left out, and why.
type PreviewExclusion struct {
	Name   string `json:"name"`
	Filter string `json:"filter"`
	Reason string `json:"reason"`
}

// PreviewFailure says why there would be no placement.
type PreviewFailure struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Available is how many replicas the clusters that fit could run together.
	Available *int64 `json:"available,omitempty" validate:"optional"`
}

// PreviewOverride is what overrides would change for one cluster.
type PreviewOverride struct {
	Cluster string           `json:"cluster"`
	Changes []OverrideChange `json:"changes"`
	// Error says why the cluster would not get it.
	Error string `json:"error,omitempty" validate:"optional"`
}

// PreviewItem is what a policy would do with one object.
type PreviewItem struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty" validate:"optional"`
	Name       string `json:"name"`
	// Current is the policy that holds it now.
	Current *PolicyRef `json:"current,omitempty" validate:"optional"`
	Takes   bool       `json:"takes"`
	// Why says why it would take it or not; WhyCode and WhyParams say it for
	// translation.
	Why       string             `json:"why"`
	WhyCode   Code               `json:"whyCode"`
	WhyParams map[string]string  `json:"whyParams,omitempty" validate:"optional"`
	Replicas  *int32             `json:"replicas,omitempty" validate:"optional"`
	Chosen    []PreviewCluster   `json:"chosen"`
	Leaves    []PreviewLeave     `json:"leaves"`
	Excluded  []PreviewExclusion `json:"excluded"`
	Failure   *PreviewFailure    `json:"failure,omitempty" validate:"optional"`
	// Overrides are those of the clusters that it goes to now, for an override
	// policy.
	Overrides []PreviewOverride `json:"overrides,omitempty" validate:"optional"`
}

// PreviewTemplates are the objects that a policy matches.
type PreviewTemplates struct {
	Matched int `json:"matched"`
	// Hidden is how many of them are of kinds that the actor may not list.
	Hidden int           `json:"hidden"`
	Items  []PreviewItem `json:"items"`
}

// Preview is what a policy would do.
type Preview struct {
	Valid         bool             `json:"valid"`
	Problems      []Problem        `json:"problems"`
	Templates     PreviewTemplates `json:"templates"`
	ClustersTotal int              `json:"clustersTotal"`
	TookMillis    int64            `json:"tookMillis"`
}

// Preview tells what a policy would do if it were saved now. It changes nothing;
// everybody who is signed in may ask.
func (s *Service) Preview(ctx context.Context, draft Draft) (Preview, error) {
	if err := s.open(ctx); err != nil {
		return Preview{}, err
	}
	began := s.Now()
	if draft.Limit < 0 || draft.Limit > previewMost {
		return Preview{}, fault.Invalid("limit must be a number from 1 to %d", previewMost).WithField("limit", "out of range")
	}
	if draft.Limit == 0 {
		draft.Limit = previewDefault
	}
	preview := Preview{Problems: []Problem{}, Templates: PreviewTemplates{Items: []PreviewItem{}}, ClustersTotal: len(s.Scheduler.Snapshot().Clusters())}
	parsed, problems, err := s.parse(ctx, draft.YAML)
	if err != nil {
		return Preview{}, err
	}
	if len(problems) > 0 {
		preview.Problems = problems
		return preview, nil
	}
	preview.Valid = true
	if preview.Templates, err = s.previewTemplates(ctx, draft, parsed); err != nil {
		return Preview{}, err
	}
	preview.TookMillis = s.Now().Sub(began).Milliseconds()
	return preview, nil
}

// previewTemplates looks at the objects that the draft matches and, in front of
// them, at those that were asked for.
func (s *Service) previewTemplates(ctx context.Context, draft Draft, parsed parsed) (PreviewTemplates, error) {
	shown := PreviewTemplates{Items: []PreviewItem{}}
	matched := s.matched(parsed)
	shown.Matched = len(matched)
	may := map[template.Ref]bool{} // by apiVersion and kind
	visible := make([]*unstructured.Unstructured, 0, min(len(matched), previewMost))
	for _, object := range matched {
		allowed, err := s.mayShow(ctx, may, object)
		if err != nil {
			return shown, err
		}
		if allowed {
			visible = append(visible, object)
		} else {
			shown.Hidden++
		}
	}
	looked, err := s.asked(ctx, draft, parsed, visible, may)
	if err != nil {
		return shown, err
	}
	judge, err := s.judgeOf(ctx, parsed)
	if err != nil {
		return shown, err
	}
	for _, object := range looked {
		item, err := judge(ctx, object)
		if err != nil {
			return shown, err
		}
		shown.Items = append(shown.Items, item)
	}
	return shown, nil
}

// asked are the objects to look at: those that the draft names, or else the
// matched ones and, behind them, those that it would let go.
func (s *Service) asked(ctx context.Context, draft Draft, parsed parsed, visible []*unstructured.Unstructured, may map[template.Ref]bool) ([]*unstructured.Unstructured, error) {
	if len(draft.Templates) == 0 {
		looked := visible
		for _, object := range s.released(parsed) {
			allowed, err := s.mayShow(ctx, may, object)
			if err != nil {
				return nil, err
			}
			if allowed {
				looked = append(looked, object)
			}
		}
		return looked[:min(draft.Limit, len(looked))], nil
	}
	var looked []*unstructured.Unstructured
	for _, named := range draft.Templates {
		object, known := s.Templates.Get(template.Ref{APIVersion: named.APIVersion, Kind: named.Kind, Namespace: named.Namespace, Name: named.Name})
		if !known {
			continue
		}
		allowed, err := s.mayShow(ctx, may, object)
		if err != nil {
			return nil, err
		}
		if allowed {
			looked = append(looked, object)
		}
	}
	return looked[:min(draft.Limit, len(looked))], nil
}

// mayShow says whether the actor may list objects of this kind.
func (s *Service) mayShow(ctx context.Context, known map[template.Ref]bool, object *unstructured.Unstructured) (bool, error) {
	kind := template.Ref{APIVersion: object.GetAPIVersion(), Kind: object.GetKind()}
	if allowed, ok := known[kind]; ok {
		return allowed, nil
	}
	gvk := object.GroupVersionKind()
	mapping, err := s.Templates.Mapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, nil // the hub stopped serving the kind: its objects are about to go
	}
	actor, _ := access.ActorFrom(ctx)
	allowed, err := s.rights.mayList(ctx, actor, mapping.Resource.GroupResource())
	if err != nil {
		return false, err
	}
	known[kind] = allowed
	return allowed, nil
}

// selectorsOf are a policy's selectors of objects.
func selectorsOf(p parsed) []policyv1alpha1.ResourceSelector {
	if spec := overrideSpecOf(p.object); spec != nil {
		return spec.ResourceSelectors
	}
	return template.SpecOf(p.object).ResourceSelectors
}

// matched are the objects that a draft matches, by namespace, name and kind. An
// override policy without selectors means whatever is propagated.
func (s *Service) matched(p parsed) []*unstructured.Unstructured {
	selectors := selectorsOf(p)
	found := map[template.Ref]*unstructured.Unstructured{}
	for i := range selectors {
		for _, object := range s.Templates.List(selectors[i].APIVersion, selectors[i].Kind, selectors[i].Namespace) {
			if policy.Match(&selectors[i], object) != policy.MatchNone && inReach(p.ref, object) {
				found[template.RefOf(object)] = object
			}
		}
	}
	if len(selectors) == 0 && overrideSpecOf(p.object) != nil {
		for _, seen := range s.projection.views(func(row *Row) bool { return row.Binding != nil }) {
			if seen.template != nil && inReach(p.ref, seen.template) {
				found[seen.ref] = seen.template
			}
		}
	}
	return sorted(found)
}

// inReach says whether a policy may mean objects where this one is.
func inReach(p PolicyRef, object *unstructured.Unstructured) bool {
	return p.Namespace == "" || p.Namespace == object.GetNamespace()
}

// released are the objects that the saved policy holds and the draft does not
// match any more.
func (s *Service) released(p parsed) []*unstructured.Unstructured {
	if overrideSpecOf(p.object) != nil {
		return nil
	}
	selectors, found := selectorsOf(p), map[template.Ref]*unstructured.Unstructured{}
	for _, seen := range s.projection.views(func(row *Row) bool { return row.Policy != nil && *row.Policy == p.ref }) {
		if seen.template != nil && policy.MatchAny(selectors, seen.template) == policy.MatchNone {
			found[seen.ref] = seen.template
		}
	}
	return sorted(found)
}

func sorted(found map[template.Ref]*unstructured.Unstructured) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, 0, len(found))
	for _, object := range found {
		objects = append(objects, object)
	}
	key := func(o *unstructured.Unstructured) string {
		return o.GetNamespace() + "\x00" + o.GetName() + "\x00" + o.GetKind() + "\x00" + o.GetAPIVersion()
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return compareNames(key(a), key(b)) })
	return objects
}

// judgement says what a draft does with one object.
type judgement func(ctx context.Context, object *unstructured.Unstructured) (PreviewItem, error)

func (s *Service) judgeOf(ctx context.Context, p parsed) (judgement, error) {
	if overrideSpecOf(p.object) != nil {
		overriding, err := s.newOverriding(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("preview %s: %w", p.ref, err)
		}
		return overriding.item, nil
	}
	placing, err := s.newPlacing(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("preview %s: %w", p.ref, err)
	}
	return placing.item, nil
}

func itemFor(object *unstructured.Unstructured) PreviewItem {
	return PreviewItem{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		Chosen: []PreviewCluster{}, Leaves: []PreviewLeave{}, Excluded: []PreviewExclusion{},
	}
}

func (i *PreviewItem) because(why Fact) {
	i.Why, i.WhyCode, i.WhyParams = why.Text, why.Code, why.Params
}
