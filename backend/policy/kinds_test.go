package policy_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	appsv1alpha1 "muster.dev/muster/backend/apis/apps/v1alpha1"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	networkingv1alpha1 "muster.dev/muster/backend/apis/networking/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
)

// rows are specs by name, each with the place that is wrong; empty: none is.
type rows map[string]struct{ spec, at string }

func judge[S any](t *testing.T, validate func(*S, *field.Path) field.ErrorList, tests rows) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expectError(t, validate(parse[S](t, "{"+test.spec+"}"), field.NewPath("spec")), test.at)
		})
	}
}

func TestValidateCustomization(t *testing.T) {
	const target = `target: {apiVersion: apps/v1, kind: Deployment}, `
	judge[configv1alpha1.ResourceInterpreterCustomizationSpec](t, policy.ValidateCustomization, rows{
		"script": {target + `customizations: {healthInterpretation: {luaScript: "function InterpretHealth(o)\n return o.status.ready == true\nend"},
		  retention: {luaScript: "function Retain(d, o)\n d.spec.x = o.spec.x\n return d\nend"}}`, ""},
		"no rules":       {target + `customizations: {}`, ""},
		"core group":     {`target: {apiVersion: v1, kind: Pod}, customizations: {}`, ""},
		"no version":     {`target: {apiVersion: "", kind: Pod}, customizations: {}`, "spec.target.apiVersion"},
		"broken version": {`target: {apiVersion: a/b/c, kind: Pod}, customizations: {}`, "spec.target.apiVersion"},
		"no kind":        {`target: {apiVersion: v1, kind: ""}, customizations: {}`, "spec.target.kind"},
		"empty script":   {target + `customizations: {replicaResource: {luaScript: " "}}`, "spec.customizations.replicaResource.luaScript"},
		"broken script":  {target + `customizations: {statusAggregation: {luaScript: "function AggregateStatus(d, i) return d"}}`, "spec.customizations.statusAggregation.luaScript"},
		"another broken": {target + `customizations: {dependencyInterpretation: {luaScript: "if x = 1 then end"}, statusReflection: {luaScript: "return nil"}}`, "spec.customizations.dependencyInterpretation.luaScript"},
	})
}

func TestValidateQuota(t *testing.T) {
	judge[policyv1alpha1.FederatedResourceQuotaSpec](t, policy.ValidateQuota, rows{
		"overall":         {`overall: {cpu: 10, requests.nvidia.com/gpu: 2}`, ""},
		"assigned":        {`overall: {cpu: 10}, staticAssignments: [{clusterName: m1, hard: {cpu: 4, memory: 1Gi}}, {clusterName: m2, hard: {cpu: "6"}}]`, ""},
		"negative":        {`overall: {cpu: -1}`, "spec.overall[cpu]"},
		"no resource":     {`overall: {"a b": 1}`, "spec.overall[a b]"},
		"assigned more":   {`overall: {cpu: 10}, staticAssignments: [{clusterName: m1, hard: {cpu: 5}}, {clusterName: m2, hard: {cpu: 5100m}}]`, "spec.overall[cpu]"},
		"negative again":  {`overall: {cpu: 10}, staticAssignments: [{clusterName: m1, hard: {cpu: -5}}]`, "spec.staticAssignments[0].hard[cpu]"},
		"no cluster":      {`overall: {cpu: 10}, staticAssignments: [{clusterName: "", hard: {cpu: 5}}]`, "spec.staticAssignments[0].clusterName"},
		"no cluster name": {`overall: {cpu: 10}, staticAssignments: [{clusterName: A_b, hard: {cpu: 5}}]`, "spec.staticAssignments[0].clusterName"},
		"cluster twice":   {`overall: {cpu: 10}, staticAssignments: [{clusterName: a, hard: {cpu: 5}}, {clusterName: a, hard: {cpu: 5}}]`, "spec.staticAssignments[1].clusterName"},
	})
}

func TestValidateTaintPolicy(t *testing.T) {
	judge[policyv1alpha1.ClusterTaintPolicySpec](t, policy.ValidateTaintPolicy, rows{
		"fine": {`targetClusters: {clusterNames: [m1]}, addOnConditions: [{conditionType: Ready, operator: NotIn, statusValues: ["True"]}],
		  removeOnConditions: [{conditionType: Ready, operator: In, statusValues: ["True"]}], taints: [{key: a/b, effect: NoExecute}, {key: a/b, effect: NoSchedule, value: c}]`, ""},
		"affinity":         {`targetClusters: {fieldSelector: {matchExpressions: [{key: x, operator: In}]}}, taints: []`, "spec.targetClusters.fieldSelector.matchExpressions[0].key"},
		"no condition":     {`addOnConditions: [{conditionType: "", operator: In, statusValues: ["True"]}], taints: []`, "spec.addOnConditions[0].conditionType"},
		"no status":        {`removeOnConditions: [{conditionType: Ready, operator: In, statusValues: []}], taints: []`, "spec.removeOnConditions[0].statusValues"},
		"taint key":        {`taints: [{key: "a b", effect: NoExecute}]`, "spec.taints[0].key"},
		"taint value":      {`taints: [{key: a, value: "b c", effect: NoExecute}]`, "spec.taints[0].value"},
		"same taint again": {`taints: [{key: a, value: b, effect: NoExecute}, {key: a, effect: NoExecute}]`, "spec.taints[1]"},
	})
}

func TestValidateRebalancer(t *testing.T) {
	judge[appsv1alpha1.WorkloadRebalancerSpec](t, policy.ValidateRebalancer, rows{
		"fine":         {`workloads: [{apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}], ttlSecondsAfterFinished: 0`, ""},
		"no version":   {`workloads: [{apiVersion: "", kind: Deployment, name: web}]`, "spec.workloads[0].apiVersion"},
		"no kind":      {`workloads: [{apiVersion: v1, kind: "", name: web}]`, "spec.workloads[0].kind"},
		"no name":      {`workloads: [{apiVersion: v1, kind: Pod, name: ""}]`, "spec.workloads[0].name"},
		"time to live": {`workloads: [], ttlSecondsAfterFinished: -1`, "spec.ttlSecondsAfterFinished"},
	})
}

func TestValidateMultiClusterService(t *testing.T) {
	judge[networkingv1alpha1.MultiClusterServiceSpec](t, policy.ValidateMultiClusterService, rows{
		"fine":      {`types: [CrossCluster], ports: [{port: 80}, {name: https, port: 443}], providerClusters: [{name: m1}], consumerClusters: [{name: m2}]`, ""},
		"type":      {`types: [Magic]`, "spec.types[0]"},
		"port":      {`types: [], ports: [{port: 70000}]`, "spec.ports[0].port"},
		"port name": {`types: [], ports: [{name: a, port: 1}, {name: a, port: 2}]`, "spec.ports[1].name"},
		"provider":  {`types: [], providerClusters: [{}]`, "spec.providerClusters[0].name"},
		"consumer":  {`types: [], consumerClusters: [{name: A_b}]`, "spec.consumerClusters[0].name"},
	})
}
