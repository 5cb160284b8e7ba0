package scheduling_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/scheduling"
)

// onOne places on one cluster.
func onOne() *policyv1alpha1.Placement {
	return &policyv1alpha1.Placement{SpreadConstraints: []policyv1alpha1.SpreadConstraint{{SpreadByField: byCluster, MinGroups: 1, MaxGroups: 1}}}
}

// grouped puts a workload into groups; an empty one means none.
func grouped(spec *workv1alpha2.ResourceBindingSpec, name, together, apart string) *workv1alpha2.ResourceBindingSpec {
	spec.Resource.Name = name
	spec.WorkloadAffinityGroups = &workv1alpha2.WorkloadAffinityGroups{AffinityGroup: together, AntiAffinityGroup: apart}
	return spec
}

func elsewhere(spec *workv1alpha2.ResourceBindingSpec) *workv1alpha2.ResourceBindingSpec {
	spec.Resource.Namespace = "elsewhere"
	return spec
}

func TestGroups(t *testing.T) {
	const web, db = "app=web", "tier=db"
	all := &policyv1alpha1.Placement{}
	for name, test := range map[string]struct {
		others []*workv1alpha2.ResourceBindingSpec
		spec   *workv1alpha2.ResourceBindingSpec
		want   string
		why    map[string]string
	}{
		"alone": {spec: grouped(configMap(all), "x", web, db), want: "a b c"},
		"together": {others: []*workv1alpha2.ResourceBindingSpec{grouped(configMap(all, target("b", 0)), "y", web, "")},
			spec: grouped(configMap(all), "x", web, ""), want: "b",
			why: map[string]string{"a": "WorkloadAffinity: the group app=web is elsewhere (ConfigMap y)", "c": "WorkloadAffinity: the group app=web is elsewhere (ConfigMap y)"}},
		"together with all others": {others: []*workv1alpha2.ResourceBindingSpec{
			grouped(configMap(all, target("a", 0), target("b", 0)), "y", web, ""), grouped(configMap(all, target("b", 0), target("c", 0)), "z", web, ""),
		}, spec: grouped(configMap(all), "x", web, ""), want: "b"},
		"with those that are nowhere yet": {others: []*workv1alpha2.ResourceBindingSpec{grouped(configMap(all), "y", web, "")}, spec: grouped(configMap(all), "x", web, ""), want: "a b c"},
		"apart": {others: []*workv1alpha2.ResourceBindingSpec{grouped(configMap(all, target("b", 0)), "y", "", db)},
			spec: grouped(configMap(all), "x", "", db), want: "a c", why: map[string]string{"b": "WorkloadAntiAffinity: the group tier=db is on it already (ConfigMap y)"}},
		"of another group":                      {others: []*workv1alpha2.ResourceBindingSpec{grouped(configMap(all, target("b", 0)), "y", "app=shop", "tier=shop")}, spec: grouped(configMap(all), "x", web, db), want: "a b c"},
		"one's apart is not another's together": {others: []*workv1alpha2.ResourceBindingSpec{grouped(configMap(all, target("b", 0)), "y", db, web)}, spec: grouped(configMap(all), "x", web, db), want: "a b c"},
		"of another namespace":                  {others: []*workv1alpha2.ResourceBindingSpec{elsewhere(grouped(configMap(all, target("b", 0)), "y", web, db))}, spec: grouped(configMap(all), "x", web, db), want: "a b c"},
		"itself":                                {others: []*workv1alpha2.ResourceBindingSpec{grouped(configMap(all, target("b", 0)), "x", web, db)}, spec: grouped(configMap(all), "x", web, db), want: "a b c"},
		"of another kind": {others: []*workv1alpha2.ResourceBindingSpec{grouped(deployment(1, all, target("b", 1)), "x", web, "")}, spec: grouped(configMap(all), "x", web, ""), want: "b",
			why: map[string]string{"a": "WorkloadAffinity: the group app=web is elsewhere (Deployment x)"}},
		"what is there stays": {others: []*workv1alpha2.ResourceBindingSpec{grouped(configMap(all, target("b", 0)), "y", web, db)},
			spec: grouped(configMap(all, target("a", 0), target("b", 0)), "x", web, db), want: "a b"},
		"both": {others: []*workv1alpha2.ResourceBindingSpec{grouped(configMap(all, target("a", 0), target("b", 0)), "y", web, ""), grouped(configMap(all, target("b", 0)), "z", "", db)},
			spec: grouped(configMap(all), "x", web, db), want: "a"},
		"nowhere": {others: []*workv1alpha2.ResourceBindingSpec{grouped(configMap(all, target("a", 0)), "y", web, db)}, spec: grouped(configMap(all), "x", web, db),
			want: "NoClusterFit: 0/3 clusters are available: 2 the group app=web is elsewhere (ConfigMap y), 1 the group tier=db is on it already (ConfigMap y)."},
	} {
		t.Run(name, func(t *testing.T) {
			alone := snapshot(cluster("a"), cluster("b"), cluster("c"))
			s := alone
			for _, other := range test.others {
				s = s.WithWorkload(other)
			}
			got := scheduling.Decide(scheduling.Input{Spec: test.spec, Status: &workv1alpha2.ResourceBindingStatus{}}, s)
			if result(got) != test.want {
				t.Errorf("got  %s\nwant %s", result(got), test.want)
			}
			for name, reason := range test.why {
				if why(got, name) != reason {
					t.Errorf("%s is left out for %q, want %q", name, why(got, name), reason)
				}
			}
			complete(t, got, s)
			// A cluster that comes or goes does not lose the groups.
			again := scheduling.Decide(scheduling.Input{Spec: test.spec, Status: &workv1alpha2.ResourceBindingStatus{}}, s.With(cluster("d")).Without("d"))
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("after another cluster came and went (-before +after):\n%s", diff)
			}
			for _, other := range test.others {
				s = s.WithoutWorkload(other)
			}
			left := scheduling.Decide(scheduling.Input{Spec: test.spec, Status: &workv1alpha2.ResourceBindingStatus{}}, s)
			none := scheduling.Decide(scheduling.Input{Spec: test.spec, Status: &workv1alpha2.ResourceBindingStatus{}}, alone)
			if diff := cmp.Diff(none, left); diff != "" {
				t.Errorf("without the others (-alone +left):\n%s", diff)
			}
		})
	}
}

// placedOn waits until a binding is scheduled and returns where.
func (h *hub) placedOn(t *testing.T, b *workv1alpha2.ResourceBinding) string {
	t.Helper()
	h.Await(t, b.Name+" to be placed", func(ctx context.Context) bool {
		return h.Client.Get(ctx, client.ObjectKeyFromObject(b), b) == nil && meta.IsStatusConditionTrue(b.Status.Conditions, workv1alpha2.Scheduled) && len(b.Spec.Clusters) == 1
	})
	return b.Spec.Clusters[0].Name
}

// TestGroupsOfBindings creates groups all at once, so that each is decided before
// the others have been seen, and lets the one that is left over wait.
func TestGroupsOfBindings(t *testing.T) {
	gates := policy.DefaultGates()
	gates.WorkloadAffinity = true
	h := startSchedulerWith(t, kubetest.StartHub(t), func(ctrl.Manager) scheduling.Deps { return scheduling.Deps{Gates: gates} })
	for _, name := range []string{"member1", "member2", "member3"} {
		h.join(t, cluster(name, room(10)))
	}
	var apart, together []*workv1alpha2.ResourceBinding
	for i := range 3 {
		apart = append(apart, binding(fmt.Sprintf("apart-%d", i), grouped(configMap(onOne()), "", "", "tier=db")))
		together = append(together, binding(fmt.Sprintf("together-%d", i), grouped(configMap(onOne()), "", "app=web", "")))
	}
	last := binding("last", grouped(configMap(onOne()), "", "", "tier=db"))
	for i := range apart {
		h.Create(t, apart[i])
		h.Create(t, together[i])
	}
	var on []string
	for i := range apart {
		on = append(on, h.placedOn(t, apart[i]))
		if got, want := h.placedOn(t, together[i]), h.placedOn(t, together[0]); got != want {
			t.Errorf("%s is on %s, its group on %s", together[i].Name, got, want)
		}
	}
	slices.Sort(on)
	if diff := cmp.Diff([]string{"member1", "member2", "member3"}, on); diff != "" {
		t.Errorf("a group that is kept apart is on (-want +got):\n%s", diff)
	}
	h.Create(t, last)
	h.settled(t, last, workv1alpha2.ReasonNoClusterFit, "")
	free := apart[1].Spec.Clusters[0].Name
	if err := h.Client.Delete(t.Context(), apart[1]); err != nil {
		t.Fatal(err)
	}
	if got := h.placedOn(t, last); got != free {
		t.Errorf("the last one is on %s, free was %s", got, free)
	}
	// One that leaves its group makes room as well.
	again := binding("again", grouped(configMap(onOne()), "", "", "tier=db"))
	h.Create(t, again)
	h.settled(t, again, workv1alpha2.ReasonNoClusterFit, "")
	free = apart[0].Spec.Clusters[0].Name
	change(t, h, apart[0], false, func(b *workv1alpha2.ResourceBinding) { b.Spec.WorkloadAffinityGroups = nil })
	if got := h.placedOn(t, again); got != free {
		t.Errorf("the next one is on %s, free was %s", got, free)
	}
	// A refused placement does not occupy a cluster.
	h.answer("refused", "Forbidden")
	refused := binding("refused", grouped(configMap(&policyv1alpha1.Placement{ClusterAffinity: names("member1"), SpreadConstraints: onOne().SpreadConstraints}), "", "", "tier=cache"))
	h.Create(t, refused)
	h.settled(t, refused, workv1alpha2.ReasonSchedulerError, "")
	h.answer("", "")
	h.Create(t, binding("instead", grouped(configMap(&policyv1alpha1.Placement{ClusterAffinity: names("member1"), SpreadConstraints: onOne().SpreadConstraints}), "", "", "tier=cache")))
	h.Await(t, "one of the two to be placed", func(ctx context.Context) bool {
		var list workv1alpha2.ResourceBindingList
		return h.Client.List(ctx, &list) == nil && slices.ContainsFunc(list.Items, func(b workv1alpha2.ResourceBinding) bool {
			return (b.Name == "instead" || b.Name == "refused") && len(b.Spec.Clusters) == 1
		})
	})
}

// With the gate off groups mean nothing, wherever they come from.
func TestGroupsWithoutTheGate(t *testing.T) {
	h := startScheduler(t, kubetest.StartHub(t))
	h.join(t, cluster("member1", room(10)))
	for _, name := range []string{"one", "two"} {
		b := binding(name, grouped(configMap(onOne()), "", "", "tier=db"))
		h.Create(t, b)
		if got := h.placedOn(t, b); got != "member1" {
			t.Errorf("%s is on %s", name, got)
		}
	}
}
