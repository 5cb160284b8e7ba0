// Package preview tells what a policy would do if it were saved now, by running
// what the controllers run on what they see: template.Choose and NewBinding,
// scheduling.Needed and Decide, propagation.Render. It writes nothing.
package preview

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/access"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/scheduling"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/draft"
	"muster.dev/muster/backend/workload/fact"
)

// Known is what is known of the objects that are propagated now.
type Known interface {
	// Binding is that of an object; nil: it has none.
	Binding(ref template.Ref) workv1alpha2.Binding
	// HeldBy are the objects that a policy holds.
	HeldBy(holder fact.PolicyRef) []*unstructured.Unstructured
	// Propagated are the objects that have a binding.
	Propagated() []*unstructured.Unstructured
}

// Objects are the objects of the hub that policies may mean; *template.Cache is
// one.
type Objects interface {
	Get(ref template.Ref) (*unstructured.Unstructured, bool)
	List(apiVersion, kind, namespace string) []*unstructured.Unstructured
	Mapper() meta.RESTMapper
}

// Scheduler knows the clusters as scheduling sees them; *scheduling.Scheduler is
// one.
type Scheduler interface {
	Snapshot() *scheduling.Snapshot
	// Inquire fills in what is known of the room of clusters, by their estimators too.
	Inquire(ctx context.Context, in scheduling.Input) scheduling.Input
}

// Quotas say whether a placement would be refused; *admission.Admission does. Planned are
// the demands of bindings that are no more stored than this one.
type Quotas interface {
	AllowsPlacement(ctx context.Context, key client.ObjectKey, before, wanted *workv1alpha2.ResourceBindingSpec, planned map[client.ObjectKey]corev1.ResourceList) error
}

// Options are what a Previewer works with.
type Options struct {
	Objects     Objects
	Known       Known
	Scheduler   Scheduler
	Quotas      Quotas // nil: nothing is refused
	Interpreter *interpret.Interpreter
	Saved       draft.Saved
	Schemas     *draft.Schemas
	// Clients gives the hub API as the actor sees it.
	Clients func(actor access.Actor) (client.Client, error)
	// Gates and KeepEmpty must be those of the controllers.
	Gates     policy.Gates
	KeepEmpty bool
	Now       func() time.Time
}

// Previewer tells what drafts would do.
type Previewer struct {
	Options
	rights *rights
}

// New returns a Previewer.
func New(o Options) *Previewer { return &Previewer{Options: o, rights: newRights(o.Clients, o.Now)} }

// Limits of the objects that a preview looks at.
const (
	previewDefault = 10
	previewMost    = 50
)

// Preview tells what a policy would do, as the actor of ctx may see it.
func (s *Previewer) Preview(ctx context.Context, asked Draft) (Preview, error) {
	began := s.Now()
	if asked.Limit < 0 || asked.Limit > previewMost {
		return Preview{}, fault.Invalid("limit must be a number from 1 to %d", previewMost).WithField("limit", "out of range")
	}
	if asked.Limit == 0 {
		asked.Limit = previewDefault
	}
	preview := Preview{Problems: []draft.Problem{}, Templates: Templates{Items: []Item{}}, ClustersTotal: len(s.Scheduler.Snapshot().Clusters())}
	parsed, problems, err := s.Schemas.Parse(asked.YAML, func(ref fact.PolicyRef) client.Object {
		saved, err := s.Saved.Get(ctx, ref)
		if err != nil {
			return nil // there is none yet
		}
		return saved
	})
	if err != nil {
		return Preview{}, err
	}
	if len(problems) > 0 {
		preview.Problems = problems
		return preview, nil
	}
	preview.Valid = true
	if preview.Templates, err = s.templates(ctx, asked, parsed); err != nil {
		return Preview{}, err
	}
	preview.TookMillis = s.Now().Sub(began).Milliseconds()
	return preview, nil
}

// templates looks at the objects that the draft matches and, in front of
// them, at those that were asked for.
func (s *Previewer) templates(ctx context.Context, asked Draft, parsed draft.Policy) (Templates, error) {
	shown := Templates{Items: []Item{}}
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
	looked, err := s.looked(ctx, asked, parsed, visible, may)
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

// looked are the objects to look at: those that the draft names, or else the
// matched ones and, behind them, those that it would let go.
func (s *Previewer) looked(ctx context.Context, asked Draft, parsed draft.Policy, visible []*unstructured.Unstructured, may map[template.Ref]bool) ([]*unstructured.Unstructured, error) {
	if len(asked.Templates) == 0 {
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
		return looked[:min(asked.Limit, len(looked))], nil
	}
	var looked []*unstructured.Unstructured
	for _, named := range asked.Templates {
		object, known := s.Objects.Get(template.Ref{APIVersion: named.APIVersion, Kind: named.Kind, Namespace: named.Namespace, Name: named.Name})
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
	return looked[:min(asked.Limit, len(looked))], nil
}

// mayShow says whether the actor may list objects of this kind.
func (s *Previewer) mayShow(ctx context.Context, known map[template.Ref]bool, object *unstructured.Unstructured) (bool, error) {
	kind := template.Ref{APIVersion: object.GetAPIVersion(), Kind: object.GetKind()}
	if allowed, ok := known[kind]; ok {
		return allowed, nil
	}
	gvk := object.GroupVersionKind()
	mapping, err := s.Objects.Mapper().RESTMapping(gvk.GroupKind(), gvk.Version)
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
func selectorsOf(p draft.Policy) []policyv1alpha1.ResourceSelector {
	if spec := p.Override(); spec != nil {
		return spec.ResourceSelectors
	}
	return template.SpecOf(p.Object).ResourceSelectors
}

// matched are the objects that a draft matches, by namespace, name and kind. An
// override policy without selectors means whatever is propagated.
func (s *Previewer) matched(p draft.Policy) []*unstructured.Unstructured {
	selectors := selectorsOf(p)
	found := map[template.Ref]*unstructured.Unstructured{}
	for i := range selectors {
		for _, object := range s.Objects.List(selectors[i].APIVersion, selectors[i].Kind, selectors[i].Namespace) {
			if policy.Match(&selectors[i], object) != policy.MatchNone && inReach(p.Ref, object) {
				found[template.RefOf(object)] = object
			}
		}
	}
	if len(selectors) == 0 && p.Override() != nil {
		for _, object := range s.Known.Propagated() {
			if inReach(p.Ref, object) {
				found[template.RefOf(object)] = object
			}
		}
	}
	return sorted(found)
}

// inReach says whether a policy may mean objects where this one is.
func inReach(p fact.PolicyRef, object *unstructured.Unstructured) bool {
	return p.Namespace == "" || p.Namespace == object.GetNamespace()
}

// released are the objects that the saved policy holds and the draft does not
// match any more.
func (s *Previewer) released(p draft.Policy) []*unstructured.Unstructured {
	if p.Override() != nil {
		return nil
	}
	selectors, found := selectorsOf(p), map[template.Ref]*unstructured.Unstructured{}
	for _, object := range s.Known.HeldBy(p.Ref) {
		if policy.MatchAny(selectors, object) == policy.MatchNone {
			found[template.RefOf(object)] = object
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
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(key(a), key(b)) })
	return objects
}

// judgement says what a draft does with one object.
type judgement func(ctx context.Context, object *unstructured.Unstructured) (Item, error)

func (s *Previewer) judgeOf(ctx context.Context, p draft.Policy) (judgement, error) {
	if p.Override() != nil {
		overriding, err := s.newOverriding(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("preview %s: %w", p.Ref, err)
		}
		return overriding.item, nil
	}
	placing, err := s.newPlacing(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("preview %s: %w", p.Ref, err)
	}
	return placing.item, nil
}

func itemFor(object *unstructured.Unstructured) Item {
	return Item{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		Chosen: []Cluster{}, Leaves: []Leave{}, Excluded: []Exclusion{},
	}
}

func (i *Item) because(why fact.Fact) {
	i.Why, i.WhyCode, i.WhyParams = why.Text, why.Code, why.Params
}
