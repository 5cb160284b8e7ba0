package e2e_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// oneOf places on one of two clusters; the first has more room.
const oneOf = "clusterAffinity: {clusterNames: [cluster1, cluster2]}, spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}], "

// testEvicted: a NoExecute taint moves what does not tolerate it, or no longer. The
// old copy stays until the new one is healthy, unless it is to go at once.
func testEvicted(t *testing.T, s *space) {
	const tolerant = "clusterTolerations: [{key: drain, operator: Exists, effect: NoExecute, tolerationSeconds: 1}]"
	workload := func(name, placement, failover string) {
		s.policyOn(t, name, named(aDeployment, name), "placement: {"+oneOf+placement+"}"+failover)
		s.put(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: web, image: web}]}}}}`, name)
	}
	workload("slow", tolerant, "")
	workload("quick", "clusterTolerations: []", ", failover: {cluster: {purgeMode: Directly}}")
	workload("held", everywhere, "")
	for _, name := range []string{"slow", "quick", "held"} {
		s.awaitPlaced(t, name+"-deployment", "cluster1:1")
		s.sees(t, pushName, aDeployment, name)
	}
	s.mend(t, onHub, aCluster, pushName, "{spec: {taints: [{key: drain, effect: NoExecute}]}}")
	defer s.mend(t, onHub, aCluster, pushName, "{spec: {taints: null}}")
	s.awaitPlaced(t, "slow-deployment", "cluster2:1")
	s.awaitPlaced(t, "quick-deployment", "cluster2:1")
	s.sees(t, onHub, aBinding, "slow-deployment", "spec gracefulEvictionTasks 0 fromCluster", pushName, "spec gracefulEvictionTasks 0 reason", "TaintUntolerated",
		"spec gracefulEvictionTasks 0 producer", "TaintManager", "spec gracefulEvictionTasks 0 purgeMode", "Gracefully")
	s.awaitTold(t, "EvictWorkloadFromClusterSucceed", "slow-deployment")
	s.sees(t, pullName, aDeployment, "slow")
	s.sees(t, pullName, aDeployment, "quick")
	s.gone(t, pushName, aDeployment, "quick") // though the new one is not healthy
	s.witness(t)
	if s.read(t, pushName, aDeployment, "slow") == nil {
		t.Error("the old copy went before the new one was healthy")
	}
	runPodsIn(t, s.pull, s.namespace, "slow")
	s.sees(t, onHub, aBinding, "slow-deployment", "spec gracefulEvictionTasks", "")
	s.gone(t, pushName, aDeployment, "slow")
	s.awaitPlaced(t, "held-deployment", "cluster1:1")
	s.sees(t, pushName, aDeployment, "held")
}

// testApplicationFailover: what is unhealthy for too long moves, and its old copy
// goes as the policy says.
func testApplicationFailover(t *testing.T, s *space) {
	const kind = "policy/v1 PodDisruptionBudget" // healthy until its status says otherwise
	for name, purge := range map[string]string{"after": "Gracefully, gracePeriodSeconds: 600", "never": "Never", "now": "Directly"} {
		s.policyOn(t, name, named(kind, name), "propagateDeps: true, placement: {"+oneOf+everywhere+"}, failover: {application: {decisionConditions: {tolerationSeconds: 1}, purgeMode: "+purge+"}}")
		s.put(t, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s}, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}", name)
	}
	other := map[string]string{pushName: pullName, pullName: pushName}
	first := map[string]string{}
	for _, name := range []string{"after", "never", "now"} {
		binding := name + "-poddisruptionbudget"
		s.awaits(t, onHub, aBinding, binding, "on one cluster", func(o *unstructured.Unstructured) bool { return len(placedOn(o)) == 1 })
		from := placedOn(s.read(t, onHub, aBinding, binding))[0]
		first[name] = from
		s.sees(t, from, kind, name)
		s.sees(t, onHub, aBinding, binding, "status aggregatedStatus 0 health", "Healthy")
		s.mend(t, from, kind, name, "{status: {currentHealthy: 0, desiredHealthy: 1, disruptionsAllowed: 0, expectedPods: 1}}", "status")
	}
	for name, from := range first {
		s.awaitPlaced(t, name+"-poddisruptionbudget", other[from])
		s.sees(t, other[from], kind, name)
	}
	s.sees(t, onHub, aBinding, "never-poddisruptionbudget", "spec gracefulEvictionTasks 0 fromCluster", first["never"],
		"spec gracefulEvictionTasks 0 reason", "ApplicationFailure", "spec gracefulEvictionTasks 0 suppressDeletion", "true")
	s.gone(t, first["after"], kind, "after") // the new one is healthy at once
	s.gone(t, first["now"], kind, "now")
	s.witness(t)
	s.sees(t, first["never"], kind, "never")
}

// testNotReady: a policy taints a cluster that does not answer; what tolerates that
// for a while moves to another cluster, and what was deleted meanwhile, or moved,
// goes from the cluster once it answers again.
func testNotReady(t *testing.T, s *space) {
	s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterTaintPolicy, metadata: {name: down}, spec: {targetClusters: {clusterNames: [cluster3]}, taints: [{key: down, effect: NoExecute}],
		addOnConditions: [{conditionType: Ready, operator: NotIn, statusValues: ['True']}], removeOnConditions: [{conditionType: Ready, operator: In, statusValues: ['True']}]}}`)
	const tolerant = "clusterTolerations: [{key: down, operator: Exists, effect: NoExecute, tolerationSeconds: 1}], "
	s.place(t, "moved", tolerant+"clusterAffinity: {clusterNames: [cluster3]}")
	s.place(t, "deleted", everywhere+", clusterAffinity: {clusterNames: [cluster3]}")
	s.place(t, "stays", everywhere+", clusterAffinity: {clusterNames: [cluster3]}")
	for _, name := range []string{"moved", "deleted", "stays"} {
		s.sees(t, thirdName, aConfigMap, name)
	}
	s.place(t, "moved", tolerant+"clusterAffinity: {clusterNames: [cluster2, cluster3]}, spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]")
	s.awaits(t, onHub, aBinding, "moved-configmap", "placed again", func(o *unstructured.Unstructured) bool {
		return strings.Contains(valueAt(o, "metadata annotations policy.karmada.io/applied-placement"), pullName)
	})
	s.awaitPlaced(t, "moved-configmap", thirdName) // it is there already
	address := valueAt(s.read(t, onHub, aCluster, thirdName), "spec apiEndpoint")

	s.mend(t, onHub, aCluster, thirdName, "{spec: {apiEndpoint: 'https://127.0.0.1:9'}}")
	s.awaitReady(t, thirdName, metav1.ConditionFalse)
	s.awaitTaint(t, "cluster.karmada.io/not-ready", true)
	s.awaitTaint(t, "down", true)
	s.awaitPlaced(t, "moved-configmap", pullName)
	s.sees(t, pullName, aConfigMap, "moved")
	s.remove(t, onHub, aConfigMap, "deleted")
	s.awaitWork(t, thirdName, aConfigMap, "deleted", "waits for its cluster", func(w *unstructured.Unstructured) bool { return valueAt(w, "metadata deletionTimestamp") != "" })
	s.awaitPlaced(t, "stays-configmap", thirdName)
	// Not being ready is a taint as any other: what tolerates it is placed, and waits.
	s.place(t, "patient", everywhere+", clusterAffinity: {clusterNames: [cluster3]}")
	s.awaitPlaced(t, "patient-configmap", thirdName)
	s.place(t, "impatient", tolerant+"clusterAffinity: {clusterNames: [cluster3]}")
	if message := s.awaitScheduled(t, "impatient-configmap", "False", "NoClusterFit"); !strings.Contains(message, "cluster.karmada.io/not-ready") {
		t.Errorf("the scheduler says %q", message)
	}
	s.awaitWork(t, thirdName, aConfigMap, "patient", "waits for its cluster", func(w *unstructured.Unstructured) bool { return w != nil })
	s.witness(t)
	s.never(t, thirdName, aConfigMap, "patient")
	for _, name := range []string{"moved", "deleted"} {
		s.sees(t, thirdName, aConfigMap, name)
		if s.work(t, thirdName, aConfigMap, name) == nil {
			t.Errorf("the Work of %s went, and its object is still in the cluster", name)
		}
	}

	s.mend(t, onHub, aCluster, thirdName, "{spec: {apiEndpoint: '"+address+"'}}")
	s.awaitReady(t, thirdName, metav1.ConditionTrue)
	s.awaitTaint(t, "down", false)
	s.awaitTaint(t, "cluster.karmada.io/not-ready", false)
	for _, name := range []string{"moved", "deleted"} {
		s.gone(t, thirdName, aConfigMap, name)
		s.awaitWork(t, thirdName, aConfigMap, name, "gone", func(w *unstructured.Unstructured) bool { return w == nil })
	}
	s.sees(t, pullName, aConfigMap, "moved")
	s.sees(t, thirdName, aConfigMap, "stays")
	s.sees(t, thirdName, aConfigMap, "patient")
	s.sees(t, thirdName, aConfigMap, "impatient")
}

// awaitTaint waits until the third cluster has a taint, or has it no more.
func (s *space) awaitTaint(t *testing.T, key string, there bool) {
	t.Helper()
	s.awaits(t, onHub, aCluster, thirdName, "taint "+key, func(o *unstructured.Unstructured) bool {
		return o != nil && strings.Contains(valueAt(o, "spec taints"), "key:"+key) == there
	})
}

// testPreempted: with preemption a policy takes what another one of its namespace
// with less priority holds, and what one of all namespaces holds; without, or the
// other way round, it takes nothing.
func testPreempted(t *testing.T, s *space) {
	const own, wider = "metadata annotations propagationpolicy.karmada.io/name", "metadata annotations clusterpropagationpolicy.karmada.io/name"
	place := func(cluster string) string {
		return "placement: {" + everywhere + ", clusterAffinity: {clusterNames: [" + cluster + "]}}"
	}
	wide := func(name, template, more string) {
		s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: %s}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: %s, name: %s}], %s}}",
			name, s.namespace, template, more)
	}
	s.policyOn(t, "low", named(aConfigMap, "settings"), "priority: 1, "+place(pushName))
	wide("preempted-low", "other", "priority: 9, "+place(pushName))
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
	s.sees(t, pushName, aConfigMap, "settings", own, "low")
	s.sees(t, pushName, aConfigMap, "other", wider, "preempted-low")

	s.policyOn(t, "polite", named(aConfigMap, "settings"), "priority: 50, "+place(pullName))
	s.policyOn(t, "equal", named(aConfigMap, "settings"), "preemption: Always, priority: 1, "+place(pullName))
	wide("preempted-wide", "settings", "preemption: Always, priority: 99, "+place(pullName))
	s.witness(t)
	s.sees(t, onHub, aBinding, "settings-configmap", own, "low", wider, "")
	s.never(t, pullName, aConfigMap, "settings")

	s.policyOn(t, "high", named(aConfigMap, "settings"), "preemption: Always, priority: 2, "+place(pullName))
	s.sees(t, onHub, aBinding, "settings-configmap", own, "high")
	s.sees(t, pullName, aConfigMap, "settings", own, "high")
	s.gone(t, pushName, aConfigMap, "settings")
	s.awaitTold(t, "PreemptPolicySucceed", "settings")
	wide("preempted-high", "other", "preemption: Always, priority: 10, "+place(pullName))
	s.sees(t, pullName, aConfigMap, "other", wider, "preempted-high")
	s.policyOn(t, "own", named(aConfigMap, "other"), "preemption: Always, "+place(pushName))
	s.sees(t, pushName, aConfigMap, "other", own, "own", wider, "")
	s.gone(t, pullName, aConfigMap, "other")
}
