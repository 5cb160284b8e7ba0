package e2e_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// everywhere lets a placement be undisturbed by the taints of other tests.
const everywhere = "clusterTolerations: [{operator: Exists}]"

// TestPlacements holds the rules of contract sections 8.6 and 9 against three
// members of two regions, on a hub that moves workloads away from bad clusters and
// refuses what goes beyond a quota.
func TestPlacements(t *testing.T) {
	t.Parallel()
	f := &fleet{hub: startHub(t, "--feature-gates=Failover=true,PropagationPolicyPreemption=true,FederatedQuotaEnforcement=true", "--enable-no-execute-taint-eviction", "--resource-eviction-rate=100")}
	f.push = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: pushName, Nodes: 2})
	f.pull = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: pullName, Nodes: 1})
	mustJoin(t, f.hub, pushName, f.push, "--cluster-region", "north", "--cluster-provider", "acme")
	startAgent(t, f.hub, f.pull, createToken(t, f.hub), "--cluster-name", pullName, "--cluster-region", "south")
	f.awaitReady(t, pullName, metav1.ConditionTrue)

	// A cluster that comes later gets what is meant for all.
	s := f.space(t, "placements")
	s.policyOn(t, "all", named(aConfigMap, "settings"), "placement: {"+everywhere+"}")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
	s.awaitPlaced(t, "settings-configmap", pushName, pullName)
	f.third = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: thirdName, Nodes: 1})
	mustJoin(t, f.hub, thirdName, f.third, "--cluster-region", "south", "--cluster-provider", "acme")
	s.awaitPlaced(t, "settings-configmap", pushName, pullName, thirdName)
	s.sees(t, thirdName, aConfigMap, "settings")

	t.Run("fleet", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *space){
			"not-ready":           testNotReady,
			"taints":              testTaints,
			"evicted":             testEvicted,
			"application":         testApplicationFailover,
			"affinity":            testAffinity,
			"affinity-groups":     testAffinityGroups,
			"missing-api":         testMissingAPI,
			"spread":              testSpread,
			"divided-dynamically": testDividedDynamically,
			"rebalanced":          testRebalanced,
			"scheduling-held":     testSchedulingHeld,
			"preempted":           testPreempted,
			"quota":               testQuotaEnforced,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, f.space(t, name))
			})
		}
	})

	// A cluster that goes is no target any more.
	f.on(t, "delete", "cluster", thirdName, "--wait=false")
	s.awaitPlaced(t, "settings-configmap", pushName, pullName)
	f.awaitGone(t, thirdName)
}

// place puts a ConfigMap and the placement that it is to have.
func (s *space) place(t *testing.T, name, placement string) {
	t.Helper()
	s.policyOn(t, name, named(aConfigMap, name), "placement: {"+placement+"}")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}", name)
}

// workload puts a Deployment whose replicas ask for so much CPU each, and its placement.
func (s *space) workload(t *testing.T, name string, replicas int, cpu, placement string) {
	t.Helper()
	s.policyOn(t, name, named(aDeployment, name), "placement: {"+placement+"}")
	s.put(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {replicas: %d, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {
		containers: [{name: web, image: web, resources: {requests: {cpu: %[3]s}}}]}}}}`, name, replicas, cpu)
}

// awaitScheduled waits for what the scheduler says of a binding.
func (s *space) awaitScheduled(t *testing.T, binding, status, reason string) (message string) {
	t.Helper()
	s.awaits(t, onHub, aBinding, binding, "Scheduled="+status+" "+reason, func(o *unstructured.Unstructured) bool {
		if o == nil {
			return false
		}
		var is, why string
		is, why, message = condition(o, "Scheduled")
		return is == status && why == reason
	})
	return message
}

var countRE = regexp.MustCompile(`(?:: |, )(\d+) `)

// testTaints: a cordoned cluster gets nothing new but what tolerates it, and keeps
// what it has; and the scheduler counts the clusters that do not fit.
func testTaints(t *testing.T, s *space) {
	const only = "clusterAffinity: {clusterNames: [cluster2]}"
	s.place(t, "before", only)
	s.sees(t, pullName, aConfigMap, "before")
	s.mend(t, onHub, aCluster, pullName, "{spec: {taints: [{key: cluster.karmada.io/unschedulable, effect: NoSchedule}]}}")
	s.place(t, "after", only)
	message := s.awaitScheduled(t, "after-configmap", "False", "NoClusterFit")
	counted := 0
	for _, found := range countRE.FindAllStringSubmatch(message, -1) {
		n, _ := strconv.Atoi(found[1])
		counted += n
	}
	if !strings.HasPrefix(message, "0/3 clusters are available: ") || counted != 3 || !strings.Contains(message, "cluster.karmada.io/unschedulable") {
		t.Errorf("the scheduler says %q, want the three clusters counted, and the taint", message)
	}
	s.place(t, "tolerant", only+", clusterTolerations: [{key: cluster.karmada.io/unschedulable, operator: Exists, effect: NoSchedule}]")
	s.sees(t, pullName, aConfigMap, "tolerant")
	s.place(t, "before", "clusterAffinity: {clusterNames: [cluster2], exclude: [cluster3]}")
	s.awaits(t, onHub, aBinding, "before-configmap", "placed again", func(o *unstructured.Unstructured) bool {
		return strings.Contains(valueAt(o, "metadata annotations policy.karmada.io/applied-placement"), thirdName)
	})
	s.awaitPlaced(t, "before-configmap", pullName)
	s.never(t, pullName, aConfigMap, "after")
	s.mend(t, onHub, aCluster, pullName, "{spec: {taints: null}}")
	s.awaitScheduled(t, "after-configmap", "True", "Success")
	s.sees(t, pullName, aConfigMap, "after")
}

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

// testMissingAPI: a member without a kind gets no object of it.
func testMissingAPI(t *testing.T, s *space) {
	const letter = "letters.example/v1 Letter"
	s.put(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: letters.letters.example}, spec: {group: letters.example, scope: Namespaced,
		names: {kind: Letter, plural: letters}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: letters}, spec: {placement: {clusterAffinity: {clusterNames: [cluster1]}}, resourceSelectors: [
		{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: letters.letters.example}]}}`)
	s.awaits(t, onHub, aCluster, pushName, "serves the kind", func(o *unstructured.Unstructured) bool {
		return strings.Contains(valueAt(o, "status apiEnablements"), "letters.example/v1")
	})
	s.policyOn(t, "all", named(letter, "p"), "placement: {"+everywhere+"}")
	s.put(t, "{apiVersion: letters.example/v1, kind: Letter, metadata: {name: p}}")
	s.awaitPlaced(t, "p-letter", pushName)
	s.sees(t, pushName, letter, "p")
}

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
	for _, name := range []string{"many-deployment", "strange-deployment"} {
		s.awaits(t, onHub, aBinding, name, "nowhere", func(o *unstructured.Unstructured) bool {
			if o == nil {
				return false
			}
			status, reason, _ := condition(o, "Scheduled")
			return status == "False" && reason != "" && len(placedOn(o)) == 0
		})
	}
	spread("many", fmt.Sprintf(byCluster, 3, 4))
	s.awaitPlaced(t, "many-deployment", "cluster1:1", "cluster2:1", "cluster3:1")
	s.sees(t, pushName, aDeployment, "one", "spec replicas", "1")
	s.never(t, pullName, aDeployment, "one")
}

const (
	dynamically = "replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: AvailableReplicas}}"
	aggregated  = "replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}"
)

// testDividedDynamically: by the room that clusters have, or on as few as can be;
// and what has no room waits.
func testDividedDynamically(t *testing.T, s *space) {
	s.workload(t, "shares", 8, "100m", everywhere+", "+dynamically)
	s.awaitPlaced(t, "shares-deployment", "cluster1:4", "cluster2:2", "cluster3:2")
	s.sees(t, pushName, aDeployment, "shares", "spec replicas", "4")
	s.sees(t, pullName, aDeployment, "shares", "spec replicas", "2")
	s.workload(t, "few", 3, "1", everywhere+", "+aggregated)
	s.awaitPlaced(t, "few-deployment", "cluster1:3")
	s.workload(t, "more", 5, "1", everywhere+", clusterAffinity: {clusterNames: [cluster1, cluster2]}, "+aggregated)
	s.awaitPlaced(t, "more-deployment", "cluster1:3", "cluster2:2")
	s.workload(t, "vast", 99, "1", everywhere+", "+aggregated)
	s.awaitScheduled(t, "vast-deployment", "False", "Unschedulable")
	s.mend(t, onHub, aDeployment, "vast", "{spec: {replicas: 1}}")
	s.awaitPlaced(t, "vast-deployment", "cluster1:1")
	s.awaitScheduled(t, "vast-deployment", "True", "Success")
}

// testRebalanced: replicas stay where they are when there is more choice, grow and
// shrink from there, and move when a WorkloadRebalancer asks for it.
func testRebalanced(t *testing.T, s *space) {
	const kind = "apps.karmada.io/v1alpha1 WorkloadRebalancer"
	s.workload(t, "web", 6, "100m", everywhere+", clusterAffinity: {clusterNames: [cluster2]}, "+dynamically)
	s.awaitPlaced(t, "web-deployment", "cluster2:6")
	s.workload(t, "web", 6, "100m", everywhere+", clusterAffinity: {clusterNames: [cluster1, cluster2]}, "+dynamically)
	s.awaits(t, onHub, aBinding, "web-deployment", "placed anew", func(o *unstructured.Unstructured) bool {
		return strings.Contains(valueAt(o, "metadata annotations policy.karmada.io/applied-placement"), pushName)
	})
	s.awaitPlaced(t, "web-deployment", "cluster2:6")
	s.sees(t, pullName, aDeployment, "web", "spec replicas", "6")
	s.put(t, `{apiVersion: apps.karmada.io/v1alpha1, kind: WorkloadRebalancer, metadata: {name: rebalanced}, spec: {workloads: [
		{apiVersion: apps/v1, kind: Deployment, name: missing, namespace: %[1]s}, {apiVersion: apps/v1, kind: Deployment, name: web, namespace: %[1]s}]}}`, s.namespace)
	s.sees(t, onHub, kind, "rebalanced", "status observedWorkloads 0 result", "Failed", "status observedWorkloads 0 reason", "ReferencedBindingNotFound",
		"status observedWorkloads 1 result", "Successful")
	s.awaitPlaced(t, "web-deployment", "cluster1:4", "cluster2:2")
	s.sees(t, pushName, aDeployment, "web", "spec replicas", "4")
	s.sees(t, pullName, aDeployment, "web", "spec replicas", "2")
	s.mend(t, onHub, kind, "rebalanced", "{spec: {ttlSecondsAfterFinished: 0}}")
	s.gone(t, onHub, kind, "rebalanced")
	s.mend(t, onHub, aDeployment, "web", "{spec: {replicas: 3}}") // by what they have: 4 to 2
	s.awaitPlaced(t, "web-deployment", "cluster1:2", "cluster2:1")
}

// testSchedulingHeld: a binding whose scheduling is held stays where it is; and its
// priority is that of the class its policy names.
func testSchedulingHeld(t *testing.T, s *space) {
	s.put(t, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: scheduling-held}, value: 77}")
	place := func(cluster string) {
		s.policyOn(t, "settings", named(aConfigMap, "settings"), "schedulePriority: {priorityClassSource: KubePriorityClass, priorityClassName: scheduling-held}, placement: {"+everywhere+
			", clusterAffinity: {clusterNames: ["+cluster+"]}}")
	}
	place(pushName)
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
	s.awaitPlaced(t, "settings-configmap", pushName)
	s.sees(t, onHub, aBinding, "settings-configmap", "spec schedulePriority priority", "77")
	s.mend(t, onHub, aBinding, "settings-configmap", "{spec: {suspension: {scheduling: true}}}")
	place(pullName)
	s.sees(t, onHub, aBinding, "settings-configmap", "spec placement clusterAffinity clusterNames 0", pullName, "spec suspension scheduling", "true")
	s.witness(t)
	s.awaitPlaced(t, "settings-configmap", pushName)
	s.never(t, pullName, aConfigMap, "settings")
	s.mend(t, onHub, aBinding, "settings-configmap", "{spec: {suspension: {scheduling: false}}}")
	s.awaitPlaced(t, "settings-configmap", pullName)
	s.sees(t, pullName, aConfigMap, "settings")
}

// testQuotaEnforced: what would go beyond the namespace's quota is not scheduled, and
// says so; what is scheduled stays, and a scale beyond the quota waits with it. All of
// it goes through once the quota is raised.
func testQuotaEnforced(t *testing.T, s *space) {
	const kind = "policy.karmada.io/v1alpha1 FederatedResourceQuota"
	s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: FederatedResourceQuota, metadata: {name: limit}, spec: {overall: {cpu: '1'}}}")
	s.sees(t, onHub, kind, "limit", "status overall cpu", "1")
	on := func(cluster string) string {
		return everywhere + ", clusterAffinity: {clusterNames: [" + cluster + "]}"
	}
	s.workload(t, "first", 2, "300m", on(pushName))
	s.awaitPlaced(t, "first-deployment", "cluster1:2")
	s.sees(t, pushName, aDeployment, "first", "spec replicas", "2")
	s.sees(t, onHub, kind, "limit", "status overallUsed cpu", "600m")

	refused := func(binding string) {
		message := s.awaitScheduled(t, binding, "False", "QuotaExceeded")
		for _, want := range []string{"FederatedResourceQuota limit", "cpu", "raise the quota or ask for fewer replicas"} {
			if !strings.Contains(message, want) {
				t.Errorf("%s says %q, which does not name %q", binding, message, want)
			}
		}
		s.awaitTold(t, "ScheduleBindingFailed", binding)
		s.awaitTold(t, "ScheduleBindingFailed", strings.TrimSuffix(binding, "-deployment"))
	}
	s.workload(t, "second", 2, "300m", on(pullName))
	refused("second-deployment")
	s.mend(t, onHub, aDeployment, "first", "{spec: {replicas: 4}}")
	refused("first-deployment")
	err := s.trySchedule(t, "second-deployment", pullName, 2) // nor may anybody else
	if string(apierrors.ReasonForError(err)) != "QuotaExceeded" || !strings.Contains(fmt.Sprint(err), "denied the request") {
		t.Errorf("a placement beyond the quota: %v", err)
	}
	s.witness(t)
	s.never(t, pullName, aDeployment, "second")
	s.awaitPlaced(t, "second-deployment")
	s.awaitPlaced(t, "first-deployment", "cluster1:2")
	s.sees(t, pushName, aDeployment, "first", "spec replicas", "2")

	s.mend(t, onHub, kind, "limit", "{spec: {overall: {cpu: '2'}}}")
	s.awaitPlaced(t, "second-deployment", "cluster2:2")
	s.awaitPlaced(t, "first-deployment", "cluster1:4")
	s.awaitScheduled(t, "second-deployment", "True", "Success")
	s.sees(t, pullName, aDeployment, "second", "spec replicas", "2")
	s.sees(t, pushName, aDeployment, "first", "spec replicas", "4")
	s.sees(t, onHub, kind, "limit", "status overallUsed cpu", "1800m")
}

// trySchedule places a binding by hand, as another scheduler would.
func (s *space) trySchedule(t *testing.T, binding, cluster string, replicas int) error {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"clusters":[{"name":%q,"replicas":%d}]}}`, cluster, replicas)
	_, err := s.objectsOf(t, onHub, aBinding).Patch(t.Context(), binding, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
