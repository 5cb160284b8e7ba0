package workload

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/scheduling"
	"muster.dev/muster/backend/workload/fact"
)

// alike is how many clusters with the same trouble are named; the rest are
// counted.
const alike = 10

// surroundings are what the chain of facts needs beside the view.
type surroundings struct {
	// cluster finds a cluster; nil: there is none.
	cluster func(name string) *clusterv1alpha1.Cluster
	// exists says whether a policy does.
	exists func(fact.PolicyRef) bool
	// coming is the policy that would take a workload that nobody holds.
	coming *fact.PolicyRef
	// excluded are the clusters left out and why, where none was found.
	excluded []scheduling.Exclusion
}

// facts say, link by link from the policy to the members, how the workload is.
func (v view) facts(around surroundings) []fact.Fact {
	facts := v.templateFacts()
	facts = append(facts, v.policyFact(around))
	if v.stuck() {
		facts = append(facts, v.stuckFact())
	}
	if v.binding == nil {
		if v.policy() != nil && !v.stuck() {
			facts = append(facts, fact.Say(fact.LevelWarn, fact.CodeBindingMissing))
		}
		return facts
	}
	hops := v.hops()
	scheduled := v.scheduleFact(hops)
	facts = append(facts, scheduled)
	if scheduled.Code == fact.CodeScheduleFailed {
		facts = append(facts, filtered(around.excluded)...)
	}
	for _, task := range v.binding.BindingSpec().GracefulEvictionTasks {
		facts = append(facts, fact.Say(fact.LevelInfo, fact.CodeEvicting, "cluster", task.FromCluster, "reason", task.Reason).Linked(clusterRef(task.FromCluster)))
	}
	if v.needsStuck() {
		facts = append(facts, v.needsFact())
	}
	troubles := v.clusterFacts(hops, around)
	facts = append(facts, troubles...)
	if len(hops) > 0 && len(troubles) == 0 {
		facts = append(facts, v.allWell(hops))
	}
	return facts
}

func (v view) templateFacts() []fact.Fact {
	switch {
	case v.template == nil:
		return []fact.Fact{fact.Say(fact.LevelError, fact.CodeTemplateGone)}
	case v.template.GetDeletionTimestamp() != nil:
		return []fact.Fact{fact.Say(fact.LevelWarn, fact.CodeTemplateGoing).Since(v.template.GetDeletionTimestamp().Time)}
	}
	return nil
}

func (v view) policyFact(around surroundings) fact.Fact {
	if holder := v.policy(); holder != nil {
		if !around.exists(*holder) {
			return fact.Say(fact.LevelWarn, fact.CodePolicyGone, "policy", holder.String())
		}
		return fact.Say(fact.LevelOK, fact.CodePolicyHolds, "policy", holder.String()).Linked(holder.Object())
	}
	if v.binding != nil {
		for _, parent := range v.binding.BindingSpec().RequiredBy {
			link := &fact.ObjectRef{APIVersion: workv1alpha2.GroupVersion.String(), Kind: workv1alpha2.ResourceKindResourceBinding, Namespace: parent.Namespace, Name: parent.Name}
			return fact.Say(fact.LevelOK, fact.CodePolicyAttached, "parent", strings.TrimPrefix(parent.Namespace+"/"+parent.Name, "/")).Linked(link)
		}
		if component := v.binding.GetLabels()[workv1alpha2.BindingManagedByLabel]; component != "" {
			return fact.Say(fact.LevelOK, fact.CodePolicyManagedBy, "component", component)
		}
	}
	if around.coming != nil {
		return fact.Say(fact.LevelInfo, fact.CodePolicyComing, "policy", around.coming.String()).Linked(around.coming.Object())
	}
	if v.binding != nil {
		return fact.Say(fact.LevelInfo, fact.CodePolicyRemoved)
	}
	return fact.Say(fact.LevelWarn, fact.CodePolicyNone)
}

// scheduleFact says where the scheduler put it, or why nowhere.
func (v view) scheduleFact(hops []hop) fact.Fact {
	if len(hops) == 0 {
		_, why := v.nowhere()
		return why.Linked(v.bindingRef())
	}
	scheduled := meta.FindStatusCondition(v.binding.BindingStatus().Conditions, workv1alpha2.Scheduled)
	if scheduled != nil && scheduled.Status != metav1.ConditionTrue {
		return fact.Say(fact.LevelWarn, fact.CodeScheduleStale, "reason", scheduled.Reason, "message", scheduled.Message).
			Since(scheduled.LastTransitionTime.Time).Linked(v.bindingRef())
	}
	names := make([]string, 0, alike)
	for i := range hops {
		if i == alike {
			names = append(names, "…")
			break
		}
		names = append(names, hops[i].Name)
	}
	said := fact.Say(fact.LevelOK, fact.CodeScheduled, "count", fact.Number(len(hops)), "clusters", strings.Join(names, ", ")).Linked(v.bindingRef())
	if at := v.binding.BindingStatus().LastScheduledTime; at != nil {
		said = said.Since(at.Time)
	}
	return said
}

// filtered counts the clusters that each filter left out, the largest first.
func filtered(excluded []scheduling.Exclusion) []fact.Fact {
	type group struct {
		filter, reason string
		count          int
	}
	var groups []group
	for _, exclusion := range excluded {
		i := slices.IndexFunc(groups, func(g group) bool { return g.filter == exclusion.Filter && g.reason == exclusion.Reason })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{filter: exclusion.Filter, reason: exclusion.Reason})
		}
		groups[i].count++
	}
	slices.SortStableFunc(groups, func(a, b group) int { return b.count - a.count })
	facts := make([]fact.Fact, 0, len(groups))
	for _, g := range groups[:min(alike, len(groups))] {
		facts = append(facts, fact.Say(fact.LevelInfo, fact.CodeFiltered, "filter", g.filter, "count", fact.Number(g.count), "reason", g.reason))
	}
	return facts
}

// clusterFacts say what is wrong where, the most urgent first. Clusters with the
// same trouble are counted once there are many.
func (v view) clusterFacts(hops []hop, around surroundings) []fact.Fact {
	var all []fact.Fact
	known := make(map[string]bool, len(hops))
	for i := range hops {
		known[hops[i].Name] = true
		if said, bad := memberFact(hops[i].Name, around.cluster(hops[i].Name)); bad {
			all = append(all, said)
		}
		if hops[i].State != PlacedOK {
			all = append(all, hops[i].fact)
		}
	}
	for name, work := range v.works {
		if !known[name] {
			all = append(all, fact.Say(fact.LevelInfo, fact.CodeWorkGoing, "cluster", name).Linked(workRef(work)))
		}
	}
	slices.SortStableFunc(all, func(a, b fact.Fact) int {
		if urgent := urgency(b.Level) - urgency(a.Level); urgent != 0 {
			return urgent
		}
		return strings.Compare(string(a.Code)+a.Params["cluster"], string(b.Code)+b.Params["cluster"])
	})
	return shorten(all)
}

func urgency(level fact.Level) int {
	return slices.Index([]fact.Level{fact.LevelOK, fact.LevelInfo, fact.LevelWarn, fact.LevelError}, level)
}

// shorten keeps the first facts of each code and counts the others.
func shorten(facts []fact.Fact) []fact.Fact {
	var kept []fact.Fact
	for start := 0; start < len(facts); {
		end := start
		for end < len(facts) && facts[end].Code == facts[start].Code && facts[end].Level == facts[start].Level {
			end++
		}
		shown := min(end, start+alike)
		kept = append(kept, facts[start:shown]...)
		if end > shown {
			kept = append(kept, fact.Say(facts[start].Level, fact.CodeMore, "count", fact.Number(end-shown)))
		}
		start = end
	}
	return kept
}

// memberFact says what is wrong with a member itself.
func memberFact(name string, cluster *clusterv1alpha1.Cluster) (fact.Fact, bool) {
	if cluster == nil {
		return fact.Say(fact.LevelError, fact.CodeMemberGone, "cluster", name), true
	}
	ready := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
	if ready != nil && ready.Status == metav1.ConditionTrue {
		return fact.Fact{}, false
	}
	message := "it has not reported yet"
	said := fact.Say(fact.LevelError, fact.CodeMemberNotReady, "cluster", name, "message", message)
	if ready != nil {
		if ready.Message != "" {
			message = ready.Message
		}
		said = fact.Say(fact.LevelError, fact.CodeMemberNotReady, "cluster", name, "message", message).Since(ready.LastTransitionTime.Time)
	}
	return said.Linked(clusterRef(name)), true
}

func clusterRef(name string) *fact.ObjectRef {
	return &fact.ObjectRef{APIVersion: clusterv1alpha1.GroupVersion.String(), Kind: clusterv1alpha1.ResourceKindCluster, Name: name}
}

func (v view) allWell(hops []hop) fact.Fact {
	if sum := v.replicas(hops); sum != nil {
		return fact.Say(fact.LevelOK, fact.CodeAllReady, "clusters", fact.Number(len(hops)), "ready", fact.Number(sum.Ready), "wanted", fact.Number(sum.Wanted))
	}
	return fact.Say(fact.LevelOK, fact.CodeAllApplied, "clusters", fact.Number(len(hops)))
}

// conditionOf is a binding's condition as it is shown.
func conditionOf(binding workv1alpha2.Binding, kind string) *Condition {
	if binding == nil {
		return nil
	}
	found := meta.FindStatusCondition(binding.BindingStatus().Conditions, kind)
	if found == nil {
		return nil
	}
	return &Condition{
		Type: found.Type, Status: string(found.Status), Reason: found.Reason, Message: found.Message, LastTransitionTime: found.LastTransitionTime.Time,
	}
}

// healthOf is what a Work says about its object, for people.
func healthOf(work *workv1alpha1.Work) string {
	if work == nil || len(work.Status.ManifestStatuses) == 0 || work.Status.ManifestStatuses[0].Health == "" {
		return HealthUnknown
	}
	return string(work.Status.ManifestStatuses[0].Health)
}
