package e2e_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// reachCases hold which objects and clusters overrides reach (contract section 10).
var reachCases = map[string]func(*testing.T, *space){
	"override-wide":       testOverrideWide,
	"override-deprecated": testOverrideDeprecated,
	"override-target":     testOverrideTarget,
	"override-renames":    testOverrideRenames,
	"override-let-go":     testOverrideLetGo,
}

// testOverrideWide: an object without a namespace is overridden by policies of all
// namespaces, which its Work names.
func testOverrideWide(t *testing.T, s *space) {
	const kind, name = aClusterRole, "override-wide"
	s.put(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}", name)
	s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: %s}, spec: {resourceSelectors: [%s]}}", name, named(kind, name))
	s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterOverridePolicy, metadata: {name: %s}, spec: {resourceSelectors: [%s], overrideRules: [{targetCluster: {clusterNames: [cluster2]},
		overriders: {labelsOverrider: [{operator: add, value: {tier: gold}}], plaintext: [{path: /rules/0/verbs/-, operator: add, value: list}]}}]}}`, name, named(kind, name))
	s.override(t, "none", named(kind, name), "", "labelsOverrider: [{operator: add, value: {tier: tin}}]") // is of a namespace
	s.sees(t, pullName, kind, name, "metadata labels tier", "gold", "rules 0 verbs", "[get list]")
	s.sees(t, pushName, kind, name, "metadata labels tier", "", "rules 0 verbs", "[get]")
	applied := func(w *unstructured.Unstructured) string {
		return valueAt(w, "metadata annotations policy.karmada.io/applied-cluster-overrides")
	}
	s.awaitWork(t, pullName, kind, name, "names the policy", func(w *unstructured.Unstructured) bool {
		return containsAll(applied(w), `"policyName":"`+name+`"`, "labelsOverrider", "plaintext") && valueAt(w, "metadata annotations policy.karmada.io/applied-overrides") == ""
	})
	s.awaitWork(t, pushName, kind, name, "names none", func(w *unstructured.Unstructured) bool { return w != nil && applied(w) == "" })
	s.remove(t, onHub, "policy.karmada.io/v1alpha1 ClusterOverridePolicy", name)
	s.sees(t, pullName, kind, name, "metadata labels tier", "", "rules 0 verbs", "[get]")
	s.awaitWork(t, pullName, kind, name, "names none", func(w *unstructured.Unstructured) bool { return applied(w) == "" })
}

// testOverrideDeprecated: one rule in the form without rules.
func testOverrideDeprecated(t *testing.T, s *space) {
	s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: old}, spec: {resourceSelectors: [%s], targetCluster: {clusterNames: [cluster1]},
		overriders: {annotationsOverrider: [{operator: add, value: {tint: blue}}], plaintext: [{path: /data/color, operator: replace, value: red}]}}}`, named(aConfigMap, "settings"))
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: blue}}")
	s.policyOn(t, "settings", named(aConfigMap, "settings"), "")
	s.sees(t, pushName, aConfigMap, "settings", "data color", "red", "metadata annotations tint", "blue")
	s.sees(t, pullName, aConfigMap, "settings", "data color", "blue", "metadata annotations tint", "")
	s.awaitWork(t, pushName, aConfigMap, "settings", "names the policy", func(w *unstructured.Unstructured) bool {
		return strings.Contains(valueAt(w, "metadata annotations policy.karmada.io/applied-overrides"), `"policyName":"old"`)
	})
}

// testOverrideTarget: clusters are meant by their labels and by their fields.
func testOverrideTarget(t *testing.T, s *space) {
	s.mend(t, onHub, aCluster, pullName, "{metadata: {labels: {override-target: 'yes'}}}")
	s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: targets}, spec: {resourceSelectors: [%s], overrideRules: [
		{targetCluster: {labelSelector: {matchLabels: {override-target: 'yes'}}}, overriders: {annotationsOverrider: [{operator: add, value: {by: label}}]}},
		{targetCluster: {labelSelector: {matchExpressions: [{key: override-target, operator: DoesNotExist}]}}, overriders: {annotationsOverrider: [{operator: add, value: {by: its-lack}}]}},
		{targetCluster: {fieldSelector: {matchExpressions: [{key: region, operator: In, values: [mars]}]}}, overriders: {annotationsOverrider: [{operator: add, value: {planet: mars}}]}},
		{targetCluster: {fieldSelector: {matchExpressions: [{key: region, operator: NotIn, values: [mars]}]}}, overriders: {annotationsOverrider: [{operator: add, value: {planet: earth}}]}}]}}`, named(aConfigMap, "settings"))
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
	s.policyOn(t, "settings", named(aConfigMap, "settings"), "")
	s.sees(t, pullName, aConfigMap, "settings", "metadata annotations by", "label", "metadata annotations planet", "earth")
	s.sees(t, pushName, aConfigMap, "settings", "metadata annotations by", "its-lack", "metadata annotations planet", "earth")
}

// testOverrideLetGo: what a policy's selector does not mean any more is as it was.
func testOverrideLetGo(t *testing.T, s *space) {
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: first}, data: {color: blue}}")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {color: blue}}")
	s.policyOn(t, "all", named(aConfigMap, "first")+", "+named(aConfigMap, "second"), "")
	for _, turn := range [][2]string{{"first", "second"}, {"second", "first"}} {
		s.override(t, "one", named(aConfigMap, turn[0]), "", "plaintext: [{path: /data/color, operator: replace, value: red}]")
		for cluster := range s.members() {
			s.sees(t, cluster, aConfigMap, turn[0], "data color", "red")
			s.sees(t, cluster, aConfigMap, turn[1], "data color", "blue")
			s.awaitWork(t, cluster, aConfigMap, turn[1], "names no policy", func(w *unstructured.Unstructured) bool {
				return w != nil && valueAt(w, "metadata annotations policy.karmada.io/applied-overrides") == ""
			})
		}
	}
}
