package scheduling_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/scheduling"
)

const (
	byCluster  = policyv1alpha1.SpreadByFieldCluster
	byRegion   = policyv1alpha1.SpreadByFieldRegion
	byZone     = policyv1alpha1.SpreadByFieldZone
	byProvider = policyv1alpha1.SpreadByFieldProvider
)

// decision is a row of the tables below.
type decision struct {
	name     string
	clusters []*clusterv1alpha1.Cluster
	spec     *workv1alpha2.ResourceBindingSpec
	status   workv1alpha2.ResourceBindingStatus
	fresh    bool
	empty    bool
	want     string
	affinity string
	why      map[string]string
}

func (d *decision) check(t *testing.T) {
	t.Helper()
	s := snapshot(d.clusters...)
	before := d.spec.DeepCopy()
	got := scheduling.Decide(scheduling.Input{Spec: d.spec, Status: &d.status, Fresh: d.fresh, KeepEmpty: d.empty}, s)
	if result(got) != d.want {
		t.Errorf("got  %s\nwant %s", result(got), d.want)
	}
	if got.AffinityName != d.affinity {
		t.Errorf("affinity %q, want %q", got.AffinityName, d.affinity)
	}
	for name, reason := range d.why {
		if why(got, name) != reason {
			t.Errorf("%s is left out for %q, want %q", name, why(got, name), reason)
		}
	}
	complete(t, got, s)
	if !equal(before, d.spec) {
		t.Error("the binding was changed")
	}
}

func run(t *testing.T, table []decision) {
	for _, d := range table {
		t.Run(d.name, d.check)
	}
}

// TestFilters is contract section 9.2.
func TestFilters(t *testing.T) {
	three := []*clusterv1alpha1.Cluster{cluster("member1"), cluster("member2"), cluster("member3")}
	labels := &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}}
	zone := func(operator corev1.NodeSelectorOperator, values ...string) *policyv1alpha1.ClusterAffinity {
		return &policyv1alpha1.ClusterAffinity{FieldSelector: &policyv1alpha1.FieldSelector{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: operator, Values: values}},
		}}
	}
	run(t, []decision{
		{name: "no affinity means every cluster", clusters: three, spec: configMap(&policyv1alpha1.Placement{}), want: "member1 member2 member3"},
		{
			name: "names, as recorded in push-propagation", clusters: three, spec: deployment(1, &policyv1alpha1.Placement{ClusterAffinity: names("member1", "member2")}),
			want: "member1:1 member2:1", why: map[string]string{"member3": "ClusterAffinity: not meant by the cluster affinity"},
		},
		{
			name: "no fit, as recorded in no-cluster-fit", clusters: three, spec: configMap(&policyv1alpha1.Placement{ClusterAffinity: names("nowhere")}),
			want: "NoClusterFit: 0/3 clusters are available: 3 not meant by the cluster affinity.",
		},
		{name: "no cluster at all", spec: configMap(&policyv1alpha1.Placement{}), want: "NoClusterFit: 0/0 clusters are available: no cluster is registered."},
		{
			name: "excluded before named", clusters: three,
			spec: configMap(&policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"member1", "member2"}, ExcludeClusters: []string{"member1"}}}),
			want: "member2",
		},
		{name: "labels", clusters: append(three[:2:2], cluster("member4", labelled("tier", "gold"))), spec: configMap(&policyv1alpha1.Placement{ClusterAffinity: labels}), want: "member4"},
		{
			name: "a label selector that is none", clusters: three, want: "NoClusterFit: 0/3 clusters are available: 3 not meant by the cluster affinity.",
			spec: configMap(&policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}}),
		},
		{name: "zone In", clusters: []*clusterv1alpha1.Cluster{cluster("a", inZone("z1")), cluster("b", inZone("z2")), cluster("c")}, spec: configMap(&policyv1alpha1.Placement{ClusterAffinity: zone(corev1.NodeSelectorOpIn, "z1")}), want: "a"},
		{name: "zone NotIn", clusters: []*clusterv1alpha1.Cluster{cluster("a", inZone("z1")), cluster("b", inZone("z2")), cluster("c")}, spec: configMap(&policyv1alpha1.Placement{ClusterAffinity: zone(corev1.NodeSelectorOpNotIn, "z1")}), want: "b c"},
		{
			name: "the API is missing", clusters: []*clusterv1alpha1.Cluster{cluster("a", without("apps/v1")), cluster("b")}, spec: deployment(1, nil), want: "b:1",
			why: map[string]string{"a": "APIEnablement: the API apps/v1 Deployment is missing"},
		},
		{
			name: "the API is missing where the workload is", clusters: []*clusterv1alpha1.Cluster{cluster("a", without("apps/v1")), cluster("b")},
			spec: deployment(1, nil, target("a", 1)), want: "a:1 b:1",
		},
		{
			name: "taints", clusters: []*clusterv1alpha1.Cluster{
				cluster("a", tainted("cluster.karmada.io/not-ready", corev1.TaintEffectNoSchedule)), cluster("b", tainted("soft", corev1.TaintEffectPreferNoSchedule)), cluster("c", tainted("evict", corev1.TaintEffectNoExecute)),
			},
			spec: configMap(&policyv1alpha1.Placement{}), want: "b",
			why: map[string]string{
				"a": "TaintToleration: untolerated taint cluster.karmada.io/not-ready:NoSchedule", "c": "TaintToleration: untolerated taint evict:NoExecute",
			},
		},
		{
			name: "taints that are tolerated", clusters: []*clusterv1alpha1.Cluster{
				cluster("a", tainted("cluster.karmada.io/not-ready", corev1.TaintEffectNoSchedule)), cluster("c", tainted("evict", corev1.TaintEffectNoExecute)),
			},
			spec: configMap(&policyv1alpha1.Placement{ClusterTolerations: []corev1.Toleration{{Key: "cluster.karmada.io/not-ready", Operator: corev1.TolerationOpExists}}}), want: "a",
		},
		{
			name: "a member of the other dialect", clusters: []*clusterv1alpha1.Cluster{cluster("a", otherDialect), cluster("b")},
			spec: deployment(1, nil), want: "b:1", why: map[string]string{"a": "TaintToleration: untolerated taint muster.dev/open-cluster-management:NoSchedule"},
		},
		{
			name: "a member of the other dialect that is meant", clusters: []*clusterv1alpha1.Cluster{cluster("a", otherDialect)},
			spec: configMap(&policyv1alpha1.Placement{ClusterTolerations: []corev1.Toleration{{Key: registration.TaintOtherDialect, Operator: corev1.TolerationOpExists}}}), want: "a",
		},
		{
			name: "a taint where the workload is", clusters: []*clusterv1alpha1.Cluster{cluster("a", tainted("t", corev1.TaintEffectNoSchedule)), cluster("b")},
			spec: configMap(&policyv1alpha1.Placement{}, target("a", 0)), want: "a b",
		},
		{
			name: "a terminating cluster, even where the workload is", clusters: []*clusterv1alpha1.Cluster{cluster("a", terminating), cluster("b")},
			spec: configMap(&policyv1alpha1.Placement{}, target("a", 0)), want: "b", why: map[string]string{"a": "Terminating: the cluster is being removed"},
		},
		{
			name: "what is missing to spread by", clusters: []*clusterv1alpha1.Cluster{cluster("a", inRegion("r"), inZone("z")), cluster("b", inRegion("r")), cluster("c", inZone("z"))},
			spec: configMap(&policyv1alpha1.Placement{SpreadConstraints: []policyv1alpha1.SpreadConstraint{spreadBy(byRegion, 1, 1), spreadBy(byZone, 1, 1), spreadBy(byCluster, 1, 9)}}),
			want: "a", why: map[string]string{"b": "SpreadConstraint: no zone is set to spread by", "c": "SpreadConstraint: no region is set to spread by"},
		},
		{
			name: "an eviction", clusters: three[:2], spec: func() *workv1alpha2.ResourceBindingSpec {
				spec := deployment(2, nil, target("member2", 2))
				spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "member1"}}
				return spec
			}(),
			want: "member2:2", why: map[string]string{"member1": "ClusterEviction: the workload is being evicted from it"},
		},
		{
			name: "each reason once, the most frequent first", clusters: []*clusterv1alpha1.Cluster{
				cluster("a", without("v1")), cluster("b", tainted("t", corev1.TaintEffectNoSchedule)), cluster("c", tainted("t", corev1.TaintEffectNoSchedule)), cluster("d", terminating),
			},
			spec: configMap(&policyv1alpha1.Placement{}),
			want: "NoClusterFit: 0/4 clusters are available: 2 untolerated taint t:NoSchedule, 1 the API v1 ConfigMap is missing, 1 the cluster is being removed.",
		},
	})
}

// TestReplicas is contract section 9.5.
func TestReplicas(t *testing.T) {
	three := []*clusterv1alpha1.Cluster{cluster("member1"), cluster("member2"), cluster("member3")}
	with := func(pods ...int64) []*clusterv1alpha1.Cluster {
		var list []*clusterv1alpha1.Cluster
		for i, n := range pods {
			list = append(list, cluster(string(rune('a'+i)), room(n)))
		}
		return list
	}
	divided := func(s *policyv1alpha1.ReplicaSchedulingStrategy) *policyv1alpha1.Placement {
		return &policyv1alpha1.Placement{ReplicaScheduling: s}
	}
	odd := func(spec *workv1alpha2.ResourceBindingSpec) *workv1alpha2.ResourceBindingSpec {
		spec.Resource.UID = "b" // FNV-1a of "b" is odd, of "c" even
		return spec
	}
	run(t, []decision{
		{name: "Duplicated disregards room", clusters: three, spec: deployment(3, divided(duplicated())), want: "member1:3 member2:3 member3:3"},
		{name: "no strategy is Duplicated", clusters: three, spec: deployment(3, divided(nil)), want: "member1:3 member2:3 member3:3"},
		{name: "an empty strategy is Divided by equal weights", clusters: three, spec: deployment(3, divided(&policyv1alpha1.ReplicaSchedulingStrategy{})), want: "member1:1 member2:1 member3:1"},
		{name: "9 at 1:3", clusters: three[:2], spec: deployment(9, divided(static("member1=1", "member2=3"))), want: "member1:2 member2:7"},
		{
			name: "9 at 2:1, as recorded in propagation-divided", clusters: three, spec: deployment(9, divided(static("member1=2", "member2=1"))), want: "member1:6 member2:3",
			why: map[string]string{"member3": "Replicas: fits, but no weight is given to it"},
		},
		{name: "a ConfigMap of that policy goes everywhere", clusters: three, spec: configMap(divided(static("member1=2", "member2=1"))), want: "member1 member2 member3"},
		{name: "the highest of several weights counts", clusters: three[:2], spec: deployment(4, divided(static("member1=1", "member1=3", "member2=1"))), want: "member1:3 member2:1"},
		{name: "weights for nobody are weights for everybody", clusters: three[:2], spec: deployment(4, divided(static("other=5"))), want: "member1:2 member2:2"},
		{name: "a tie goes to the first name", clusters: three, spec: deployment(4, divided(static())), want: "member1:2 member2:1 member3:1"},
		{name: "a tie goes to the last name", clusters: three, spec: odd(deployment(4, divided(static()))), want: "member1:1 member2:1 member3:2"},
		{name: "static weights disregard what runs", clusters: three[:2], spec: deployment(4, divided(static()), target("member1", 4)), want: "member1:2 member2:2"},
		{
			name: "who gets nothing is left out", clusters: three, spec: deployment(1, divided(static())), want: "member1:1",
			why: map[string]string{"member2": "Replicas: fits, but no replica falls to it"},
		},
		{name: "who gets nothing is kept on demand", clusters: three[:2], spec: deployment(1, divided(static())), empty: true, want: "member1:1 member2"},
		{name: "no replicas and no requests", clusters: three[:2], spec: deployment(0, divided(static())), want: "member1 member2"},
		{name: "no replicas, but requests", clusters: three[:2], want: "", spec: func() *workv1alpha2.ResourceBindingSpec {
			spec := deployment(0, divided(duplicated()))
			spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{}
			return spec
		}()},

		{name: "dynamic: by room", clusters: with(10, 20, 30), spec: deployment(12, divided(dynamic())), want: "c:6 b:4 a:2"},
		{name: "dynamic: too little room", clusters: with(3, 4), spec: deployment(9, divided(dynamic())), want: "Unschedulable: 9 replicas are wanted, but the clusters that can be used have room for 7"},
		{name: "dynamic: nobody tells his room", clusters: three, spec: deployment(1, divided(dynamic())), want: "Unschedulable: 1 replicas are wanted, but the clusters that can be used have room for 0"},
		{name: "dynamic, steady: more", clusters: with(10, 10), spec: deployment(9, divided(dynamic()), target("a", 3)), want: "a:6 b:3"},
		{name: "dynamic, steady: fewer", clusters: with(0, 0), spec: deployment(3, divided(dynamic()), target("a", 4), target("b", 2)), want: "a:2 b:1"},
		{name: "dynamic, steady: as many", clusters: with(0, 0, 90), spec: deployment(6, divided(dynamic()), target("a", 4), target("b", 2)), want: "a:4 b:2"},
		{name: "dynamic, steady: a target is being removed", clusters: append(with(4, 8), cluster("z", terminating)), spec: deployment(6, divided(dynamic()), target("z", 6)), want: "b:4 a:2"},
		{name: "dynamic, fresh: room counts what runs", clusters: with(2, 10), spec: deployment(12, divided(dynamic()), target("a", 8), target("b", 4)), fresh: true, want: "b:7 a:5"},

		{name: "Aggregated: the fewest clusters", clusters: with(4, 9, 5), spec: deployment(8, divided(aggregated())), want: "b:8", why: map[string]string{"a": "Replicas: fits, but fewer clusters have room for all replicas"}},
		{name: "Aggregated: two are needed", clusters: with(4, 9, 5), spec: deployment(14, divided(aggregated())), want: "b:9 c:5"},
		{name: "Aggregated: Webster within them", clusters: with(4, 9, 5), spec: deployment(10, divided(aggregated())), want: "b:6 c:4"},
		{name: "Aggregated, steady: more where it runs", clusters: with(4, 9), spec: deployment(5, divided(aggregated()), target("a", 2)), want: "a:5"},
		{name: "Aggregated, steady: more than fits where it runs", clusters: with(1, 9), spec: deployment(12, divided(aggregated()), target("a", 2)), want: "a:3 b:9"},
		{name: "Aggregated, steady: fewer", clusters: with(0, 0), spec: deployment(4, divided(aggregated()), target("a", 3), target("b", 5)), want: "b:4"},
		{name: "Aggregated, fresh: moves together", clusters: with(0, 12), spec: deployment(6, divided(aggregated()), target("a", 3), target("b", 3)), fresh: true, want: "b:6"},
		{name: "Aggregated: too little room", clusters: with(3, 4), spec: deployment(9, divided(aggregated()), target("a", 1)), want: "Unschedulable: 9 replicas are wanted, but the clusters that can be used have room for 8"},
	})
}

// TestSpread is contract section 9.4.
func TestSpread(t *testing.T) {
	with := func(s *policyv1alpha1.ReplicaSchedulingStrategy, constraints ...policyv1alpha1.SpreadConstraint) *policyv1alpha1.Placement {
		return &policyv1alpha1.Placement{ReplicaScheduling: s, SpreadConstraints: constraints}
	}
	four := []*clusterv1alpha1.Cluster{cluster("a", room(1)), cluster("b", room(2)), cluster("c", room(3)), cluster("d", room(4))}
	const none = "SchedulerError: the spread constraints select no cluster: set maxGroups to at least 1"
	regions := []*clusterv1alpha1.Cluster{
		cluster("a1", inRegion("a"), room(10)), cluster("a2", inRegion("a"), room(10)), cluster("b1", inRegion("b"), room(9)),
		cluster("c1", inRegion("c"), room(1)), cluster("c2", inRegion("c"), room(1)), cluster("c3", inRegion("c"), room(1)),
	}
	run(t, []decision{
		{
			name: "the best clusters", clusters: four, spec: deployment(2, with(nil, spreadBy(byCluster, 1, 2))), want: "d:2 c:2",
			why: map[string]string{"a": "Selection: fits, but the spread constraints take no more clusters"},
		},
		{name: "where it runs first", clusters: four, spec: deployment(1, with(nil, spreadBy(byCluster, 1, 2)), target("a", 1)), want: "a:1 d:1"},
		{name: "by name where all are equal", clusters: four, spec: configMap(with(nil, spreadBy(byCluster, 1, 2))), want: "a b"},
		{name: "too few", clusters: four, spec: configMap(with(nil, spreadBy(byCluster, 5, 9))), want: "SchedulerError: 4 clusters fit, but the spread constraint for cluster wants at least 5"},
		{name: "maxGroups unset selects nothing", clusters: four, spec: configMap(with(nil, spreadBy(byCluster, 1, 0))), want: none},
		{name: "static weights disregard spreading", clusters: four, spec: deployment(4, with(static(), spreadBy(byCluster, 1, 1))), want: "d:1 c:1 b:1 a:1"},
		{name: "Divided: richer ones step in", clusters: four, spec: deployment(7, with(aggregated(), spreadBy(byCluster, 2, 2)), target("a", 1), target("b", 1)), want: "b:3 d:4"},
		{name: "Divided: not enough", clusters: four, spec: deployment(8, with(aggregated(), spreadBy(byCluster, 2, 2))), want: "SchedulerError: no enough resource: 8 replicas are wanted, but the clusters that can be used have room for 7"},
		{name: "zone alone", clusters: []*clusterv1alpha1.Cluster{cluster("a", inZone("z"))}, spec: configMap(with(nil, spreadBy(byZone, 1, 1))), want: "SchedulerError: the spread constraints name neither cluster nor region: spreading by zone, provider or label alone is not supported, add a constraint for cluster"},
		{name: "provider with cluster is a filter", clusters: four[:1], spec: configMap(with(nil, spreadBy(byProvider, 1, 1), spreadBy(byCluster, 1, 1))), want: "NoClusterFit: 0/1 clusters are available: 1 no provider is set to spread by."},

		{
			name: "two regions, a cluster of each", clusters: regions, spec: deployment(1, with(nil, spreadBy(byRegion, 2, 2), spreadBy(byCluster, 2, 2))), want: "a1:1 c1:1",
			why: map[string]string{"b1": "Selection: fits, but its region was not chosen", "a2": "Selection: fits, but the spread constraints take no more clusters"},
		},
		{name: "two regions and the best of the rest", clusters: regions, spec: deployment(1, with(nil, spreadBy(byRegion, 2, 2), spreadBy(byCluster, 2, 4))), want: "a1:1 a2:1 c1:1 c2:1"},
		{name: "Duplicated wants room in the region", clusters: regions, spec: deployment(5, with(nil, spreadBy(byRegion, 2, 2), spreadBy(byCluster, 2, 3))), want: "a1:5 a2:5 b1:5"},
		{name: "the shortest set of regions", clusters: regions, spec: configMap(with(nil, spreadBy(byRegion, 1, 3), spreadBy(byCluster, 1, 9))), want: "c1 c2 c3"},
		{name: "clusters wanted make the set longer", clusters: regions, spec: configMap(with(nil, spreadBy(byRegion, 1, 3), spreadBy(byCluster, 4, 9))), want: "a1 a2 c1 c2 c3"},
		{name: "too few regions", clusters: regions, spec: configMap(with(nil, spreadBy(byRegion, 4, 5), spreadBy(byCluster, 4, 9))), want: "SchedulerError: clusters of 3 regions fit, but the spread constraint for region wants at least 4"},
		{name: "too few clusters", clusters: regions, spec: configMap(with(nil, spreadBy(byRegion, 1, 3), spreadBy(byCluster, 7, 9))), want: "SchedulerError: no 1 to 3 regions have 7 clusters that fit, as the spread constraints want"},
		{name: "maxGroups of region unset", clusters: regions, spec: configMap(with(nil, spreadBy(byRegion, 1, 0), spreadBy(byCluster, 1, 9))), want: "SchedulerError: no 1 to 0 regions have 1 clusters that fit, as the spread constraints want"},
		{name: "Divided by region", clusters: regions, spec: deployment(12, with(dynamic(), spreadBy(byRegion, 2, 2), spreadBy(byCluster, 2, 3))), want: "a1:4 a2:4 b1:4"},
		{name: "Divided without replicas stays in its region", clusters: regions, spec: configMap(with(aggregated(), spreadBy(byRegion, 1, 1), spreadBy(byCluster, 1, 1)), target("b1", 0)), want: "b1"},
		{name: "Divided without replicas goes where most clusters are", clusters: regions, spec: configMap(with(aggregated(), spreadBy(byRegion, 1, 1), spreadBy(byCluster, 1, 2))), want: "c1 c2"},
		{name: "Divided disregards a region without room", clusters: regions, spec: deployment(4, with(aggregated(), spreadBy(byRegion, 2, 2), spreadBy(byCluster, 2, 2))), want: "a1:4"},
	})
}

// TestAffinities is contract section 9.6, with the overflow of section 9.5.
func TestAffinities(t *testing.T) {
	term := func(name string, affinity *policyv1alpha1.ClusterAffinity, overflow ...policyv1alpha1.OverflowAffinity) policyv1alpha1.ClusterAffinityTerm {
		return policyv1alpha1.ClusterAffinityTerm{AffinityName: name, ClusterAffinity: *affinity, OverflowAffinities: overflow}
	}
	placement := func(s *policyv1alpha1.ReplicaSchedulingStrategy, terms ...policyv1alpha1.ClusterAffinityTerm) *policyv1alpha1.Placement {
		return &policyv1alpha1.Placement{ClusterAffinities: terms, ReplicaScheduling: s}
	}
	overflow := func(name string, clusters ...string) policyv1alpha1.OverflowAffinity {
		return policyv1alpha1.OverflowAffinity{AffinityName: name, ClusterAffinity: *names(clusters...)}
	}
	observed := func(name string) workv1alpha2.ResourceBindingStatus {
		return workv1alpha2.ResourceBindingStatus{SchedulerObservedAffinityName: name}
	}
	three := []*clusterv1alpha1.Cluster{cluster("a", room(2)), cluster("b", room(3)), cluster("c", room(9))}
	two := placement(nil, term("primary", names("a")), term("backup", names("b")))
	spill := placement(aggregated(), term("primary", names("a"), overflow("near", "b"), overflow("far", "c")))
	run(t, []decision{
		{name: "the first term", clusters: three, spec: configMap(two), want: "a", affinity: "primary"},
		{name: "the next term", clusters: three[1:], spec: configMap(two), want: "b", affinity: "backup"},
		{name: "no return to the first term", clusters: three, spec: configMap(two), status: observed("backup"), want: "b", affinity: "backup"},
		{name: "a term that is gone", clusters: three, spec: configMap(two), status: observed("gone"), want: "a", affinity: "primary"},
		{name: "rescheduling returns to the first term", clusters: three, spec: configMap(two), status: observed("backup"), fresh: true, want: "a", affinity: "primary"},
		{
			name: "the failure of the first attempt is told", clusters: []*clusterv1alpha1.Cluster{cluster("a", terminating), cluster("c")}, spec: configMap(two),
			want: "NoClusterFit: 0/2 clusters are available: 1 not meant by the cluster affinity, 1 the cluster is being removed.",
		},
		{name: "too little room means the next term", clusters: three, spec: deployment(3, placement(dynamic(), term("primary", names("a")), term("backup", names("b")))), want: "b:3", affinity: "backup"},
		{name: "overflow is not needed", clusters: three, spec: deployment(2, spill), want: "a:2", affinity: "primary"},
		{name: "overflow in order", clusters: three, spec: deployment(4, spill), want: "a:2 b:2", affinity: "primary"},
		{name: "overflow of all tiers", clusters: three, spec: deployment(8, spill), want: "a:2 b:3 c:3", affinity: "primary"},
		{name: "overflow is not enough", clusters: three, spec: deployment(15, spill), want: "Unschedulable: 15 replicas are wanted, but the clusters that can be used have room for 14"},
		{name: "the last tier shrinks first", clusters: three, spec: deployment(3, spill, target("a", 2), target("b", 3)), want: "a:2 b:1", affinity: "primary"},
		{name: "overflow is for workloads", clusters: three, spec: configMap(spill), want: "a", affinity: "primary"},
	})
}
