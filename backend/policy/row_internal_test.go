package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

func TestRow(t *testing.T) {
	for name, test := range map[string]struct {
		kind int
		yaml string
		want Row
	}{
		"plain": {0, `{metadata: {name: a, namespace: shop}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: shop, name: x, labelSelector: {matchLabels: {ignored: x}}}]}}`,
			Row{Namespace: "shop", Selectors: []Selector{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "x"}}, Priority: ptr.To(int32(0)), Replicas: "duplicated"}},
		"everything": {1, `{metadata: {name: a, uid: u, resourceVersion: "3", generation: 2}, spec: {priority: 4, activationPreference: Lazy, suspension: {dispatchingOnClusters: {clusterNames: [m1]}},
		  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}}],
		  placement: {clusterAffinities: [
		    {affinityName: near, clusterNames: [m1, m2], overflowAffinities: [{affinityName: far, labelSelector: {matchLabels: {tier: far}}}]},
		    {affinityName: rest, clusterNames: [m2, m3], exclude: [m9], fieldSelector: {matchExpressions: [{key: region, operator: NotIn, values: [eu, us]}]}}],
		    replicaScheduling: {replicaSchedulingType: Divided}}}}`,
			Row{UID: "u", ResourceVersion: "3", Generation: 2, Selectors: []Selector{{APIVersion: "apps/v1", Kind: "Deployment", LabelSelector: "app in (a,b)"}}, Priority: ptr.To(int32(4)),
				Clusters: []string{"m1", "m2", "m3"}, Affinity: "near; far: tier=far; rest: region notin (eu, us), not m9", Replicas: "divided", Suspended: true, Lazy: true}},
		"suspended":             {1, `{metadata: {name: a}, spec: {suspension: {dispatching: true}}}`, Row{Selectors: []Selector{}, Priority: ptr.To(int32(0)), Replicas: "duplicated", Suspended: true}},
		"not suspended":         {1, `{metadata: {name: a}, spec: {suspension: {dispatching: false}}}`, Row{Selectors: []Selector{}, Priority: ptr.To(int32(0)), Replicas: "duplicated"}},
		"empty scheduling":      {1, `{metadata: {name: a}, spec: {placement: {replicaScheduling: {}}}}`, Row{Selectors: []Selector{}, Priority: ptr.To(int32(0)), Replicas: "divided"}},
		"duplicated in so many": {1, `{metadata: {name: a}, spec: {placement: {replicaScheduling: {replicaSchedulingType: Duplicated}}}}`, Row{Selectors: []Selector{}, Priority: ptr.To(int32(0)), Replicas: "duplicated"}},
		"rules": {2, `{metadata: {name: a, namespace: shop}, spec: {overrideRules: [{targetCluster: {clusterNames: [m1]}, overriders: {}}, {targetCluster: {labelSelector: {matchLabels: {tier: edge}}}, overriders: {}}]}}`,
			Row{Namespace: "shop", Selectors: []Selector{}, Rules: ptr.To(2), Clusters: []string{"m1"}, Affinity: "tier=edge"}},
		"deprecated": {3, `{metadata: {name: a}, spec: {targetCluster: {clusterNames: [m1]}, overriders: {fieldOverrider: [{fieldPath: /a}]}}}`, Row{Selectors: []Selector{}, Rules: ptr.To(1), Clusters: []string{"m1"}}},
		"no rules":   {3, `{metadata: {name: a}, spec: {targetCluster: {clusterNames: [m1]}}}`, Row{Selectors: []Selector{}, Rules: ptr.To(0)}},
	} {
		t.Run(name, func(t *testing.T) {
			object := Kinds[test.kind].empty()
			if err := yaml.UnmarshalStrict([]byte(test.yaml), object); err != nil {
				t.Fatal(err)
			}
			test.want.Name, test.want.Kind, test.want.Resource = "a", Kinds[test.kind].Name, Kinds[test.kind].Resource
			got, ok := rowOf(object)
			if !ok {
				t.Fatal("no row")
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(Row{}, "CreatedAt")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	var another client.Object
	if _, ok := rowOf(another); ok {
		t.Error("a row of nothing")
	}
}
