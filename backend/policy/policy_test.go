package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
)

func parse[S any](t *testing.T, text string) *S {
	t.Helper()
	spec := new(S)
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return spec
}

// expectError checks that the only error is at the field, or that there is none when it is empty.
func expectError(t *testing.T, errs field.ErrorList, at string) {
	t.Helper()
	switch {
	case at == "" && len(errs) > 0:
		t.Errorf("valid, but got %v", errs)
	case at != "" && (len(errs) != 1 || errs[0].Field != at):
		t.Errorf("want one error at %s, got %v", at, errs)
	}
}

func TestCompletePropagation(t *testing.T) {
	for name, test := range map[string]struct{ namespace, spec, want string }{
		"namespace of selectors": {"shop",
			`{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}, {apiVersion: v1, kind: Secret, namespace: other}]}`,
			`{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: shop}, {apiVersion: v1, kind: Secret, namespace: other}]}`},
		"no namespace in a cluster policy": {"",
			`{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}`,
			`{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}`},
		"imported service": {"",
			`{resourceSelectors: [{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport}]}`,
			`{resourceSelectors: [{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport}], propagateDeps: true}`},
		"spread": {"",
			`{resourceSelectors: [], placement: {spreadConstraints: [{maxGroups: 3}, {spreadByField: region, minGroups: 2}, {spreadByLabel: x}]}}`,
			`{resourceSelectors: [], placement: {spreadConstraints: [{spreadByField: cluster, maxGroups: 3, minGroups: 1}, {spreadByField: region, minGroups: 2}, {spreadByLabel: x, minGroups: 1}]}}`},
		"divided": {"",
			`{resourceSelectors: [], placement: {replicaScheduling: {replicaSchedulingType: Divided}}}`,
			`{resourceSelectors: [], placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}}}`},
		"divided by choice": {"",
			`{resourceSelectors: [], placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}}}`,
			`{resourceSelectors: [], placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}}}`},
		"duplicated": {"",
			`{resourceSelectors: [], placement: {replicaScheduling: {replicaSchedulingType: Duplicated}}}`,
			`{resourceSelectors: [], placement: {replicaScheduling: {replicaSchedulingType: Duplicated}}}`},
		"graceful failover": {"",
			`{resourceSelectors: [], failover: {application: {decisionConditions: {}, purgeMode: Gracefully}}}`,
			`{resourceSelectors: [], failover: {application: {decisionConditions: {}, purgeMode: Gracefully, gracePeriodSeconds: 600}}}`},
		"direct failover": {"",
			`{resourceSelectors: [], failover: {application: {decisionConditions: {}, purgeMode: Directly}}}`,
			`{resourceSelectors: [], failover: {application: {decisionConditions: {}, purgeMode: Directly}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := parse[policyv1alpha1.PropagationSpec](t, test.spec)
			for range 2 { // completing what is complete changes nothing
				policy.CompletePropagation(got, test.namespace)
				if diff := cmp.Diff(parse[policyv1alpha1.PropagationSpec](t, test.want), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestValidatePropagation(t *testing.T) {
	const selector = `resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: shop, name: a}]`
	for name, test := range map[string]struct{ spec, at string }{
		"plain":                   {selector, ""},
		"other namespace":         {`resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: other}]`, "spec.resourceSelectors[0].namespace"},
		"label selector":          {`resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: shop, labelSelector: {matchLabels: {"a b": c}}}]`, "spec.resourceSelectors[0].labelSelector.matchLabels"},
		"preemption by name":      {selector + ", preemption: Always", ""},
		"preemption without name": {`resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: shop}], preemption: Always`, "spec.resourceSelectors[0].name"},
		"failover":                {selector + ", propagateDeps: true, failover: {application: {decisionConditions: {tolerationSeconds: 0}, purgeMode: Gracefully, gracePeriodSeconds: 1}}", ""},
		"failover without dependencies": {selector + ", failover: {application: {decisionConditions: {}, purgeMode: Never}}",
			"spec.propagateDeps"},
		"negative toleration": {selector + ", propagateDeps: true, failover: {application: {decisionConditions: {tolerationSeconds: -1}, purgeMode: Never}}",
			"spec.failover.application.decisionConditions.tolerationSeconds"},
		"no grace": {selector + ", propagateDeps: true, failover: {application: {decisionConditions: {}, purgeMode: Gracefully, gracePeriodSeconds: 0}}",
			"spec.failover.application.gracePeriodSeconds"},
		"grace without gracefulness": {selector + ", propagateDeps: true, failover: {application: {decisionConditions: {}, purgeMode: Directly, gracePeriodSeconds: 5}}",
			"spec.failover.application.gracePeriodSeconds"},
		"preserved label of an application": {selector + ", propagateDeps: true, failover: {application: {decisionConditions: {}, purgeMode: Never, statePreservation: {rules: [{aliasLabelName: a b, jsonPath: x}]}}}",
			"spec.failover.application.statePreservation.rules[0].aliasLabelName"},
		"preserved label of a cluster": {selector + ", failover: {cluster: {statePreservation: {rules: [{aliasLabelName: a, jsonPath: x}, {aliasLabelName: '', jsonPath: x}]}}}",
			"spec.failover.cluster.statePreservation.rules[1].aliasLabelName"},
		"suspended everywhere":           {selector + ", suspension: {dispatching: true}", ""},
		"suspended somewhere":            {selector + ", suspension: {dispatching: false, dispatchingOnClusters: {clusterNames: [m1]}}", ""},
		"suspended everywhere and there": {selector + ", suspension: {dispatching: true, dispatchingOnClusters: {clusterNames: [m1]}}", "spec.suspension.dispatchingOnClusters.clusterNames"},
		"placement":                      {selector + ", placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: x, operator: In}]}}}", "spec.placement.clusterAffinity.fieldSelector.matchExpressions[0].key"},
	} {
		t.Run(name, func(t *testing.T) {
			expectError(t, policy.ValidatePropagation(parse[policyv1alpha1.PropagationSpec](t, "{"+test.spec+"}"), "shop", field.NewPath("spec")), test.at)
		})
	}
	anywhere := parse[policyv1alpha1.PropagationSpec](t, `{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: other}, {apiVersion: v1, kind: Namespace}]}`)
	expectError(t, policy.ValidatePropagation(anywhere, "", field.NewPath("spec")), "")
}

func TestValidatePlacement(t *testing.T) {
	const capacity = `, replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}`
	for name, test := range map[string]struct{ placement, at string }{
		"empty":                 {``, ""},
		"names":                 {`clusterAffinity: {clusterNames: [a], exclude: [b], labelSelector: {matchLabels: {a: b}}}`, ""},
		"fields":                {`clusterAffinity: {fieldSelector: {matchExpressions: [{key: provider, operator: In, values: [a]}, {key: region, operator: NotIn, values: [b]}, {key: zone, operator: In, values: [c]}]}}`, ""},
		"field operator":        {`clusterAffinity: {fieldSelector: {matchExpressions: [{key: region, operator: Exists}]}}`, "placement.clusterAffinity.fieldSelector.matchExpressions[0].operator"},
		"label selector":        {`clusterAffinity: {labelSelector: {matchExpressions: [{key: a, operator: Like, values: [b]}]}}`, "placement.clusterAffinity.labelSelector.matchExpressions[0].operator"},
		"both affinities":       {`clusterAffinity: {}, clusterAffinities: [{affinityName: a}]`, "placement.clusterAffinities"},
		"groups":                {`clusterAffinities: [{affinityName: a, clusterNames: [x]}, {affinityName: b}]`, ""},
		"group twice":           {`clusterAffinities: [{affinityName: a}, {affinityName: a}]`, "placement.clusterAffinities[1].affinityName"},
		"group name":            {`clusterAffinities: [{affinityName: a b}]`, "placement.clusterAffinities[0].affinityName"},
		"group field":           {`clusterAffinities: [{affinityName: a, fieldSelector: {matchExpressions: [{key: name, operator: In}]}}]`, "placement.clusterAffinities[0].fieldSelector.matchExpressions[0].key"},
		"overflow":              {`clusterAffinities: [{affinityName: a, overflowAffinities: [{affinityName: b, clusterNames: [x]}]}]` + capacity, ""},
		"overflow by weight":    {`clusterAffinities: [{affinityName: a, overflowAffinities: [{affinityName: b, clusterNames: [x]}]}], replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: AvailableReplicas}}`, ""},
		"overflow by static":    {`clusterAffinities: [{affinityName: a, overflowAffinities: [{affinityName: b, clusterNames: [x]}]}], replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}`, "placement.clusterAffinities[0].overflowAffinities"},
		"overflow of copies":    {`clusterAffinities: [{affinityName: a, overflowAffinities: [{affinityName: b, clusterNames: [x]}]}]`, "placement.clusterAffinities[0].overflowAffinities"},
		"overflow to nowhere":   {`clusterAffinities: [{affinityName: a, overflowAffinities: [{affinityName: b}]}]` + capacity, "placement.clusterAffinities[0].overflowAffinities[0]"},
		"overflow name twice":   {`clusterAffinities: [{affinityName: a, overflowAffinities: [{affinityName: a, clusterNames: [x]}]}]` + capacity, "placement.clusterAffinities[0].overflowAffinities[0].affinityName"},
		"tolerations":           {`clusterTolerations: [{key: a, operator: Exists}, {key: a, value: b, effect: NoSchedule}, {operator: Exists}, {key: a, operator: Equal, effect: NoExecute, tolerationSeconds: 5}]`, ""},
		"toleration compares":   {`clusterTolerations: [{key: a, operator: Lt, value: "5"}]`, "placement.clusterTolerations[0].operator"},
		"toleration of nothing": {`clusterTolerations: [{operator: Equal}]`, "placement.clusterTolerations[0].operator"},
		"toleration value":      {`clusterTolerations: [{key: a, operator: Exists, value: b}]`, "placement.clusterTolerations[0].value"},
		"toleration effect":     {`clusterTolerations: [{key: a, operator: Exists, effect: Never}]`, "placement.clusterTolerations[0].effect"},
		"toleration seconds":    {`clusterTolerations: [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 5}]`, "placement.clusterTolerations[0].effect"},
		"spread":                {`spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 3}, {spreadByField: region, minGroups: 2}]`, ""},
		"spread by label":       {`spreadConstraints: [{spreadByLabel: x, minGroups: 1}]`, ""},
		"spread by both":        {`spreadConstraints: [{spreadByField: cluster, spreadByLabel: x}]`, "placement.spreadConstraints[0].spreadByLabel"},
		"spread twice":          {`spreadConstraints: [{spreadByField: cluster}, {spreadByField: cluster}]`, "placement.spreadConstraints[1].spreadByField"},
		"spread without it":     {`spreadConstraints: [{spreadByField: region}]`, "placement.spreadConstraints"},
		"negative minimum":      {`spreadConstraints: [{spreadByField: cluster, minGroups: -1}]`, "placement.spreadConstraints[0].minGroups"},
		"negative maximum":      {`spreadConstraints: [{spreadByField: cluster, maxGroups: -1}]`, "placement.spreadConstraints[0].maxGroups"},
		"minimum over maximum":  {`spreadConstraints: [{spreadByField: cluster, minGroups: 3, maxGroups: 2}]`, "placement.spreadConstraints[0].maxGroups"},
		"weights":               {`replicaScheduling: {weightPreference: {staticWeightList: [{targetCluster: {fieldSelector: {matchExpressions: [{key: x, operator: In}]}}, weight: 1}]}}`, "placement.replicaScheduling.weightPreference.staticWeightList[0].targetCluster.fieldSelector.matchExpressions[0].key"},
		"workload affinity":     {`workloadAffinity: {affinity: {groupByLabelKey: a}, antiAffinity: {groupByLabelKey: b}}`, ""},
		"workload key":          {`workloadAffinity: {affinity: {groupByLabelKey: ""}}`, "placement.workloadAffinity.affinity.groupByLabelKey"},
		"workload same key":     {`workloadAffinity: {affinity: {groupByLabelKey: a}, antiAffinity: {groupByLabelKey: a}}`, "placement.workloadAffinity.antiAffinity.groupByLabelKey"},
	} {
		t.Run(name, func(t *testing.T) {
			expectError(t, policy.ValidatePlacement(parse[policyv1alpha1.Placement](t, "{"+test.placement+"}"), field.NewPath("placement")), test.at)
		})
	}
}

func TestValidateOverride(t *testing.T) {
	rule := func(overriders string) string { return `overrideRules: [{overriders: {` + overriders + `}}]` }
	const first = "spec.overrideRules[0].overriders."
	for name, test := range map[string]struct{ spec, at string }{
		"empty":                 {``, ""},
		"deprecated":            {`targetCluster: {clusterNames: [a]}, overriders: {plaintext: [{path: /x, operator: add, value: 1}]}`, ""},
		"target beside rules":   {`targetCluster: {}, ` + rule(``), "spec.targetCluster"},
		"changes beside rules":  {`overriders: {argsOverrider: [{containerName: a, operator: add}]}, ` + rule(``), "spec.overriders"},
		"fields beside rules":   {`overriders: {fieldOverrider: [{fieldPath: /x, json: [{subPath: /y, operator: remove}]}]}, ` + rule(``), ""},
		"selector":              {`resourceSelectors: [{apiVersion: v1, kind: X, labelSelector: {matchExpressions: [{key: a, operator: In}]}}]`, "spec.resourceSelectors[0].labelSelector.matchExpressions[0].values"},
		"target of a rule":      {`overrideRules: [{targetCluster: {fieldSelector: {matchExpressions: [{key: x, operator: In}]}}, overriders: {}}]`, "spec.overrideRules[0].targetCluster.fieldSelector.matchExpressions[0].key"},
		"image":                 {rule(`imageOverrider: [{predicate: {path: /spec/containers/0/image}, component: Tag, operator: replace, value: "1"}]`), ""},
		"image pointer":         {rule(`imageOverrider: [{predicate: {path: spec.image}, component: Tag, operator: replace}]`), first + "imageOverrider[0].predicate.path"},
		"escaped pointer":       {rule(`imageOverrider: [{predicate: {path: /a~1b~0c}, component: Tag, operator: replace}]`), ""},
		"bad escape":            {rule(`imageOverrider: [{predicate: {path: /a~2b}, component: Tag, operator: replace}]`), first + "imageOverrider[0].predicate.path"},
		"labels":                {rule(`labelsOverrider: [{operator: add, value: {a: b}}]`), ""},
		"label value":           {rule(`labelsOverrider: [{operator: add, value: {a: "b c"}}]`), first + "labelsOverrider[0].value"},
		"annotations":           {rule(`annotationsOverrider: [{operator: add, value: {a: "b c"}}]`), ""},
		"annotation key":        {rule(`annotationsOverrider: [{operator: add, value: {"a b": c}}]`), first + "annotationsOverrider[0].value"},
		"field":                 {rule(`fieldOverrider: [{fieldPath: /data/x, yaml: [{subPath: /a, operator: add, value: {b: c}}, {subPath: /d, operator: remove}]}]`), ""},
		"field path":            {rule(`fieldOverrider: [{fieldPath: data, yaml: [{subPath: /a, operator: remove}]}]`), first + "fieldOverrider[0].fieldPath"},
		"field in no format":    {rule(`fieldOverrider: [{fieldPath: /data}]`), first + "fieldOverrider[0]"},
		"field in both formats": {rule(`fieldOverrider: [{fieldPath: /data, json: [{subPath: /a, operator: remove}], yaml: [{subPath: /a, operator: remove}]}]`), first + "fieldOverrider[0]"},
		"added nothing":         {rule(`fieldOverrider: [{fieldPath: /data, json: [{subPath: /a, operator: add}]}]`), first + "fieldOverrider[0].json[0].value"},
		"replaced by nothing":   {rule(`fieldOverrider: [{fieldPath: /data, json: [{subPath: /a, operator: replace}]}]`), first + "fieldOverrider[0].json[0].value"},
		"removed a value":       {rule(`fieldOverrider: [{fieldPath: /data, yaml: [{subPath: /a, operator: remove, value: 1}]}]`), first + "fieldOverrider[0].yaml[0].value"},
		"sub path":              {rule(`fieldOverrider: [{fieldPath: /data, yaml: [{subPath: a, operator: remove}]}]`), first + "fieldOverrider[0].yaml[0].subPath"},
	} {
		t.Run(name, func(t *testing.T) {
			expectError(t, policy.ValidateOverride(parse[policyv1alpha1.OverrideSpec](t, "{"+test.spec+"}"), field.NewPath("spec")), test.at)
		})
	}
}
