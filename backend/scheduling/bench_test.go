package scheduling_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/scheduling"
)

// fleet is n clusters as members report themselves: some 60 groups of APIs, in
// regions, with room.
func fleet(n int) []*clusterv1alpha1.Cluster {
	list := make([]*clusterv1alpha1.Cluster, 0, n)
	for i := range n {
		c := cluster(fmt.Sprintf("member-%04d", i), inRegion(fmt.Sprint("region-", i%7)), inZone(fmt.Sprint("zone-", i%21)), labelled("tier", fmt.Sprint(i%3)))
		c.Status.APIEnablements = nil
		for g := range 60 {
			group := clusterv1alpha1.APIEnablement{GroupVersion: fmt.Sprintf("apps%02d.example.com/v1", g)}
			if g == 0 {
				group.GroupVersion = "apps/v1"
			}
			for r := range 8 {
				group.Resources = append(group.Resources, clusterv1alpha1.APIResource{Name: fmt.Sprint("things", r), Kind: fmt.Sprint("Thing", r)})
			}
			group.Resources = append(group.Resources, clusterv1alpha1.APIResource{Name: "deployments", Kind: "Deployment"})
			c.Status.APIEnablements = append(c.Status.APIEnablements, group)
		}
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList{
			"pods": *resource.NewQuantity(int64(110*(i%9+1)), resource.DecimalSI), "cpu": *resource.NewQuantity(int64(8*(i%9+1)), resource.DecimalSI),
			"memory": *resource.NewQuantity(int64(i%9+1)<<35, resource.BinarySI),
		}}
		list = append(list, c)
	}
	return list
}

// BenchmarkDecide decides for 1,000 clusters. The goal is 1 ms.
func BenchmarkDecide(b *testing.B) {
	s := snapshot(fleet(1000)...)
	all := func(s *policyv1alpha1.ReplicaSchedulingStrategy, constraints ...policyv1alpha1.SpreadConstraint) *policyv1alpha1.Placement {
		return &policyv1alpha1.Placement{ReplicaScheduling: s, SpreadConstraints: constraints}
	}
	gold := all(nil)
	gold.ClusterAffinity = &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "1"}}}
	two := all(nil)
	two.ClusterAffinity = names("member-0001", "member-0900")
	for _, row := range []struct {
		name      string
		replicas  int32
		placement *policyv1alpha1.Placement
	}{
		{"two by name", 2, two},
		{"a third by label", 2, gold},
		{"all duplicated", 2, all(duplicated())},
		{"all static", 5000, all(static())},
		{"all dynamic", 5000, all(dynamic())},
		{"all aggregated", 5000, all(aggregated())},
		{"by region", 50, all(dynamic(), spreadBy(byRegion, 2, 4), spreadBy(byCluster, 2, 10))},
	} {
		spec := deployment(row.replicas, row.placement)
		spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("512Mi")}}
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := scheduling.Decide(scheduling.Input{Spec: spec}, s); d.Failure != nil {
					b.Fatal(d.Failure.Message)
				}
			}
		})
	}
}

// BenchmarkWith takes in the report of one cluster of 1,000.
func BenchmarkWith(b *testing.B) {
	clusters := fleet(1000)
	s := snapshot(clusters...)
	b.ReportAllocs()
	for b.Loop() {
		s = s.With(clusters[500])
	}
}
