package preview

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/apis"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/scheduling"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/draft"
	"muster.dev/muster/backend/workload/fact"
)

// reasonMissing is the reason of a failure before scheduling: the policy names what
// the hub does not have.
const reasonMissing = "MissingReference"

// reasonInterpreter is the reason of a failure before scheduling: nobody can say
// how many replicas the object has.
const reasonInterpreter = "InterpreterError"

// placing tells where objects would go with a draft among the propagation
// policies. It looks at one snapshot of the clusters, in which the objects that were
// looked at are where the draft would have them.
type placing struct {
	service  *Previewer
	draft    draft.Policy
	claim    template.Claim
	spec     *policyv1alpha1.PropagationSpec
	snapshot *scheduling.Snapshot
	planned  map[client.ObjectKey]corev1.ResourceList // what the objects that were looked at would ask for
	waiting  string                                   // an override policy that must exist first and does not
	extras   template.Extras
	missing  error // what the draft names and the hub does not have
	// byNamespace are the policies of a namespace with the draft in its place.
	byNamespace map[string]propagationPolicies
}

type propagationPolicies struct {
	pps  []*policyv1alpha1.PropagationPolicy
	cpps []*policyv1alpha1.ClusterPropagationPolicy
}

func (s *Previewer) newPlacing(ctx context.Context, p draft.Policy) (*placing, error) {
	placing := &placing{
		service: s, draft: p, claim: template.ClaimOf(p.Object), spec: template.SpecOf(p.Object), snapshot: s.Scheduler.Snapshot(),
		planned:     map[client.ObjectKey]corev1.ResourceList{},
		byNamespace: map[string]propagationPolicies{},
	}
	overrides, err := s.Saved.Overrides(ctx, p.Ref.Namespace)
	if err != nil {
		return nil, err
	}
	placing.extras, placing.missing = template.LookUpExtras(p.Object, s.Objects, s.Gates)
	for _, name := range placing.spec.DependentOverrides {
		if !dependencyExists(overrides.Cluster, overrides.Namespaced, p.Ref, name) {
			placing.waiting = name
			break
		}
	}
	return placing, nil
}

func dependencyExists(cluster []*policyv1alpha1.ClusterOverridePolicy, namespaced []*policyv1alpha1.OverridePolicy, holder fact.PolicyRef, name string) bool {
	if holder.Namespace == "" {
		return slices.ContainsFunc(cluster, func(p *policyv1alpha1.ClusterOverridePolicy) bool { return p.Name == name })
	}
	return slices.ContainsFunc(namespaced, func(p *policyv1alpha1.OverridePolicy) bool { return p.Name == name })
}

// policies are the propagation policies that would be there.
func (p *placing) policies(ctx context.Context, namespace string) (propagationPolicies, error) {
	if known, ok := p.byNamespace[namespace]; ok {
		return known, nil
	}
	pps, cpps, err := p.service.Saved.Propagation(ctx, namespace)
	if err != nil {
		return propagationPolicies{}, err
	}
	switch draft := p.draft.Object.(type) {
	case *policyv1alpha1.ClusterPropagationPolicy:
		cpps = replacedBy(cpps, draft)
	case *policyv1alpha1.PropagationPolicy:
		if draft.Namespace == namespace {
			pps = replacedBy(pps, draft)
		}
	}
	all := propagationPolicies{pps, cpps}
	p.byNamespace[namespace] = all
	return all, nil
}

// find is a policy that would be there.
func (all propagationPolicies) find(claim template.Claim) template.PolicyObject {
	if claim.Kind == policyv1alpha1.ResourceKindPropagationPolicy {
		if i := slices.IndexFunc(all.pps, func(p *policyv1alpha1.PropagationPolicy) bool {
			return p.Name == claim.Name && p.Namespace == claim.Namespace
		}); i >= 0 {
			return all.pps[i]
		}
		return nil
	}
	if i := slices.IndexFunc(all.cpps, func(p *policyv1alpha1.ClusterPropagationPolicy) bool { return p.Name == claim.Name }); i >= 0 {
		return all.cpps[i]
	}
	return nil
}

func (p *placing) item(ctx context.Context, object *unstructured.Unstructured) (Item, error) {
	item := itemFor(object)
	held, isHeld := template.ClaimIn(object)
	if isHeld {
		ref := fact.ClaimedBy(held)
		item.Current = &ref
	}
	present := p.service.Known.Binding(template.RefOf(object))
	takes, why, err := p.takes(ctx, object, held, isHeld)
	if err != nil {
		return item, err
	}
	item.Takes = takes
	item.because(why)
	if !takes {
		return item, nil
	}
	if present != nil && !belongsTo(present, object) {
		present = nil
	}
	if p.missing != nil {
		item.Failure = &Failure{Reason: reasonMissing, Message: p.missing.Error()}
		return item, nil
	}
	next, err := p.next(ctx, object, present)
	if err != nil {
		// A script or a webhook that knows the kind: the detector meets it, too.
		item.Failure = &Failure{Reason: reasonInterpreter, Message: err.Error()}
		return item, nil
	}
	spec := next.BindingSpec()
	if fact.Counted(spec) {
		wanted := spec.Replicas
		item.Replicas = &wanted
	}
	before := clustersNow(present)
	if why := p.still(next); why.Code != "" {
		item.because(why)
		item.describe(before, before, fact.Counted(spec))
		return item, nil
	}
	placed := next.BindingSpec().DeepCopy()
	placed.Clusters = item.place(ctx, next, before, p)
	p.snapshot = p.snapshot.WithWorkload(placed) // the next one may be of its groups
	p.planned[client.ObjectKeyFromObject(next)] = policy.Demand(placed)
	return item, nil
}

func same(a, b template.Claim) bool {
	return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name
}

// takes says whether the draft would hold an object, by the rules of the
// detector (contract section 8.2).
func (p *placing) takes(ctx context.Context, object *unstructured.Unstructured, held template.Claim, isHeld bool) (bool, fact.Fact, error) {
	matches := inReach(p.draft.Ref, object) && policy.MatchAny(p.spec.ResourceSelectors, object) != policy.MatchNone
	all, err := p.policies(ctx, object.GetNamespace())
	if err != nil {
		return false, fact.Fact{}, err
	}
	mine := isHeld && same(held, p.claim)
	var holder template.PolicyObject
	if isHeld {
		holder = all.find(held)
	}
	switch {
	case object.GetDeletionTimestamp() != nil:
		return false, fact.Say(fact.LevelInfo, fact.CodeTemplateGoing), nil
	case object.GetLabels()[apis.ClaimedByLabel] != "":
		return false, fact.Say(fact.LevelInfo, fact.CodePreviewComponent, "component", object.GetLabels()[apis.ClaimedByLabel]), nil
	case !matches && mine:
		return false, p.released(object, all), nil
	case !matches:
		return false, fact.Say(fact.LevelInfo, fact.CodePreviewNoMatch), nil
	case holder == nil || holder.GetDeletionTimestamp() != nil: // nobody, or who is going
		best, _ := template.Choose(object, all.pps, all.cpps)
		return p.won(best, fact.Say(fact.LevelOK, fact.CodePreviewTakes), fact.CodePreviewBeaten)
	}
	stronger, found := p.strongest(object, holder, all)
	switch {
	case found:
		return p.won(stronger, fact.Say(fact.LevelOK, fact.CodePreviewPreempts, "policy", fact.ClaimedBy(held).String()), fact.CodePreviewBeaten)
	case mine:
		return true, fact.Say(fact.LevelOK, fact.CodePreviewHolds), nil
	}
	return false, fact.Say(fact.LevelInfo, fact.CodePreviewHeld, "policy", fact.ClaimedBy(held).String()), nil
}

// won says whether the policy that gets an object is the draft.
func (p *placing) won(best template.Claim, yes fact.Fact, no fact.Code) (bool, fact.Fact, error) {
	switch {
	case !same(best, p.claim):
		return false, fact.Say(fact.LevelInfo, no, "policy", fact.ClaimedBy(best).String()), nil
	case p.waiting != "":
		return false, fact.Say(fact.LevelWarn, fact.CodePreviewWaits, "override", p.waiting), nil
	}
	return true, yes, nil
}

// strongest is the policy that would take an object from its holder, where that
// is switched on: the best of those that may.
func (p *placing) strongest(object *unstructured.Unstructured, holder template.PolicyObject, all propagationPolicies) (template.Claim, bool) {
	if !p.service.Gates.PropagationPolicyPreemption {
		return template.Claim{}, false
	}
	var may propagationPolicies
	for _, one := range all.pps {
		if template.Preempts(one, holder, object) {
			may.pps = append(may.pps, one)
		}
	}
	for _, one := range all.cpps {
		if template.Preempts(one, holder, object) {
			may.cpps = append(may.cpps, one)
		}
	}
	return template.Choose(object, may.pps, may.cpps)
}

// released says what becomes of an object that the draft lets go.
func (p *placing) released(object *unstructured.Unstructured, all propagationPolicies) fact.Fact {
	free := object.DeepCopy()
	template.Claim{}.Put(free)
	if next, found := template.Choose(free, all.pps, all.cpps); found {
		return fact.Say(fact.LevelWarn, fact.CodePreviewPasses, "policy", fact.ClaimedBy(next).String())
	}
	return fact.Say(fact.LevelWarn, fact.CodePreviewReleases)
}

// next is the binding of an object as it would be stored before it is scheduled:
// a new one, or the present one with what the draft says.
func (p *placing) next(ctx context.Context, object *unstructured.Unstructured, present workv1alpha2.Binding) (workv1alpha2.Binding, error) {
	scale, err := scaleOf(ctx, p.service.Interpreter, object, p.service.Gates)
	if err != nil {
		return nil, fmt.Errorf("count replicas of %s: %w", object.GetName(), err)
	}
	fresh := template.NewBinding(object, p.draft.Object, scale, p.extras)
	if present == nil {
		return fresh, nil
	}
	kept, ok := present.DeepCopyObject().(workv1alpha2.Binding)
	if !ok {
		return nil, fmt.Errorf("copy %T", present)
	}
	p.claim.Put(kept)
	wanted, spec := fresh.BindingSpec().DeepCopy(), kept.BindingSpec()
	// What others than the detector decide stays (contract section 8.2).
	wanted.Clusters, wanted.RequiredBy, wanted.GracefulEvictionTasks = spec.Clusters, spec.RequiredBy, spec.GracefulEvictionTasks
	wanted.RescheduleTriggeredAt = spec.RescheduleTriggeredAt
	if spec.Suspension != nil && spec.Suspension.Scheduling != nil {
		if wanted.Suspension == nil {
			wanted.Suspension = &workv1alpha2.Suspension{}
		}
		wanted.Suspension.Scheduling = spec.Suspension.Scheduling
	}
	*spec = *wanted
	return kept, nil
}

// belongsTo says whether a binding is that of this very object, not of one that
// was there before under the same name and whose binding is about to go.
func belongsTo(binding workv1alpha2.Binding, object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(binding.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == object.GetUID() })
}

// scaleOf asks what the detector asks.
func scaleOf(ctx context.Context, interpreter *interpret.Interpreter, object *unstructured.Unstructured, gates policy.Gates) (template.Scale, error) {
	var scale template.Scale
	var err error
	if gates.MultiplePodTemplatesScheduling {
		var known bool
		if scale.Components, known, err = interpreter.Components(ctx, object); err != nil || known {
			return scale, err
		}
	}
	scale.Replicas, scale.Need, _, err = interpreter.Replicas(ctx, object)
	return scale, err
}

// refused says why the API would not take a placement that the scheduler decides on.
func (p *placing) refused(ctx context.Context, next workv1alpha2.Binding, clusters []workv1alpha2.TargetCluster) *scheduling.Failure {
	if p.service.Quotas == nil || next.GetNamespace() == "" {
		return nil
	}
	wanted := next.BindingSpec().DeepCopy()
	wanted.Clusters = clusters
	err := p.service.Quotas.AllowsPlacement(ctx, client.ObjectKeyFromObject(next), next.BindingSpec(), wanted, p.planned)
	if err == nil {
		return nil
	}
	return scheduling.Refused(err)
}

// still says why an object would stay where it is, if saving the draft were not
// enough to move it.
func (p *placing) still(next workv1alpha2.Binding) fact.Fact {
	spec := next.BindingSpec()
	switch {
	case p.spec.ActivationPreference == policyv1alpha1.LazyActivation:
		return fact.Say(fact.LevelInfo, fact.CodePreviewLazy)
	case spec.Suspension != nil && spec.Suspension.Scheduling != nil && *spec.Suspension.Scheduling:
		return fact.Say(fact.LevelInfo, fact.CodeSchedulePaused)
	case spec.SchedulerName != "" && spec.SchedulerName != policyv1alpha1.DefaultSchedulerName:
		return fact.Say(fact.LevelInfo, fact.CodePreviewScheduler, "scheduler", spec.SchedulerName)
	}
	return fact.Fact{}
}

func clustersNow(binding workv1alpha2.Binding) []workv1alpha2.TargetCluster {
	if binding == nil {
		return nil
	}
	return binding.BindingSpec().Clusters
}
