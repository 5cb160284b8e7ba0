package e2e_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// testRunawayScript: scripts without an end, in time or in memory, are named where they
// ran, on the hub for replicas and in hub and agent for what members report; both stay
// up, and nothing beside waits for them.
func testRunawayScript(t *testing.T, s *space) {
	const (
		kind    = "print.example/v1 Whirl"
		endless = "  while true do end\n"
		greedy  = "  local all, n = {}, 0\n  while true do\n    n = n + 1\n    all[n] = string.rep('x', 1000000) .. n\n  end\n"
	)
	s.teach(t, "Whirl", map[string]string{"replicaResource": "function GetReplicas(o)\n" + endless + "end", "replicaRevision": reviseCopies})
	s.print(t, "Whirl")
	named := []string{"customization runaway-script", "Whirl runaway-script/p"}
	s.awaitEvent(t, "Whirl", "GetReplicasFailed", named...)
	s.awaitFact(t, "Whirl", "template.stuck", named...)
	s.neighbour(t, "beside-the-first")

	for field, c := range map[string]struct{ function, operation, reason string }{
		"statusReflection":     {"ReflectStatus", "InterpretStatus", "ReflectStatusFailed"},
		"healthInterpretation": {"InterpretHealth", "InterpretHealth", "InterpretHealthFailed"},
	} {
		for what, body := range map[string]string{"endless": endless, "greedy": greedy} {
			scripts := map[string]string{"replicaResource": countCopies, "replicaRevision": reviseCopies, field: "function " + c.function + "(o)\n" + body + "end"}
			s.teach(t, "Whirl", scripts)
			s.awaitCopies(t, "whirls", map[string]string{pushName: "1", pullName: "3"})
			for cluster := range s.members() {
				s.awaitWork(t, cluster, kind, "p", what+" "+field, func(w *unstructured.Unstructured) bool {
					status, reason, message := condition(w, "Degraded")
					return status == "True" && reason == c.reason && containsAll(message, append(named, c.operation)...)
				})
			}
			s.neighbour(t, "beside-"+what+"-"+strings.ToLower(field))
			s.teach(t, "Whirl", map[string]string{"replicaResource": countCopies, "replicaRevision": reviseCopies})
			for cluster := range s.members() {
				s.awaitWork(t, cluster, kind, "p", "mended", func(w *unstructured.Unstructured) bool {
					status, _, _ := condition(w, "Degraded")
					return status == "False"
				})
			}
		}
	}
	s.awaitRow(t, "Whirl")
}

// testKeptByScript: what a script retains stays the member's, and what it names as
// dependents goes along. What was sent along stays when it says that no longer, which is
// told.
func testKeptByScript(t *testing.T, s *space) {
	const kind = "print.example/v1 Spool"
	scripts := map[string]string{
		"retention":                "function Retain(desiredObj, observedObj)\n  desiredObj.spec.ink = observedObj.spec.ink\n  return desiredObj\nend",
		"dependencyInterpretation": "function GetDependencies(o)\n  return {{apiVersion = 'v1', kind = 'ConfigMap', namespace = o.metadata.namespace, name = o.spec.settings}}\nend",
	}
	s.teach(t, "Spool", scripts)
	s.configMap(t, "margins", "left=2")
	s.configMap(t, "colors", "left=2")
	s.policy(t, "all", "{propagateDeps: true, resourceSelectors: [{apiVersion: print.example/v1, kind: Spool}], placement: {clusterAffinity: {clusterNames: [cluster1, cluster2]}}}")
	s.put(t, "{apiVersion: print.example/v1, kind: Spool, metadata: {name: p}, spec: {copies: 1, settings: margins}}")
	s.awaitIn(t, "margins", pushName, pullName)
	for cluster := range s.members() {
		s.sees(t, cluster, kind, "p", "spec copies", "1")
		s.mend(t, cluster, kind, "p", "{spec: {ink: black-of-"+cluster+"}}")
		s.sees(t, cluster, kind, "p", "spec ink", "black-of-"+cluster)
	}
	s.mend(t, onHub, kind, "p", "{spec: {copies: 2, settings: colors}}")
	for cluster := range s.members() {
		s.sees(t, cluster, kind, "p", "spec copies", "2", "spec ink", "black-of-"+cluster)
	}
	s.awaitIn(t, "colors", pushName, pullName)
	s.awaitIn(t, "margins")

	broken := maps.Clone(scripts)
	broken["dependencyInterpretation"] = "function GetDependencies(o)\n  return o.spec.nothing.more\nend"
	s.teach(t, "Spool", broken)
	named := []string{"customization kept-by-script", "Spool kept-by-script/p", "correct the script"}
	s.awaitEvent(t, "Spool", "GetDependenciesFailed", named...)
	s.awaitFact(t, "Spool", "needs.stuck", named...)
	s.awaitIn(t, "colors", pushName, pullName)
	s.teach(t, "Spool", scripts)
	s.awaitRow(t, "Spool")
}

// testBundledKind: a kind that the hub knows without being taught is divided, and its
// status summed up, from the moment that its CRD is there.
func testBundledKind(t *testing.T, s *space) {
	const kind = "apps.kruise.io/v1alpha1 CloneSet"
	s.put(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: clonesets.apps.kruise.io}, spec: {group: apps.kruise.io, scope: Namespaced, names: {kind: CloneSet, plural: clonesets},
		versions: [{name: v1alpha1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	for cluster := range s.members() { // by the policy for all definitions
		s.awaits(t, onHub, aCluster, cluster, "serves the kind", func(o *unstructured.Unstructured) bool {
			return strings.Contains(valueAt(o, "status apiEnablements"), "apps.kruise.io/v1alpha1")
		})
	}
	s.policyOn(t, "all", named(kind, "web"), `placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {staticWeightList: [
		{targetCluster: {clusterNames: [cluster1]}, weight: 1}, {targetCluster: {clusterNames: [cluster2]}, weight: 3}]}}}`)
	s.put(t, "{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, metadata: {name: web}, spec: {replicas: 4, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}")
	s.awaitPlaced(t, "web-cloneset", "cluster1:1", "cluster2:3")
	for cluster, replicas := range map[string]string{pushName: "1", pullName: "3"} {
		s.sees(t, cluster, kind, "web", "spec replicas", replicas)
		generation := valueAt(s.read(t, cluster, kind, "web"), "metadata generation")
		s.mend(t, cluster, kind, "web", fmt.Sprintf("{status: {observedGeneration: %[1]s, replicas: %[2]s, readyReplicas: %[2]s, availableReplicas: %[2]s, updatedReplicas: %[2]s}}", generation, replicas), "status")
	}
	s.awaits(t, onHub, kind, "web", "summed up", func(o *unstructured.Unstructured) bool {
		return valueAt(o, "status replicas") == "4" && valueAt(o, "status availableReplicas") == "4" && valueAt(o, "status observedGeneration") == valueAt(o, "metadata generation")
	})
	s.sees(t, onHub, aBinding, "web-cloneset", "status aggregatedStatus 0 health", "Healthy", "status aggregatedStatus 1 health", "Healthy")
}
