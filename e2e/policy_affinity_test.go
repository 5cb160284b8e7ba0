package e2e_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// testAffinity: by labels, which count when they come, and by fields.
func testAffinity(t *testing.T, s *space) {
	s.place(t, "gold", everywhere+", clusterAffinity: {labelSelector: {matchLabels: {tier: gold}}}")
	s.awaitScheduled(t, "gold-configmap", "False", "NoClusterFit")
	s.mend(t, onHub, aCluster, pullName, "{metadata: {labels: {tier: gold}}}")
	s.awaitPlaced(t, "gold-configmap", pullName)
	for name, c := range map[string]struct {
		affinity string
		want     []string
	}{
		"north":   {"fieldSelector: {matchExpressions: [{key: region, operator: In, values: [north]}]}", []string{pushName}},
		"south":   {"fieldSelector: {matchExpressions: [{key: region, operator: NotIn, values: [north]}]}", []string{pullName, thirdName}},
		"both":    {"fieldSelector: {matchExpressions: [{key: region, operator: In, values: [south]}, {key: provider, operator: In, values: [acme]}]}", []string{thirdName}},
		"exclude": {"clusterNames: [cluster1, cluster2], exclude: [cluster1]", []string{pullName}},
		"listed":  {"labelSelector: {matchExpressions: [{key: tier, operator: In, values: [silver, gold]}]}", []string{pullName}},
		"other":   {"labelSelector: {matchExpressions: [{key: tier, operator: NotIn, values: [gold]}]}", []string{pushName, thirdName}},
	} {
		s.place(t, name, everywhere+", clusterAffinity: {"+c.affinity+"}")
		s.awaitPlaced(t, name+"-configmap", c.want...)
	}
	s.sees(t, pushName, aConfigMap, "north")
	s.sees(t, pullName, aConfigMap, "exclude")
	s.never(t, pushName, aConfigMap, "exclude")
	s.never(t, pushName, aConfigMap, "gold")
	s.mend(t, onHub, aCluster, pullName, "{metadata: {labels: {tier: null}}}")
	s.gone(t, pullName, aConfigMap, "gold")
}

// testAffinityGroups: the first group that fits, and what flows over into the next
// tier of a group.
func testAffinityGroups(t *testing.T, s *space) {
	const observed = "status schedulerObservingAffinityName"
	s.place(t, "groups", everywhere+", clusterAffinities: [{affinityName: lost, clusterNames: [atlantis]}, {affinityName: near, clusterNames: [cluster2]}, {affinityName: far, clusterNames: [cluster1]}]")
	s.awaitPlaced(t, "groups-configmap", pullName)
	s.sees(t, onHub, aBinding, "groups-configmap", observed, "near")
	s.sees(t, pullName, aConfigMap, "groups")
	s.never(t, pushName, aConfigMap, "groups")
	s.workload(t, "overflow", 4, "1", everywhere+`, replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated},
		clusterAffinities: [{affinityName: near, clusterNames: [cluster2], overflowAffinities: [{affinityName: far, clusterNames: [cluster1]}]}]`)
	s.awaitPlaced(t, "overflow-deployment", "cluster1:2", "cluster2:2")
	s.sees(t, onHub, aBinding, "overflow-deployment", observed, "near")
	s.sees(t, pushName, aDeployment, "overflow", "spec replicas", "2")
	s.sees(t, pullName, aDeployment, "overflow", "spec replicas", "2")
}

// testAffinityTurns: the next group takes over from one that nothing fits any more,
// and keeps what it has when the first fits again, until somebody asks to rebalance.
// When all fail it is placed nowhere and says what became of the group in use.
func testAffinityTurns(t *testing.T, s *space) {
	const observed = "status schedulerObservingAffinityName"
	group := func(name string) string { return "labelSelector: {matchLabels: {turn: " + name + "}}" }
	label := func(cluster, turn string) {
		s.mend(t, onHub, aCluster, cluster, "{metadata: {labels: {turn: "+turn+"}}}")
	}
	on := func(cluster, name string) {
		t.Helper()
		s.awaitPlaced(t, "turns-configmap", cluster)
		s.sees(t, onHub, aBinding, "turns-configmap", observed, name)
		s.sees(t, cluster, aConfigMap, "turns")
	}
	label(pullName, "near")
	label(pushName, "far")
	s.place(t, "turns", everywhere+", clusterAffinities: [{affinityName: near, "+group("near")+"}, {affinityName: far, "+group("far")+"}]")
	s.place(t, "seen", everywhere+", clusterAffinity: {"+group("near")+"}")
	on(pullName, "near")

	label(pullName, "null")
	on(pushName, "far")
	s.gone(t, pullName, aConfigMap, "turns")
	s.awaitPlaced(t, "seen-configmap")
	label(pullName, "near")
	s.awaitPlaced(t, "seen-configmap", pullName) // so the label counts again
	s.witness(t)
	on(pushName, "far")
	s.never(t, pullName, aConfigMap, "turns")
	s.rebalance(t, "turn", aConfigMap, "turns")
	on(pullName, "near")
	s.gone(t, pushName, aConfigMap, "turns")

	label(pushName, "null")
	label(pullName, "null")
	if message := s.awaitScheduled(t, "turns-configmap", "False", "NoClusterFit"); !strings.HasPrefix(message, "0/3 clusters are available: 3 ") {
		t.Errorf("the scheduler says %q", message)
	}
	s.awaitPlaced(t, "turns-configmap")
	s.gone(t, pullName, aConfigMap, "turns")
	s.sees(t, onHub, aBinding, "turns-configmap", observed, "near")
	label(pushName, "far")
	on(pushName, "far")
	label(pushName, "null")
	s.gone(t, pushName, aConfigMap, "turns")
}

// testAffinityFails: of groups that all fail the first one is told of. No fit takes
// away what there is, anything else leaves it.
func testAffinityFails(t *testing.T, s *space) {
	const (
		one     = "{affinityName: one, clusterNames: [cluster1]}"
		nowhere = "{affinityName: nowhere, clusterNames: [atlantis]}"
		both    = "{affinityName: both, clusterNames: [cluster1, cluster2]}"
	)
	place := func(groups string) {
		t.Helper()
		s.place(t, "both", everywhere+", spreadConstraints: [{spreadByField: cluster, minGroups: 2, maxGroups: 2}], clusterAffinities: ["+groups+"]")
	}
	place(nowhere + ", " + one + ", " + both)
	s.awaitPlaced(t, "both-configmap", pushName, pullName)
	s.sees(t, onHub, aBinding, "both-configmap", "status schedulerObservingAffinityName", "both")
	place(one + ", " + nowhere)
	if message := s.awaitScheduled(t, "both-configmap", "False", "SchedulerError"); !strings.Contains(message, "1 clusters fit") || !strings.Contains(message, "at least 2") {
		t.Errorf("the scheduler says %q", message)
	}
	s.awaitPlaced(t, "both-configmap", pushName, pullName)
	place(nowhere + ", " + one)
	if message := s.awaitScheduled(t, "both-configmap", "False", "NoClusterFit"); !strings.HasPrefix(message, "0/3 clusters are available: 3 ") {
		t.Errorf("the scheduler says %q", message)
	}
	s.awaitPlaced(t, "both-configmap")
	s.gone(t, pushName, aConfigMap, "both")
	s.gone(t, pullName, aConfigMap, "both")
}

// testZones: a cluster may be of several zones or of none; what is meant for a zone
// follows it from cluster to cluster.
func testZones(t *testing.T, s *space) {
	zone := func(operator, values string) string {
		return everywhere + ", clusterAffinity: {fieldSelector: {matchExpressions: [{key: zone, operator: " + operator + ", values: [" + values + "]}]}}"
	}
	const byZone = "{spreadByField: zone, minGroups: 1, maxGroups: 3}"
	s.place(t, "in", zone("In", "n2, s9"))
	s.place(t, "out", zone("NotIn", "n1, s9"))
	s.place(t, "later", zone("In", "w1"))
	seen := s.workload(t, "spread", 1, "10m", everywhere+", spreadConstraints: ["+byZone+", {spreadByField: cluster, minGroups: 1, maxGroups: 3}]")
	if why := seen.out[thirdName]; !strings.HasPrefix(why, "SpreadConstraint: ") || !strings.Contains(why, "zone") {
		t.Errorf("a cluster without zones is left out as %q", why)
	}
	alone := "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: alone, namespace: " + s.namespace + "}, spec: {placement: {spreadConstraints: [" + byZone + "]}, resourceSelectors: [" + named(aConfigMap, "alone") + "]}}"
	if r := runWith(t, alone, "kube", "kubectl", "--kubeconfig", s.Kubeconfig, "apply", "-f", "-"); r.code == 0 || !strings.Contains(r.stderr, "needs a constraint for cluster as well") {
		t.Errorf("spreading by zone alone: status %d\n%s", r.code, r.stderr)
	}
	s.awaitPlaced(t, "in-configmap", pushName)
	s.awaitPlaced(t, "out-configmap", pullName, thirdName)
	s.awaitScheduled(t, "later-configmap", "False", "NoClusterFit")
	s.awaitPlaced(t, "spread-deployment", "cluster1:1", "cluster2:1")
	s.sees(t, thirdName, aConfigMap, "out")
	s.never(t, thirdName, aDeployment, "spread")

	s.mend(t, onHub, aCluster, thirdName, "{spec: {zones: [n1, w1]}}")
	s.awaitPlaced(t, "later-configmap", thirdName)
	s.awaitScheduled(t, "later-configmap", "True", "Success")
	s.awaitPlaced(t, "out-configmap", pullName)
	s.awaitPlaced(t, "spread-deployment", "cluster1:1", "cluster2:1", "cluster3:1")
	s.sees(t, thirdName, aConfigMap, "later")
	s.sees(t, thirdName, aDeployment, "spread")
	s.gone(t, thirdName, aConfigMap, "out")
	s.mend(t, onHub, aCluster, thirdName, "{spec: {zones: null}}")
	s.awaitScheduled(t, "later-configmap", "False", "NoClusterFit")
	s.awaitPlaced(t, "spread-deployment", "cluster1:1", "cluster2:1")
	s.gone(t, thirdName, aConfigMap, "later")
}

// testMissingAPI: a member without a kind gets no object of it, until it serves the
// kind.
func testMissingAPI(t *testing.T, s *space) {
	const letter = "letters.example/v1 Letter"
	s.put(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: letters.letters.example}, spec: {group: letters.example, scope: Namespaced,
		names: {kind: Letter, plural: letters}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	define := func(clusters string) {
		s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: letters}, spec: {placement: {`+everywhere+`, clusterAffinity: {clusterNames: [%s]}}, resourceSelectors: [
			{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: letters.letters.example}]}}`, clusters)
	}
	define("cluster1")
	s.awaits(t, onHub, aCluster, pushName, "serves the kind", func(o *unstructured.Unstructured) bool {
		return strings.Contains(valueAt(o, "status apiEnablements"), "letters.example/v1")
	})
	put := func(name, placement string) foresight {
		eventually(t, "letter "+name+" on the hub, which tells of the kind a moment after it has it", func(ctx context.Context) bool {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "letters.example/v1", "kind": "Letter", "metadata": map[string]any{"name": name}}}
			_, err := s.objectsOf(t, onHub, letter).Apply(ctx, name, o, metav1.ApplyOptions{FieldManager: "e2e", Force: true})
			return err == nil
		})
		return s.decree(t, name, letter, "placement: {"+everywhere+placement+"}")
	}
	const missing = "APIEnablement: the API letters.example/v1 Letter is missing"
	if seen := put("all", ""); seen.out[pullName] != missing || seen.out[thirdName] != missing {
		t.Errorf("the preview leaves out %v", seen.out)
	}
	s.awaitPlaced(t, "all-letter", pushName)
	s.sees(t, pushName, letter, "all")
	put("second", ", clusterAffinity: {clusterNames: [cluster2]}")
	message := s.awaitScheduled(t, "second-letter", "False", "NoClusterFit")
	if !strings.HasPrefix(message, "0/3 clusters are available: ") || !strings.Contains(message, "1 the API letters.example/v1 Letter is missing") {
		t.Errorf("the scheduler says %q", message)
	}
	define("cluster1, cluster2")
	s.awaitPlaced(t, "second-letter", pullName)
	s.awaitScheduled(t, "second-letter", "True", "Success")
	s.sees(t, pullName, letter, "second")
	s.awaitPlaced(t, "all-letter", pushName, pullName)
	s.sees(t, pullName, letter, "all")
}
