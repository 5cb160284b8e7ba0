package e2e_test

import (
	"context"
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
	admin(t, f.hub) // the subtests share the session
	early := &space{fleet: f, namespace: "default"}
	early.place(t, "early", everywhere)
	if message := early.awaitScheduled(t, "early-configmap", "False", "NoClusterFit"); !strings.HasPrefix(message, "0/0 clusters are available: ") {
		t.Errorf("without a cluster the scheduler says %q", message)
	}
	f.push = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: pushName, Nodes: 2})
	f.pull = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: pullName, Nodes: 1})
	mustJoin(t, f.hub, pushName, f.push, "--cluster-region", "north", "--cluster-provider", "acme", "--cluster-zones", "n1,n2")
	startAgent(t, f.hub, f.pull, createToken(t, f.hub), "--cluster-name", pullName, "--cluster-region", "south", "--cluster-zones", "s1")
	f.awaitReady(t, pullName, metav1.ConditionTrue)
	early.awaitPlaced(t, "early-configmap", pushName, pullName)

	s := f.space(t, "placements")
	s.awaitRoom(t, pushName, 4)
	s.awaitRoom(t, pullName, 2)
	newcomer := s.beforeTheThird(t)
	f.third = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: thirdName, Nodes: 1})
	mustJoin(t, f.hub, thirdName, f.third, "--cluster-region", "west", "--cluster-provider", "acme")
	s.awaitRoom(t, thirdName, 2)
	newcomer(t)

	t.Run("fleet", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *space){
			"not-ready":           testNotReady,
			"taints":              testTaints,
			"evicted":             testEvicted,
			"application":         testApplicationFailover,
			"affinity":            testAffinity,
			"affinity-groups":     testAffinityGroups,
			"affinity-turns":      testAffinityTurns,
			"affinity-fails":      testAffinityFails,
			"zones":               testZones,
			"missing-api":         testMissingAPI,
			"spread":              testSpread,
			"spread-divided":      testSpreadDivided,
			"divided-dynamically": testDividedDynamically,
			"rebalanced":          testRebalanced,
			"scheduling-held":     testSchedulingHeld,
			"preempted":           testPreempted,
			"quota":               testQuotaEnforced,
			"selects-nothing":     testSelectsNothing,
			"rematched":           testRematched,
			"other-schedulers":    testOtherSchedulers,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, f.space(t, name))
			})
		}
	})

	thirdless := s.evictsAndRemovesTheThird(t)
	f.on(t, "delete", "cluster", thirdName, "--wait=false")
	thirdless(t)
	f.awaitGone(t, thirdName)
	t.Logf("%d placements were as their previews said; %d times the fleet changed before they were made", f.foreseen.Load(), f.overtaken.Load())
	if f.foreseen.Load() < 3*f.overtaken.Load() {
		t.Error("the fleet changed too often to tell whether previews are right")
	}
}

// awaitRoom waits until the scheduler knows that a cluster has room for so many
// replicas of a core each and for no more, by previews of a policy that nobody saves.
func (s *space) awaitRoom(t *testing.T, cluster string, replicas int) {
	t.Helper()
	s.deploy(t, cluster, replicas+1, "1")
	policy := fmt.Sprintf("{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: room, namespace: %s}, spec: {resourceSelectors: [%s], placement: {%s, clusterAffinity: {clusterNames: [%s]}, %s}}}",
		s.namespace, named(aDeployment, cluster), everywhere, cluster, aggregated)
	eventually(t, fmt.Sprintf("room for %d in %s", replicas, cluster), func(ctx context.Context) bool {
		seen, there := s.preview(ctx, t, policy)
		return there && strings.HasSuffix(seen.Failure, fmt.Sprintf(" have room for %d", replicas))
	})
	s.remove(t, onHub, aDeployment, cluster)
}

// beforeTheThird places what a cluster that comes later is to get and what not; the
// function that it returns looks at it once the cluster is there.
func (s *space) beforeTheThird(t *testing.T) func(*testing.T) {
	t.Helper()
	s.place(t, "settings", everywhere)
	s.place(t, "south", everywhere+", clusterAffinity: {fieldSelector: {matchExpressions: [{key: region, operator: In, values: [south]}]}}")
	s.workload(t, "steady", 6, "100m", everywhere+", "+dynamically)
	s.workload(t, "weighed", 4, "100m", everywhere+", replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}")
	s.workload(t, "vast", 7, "1", everywhere+", "+aggregated)
	s.awaitPlaced(t, "settings-configmap", pushName, pullName)
	s.awaitPlaced(t, "south-configmap", pullName)
	s.awaitPlaced(t, "steady-deployment", "cluster1:4", "cluster2:2")
	s.awaitPlaced(t, "weighed-deployment", "cluster1:2", "cluster2:2")
	if message := s.awaitScheduled(t, "vast-deployment", "False", "Unschedulable"); !strings.Contains(message, "7 replicas are wanted") || !strings.Contains(message, "room for 6") {
		t.Errorf("the scheduler says %q", message)
	}
	return func(t *testing.T) {
		t.Helper()
		s.awaitPlaced(t, "settings-configmap", pushName, pullName, thirdName)
		s.sees(t, thirdName, aConfigMap, "settings")
		s.awaitPlaced(t, "vast-deployment", "cluster1:3", "cluster2:2", "cluster3:2") // there is room now
		s.awaitScheduled(t, "vast-deployment", "True", "Success")
		s.sees(t, thirdName, aDeployment, "vast", "spec replicas", "2")
		s.remove(t, onHub, aDeployment, "vast")
		s.mend(t, onHub, aCluster, thirdName, "{spec: {region: south}}")
		s.awaitPlaced(t, "south-configmap", pullName, thirdName)
		s.sees(t, thirdName, aConfigMap, "south")
		for binding, want := range map[string][]string{"steady-deployment": {"cluster1:4", "cluster2:2"}, "weighed-deployment": {"cluster1:2", "cluster2:2"}} {
			s.awaitPlaced(t, binding, want...)
		}
		s.never(t, thirdName, aDeployment, "steady")
		s.never(t, thirdName, aDeployment, "weighed")
	}
}

// evictsAndRemovesTheThird moves what is in the third cluster by a taint, and back by
// hand; the function that it returns sees it move again once the cluster is removed.
func (s *space) evictsAndRemovesTheThird(t *testing.T) func(*testing.T) {
	t.Helper()
	const observed = "status schedulerObservingAffinityName"
	s.place(t, "turns", "clusterAffinities: [{affinityName: near, clusterNames: [cluster3]}, {affinityName: far, clusterNames: [cluster1]}]")
	s.workload(t, "moves", 6, "100m", "clusterAffinity: {clusterNames: [cluster2, cluster3]}, "+dynamically)
	s.awaitPlaced(t, "turns-configmap", thirdName)
	s.awaitPlaced(t, "moves-deployment", "cluster2:3", "cluster3:3")
	s.mend(t, onHub, aCluster, thirdName, "{spec: {taints: [{key: drain, effect: NoExecute}]}}")
	s.awaitPlaced(t, "turns-configmap", pushName)
	s.sees(t, onHub, aBinding, "turns-configmap", observed, "far")
	s.sees(t, pushName, aConfigMap, "turns")
	s.gone(t, thirdName, aConfigMap, "turns")
	s.awaitPlaced(t, "moves-deployment", "cluster2:6") // what is divided is whole again
	s.sees(t, pullName, aDeployment, "moves", "spec replicas", "6")
	s.mend(t, onHub, aCluster, thirdName, "{spec: {taints: null}}")
	s.place(t, "back", "clusterAffinity: {clusterNames: [cluster3]}")
	s.sees(t, thirdName, aConfigMap, "back")
	s.awaitPlaced(t, "turns-configmap", pushName)
	s.awaitPlaced(t, "moves-deployment", "cluster2:6")
	s.rebalance(t, "return", aConfigMap, "turns")
	s.awaitPlaced(t, "turns-configmap", thirdName)
	s.sees(t, onHub, aBinding, "turns-configmap", observed, "near")
	s.gone(t, pushName, aConfigMap, "turns")
	return func(t *testing.T) {
		t.Helper()
		s.awaitPlaced(t, "settings-configmap", pushName, pullName)
		s.awaitPlaced(t, "turns-configmap", pushName)
		s.awaitScheduled(t, "back-configmap", "False", "NoClusterFit")
	}
}

// rebalance asks for an object of the space to be placed afresh.
func (s *space) rebalance(t *testing.T, rebalancer, kind, name string) {
	t.Helper()
	version, kind, _ := strings.Cut(kind, " ")
	s.put(t, `{apiVersion: apps.karmada.io/v1alpha1, kind: WorkloadRebalancer, metadata: {name: %s-%s}, spec: {workloads: [{apiVersion: %s, kind: %s, name: %s, namespace: %[2]s}]}}`,
		rebalancer, s.namespace, version, kind, name)
}

// place puts a ConfigMap and then the placement that it is to have, as foreseen.
func (s *space) place(t *testing.T, name, placement string) foresight {
	t.Helper()
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}", name)
	return s.decree(t, name, aConfigMap, "placement: {"+placement+"}")
}

// workload puts a Deployment whose replicas ask for so much CPU each, and then its
// placement, as foreseen. It is paused: pods would take room that others count on.
func (s *space) workload(t *testing.T, name string, replicas int, cpu, placement string) foresight {
	t.Helper()
	s.deploy(t, name, replicas, cpu)
	return s.decree(t, name, aDeployment, "placement: {"+placement+"}")
}

func (s *space) deploy(t *testing.T, name string, replicas int, cpu string) {
	t.Helper()
	s.put(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {paused: true, replicas: %d, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {
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
	s.deploy(t, "second", 2, "300m") // what it comes to is asked below
	s.policyOn(t, "second", named(aDeployment, "second"), "placement: {"+on(pullName)+"}")
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
