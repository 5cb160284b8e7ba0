package workload

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/backend/apis"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/propagation"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/fact"
)

// view is everything that a row and a detail are made of. Its objects belong to
// caches and must not be changed.
type view struct {
	ref      template.Ref
	template *unstructured.Unstructured // nil: gone
	binding  workv1alpha2.Binding       // nil: none
	works    map[string]*workv1alpha1.Work
	// unserved says which clusters cannot be sent what they are to have now, and why.
	unserved map[string]string
	// trouble keeps the template from being propagated as it is now, if it says anything.
	trouble template.Trouble
	// needs keeps what the object needs from being sent along with it, if it says anything.
	needs template.Trouble
}

// stuck says whether the template cannot be propagated as it is now.
func (v view) stuck() bool { return v.template != nil && v.trouble.Message != "" }

// stuckFact says why.
func (v view) stuckFact() fact.Fact {
	return fact.Say(fact.LevelError, fact.CodeTemplateStuck, "reason", v.trouble.Reason, "message", v.trouble.Message).Since(v.trouble.Since)
}

// needsStuck says whether what the object needs cannot be sent along now.
func (v view) needsStuck() bool { return v.needs.Message != "" }

// needsFact says why.
func (v view) needsFact() fact.Fact {
	return fact.Say(fact.LevelError, fact.CodeNeedsStuck, "reason", v.needs.Reason, "message", v.needs.Message).Since(v.needs.Since).Linked(v.bindingRef())
}

// hop is a workload in one cluster, with the sentence that says how it is there.
type hop struct {
	PlacedCluster
	work *workv1alpha1.Work // nil: none
	fact fact.Fact
	// wanted and ready count replicas; counted says whether the kind has any.
	wanted, ready int32
	counted       bool
}

// row is the workload as lists show it.
func (v view) row() Row {
	row := Row{
		ID: fact.ID(v.ref), APIVersion: v.ref.APIVersion, Kind: v.ref.Kind, Namespace: v.ref.Namespace, Name: v.ref.Name,
		Images: imagesOf(v.template), Clusters: []PlacedCluster{}, Policy: v.policy(), Binding: v.bindingRef(),
	}
	var about metav1.Object = v.binding
	if v.template != nil {
		about = v.template
	}
	if about != nil {
		row.CreatedAt, row.ResourceVersion = about.GetCreationTimestamp().Time, about.GetResourceVersion()
	}
	hops := v.hops()
	for i := range hops {
		row.Clusters = append(row.Clusters, hops[i].PlacedCluster)
	}
	row.Replicas = v.replicas(hops)
	var why fact.Fact
	row.State, why = v.state(hops)
	if why.Code != "" {
		row.Reason, row.ReasonCode, row.ReasonParams = why.Text, why.Code, why.Params
	}
	return row
}

// policy is who holds the workload, as the binding says, or else the template.
func (v view) policy() *fact.PolicyRef {
	var marked metav1.Object
	switch {
	case v.binding != nil:
		marked = v.binding
	case v.template != nil:
		marked = v.template
	default:
		return nil
	}
	claim, found := template.ClaimIn(marked)
	if !found || claim.Name == "" {
		return nil
	}
	ref := fact.ClaimedBy(claim)
	return &ref
}

func (v view) bindingRef() *fact.ObjectRef {
	if v.binding == nil {
		return nil
	}
	ref := &fact.ObjectRef{APIVersion: workv1alpha2.GroupVersion.String(), Kind: workv1alpha2.ResourceKindResourceBinding, Namespace: v.binding.GetNamespace(), Name: v.binding.GetName()}
	if ref.Namespace == "" {
		ref.Kind = workv1alpha2.ResourceKindClusterResourceBinding
	}
	return ref
}

// hops are the workload's clusters, by name.
func (v view) hops() []hop {
	if v.binding == nil {
		return nil
	}
	all := propagation.Targets(v.binding.BindingSpec())
	hops := make([]hop, 0, len(all))
	for _, target := range all {
		hops = append(hops, v.hop(target))
	}
	return hops
}

func (v view) hop(target propagation.Target) hop {
	h := hop{PlacedCluster: PlacedCluster{Name: target.Cluster, Health: HealthUnknown}, work: v.works[target.Cluster]}
	reported := h.report()
	h.ready, h.counted = reported.ready(v.ref.Kind)
	if target.Scheduled && fact.Counted(v.binding.BindingSpec()) {
		h.wanted, h.counted = target.Replicas, true
	} else if wanted, told := reported.wanted(v.ref.Kind); told {
		h.wanted, h.counted = wanted, true
	}
	if h.counted {
		wanted, ready := h.wanted, h.ready
		h.Replicas, h.Ready = &wanted, &ready
	}
	h.judge(v.unserved[target.Cluster])
	if h.State != PlacedOK {
		h.Message = h.fact.Text
	}
	return h
}

// report is what the member says about the object.
func (h *hop) report() report {
	if h.work == nil || len(h.work.Status.ManifestStatuses) == 0 {
		return report{}
	}
	first := &h.work.Status.ManifestStatuses[0]
	if first.Health != "" {
		h.Health = string(first.Health)
	}
	var reported report
	if first.Status != nil {
		// What does not have the shape of numbers counts as not reported.
		_ = json.Unmarshal(first.Status.Raw, &reported)
	}
	return reported
}

// judge decides how the workload is in the cluster, and says why. stuck is why it
// cannot be sent there as it is to be now, if it cannot.
func (h *hop) judge(stuck string) {
	if h.work == nil && stuck != "" {
		h.State, h.fact = PlacedFailed, fact.Say(fact.LevelError, fact.CodeWorkNotMade, "cluster", h.Name, "message", stuck)
		return
	}
	if h.work == nil {
		h.State, h.fact = PlacedPending, fact.Say(fact.LevelWarn, fact.CodeWorkMissing, "cluster", h.Name)
		return
	}
	applied := meta.FindStatusCondition(h.work.Status.Conditions, workv1alpha1.WorkApplied)
	h.Applied = applied != nil && applied.Status == metav1.ConditionTrue
	link := workRef(h.work)
	switch {
	case h.work.DeletionTimestamp != nil:
		h.State, h.fact = PlacedPending, fact.Say(fact.LevelWarn, fact.CodeWorkGoing, "cluster", h.Name)
	case stuck != "":
		h.State, h.fact = PlacedFailed, fact.Say(fact.LevelError, fact.CodeWorkStuck, "cluster", h.Name, "message", stuck)
	case h.work.Spec.SuspendDispatching != nil && *h.work.Spec.SuspendDispatching:
		h.State, h.fact = PlacedSuspended, fact.Say(fact.LevelWarn, fact.CodeWorkSuspended, "cluster", h.Name)
	case applied != nil && applied.Status == metav1.ConditionFalse:
		h.State, h.fact = PlacedFailed, refusal(h.Name, applied.Message).Since(applied.LastTransitionTime.Time)
	case applied == nil, applied.Status != metav1.ConditionTrue, applied.ObservedGeneration != 0 && applied.ObservedGeneration < h.work.Generation:
		h.State, h.fact = PlacedPending, fact.Say(fact.LevelWarn, fact.CodeWorkPending, "cluster", h.Name)
	case h.Health == HealthHealthy:
		h.State = PlacedOK
		return
	default:
		h.State, h.fact = PlacedProgressing, h.unhealthy()
	}
	h.fact = h.fact.Linked(link)
}

func (h *hop) unhealthy() fact.Fact {
	degraded := meta.FindStatusCondition(h.work.Status.Conditions, workv1alpha1.WorkDegraded)
	switch {
	case degraded != nil && degraded.Status == metav1.ConditionTrue: // as of a script that fails
		return fact.Say(fact.LevelError, fact.CodeHealthDegraded, "cluster", h.Name, "message", degraded.Message).Since(degraded.LastTransitionTime.Time)
	case h.Health == HealthUnknown:
		return fact.Say(fact.LevelInfo, fact.CodeHealthUnknown, "cluster", h.Name)
	case h.counted && h.ready < h.wanted:
		return fact.Say(fact.LevelWarn, fact.CodeHealthUnready, "cluster", h.Name, "ready", fact.Number(h.ready), "wanted", fact.Number(h.wanted))
	}
	return fact.Say(fact.LevelWarn, fact.CodeHealthUnhealthy, "cluster", h.Name)
}

// replicas sums up what clusters want and have. A workload that is nowhere wants
// what its template says.
func (v view) replicas(hops []hop) *Replicas {
	if len(hops) == 0 {
		if n, has := replicasOf(v.template); has {
			return &Replicas{Wanted: n}
		}
		return nil
	}
	var sum Replicas
	counted := false
	for i := range hops {
		if hops[i].counted {
			counted = true
			sum.Wanted += hops[i].wanted
			sum.Ready += hops[i].ready
		}
	}
	if !counted {
		return nil
	}
	return &sum
}

// state decides how a workload is as a whole, and says why it is not ok.
func (v view) state(hops []hop) (State, fact.Fact) {
	if v.stuck() {
		return StateFailed, v.stuckFact()
	}
	if v.binding == nil {
		if v.policy() != nil {
			return StatePending, fact.Say(fact.LevelWarn, fact.CodeBindingMissing)
		}
		return StateUnmanaged, fact.Say(fact.LevelWarn, fact.CodePolicyNone)
	}
	if len(hops) == 0 {
		return v.nowhere()
	}
	if v.needsStuck() {
		return StateFailed, v.needsFact()
	}
	for _, worst := range []struct {
		placed Placed
		state  State
	}{
		{PlacedFailed, StateFailed}, {PlacedPending, StatePending}, {PlacedSuspended, StatePending}, {PlacedProgressing, StateProgressing},
	} {
		if i := slices.IndexFunc(hops, func(h hop) bool { return h.State == worst.placed }); i >= 0 {
			return worst.state, hops[i].fact
		}
	}
	return StateOK, fact.Fact{}
}

// nowhere says why a binding has no clusters.
func (v view) nowhere() (State, fact.Fact) {
	spec, status := v.binding.BindingSpec(), v.binding.BindingStatus()
	scheduled := meta.FindStatusCondition(status.Conditions, workv1alpha2.Scheduled)
	switch {
	case spec.Suspension != nil && spec.Suspension.Scheduling != nil && *spec.Suspension.Scheduling:
		return StateUnscheduled, fact.Say(fact.LevelWarn, fact.CodeSchedulePaused)
	case scheduled != nil && scheduled.Status != metav1.ConditionTrue:
		return StateUnscheduled, fact.Say(fact.LevelError, fact.CodeScheduleFailed, "reason", scheduled.Reason, "message", scheduled.Message).
			Since(scheduled.LastTransitionTime.Time)
	case scheduled == nil && v.policy() != nil:
		return StatePending, fact.Say(fact.LevelWarn, fact.CodeSchedulePending)
	}
	return StateUnscheduled, fact.Say(fact.LevelWarn, fact.CodeScheduleNowhere)
}

func workRef(work *workv1alpha1.Work) *fact.ObjectRef {
	return &fact.ObjectRef{APIVersion: workv1alpha1.GroupVersion.String(), Kind: workv1alpha1.ResourceKindWork, Namespace: work.Namespace, Name: work.Name}
}

// clusterOf is the cluster that a Work is for.
func clusterOf(work *workv1alpha1.Work) (string, bool) {
	return apis.ClusterOfExecutionSpace(work.Namespace)
}
