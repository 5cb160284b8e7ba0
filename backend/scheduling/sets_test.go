package scheduling_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/scheduling"
)

// part is a component whose replicas ask for thousandths of a core.
func part(name string, replicas int32, milli int64) workv1alpha2.Component {
	return workv1alpha2.Component{Name: name, Replicas: replicas, ReplicaRequirements: &workv1alpha2.ReplicaRequirements{
		ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)},
	}}
}

// job is a workload of several parts.
func job(placement *policyv1alpha1.Placement, parts ...workv1alpha2.Component) *workv1alpha2.ResourceBindingSpec {
	spec := deployment(0, placement)
	spec.Components = parts
	return spec
}

// bySize gives the cluster nodes of one size, with so many cores at least.
func bySize(nodes int, cpu int64) option {
	return func(c *clusterv1alpha1.Cluster) {
		c.Spec.ResourceModels = []clusterv1alpha1.ResourceModel{{Grade: 1, Ranges: []clusterv1alpha1.ResourceModelRange{{Name: corev1.ResourceCPU, Min: *resource.NewQuantity(cpu, resource.DecimalSI)}}}}
		c.Status.ResourceSummary.AllocatableModelings = []clusterv1alpha1.AllocatableModeling{{Grade: 1, Count: nodes}}
	}
}

// TestSets places templates of several parts.
func TestSets(t *testing.T) {
	t.Parallel()
	one := func(scheduling *policyv1alpha1.ReplicaSchedulingStrategy) *policyv1alpha1.Placement {
		return &policyv1alpha1.Placement{ReplicaScheduling: scheduling, SpreadConstraints: []policyv1alpha1.SpreadConstraint{spreadBy(policyv1alpha1.SpreadByFieldCluster, 1, 1)}}
	}
	divided := &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceAggregated,
	}
	parts := []workv1alpha2.Component{part("manager", 1, 1000), part("worker", 2, 1500)} // 4 cores, 3 pods
	small, large, few := cluster("a-small", cores(3, 100)), cluster("b-large", cores(9, 100)), cluster("c-few-pods", cores(9, 2))
	full := "SchedulerError: no enough resource: 2 parts have to run in one cluster, but none of those that can be used has room for all"
	for _, test := range []struct {
		name     string
		clusters []*clusterv1alpha1.Cluster
		spec     *workv1alpha2.ResourceBindingSpec
		told     map[string]int32
		want     string
	}{
		{"the cluster with the most room for sets", []*clusterv1alpha1.Cluster{small, large, few}, job(one(nil), parts...), nil, "b-large"},
		{"divided: the first has no room for the sum", []*clusterv1alpha1.Cluster{small, large}, job(one(divided), parts...), nil, "b-large"},
		{"divided: room for neither the sum nor the pods", []*clusterv1alpha1.Cluster{small, few}, job(one(divided), parts...), nil, full},
		{"duplicated: where it goes, whatever the room", []*clusterv1alpha1.Cluster{small}, job(one(nil), parts...), nil, "a-small"},
		{"nodes by size: one part fits onto none", []*clusterv1alpha1.Cluster{cluster("m", cores(9, 100), bySize(9, 1))}, job(one(divided), parts...), nil, full},
		{"nodes by size: each fits", []*clusterv1alpha1.Cluster{cluster("m", cores(9, 100), bySize(4, 2))}, job(one(divided), parts...), nil, "m"},
		{"an estimator knows better", []*clusterv1alpha1.Cluster{small, large, cluster("d", cores(9, 100))}, job(one(divided), parts...), map[string]int32{"b-large": 0, "d": 1}, "d"},
		{"not one cluster: like a template without replicas", []*clusterv1alpha1.Cluster{small, large}, job(&policyv1alpha1.Placement{}, parts...), nil, "a-small b-large"},
	} {
		decision := scheduling.Decide(scheduling.Input{Spec: test.spec, Status: &workv1alpha2.ResourceBindingStatus{}, Estimates: test.told}, snapshot(test.clusters...))
		if got := result(decision); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestSetStays: the room that a set takes is its own, and what the cluster runs of
// each part is told.
func TestSetStays(t *testing.T) {
	t.Parallel()
	placement := &policyv1alpha1.Placement{
		ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided},
		SpreadConstraints: []policyv1alpha1.SpreadConstraint{spreadBy(policyv1alpha1.SpreadByFieldCluster, 1, 1)},
	}
	placement.ReplicaScheduling.ReplicaDivisionPreference = policyv1alpha1.ReplicaDivisionPreferenceAggregated
	spec := job(placement, part("manager", 1, 1000), part("worker", 2, 1500))
	spec.Clusters = []workv1alpha2.TargetCluster{{Name: "full"}}
	decision := scheduling.Decide(scheduling.Input{Spec: spec, Status: &workv1alpha2.ResourceBindingStatus{}}, snapshot(cluster("full", cores(1, 100)), cluster("free", cores(9, 100))))
	want := []workv1alpha2.TargetCluster{{Name: "full", Components: []workv1alpha2.TargetComponent{{Name: "manager", Replicas: 1}, {Name: "worker", Replicas: 2}}}}
	if diff := cmp.Diff(want, decision.Clusters); diff != "" {
		t.Errorf("%v: %s", decision.Failure, diff)
	}
	spec.Components = spec.Components[:1]
	decision = scheduling.Decide(scheduling.Input{Spec: spec, Status: &workv1alpha2.ResourceBindingStatus{}}, snapshot(cluster("full", cores(1, 100))))
	if diff := cmp.Diff([]workv1alpha2.TargetCluster{{Name: "full"}}, decision.Clusters); diff != "" {
		t.Errorf("of one part: %s", diff)
	}
}
