package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// workCases hold the rules of contract section 11.
var workCases = map[string]func(*testing.T, *space){
	"retained":        testRetained,
	"retained-claims": testRetainedClaims,
	"pruned":          testPruned,
	"divided-job":     testDividedJob,
	"suspended-all":   testSuspendedAll,
	"aggregated":      testAggregated,
	"aggregated-wide": testAggregatedWide,
	"aggregated-pods": testAggregatedPods,
	"aggregated-jobs": testAggregatedJobs,
}

// testRetained: what the member itself has filled in or added stays when the hub's
// object changes, and what the hub took away goes.
func testRetained(t *testing.T, s *space) {
	const service = "v1 Service"
	s.put(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {resourcetemplate.karmada.io/retain-replicas: 'true'}}, spec: {replicas: 1, selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: 'web:1'}]}}}}`)
	s.put(t, "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {kept: 'yes', dropped: 'yes'}}, data: {color: blue}}")
	s.policyOn(t, "all", strings.Join([]string{named(aDeployment, "web"), named(service, "web"), named(aConfigMap, "settings")}, ", "), "")
	for cluster := range s.members() {
		s.sees(t, cluster, aDeployment, "web", "spec replicas", "1")
		s.sees(t, cluster, service, "web")
		s.sees(t, cluster, aConfigMap, "settings", "metadata labels dropped", "yes")
		address := valueAt(s.read(t, cluster, service, "web"), "spec clusterIP")
		s.mend(t, cluster, aDeployment, "web", "{spec: {replicas: 5}}") // as an autoscaler there does
		s.mend(t, cluster, aConfigMap, "settings", "{metadata: {labels: {local: 'yes'}, annotations: {local: note}, finalizers: [example.com/held]}}")
		defer s.unhold(t, cluster)
		s.awaits(t, cluster, service, "web", "has an address of its own", func(o *unstructured.Unstructured) bool { return address != "" })
		defer s.sees(t, cluster, service, "web", "spec clusterIP", address, "spec ports 0 port", "81")
	}
	s.mend(t, onHub, aDeployment, "web", "{spec: {template: {spec: {containers: [{name: web, image: 'web:2'}]}}}}")
	s.mend(t, onHub, service, "web", "{spec: {ports: [{port: 81}]}}")
	s.mend(t, onHub, aConfigMap, "settings", "{metadata: {labels: {dropped: null}}, data: {color: red}}")
	for cluster := range s.members() {
		s.sees(t, cluster, aDeployment, "web", "spec template spec containers 0 image", "web:2", "spec replicas", "5")
		s.sees(t, cluster, aConfigMap, "settings", "data color", "red", "metadata labels local", "yes", "metadata labels kept", "yes", "metadata labels dropped", "",
			"metadata annotations local", "note", "metadata finalizers 0", "example.com/held")
	}
}

// unhold lets the member's object go again.
func (s *space) unhold(t *testing.T, cluster string) {
	if s.read(t, cluster, aConfigMap, "settings") != nil {
		s.mend(t, cluster, aConfigMap, "settings", "{metadata: {finalizers: null}}")
	}
}

// testRetainedClaims: what a member bound and what it generated.
func testRetainedClaims(t *testing.T, s *space) {
	const claim, job, account = "v1 PersistentVolumeClaim", "batch/v1 Job", "v1 ServiceAccount"
	s.put(t, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: disk}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
	s.put(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {parallelism: 1, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}")
	s.put(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: runner}}")
	s.policyOn(t, "all", strings.Join([]string{named(claim, "disk"), named(job, "once"), named(account, "runner")}, ", "), "")
	selectors := map[string]string{}
	for cluster := range s.members() {
		s.sees(t, cluster, claim, "disk")
		s.mend(t, cluster, claim, "disk", "{spec: {volumeName: bound}}") // as a binder there does
		s.sees(t, cluster, account, "runner")
		s.mend(t, cluster, account, "runner", "{secrets: [{name: theirs}], imagePullSecrets: [{name: theirs}]}")
		s.awaits(t, cluster, job, "once", "there", func(o *unstructured.Unstructured) bool { return o != nil })
		selectors[cluster] = valueAt(s.read(t, cluster, job, "once"), "spec selector matchLabels")
	}
	hubs := valueAt(s.read(t, onHub, job, "once"), "spec selector matchLabels")
	for kind, name := range map[string]string{claim: "disk", job: "once", account: "runner"} {
		s.mend(t, onHub, kind, name, "{metadata: {annotations: {round: second}}}")
	}
	for cluster := range s.members() {
		s.sees(t, cluster, claim, "disk", "metadata annotations round", "second", "spec volumeName", "bound")
		s.sees(t, cluster, account, "runner", "metadata annotations round", "second", "secrets 0 name", "theirs", "imagePullSecrets 0 name", "theirs")
		s.sees(t, cluster, job, "once", "metadata annotations round", "second", "spec selector matchLabels", selectors[cluster])
		if selectors[cluster] == hubs || selectors[cluster] == "" {
			t.Errorf("%s selects the job's pods by %s, as the hub does, not by an id of its own", cluster, hubs)
		}
	}
}

// testPruned: what belongs to the hub's own copy goes to no member.
func testPruned(t *testing.T, s *space) {
	const service, job, secret, claim = "v1 Service", "batch/v1 Job", "v1 Secret", "v1 PersistentVolumeClaim"
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}")
	owner := s.read(t, onHub, aConfigMap, "owner")
	s.put(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, finalizers: [example.com/hub], ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s}]}}`, owner.GetUID())
	defer s.mend(t, onHub, aConfigMap, "settings", "{metadata: {finalizers: null}}")
	s.put(t, "{apiVersion: v1, kind: Service, metadata: {name: headless}, spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}}")
	s.put(t, "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}")
	s.put(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {ttlSecondsAfterFinished: 600, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}")
	s.put(t, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: disk, annotations: {volume.kubernetes.io/selected-node: hub-node, note: kept}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
	s.put(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {deployment.kubernetes.io/revision: '7', note: kept}}, spec: {paused: true, selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}`)
	var all []string
	for _, one := range [][2]string{{aConfigMap, "settings"}, {service, "headless"}, {service, "web"}, {job, "once"}, {claim, "disk"}, {aDeployment, "web"}} {
		all = append(all, named(one[0], one[1]))
	}
	s.policyOn(t, "all", strings.Join(all, ", "), "")
	for cluster := range s.members() {
		s.sees(t, cluster, aConfigMap, "settings", "metadata finalizers", "", "metadata ownerReferences", "")
		s.sees(t, cluster, service, "headless", "spec clusterIP", "None")
		s.sees(t, cluster, job, "once", "spec ttlSecondsAfterFinished", "")
		s.sees(t, cluster, claim, "disk", "metadata annotations volume.kubernetes.io/selected-node", "", "metadata annotations note", "kept")
		s.awaits(t, cluster, aDeployment, "web", "without the hub's revision", func(o *unstructured.Unstructured) bool {
			return valueAt(o, "metadata annotations deployment.kubernetes.io/revision") != "7" && valueAt(o, "metadata annotations note") == "kept"
		})
		bare := func(paths ...string) func(*unstructured.Unstructured) bool {
			return func(w *unstructured.Unstructured) bool {
				for _, path := range append(paths, "status", "metadata uid", "metadata creationTimestamp", "metadata resourceVersion", "metadata managedFields", "metadata generation") {
					if w == nil || valueAt(w, "spec workload manifests 0 "+path) != "" {
						return false
					}
				}
				return true
			}
		}
		s.awaitWork(t, cluster, service, "web", "without an address", bare("spec clusterIP", "spec clusterIPs"))
		s.awaitWork(t, cluster, job, "once", "without the hub's ids", bare("spec selector matchLabels batch.kubernetes.io/controller-uid", "spec template metadata labels batch.kubernetes.io/controller-uid",
			"spec template metadata labels controller-uid", "spec template metadata labels job-name"))
		s.awaitWork(t, cluster, aDeployment, "web", "bare", bare())
	}
}

// testDividedJob: a Job's completions follow the division of its parallelism.
func testDividedJob(t *testing.T, s *space) {
	const job = "batch/v1 Job"
	s.policyOn(t, "split", named(job, "count"), `placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted,
		weightPreference: {staticWeightList: [{targetCluster: {clusterNames: [cluster1]}, weight: 1}, {targetCluster: {clusterNames: [cluster2]}, weight: 2}]}}}`)
	s.put(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: count}, spec: {parallelism: 3, completions: 7, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}")
	s.awaitPlaced(t, "count-job", "cluster1:1", "cluster2:2")
	s.sees(t, pushName, job, "count", "spec parallelism", "1", "spec completions", "2")
	s.sees(t, pullName, job, "count", "spec parallelism", "2", "spec completions", "5")
}

// testSuspendedAll: a policy that holds everything back is scheduled, and its Works
// say that they wait; what a cluster has stays as it is while that one is held.
func testSuspendedAll(t *testing.T, s *space) {
	hold := func(suspension string) {
		s.policyOn(t, "settings", named(aConfigMap, "settings"), "suspension: "+suspension)
	}
	waits := func(cluster string) {
		s.awaitWork(t, cluster, aConfigMap, "settings", "waits", func(w *unstructured.Unstructured) bool {
			if w == nil || valueAt(w, "spec suspendDispatching") != "true" {
				return false
			}
			status, reason, _ := condition(w, "Dispatching")
			return status == "False" && reason == "SuspendDispatching"
		})
	}
	hold("{dispatching: true}")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: blue}}")
	s.awaitPlaced(t, "settings-configmap", pushName, pullName)
	waits(pushName)
	waits(pullName)
	s.witness(t)
	s.never(t, pushName, aConfigMap, "settings")
	s.never(t, pullName, aConfigMap, "settings")
	hold("{dispatching: false}")
	s.sees(t, pushName, aConfigMap, "settings", "data color", "blue")
	s.sees(t, pullName, aConfigMap, "settings", "data color", "blue")

	hold("{dispatchingOnClusters: {clusterNames: [cluster1]}}")
	waits(pushName)
	s.mend(t, onHub, aConfigMap, "settings", "{data: {color: red}}")
	s.sees(t, pullName, aConfigMap, "settings", "data color", "red")
	s.awaitWork(t, pushName, aConfigMap, "settings", "has the change", func(w *unstructured.Unstructured) bool {
		return valueAt(w, "spec workload manifests 0 data color") == "red"
	})
	s.witness(t)
	s.sees(t, pushName, aConfigMap, "settings", "data color", "blue")
}

// aggregations are what the members report of kinds, each its own, and what the
// hub's object says then.
var aggregations = []struct {
	kind, spec    string
	first, second string   // the status in cluster1 and in cluster2; generation stands for the object's own
	want          []string // pairs, as sees has them
}{
	{
		"apps/v1 StatefulSet", "{replicas: 2, serviceName: a, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}",
		"{observedGeneration: generation, replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 2, availableReplicas: 2}",
		"{observedGeneration: generation, replicas: 2, readyReplicas: 1, currentReplicas: 2, updatedReplicas: 1, availableReplicas: 1}",
		[]string{"status replicas", "4", "status readyReplicas", "3", "status updatedReplicas", "3", "status availableReplicas", "3", "status observedGeneration", "generation"},
	},
	{
		"apps/v1 DaemonSet", "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}",
		"{observedGeneration: generation, desiredNumberScheduled: 3, currentNumberScheduled: 3, numberMisscheduled: 0, numberReady: 2, updatedNumberScheduled: 3, numberAvailable: 2}",
		"{observedGeneration: generation, desiredNumberScheduled: 1, currentNumberScheduled: 1, numberMisscheduled: 0, numberReady: 1, updatedNumberScheduled: 1, numberAvailable: 1}",
		[]string{"status desiredNumberScheduled", "4", "status numberReady", "3", "status numberAvailable", "3", "status observedGeneration", "generation"},
	},
	{
		"batch/v1 Job", "{template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}",
		"{active: 1, startTime: '2026-01-01T10:00:00Z'}", "{active: 1, startTime: '2026-01-01T09:59:00Z'}",
		[]string{"status active", "2", "status startTime", "2026-01-01T09:59:00Z", "status completionTime", ""},
	},
	{
		"v1 Service", "{type: LoadBalancer, selector: {a: b}, ports: [{port: 80}]}",
		"{loadBalancer: {ingress: [{ip: 192.0.2.1}]}}", "{loadBalancer: {ingress: [{ip: 192.0.2.2}]}}",
		[]string{"status loadBalancer ingress 0 ip", "192.0.2.1", "status loadBalancer ingress 1 ip", "192.0.2.2"},
	},
	{
		"networking.k8s.io/v1 Ingress", "{defaultBackend: {service: {name: a, port: {number: 80}}}}",
		"{loadBalancer: {ingress: [{hostname: a.example}]}}", "{loadBalancer: {ingress: [{hostname: b.example}]}}",
		[]string{"status loadBalancer ingress 0 hostname", "a.example", "status loadBalancer ingress 1 hostname", "b.example"},
	},
	{
		"v1 PersistentVolumeClaim", "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
		"{phase: Bound}", "{phase: Lost}", []string{"status phase", "Lost"},
	},
	{
		"v1 Pod", "{containers: [{name: a, image: a}]}",
		"{phase: Running, containerStatuses: [{name: a, image: a, imageID: a, ready: true, restartCount: 0}]}",
		"{phase: Pending, containerStatuses: [{name: a, image: a, imageID: a, ready: false, restartCount: 2}]}",
		[]string{"status phase", "Pending", "status containerStatuses 1 name", "a"},
	},
	{
		"policy/v1 PodDisruptionBudget", "{minAvailable: 1, selector: {matchLabels: {a: b}}}",
		"{currentHealthy: 2, desiredHealthy: 1, disruptionsAllowed: 1, expectedPods: 2}", "{currentHealthy: 3, desiredHealthy: 1, disruptionsAllowed: 2, expectedPods: 3}",
		[]string{"status currentHealthy", "5", "status desiredHealthy", "2", "status disruptionsAllowed", "3", "status expectedPods", "5"},
	},
	{
		"autoscaling/v2 HorizontalPodAutoscaler", "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, minReplicas: 1, maxReplicas: 9}",
		"{currentReplicas: 2, desiredReplicas: 3}", "{currentReplicas: 1, desiredReplicas: 1}",
		[]string{"status currentReplicas", "3", "status desiredReplicas", "4"},
	},
	{
		"batch/v1 CronJob", "{schedule: '0 0 1 1 *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}",
		"{lastScheduleTime: '2026-01-01T10:00:00Z'}", "{lastScheduleTime: '2026-01-01T09:00:00Z', active: [{kind: Job, name: a}]}",
		[]string{"status lastScheduleTime", "2026-01-01T10:00:00Z", "status active 0 name", "a"},
	},
}

// testAggregated: what the members report of an object is together in the hub's.
func testAggregated(t *testing.T, s *space) {
	var all []string
	for _, a := range aggregations {
		all = append(all, named(a.kind, "sum"))
	}
	s.policyOn(t, "all", strings.Join(all, ", "), "placement: {clusterAffinity: {clusterNames: [cluster1, cluster2]}}")
	for _, a := range aggregations {
		version, kind, _ := strings.Cut(a.kind, " ")
		s.put(t, "{apiVersion: %s, kind: %s, metadata: {name: sum}, spec: %s}", version, kind, a.spec)
	}
	for _, a := range aggregations {
		for cluster, status := range map[string]string{pushName: a.first, pullName: a.second} {
			s.awaits(t, cluster, a.kind, "sum", "there", func(o *unstructured.Unstructured) bool { return o != nil })
			generation := valueAt(s.read(t, cluster, a.kind, "sum"), "metadata generation")
			s.mend(t, cluster, a.kind, "sum", fmt.Sprintf("{status: %s}", strings.ReplaceAll(status, "generation,", generation+",")), "status")
		}
	}
	for _, a := range aggregations {
		s.awaits(t, onHub, a.kind, "sum", fmt.Sprint(a.want), func(o *unstructured.Unstructured) bool {
			for i := 0; i < len(a.want); i += 2 {
				want := a.want[i+1]
				if want == "generation" {
					want = valueAt(o, "metadata generation")
				}
				if valueAt(o, a.want[i]) != want {
					return false
				}
			}
			return true
		})
	}
}

// testAggregatedWide: a volume's phase is the worst of what its clusters say.
func testAggregatedWide(t *testing.T, s *space) {
	const kind, name = "v1 PersistentVolume", "aggregated-wide"
	s.put(t, "{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}, persistentVolumeReclaimPolicy: Retain}}", name)
	s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: %s}, spec: {resourceSelectors: [%s]}}", name, named(kind, name))
	for cluster := range s.members() {
		s.sees(t, cluster, kind, name)
	}
	for _, turn := range [][3]string{{"Released", "Bound", "Bound"}, {"Bound", "Available", "Available"}, {"Failed", "Available", "Failed"}, {"Released", "Released", "Released"}} {
		s.mend(t, pushName, kind, name, "{status: {phase: "+turn[0]+"}}", "status")
		s.mend(t, pullName, kind, name, "{status: {phase: "+turn[1]+"}}", "status")
		s.sees(t, onHub, kind, name, "status phase", turn[2])
	}
}

// testAggregatedPods: a ReplicaSet's counts are those of its clusters together, by what
// their own controllers say.
func testAggregatedPods(t *testing.T, s *space) {
	const kind = "apps/v1 ReplicaSet"
	s.put(t, "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a}]}}}}")
	s.policyOn(t, "web", named(kind, "web"), "")
	s.sees(t, onHub, kind, "web", "status replicas", "4", "status fullyLabeledReplicas", "4", "status readyReplicas", "")
	s.awaits(t, onHub, aBinding, "web-replicaset", "not healthy", func(o *unstructured.Unstructured) bool {
		return valueAt(o, "status aggregatedStatus 0 health") == "Unhealthy" && valueAt(o, "status aggregatedStatus 1 health") == "Unhealthy"
	})
	runPodsIn(t, s.push, s.namespace, "web")
	s.sees(t, onHub, kind, "web", "status readyReplicas", "2", "status availableReplicas", "2")
	runPodsIn(t, s.pull, s.namespace, "web")
	generation := valueAt(s.read(t, onHub, kind, "web"), "metadata generation")
	s.sees(t, onHub, kind, "web", "status readyReplicas", "4", "status availableReplicas", "4", "status observedGeneration", generation)
	s.sees(t, onHub, aBinding, "web-replicaset", "status aggregatedStatus 0 health", "Healthy", "status aggregatedStatus 1 health", "Healthy")
}

// testAggregatedJobs: a Job is complete once it is in all of its clusters, and failed as
// soon as it is in one, which is named; and neither is taken back.
func testAggregatedJobs(t *testing.T, s *space) {
	const (
		kind   = "batch/v1 Job"
		active = "{status: {active: 1, startTime: '2026-01-01T10:00:00Z'}}"
		done   = `{status: {succeeded: 1, active: 0, startTime: '2026-01-01T10:00:00Z', completionTime: '%[1]s', conditions: [
			{type: SuccessCriteriaMet, status: 'True', reason: CompletionsReached, lastTransitionTime: '%[1]s'}, {type: Complete, status: 'True', reason: CompletionsReached, lastTransitionTime: '%[1]s'}]}}`
		broken = `{status: {failed: 1, active: 0, startTime: '2026-01-01T10:00:00Z', conditions: [
			{type: FailureTarget, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2026-01-01T10:02:00Z'}, {type: Failed, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2026-01-01T10:02:00Z'}]}}`
	)
	s.policyOn(t, "all", named(kind, "good")+", "+named(kind, "bad"), "")
	for _, name := range []string{"good", "bad"} {
		s.put(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: %s}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}", name)
		for cluster := range s.members() {
			s.sees(t, cluster, kind, name)
			s.mend(t, cluster, kind, name, active, "status")
		}
		s.sees(t, onHub, kind, name, "status active", "2", "status startTime", "2026-01-01T10:00:00Z")
	}
	ends := func(name string) (complete, failed string) {
		o := s.read(t, onHub, kind, name)
		complete, _, _ = condition(o, "Complete")
		failed, _, _ = condition(o, "Failed")
		return complete, failed
	}
	s.mend(t, pullName, kind, "good", fmt.Sprintf(done, "2026-01-01T10:05:00Z"), "status")
	s.sees(t, onHub, kind, "good", "status succeeded", "1", "status active", "1", "status completionTime", "")
	if complete, failed := ends("good"); complete != "" || failed != "" {
		t.Errorf("a job that is complete in one of two clusters says Complete=%s, Failed=%s", complete, failed)
	}
	s.mend(t, pushName, kind, "good", fmt.Sprintf(done, "2026-01-01T10:03:00Z"), "status")
	s.awaits(t, onHub, kind, "good", "complete", func(o *unstructured.Unstructured) bool {
		status, _, _ := condition(o, "Complete")
		return status == "True" && valueAt(o, "status succeeded") == "2" && valueAt(o, "status completionTime") == "2026-01-01T10:05:00Z"
	})

	s.mend(t, pullName, kind, "bad", broken, "status")
	s.awaits(t, onHub, kind, "bad", "failed in "+pullName, func(o *unstructured.Unstructured) bool {
		status, _, message := condition(o, "Failed")
		return status == "True" && strings.Contains(message, pullName) && !strings.Contains(message, pushName) && valueAt(o, "status failed") == "1"
	})
	s.mend(t, pushName, kind, "bad", fmt.Sprintf(done, "2026-01-01T10:03:00Z"), "status")
	s.awaits(t, onHub, aBinding, "bad-job", "has the other cluster's end", func(o *unstructured.Unstructured) bool {
		return valueAt(o, "status aggregatedStatus 0 status succeeded") == "1"
	})
	s.witness(t)
	if complete, failed := ends("bad"); complete != "" || failed != "True" {
		t.Errorf("a failed job says Complete=%s, Failed=%s once the other cluster is done", complete, failed)
	}
}
