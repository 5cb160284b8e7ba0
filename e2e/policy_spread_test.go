package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// testSpread: how many clusters and regions, which of them, and none at all where
// there are too few.
func testSpread(t *testing.T, s *space) {
	const byCluster = "{spreadByField: cluster, minGroups: %d, maxGroups: %d}"
	spread := func(name string, constraints string) {
		s.workload(t, name, 1, "10m", everywhere+", spreadConstraints: ["+constraints+"]")
	}
	spread("one", fmt.Sprintf(byCluster, 1, 1))
	spread("two", fmt.Sprintf(byCluster, 2, 2))
	spread("many", fmt.Sprintf(byCluster, 4, 4))
	spread("region", "{spreadByField: region, minGroups: 1, maxGroups: 1}, "+fmt.Sprintf(byCluster, 2, 2))
	spread("regions", "{spreadByField: region, minGroups: 2, maxGroups: 2}, "+fmt.Sprintf(byCluster, 2, 2))
	spread("strange", "{spreadByField: region, minGroups: 3, maxGroups: 3}, "+fmt.Sprintf(byCluster, 3, 3))
	spread("provider", "{spreadByField: provider, minGroups: 1, maxGroups: 1}, "+fmt.Sprintf(byCluster, 1, 3))
	s.awaitPlaced(t, "one-deployment", "cluster1:1") // it has most room
	s.awaits(t, onHub, aBinding, "two-deployment", "on two", func(o *unstructured.Unstructured) bool { return len(placedOn(o)) == 2 })
	s.awaitPlaced(t, "region-deployment", "cluster2:1", "cluster3:1")
	s.awaits(t, onHub, aBinding, "regions-deployment", "in both regions", func(o *unstructured.Unstructured) bool {
		placed := placedOn(o)
		return len(placed) == 2 && placed[0] == "cluster1:1"
	})
	s.awaitPlaced(t, "provider-deployment", "cluster1:1", "cluster3:1")
	spread("unset", "{spreadByField: cluster, minGroups: 1}")
	for name, want := range map[string]string{
		"many":    "3 clusters fit, but the spread constraint for cluster wants at least 4",
		"strange": "clusters of 2 regions fit, but the spread constraint for region wants at least 3",
		"unset":   "the spread constraints select no cluster: set maxGroups to at least 1",
	} {
		if message := s.awaitScheduled(t, name+"-deployment", "False", "SchedulerError"); message != want {
			t.Errorf("%s says %q, want %q", name, message, want)
		}
		s.awaitPlaced(t, name+"-deployment")
		s.awaitTold(t, "ScheduleBindingFailed", name)
	}
	spread("many", fmt.Sprintf(byCluster, 3, 4))
	s.awaitPlaced(t, "many-deployment", "cluster1:1", "cluster2:1", "cluster3:1")
	s.sees(t, pushName, aDeployment, "one", "spec replicas", "1")
	s.never(t, pullName, aDeployment, "one")
}

// testSpreadDivided: replicas that are divided go to the clusters that have room for
// them, be they not the first, to the region that has enough; weights that are given
// disregard how many clusters there are to be.
func testSpreadDivided(t *testing.T, s *space) {
	const (
		one  = ", spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]"
		two  = ", spreadConstraints: [{spreadByField: cluster, minGroups: 2, maxGroups: 2}]"
		home = ", spreadConstraints: [{spreadByField: region, minGroups: 1, maxGroups: 1}, {spreadByField: cluster, minGroups: 2, maxGroups: 2}]"
	)
	s.workload(t, "grows", 1, "1", everywhere+", clusterAffinity: {clusterNames: [cluster2]}, "+dynamically)
	s.awaitPlaced(t, "grows-deployment", "cluster2:1")
	s.workload(t, "grows", 1, "1", everywhere+one+", "+dynamically)
	s.awaits(t, onHub, aBinding, "grows-deployment", "placed anew", func(o *unstructured.Unstructured) bool {
		return strings.Contains(valueAt(o, "metadata annotations policy.karmada.io/applied-placement"), "spreadConstraints")
	})
	s.awaitPlaced(t, "grows-deployment", "cluster2:1")              // where it is comes first
	s.workload(t, "grows", 4, "1", everywhere+one+", "+dynamically) // for which it has no room
	s.awaitPlaced(t, "grows-deployment", "cluster1:4")
	s.workload(t, "vast", 5, "1", everywhere+one+", "+aggregated)
	if message := s.awaitScheduled(t, "vast-deployment", "False", "SchedulerError"); !strings.Contains(message, "no enough resource: 5 replicas are wanted") || !strings.Contains(message, "room for 4") {
		t.Errorf("the scheduler says %q", message)
	}
	s.workload(t, "pair", 6, "1", everywhere+two+", "+dynamically)
	s.awaitPlaced(t, "pair-deployment", "cluster1:4", "cluster2:2")
	s.workload(t, "home", 4, "1", everywhere+home+", "+dynamically)
	s.awaitPlaced(t, "home-deployment", "cluster2:2", "cluster3:2")
	s.workload(t, "weighed", 8, "1", everywhere+one+`, replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {staticWeightList: [
		{targetCluster: {clusterNames: [cluster1, cluster3]}, weight: 1}, {targetCluster: {clusterNames: [cluster2]}, weight: 2}]}}`)
	s.awaitPlaced(t, "weighed-deployment", "cluster1:2", "cluster2:4", "cluster3:2")
	s.sees(t, pushName, aDeployment, "grows", "spec replicas", "4")
	s.gone(t, pullName, aDeployment, "grows")
}
