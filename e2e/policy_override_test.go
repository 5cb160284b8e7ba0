package e2e_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// overrideCases hold the rules of contract section 10.
var overrideCases = map[string]func(*testing.T, *space){
	"overrides":       testOverrides,
	"override-order":  testOverrideOrder,
	"override-fields": testOverrideFields,
	"override-fails":  testOverrideFails,
}

// override puts an OverridePolicy of one rule.
func (s *space) override(t *testing.T, name, selector, target, overriders string) {
	t.Helper()
	s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: %s}, spec: {resourceSelectors: [%s], overrideRules: [{%s overriders: {%s}}]}}", name, selector, target, overriders)
}

// testOverrides: each overrider does its part in the cluster that it is for, the
// hub's own object stays, and without the policy everything is as it was.
func testOverrides(t *testing.T, s *space) {
	const container = "spec template spec containers 0 "
	plain := []string{
		container + "image", "example.com/shop/web:1", container + "command", "[run old]", container + "args", "[-a -b]", "spec paused", "",
		"metadata labels tier", "tin", "metadata labels gone", "yes", "metadata labels new", "", "metadata annotations note", "mine", "metadata annotations absent", "",
	}
	s.put(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {tier: tin, gone: 'yes'}, annotations: {note: mine}}, spec: {selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: 'example.com/shop/web:1', command: [run, old], args: [-a, -b]}, {name: side, image: side, args: [-b]}]}}}}`)
	s.policyOn(t, "web", named(aDeployment, "web"), "")
	s.sees(t, pushName, aDeployment, "web", plain...)
	s.override(t, "all", named(aDeployment, "web"), "targetCluster: {clusterNames: [cluster2]},", `
		imageOverrider: [{component: Registry, operator: replace, value: mirror.example}, {component: Repository, operator: add, value: -east}, {component: Tag, operator: replace, value: '2'},
			{predicate: {path: /spec/template/spec/containers/1/image}, component: Tag, operator: replace, value: pinned}],
		commandOverrider: [{containerName: web, operator: remove, value: [old]}, {containerName: web, operator: add, value: [new]}],
		argsOverrider: [{containerName: web, operator: remove, value: [-b]}, {containerName: web, operator: add, value: [-c]}],
		labelsOverrider: [{operator: replace, value: {tier: gold, absent: x}}, {operator: remove, value: {gone: ''}}, {operator: add, value: {new: label}}],
		annotationsOverrider: [{operator: add, value: {note: theirs}}, {operator: replace, value: {absent: x}}],
		plaintext: [{path: /spec/paused, operator: add, value: true}]`)
	s.sees(t, pullName, aDeployment, "web",
		container+"image", "mirror.example/shop/web-east:2", container+"command", "[run new]", container+"args", "[-a -c]", "spec paused", "true",
		"spec template spec containers 1 image", "mirror.example/side-east:pinned", "spec template spec containers 1 args", "[-b]",
		"metadata labels tier", "gold", "metadata labels gone", "", "metadata labels new", "label", "metadata labels absent", "",
		"metadata annotations note", "theirs", "metadata annotations absent", "")
	s.awaitWork(t, pullName, aDeployment, "web", "tells of its overrides", func(w *unstructured.Unstructured) bool {
		applied := valueAt(w, "metadata annotations policy.karmada.io/applied-overrides")
		return strings.Contains(applied, `"policyName":"all"`) && strings.Contains(applied, "argsOverrider")
	})
	s.sees(t, onHub, aDeployment, "web", plain...)
	s.witness(t)
	s.sees(t, pushName, aDeployment, "web", plain...)
	s.remove(t, onHub, "policy.karmada.io/v1alpha1 OverridePolicy", "all")
	s.sees(t, pullName, aDeployment, "web", plain...)
}

// testOverrideOrder: policies of all namespaces go first, then those of the
// namespace; among these the closer selector is the last, then the later name; and
// rules of one policy go in turn.
func testOverrideOrder(t *testing.T, s *space) {
	const mark = "metadata annotations "
	note := func(key, value string) string {
		return "annotationsOverrider: [{operator: add, value: {" + key + ": " + value + "}}]"
	}
	s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterOverridePolicy, metadata: {name: override-order}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: %s, name: settings}],
		overrideRules: [{overriders: {annotationsOverrider: [{operator: add, value: {scope: all, alone: all}}]}}]}}`, s.namespace)
	s.override(t, "z-kind", "{apiVersion: v1, kind: ConfigMap}", "", "annotationsOverrider: [{operator: add, value: {scope: own, strength: kind}}]")
	s.override(t, "m-label", "{apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {a: b}}}", "", "annotationsOverrider: [{operator: add, value: {strength: label, label: seen}}]")
	s.override(t, "a-name", named(aConfigMap, "settings"), "", "annotationsOverrider: [{operator: add, value: {strength: name, last: a}}]")
	s.override(t, "b-name", named(aConfigMap, "settings"), "", note("last", "b"))
	s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: c-rules}, spec: {resourceSelectors: [%s], overrideRules: [
		{overriders: {%s}}, {targetCluster: {labelSelector: {matchLabels: {no: body}}}, overriders: {%s}}, {targetCluster: {exclude: [cluster2]}, overriders: {%s}}]}}`,
		named(aConfigMap, "settings"), note("rule", "first"), note("rule", "second"), note("rule", "third"))
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {a: b}}}")
	s.policyOn(t, "settings", named(aConfigMap, "settings"), "")
	for cluster, rule := range map[string]string{pushName: "third", pullName: "first"} {
		s.sees(t, cluster, aConfigMap, "settings", mark+"scope", "own", mark+"alone", "all", mark+"strength", "name", mark+"label", "seen", mark+"last", "b", mark+"rule", rule)
	}
	s.remove(t, onHub, "policy.karmada.io/v1alpha1 ClusterOverridePolicy", "override-order")
	s.sees(t, pullName, aConfigMap, "settings", mark+"alone", "", mark+"scope", "own")
}

// testOverrideFields: documents inside of strings, and JSON patches.
func testOverrideFields(t *testing.T, s *space) {
	s.put(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {app.json: '{"log":{"level":"info","file":"x"},"ports":[1]}', app.yaml: "log:\n  level: info\n", plain: text, old: x}}`)
	s.policyOn(t, "settings", named(aConfigMap, "settings"), "")
	s.override(t, "settings", named(aConfigMap, "settings"), "targetCluster: {clusterNames: [cluster1]},", `
		fieldOverrider: [{fieldPath: /data/app.json, json: [{subPath: /log/level, operator: replace, value: debug}, {subPath: /log/file, operator: remove}, {subPath: /ports/-, operator: add, value: 2}]},
			{fieldPath: /data/app.yaml, yaml: [{subPath: /log/level, operator: replace, value: warn}, {subPath: /deep, operator: add, value: {a: [1]}}]}],
		plaintext: [{path: /data/plain, operator: replace, value: changed}, {path: /data/old, operator: remove}]`)
	s.awaits(t, pushName, aConfigMap, "settings", "overridden", func(o *unstructured.Unstructured) bool {
		data, _, _ := unstructured.NestedStringMap(objectOf(o), "data")
		return strings.ReplaceAll(data["app.json"], " ", "") == `{"log":{"level":"debug"},"ports":[1,2]}` &&
			strings.Contains(data["app.yaml"], "level: warn") && strings.Contains(data["app.yaml"], "deep:") &&
			data["plain"] == "changed" && data["old"] == ""
	})
	s.sees(t, pullName, aConfigMap, "settings", "data plain", "text", "data old", "x", "data app.yaml", "log:\n  level: info\n")
}

// testOverrideFails: what cannot be overridden for one cluster goes to the others.
func testOverrideFails(t *testing.T, s *space) {
	s.override(t, "settings", named(aConfigMap, "settings"), "targetCluster: {clusterNames: [cluster1]},", "plaintext: [{path: /data/missing, operator: remove}]")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: blue}}")
	s.policyOn(t, "settings", named(aConfigMap, "settings"), "")
	s.sees(t, pullName, aConfigMap, "settings", "data color", "blue")
	s.awaitTold(t, "ApplyOverridePolicyFailed", "settings")
	s.awaitTold(t, "SyncWorkFailed", "settings-configmap")
	s.witness(t)
	s.never(t, pushName, aConfigMap, "settings")
	s.override(t, "settings", named(aConfigMap, "settings"), "targetCluster: {clusterNames: [cluster1]},", "plaintext: [{path: /data/color, operator: replace, value: red}]")
	s.sees(t, pushName, aConfigMap, "settings", "data color", "red")
	s.sees(t, pullName, aConfigMap, "settings", "data color", "blue")
}

// objectOf is an object's content; that of none is empty.
func objectOf(o *unstructured.Unstructured) map[string]any {
	if o == nil {
		return nil
	}
	return o.Object
}
