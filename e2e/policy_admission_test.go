package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// admissionCases hold what the hub does to policies as they are written (contract
// sections 2.2 and 2.3).
var admissionCases = map[string]func(*testing.T, *space){
	"admission":         testAdmission,
	"admission-changed": testAdmissionChanged,
	"admission-filled":  testAdmissionFilled,
}

// aPropagation and anOverride are what the tests of admission put, as text: the hub
// is asked by kubectl, as people do.
const (
	aPropagation = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: %s}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: a}], %s}}"
	aWide        = "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: %s}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: a}], %s}}"
	anOverride   = "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: %s}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: a}], %s}}"
	aBarePolicy  = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: %s}, spec: {%s}}"
)

// refused are policies that make no sense, and where kubectl is told so.
var refused = map[string]struct{ form, spec, field string }{
	"selects-nothing":      {aBarePolicy, "resourceSelectors: []", "spec.resourceSelectors"},
	"elsewhere":            {aBarePolicy, "resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: default}]", "spec.resourceSelectors[0].namespace"},
	"preempts-unnamed":     {aBarePolicy, "preemption: Always, resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]", "spec.resourceSelectors[0].name"},
	"preempts-oddly":       {aPropagation, "preemption: Sometimes", "spec.preemption"},
	"conflict-oddly":       {aPropagation, "conflictResolution: Ask", "spec.conflictResolution"},
	"activated-oddly":      {aPropagation, "activationPreference: Eager", "spec.activationPreference"},
	"both-affinities":      {aPropagation, "placement: {clusterAffinity: {}, clusterAffinities: [{affinityName: a}]}", "spec.placement.clusterAffinities"},
	"affinity-twice":       {aPropagation, "placement: {clusterAffinities: [{affinityName: a}, {affinityName: a}]}", "spec.placement.clusterAffinities[1].affinityName"},
	"affinity-named-oddly": {aPropagation, "placement: {clusterAffinities: [{affinityName: 'a b'}]}", "spec.placement.clusterAffinities[0].affinityName"},
	"overflow":             {aPropagation, "placement: {clusterAffinities: [{affinityName: a, overflowAffinities: [{affinityName: b, clusterNames: [c]}]}]}", "spec.placement.clusterAffinities[0].overflowAffinities"},
	"field":                {aPropagation, "placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: planet, operator: In, values: [a]}]}}}", "spec.placement.clusterAffinity.fieldSelector.matchExpressions[0].key"},
	"field-operator":       {aPropagation, "placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: zone, operator: Exists}]}}}", "spec.placement.clusterAffinity.fieldSelector.matchExpressions[0].operator"},
	"toleration":           {aPropagation, "placement: {clusterTolerations: [{key: a, operator: Lt, value: '1'}]}", "spec.placement.clusterTolerations[0].operator"},
	"spread-alone":         {aPropagation, "placement: {spreadConstraints: [{spreadByField: region, minGroups: 1, maxGroups: 1}]}", "spec.placement.spreadConstraints"},
	"spread-twice":         {aPropagation, "placement: {spreadConstraints: [{spreadByField: cluster}, {spreadByField: cluster}]}", "spec.placement.spreadConstraints[1].spreadByField"},
	"spread-by-two":        {aPropagation, "placement: {spreadConstraints: [{spreadByField: cluster, spreadByLabel: a}]}", "spec.placement.spreadConstraints[0].spreadByLabel"},
	"spread-backwards":     {aPropagation, "placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 3, maxGroups: 2}]}", "spec.placement.spreadConstraints[0].maxGroups"},
	"spread-below-none":    {aPropagation, "placement: {spreadConstraints: [{spreadByField: cluster, minGroups: -1}]}", "spec.placement.spreadConstraints[0].minGroups"},
	"weightless":           {aPropagation, "placement: {replicaScheduling: {weightPreference: {staticWeightList: [{targetCluster: {clusterNames: [a]}, weight: 0}]}}}", "spec.placement.replicaScheduling.weightPreference.staticWeightList[0].weight"},
	"without-dependents":   {aPropagation, "failover: {application: {decisionConditions: {tolerationSeconds: 30}}}", "spec.propagateDeps"},
	"impatient":            {aPropagation, "propagateDeps: true, failover: {application: {decisionConditions: {tolerationSeconds: -1}}}", "spec.failover.application.decisionConditions.tolerationSeconds"},
	"graceless":            {aPropagation, "propagateDeps: true, failover: {application: {purgeMode: Directly, gracePeriodSeconds: 5, decisionConditions: {}}}", "spec.failover.application.gracePeriodSeconds"},
	"suspended-twice":      {aPropagation, "suspension: {dispatching: true, dispatchingOnClusters: {clusterNames: [a]}}", "spec.suspension.dispatchingOnClusters.clusterNames"},
	"priority-of-nobody":   {aPropagation, "schedulePriority: {priorityClassSource: Own, priorityClassName: a}", "spec.schedulePriority.priorityClassSource"},

	"wide-preempts-unnamed": {strings.Replace(aWide, ", name: a}", "}", 1), "preemption: Always", "spec.resourceSelectors[0].name"},
	"wide-both-affinities":  {aWide, "placement: {clusterAffinity: {}, clusterAffinities: [{affinityName: a}]}", "spec.placement.clusterAffinities"},

	"old-overriders":      {anOverride, "overrideRules: [{overriders: {}}], overriders: {plaintext: [{path: /a, operator: remove}]}", "spec.overriders"},
	"old-target":          {anOverride, "overrideRules: [{overriders: {}}], targetCluster: {clusterNames: [a]}", "spec.targetCluster"},
	"predicate":           {anOverride, "overrideRules: [{overriders: {imageOverrider: [{predicate: {path: spec}, component: Tag, operator: remove}]}}]", "spec.overrideRules[0].overriders.imageOverrider[0].predicate.path"},
	"component":           {anOverride, "overrideRules: [{overriders: {imageOverrider: [{component: Colour, operator: remove}]}}]", "spec.overrideRules[0].overriders.imageOverrider[0].component"},
	"command-replaced":    {anOverride, "overrideRules: [{overriders: {commandOverrider: [{containerName: a, operator: replace, value: [b]}]}}]", "spec.overrideRules[0].overriders.commandOverrider[0].operator"},
	"label":               {anOverride, "overrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {a: 'b c'}}]}}]", "spec.overrideRules[0].overriders.labelsOverrider[0].value"},
	"both-documents":      {anOverride, "overrideRules: [{overriders: {fieldOverrider: [{fieldPath: /a, json: [{subPath: /a, operator: remove}], yaml: [{subPath: /a, operator: remove}]}]}}]", "spec.overrideRules[0].overriders.fieldOverrider[0]"},
	"document-of-nothing": {anOverride, "overrideRules: [{overriders: {fieldOverrider: [{fieldPath: /a, json: [{subPath: /a, operator: add}]}]}}]", "spec.overrideRules[0].overriders.fieldOverrider[0].json[0].value"},
	"removed-value":       {anOverride, "overrideRules: [{overriders: {fieldOverrider: [{fieldPath: /a, yaml: [{subPath: /a, operator: remove, value: 1}]}]}}]", "spec.overrideRules[0].overriders.fieldOverrider[0].yaml[0].value"},
}

// testAdmission: what makes no sense is refused with the field that is wrong, and
// nothing of it is stored.
func testAdmission(t *testing.T, s *space) {
	var all []string
	for name, c := range refused {
		all = append(all, fmt.Sprintf(c.form, name, c.spec))
	}
	r := s.tell(t, strings.Join(all, "\n---\n"))
	if r.code == 0 {
		t.Error("kubectl ends well")
	}
	for name, c := range refused {
		_, said, _ := strings.Cut(r.stderr, fmt.Sprintf("%q is invalid: ", name))
		if said, _, _ = strings.Cut(said, " is invalid: "); !strings.Contains(said, c.field+": ") {
			t.Errorf("%s: kubectl says %q, want a refusal of %s", name, said, c.field)
		}
	}
	if got := s.on(t, "get", "propagationpolicies,overridepolicies", "-o", "name"); got != "" || r.stdout != "" {
		t.Errorf("stored all the same: %s%s", got, r.stdout)
	}
}

// tell applies an object of the space by kubectl, which may be refused.
func (s *space) tell(t *testing.T, text string) result {
	t.Helper()
	return runWith(t, text, "kube", "kubectl", "--kubeconfig", s.Kubeconfig, "-n", s.namespace, "apply", "-f", "-")
}

// testAdmissionChanged: what may not be changed once it is there, neither by apply nor
// by edit.
func testAdmissionChanged(t *testing.T, s *space) {
	if r := s.tell(t, fmt.Sprintf(aPropagation, "mine", "priority: 1")); r.code != 0 {
		t.Fatal(r.stderr)
	}
	r := s.tell(t, fmt.Sprintf(aPropagation, "mine", "schedulerName: theirs"))
	if r.code == 0 || !strings.Contains(r.stderr, "spec.schedulerName: ") {
		t.Errorf("another scheduler: kubectl ends with %d: %s", r.code, r.stderr)
	}
	const id = "propagationpolicy.karmada.io/permanent-id"
	for _, label := range []string{id + "-", id + "=another"} {
		r := run(t, "kube", "kubectl", "--kubeconfig", s.Kubeconfig, "-n", s.namespace, "label", "--overwrite", "propagationpolicy", "mine", label)
		if r.code == 0 || !strings.Contains(r.stderr, "metadata.labels") || !strings.Contains(r.stderr, id) {
			t.Errorf("label %s: kubectl ends with %d: %s", label, r.code, r.stderr)
		}
	}
	const kind = "policy.karmada.io/v1alpha1 PropagationPolicy"
	s.sees(t, onHub, kind, "mine", "spec schedulerName", "default-scheduler", "spec priority", "1")
}

// testAdmissionFilled: what a policy leaves open is filled in as it is stored.
func testAdmissionFilled(t *testing.T, s *space) {
	const kind = "policy.karmada.io/v1alpha1 PropagationPolicy"
	for _, text := range []string{
		fmt.Sprintf(aPropagation, "plain", ""),
		fmt.Sprintf(aPropagation, "empty-scheduling", "placement: {replicaScheduling: {}, spreadConstraints: [{maxGroups: 2}]}"),
		fmt.Sprintf(aPropagation, "failover", "propagateDeps: true, failover: {application: {decisionConditions: {}}}"),
		fmt.Sprintf(aPropagation, "cluster-failover", "failover: {cluster: {}}"),
		fmt.Sprintf(anOverride, "override", "overrideRules: [{overriders: {}}]"),
		fmt.Sprintf(aWide, "admission-filled", ""),
	} {
		if r := s.tell(t, text); r.code != 0 {
			t.Fatalf("%s\n%s", text, r.stderr)
		}
	}
	s.sees(t, onHub, kind, "plain", "spec resourceSelectors 0 namespace", s.namespace, "spec priority", "0", "spec preemption", "Never", "spec conflictResolution", "Abort",
		"spec schedulerName", "default-scheduler", "spec placement replicaScheduling", "", "metadata finalizers 0", "karmada.io/propagation-policy-controller")
	if valueAt(s.read(t, onHub, kind, "plain"), "metadata labels propagationpolicy.karmada.io/permanent-id") == "" {
		t.Error("a policy has no permanent id")
	}
	s.sees(t, onHub, kind, "empty-scheduling", "spec placement replicaScheduling replicaSchedulingType", "Divided", "spec placement replicaScheduling replicaDivisionPreference", "Weighted",
		"spec placement spreadConstraints 0 spreadByField", "cluster", "spec placement spreadConstraints 0 minGroups", "1", "spec placement spreadConstraints 0 maxGroups", "2")
	s.sees(t, onHub, kind, "failover", "spec failover application purgeMode", "Gracefully", "spec failover application gracePeriodSeconds", "600",
		"spec failover application decisionConditions tolerationSeconds", "300")
	s.sees(t, onHub, kind, "cluster-failover", "spec failover cluster purgeMode", "Gracefully")
	s.sees(t, onHub, "policy.karmada.io/v1alpha1 OverridePolicy", "override", "spec resourceSelectors 0 namespace", s.namespace)
	s.sees(t, onHub, "policy.karmada.io/v1alpha1 ClusterPropagationPolicy", "admission-filled", "spec resourceSelectors 0 namespace", "", "spec preemption", "Never",
		"metadata finalizers 0", "karmada.io/cluster-propagation-policy-controller")
}
