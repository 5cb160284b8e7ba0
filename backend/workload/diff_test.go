package workload_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/workload"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/manifest"
	"muster.dev/muster/backend/workload/workloadtest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func policyNamed(name string) *policyv1alpha1.PropagationPolicy {
	return &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func TestDiff(t *testing.T) {
	f := newFixture(t, func(w *workloadtest.World) {
		recorded(w)
		workloadtest.Edit(w, "default", "nginx-deployment", func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters[1].Replicas = 3 })
		w.YAML(`{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterOverridePolicy, metadata: {name: marks}, spec: {overrideRules: [
			{targetCluster: {clusterNames: [nobody]}, overriders: {labelsOverrider: [{operator: add, value: {x: y}}]}},
			{overriders: {labelsOverrider: [{operator: remove, value: {app: ""}}], annotationsOverrider: [{operator: add, value: {a/b: c}}]}}]}}`)
	})
	got := get[workload.OverrideDiff](t, f, nginx+"/diff?cluster=member1&against=member2")
	if !strings.Contains(got.Template, "image: nginx\n") || !strings.Contains(got.Template, "replicas: 1\n") || strings.Contains(got.Template, "a/b") {
		t.Errorf("template: %s", got.Template)
	}
	marks := fact.PolicyRef{Kind: "ClusterOverridePolicy", Resource: "clusteroverridepolicies", Name: "marks"}
	want := map[string][]manifest.Change{
		"member1": {
			{Path: "/metadata/labels/app", Before: "nginx", Policy: marks, Rule: 1, Overrider: "labelsOverrider"},
			{Path: "/metadata/annotations/a~1b", After: "c", Policy: marks, Rule: 1, Overrider: "annotationsOverrider"},
			{Path: "/spec/template/spec/containers/0/image", Before: "nginx", After: "nginx:1.20", Overrider: "imageOverrider",
				Policy: fact.PolicyRef{Kind: "OverridePolicy", Resource: "overridepolicies", Namespace: "default", Name: "nginx-override"}},
		},
		"member2": {
			{Path: "/spec/replicas", Before: float64(1), After: float64(3), Overrider: "replicas",
				Policy: fact.PolicyRef{Kind: "PropagationPolicy", Resource: "propagationpolicies", Namespace: "default", Name: "nginx-propagation"}},
			{Path: "/metadata/labels/app", Before: "nginx", Policy: marks, Rule: 1, Overrider: "labelsOverrider"},
			{Path: "/metadata/annotations/a~1b", After: "c", Policy: marks, Rule: 1, Overrider: "annotationsOverrider"},
		},
	}
	if len(got.Clusters) != 2 {
		t.Fatalf("%d clusters", len(got.Clusters))
	}
	for _, cluster := range got.Clusters {
		text := strings.Split(cluster.YAML, "\n")
		for i := range cluster.Changes {
			change := &cluster.Changes[i]
			if change.After == nil {
				if change.Line != 0 {
					t.Errorf("%s: what was taken away is at line %d", cluster.Name, change.Line)
				}
				continue
			}
			if change.Line < 1 || !strings.Contains(text[change.Line-1], strings.Trim(strings.Split(change.Path, "/")[len(strings.Split(change.Path, "/"))-1], "~1b")) {
				t.Errorf("%s: %s is not at line %d of:\n%s", cluster.Name, change.Path, change.Line, cluster.YAML)
			}
			change.Line = 0
		}
		if diff := cmp.Diff(want[cluster.Name], cluster.Changes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", cluster.Name, diff)
		}
	}
}

func TestDiffOfWhatCannotBeOverridden(t *testing.T) {
	f := newFixture(t, func(w *workloadtest.World) {
		recorded(w)
		w.YAML(`{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: broken, namespace: default}, spec: {overrideRules: [
			{targetCluster: {clusterNames: [member2]}, overriders: {plaintext: [{path: /spec/nothing/here, operator: remove}]}}]}}`)
	})
	got := get[workload.OverrideDiff](t, f, nginx+"/diff")
	if len(got.Clusters) != 2 || got.Clusters[0].Error != "" || !strings.Contains(got.Clusters[1].Error, "default/broken") {
		t.Errorf("clusters: %+v", got.Clusters)
	}
}

func TestEffect(t *testing.T) {
	f := newFixture(t, recorded)
	got := get[workload.EffectPage](t, f, "/policies/propagationpolicies/default/nginx-propagation/effect")
	if diff := cmp.Diff(workload.EffectCounts{Applied: 2}, got.Counts); diff != "" || got.Matched != 1 || got.Items.Total != 1 || got.Items.Items[0].Since == nil {
		t.Errorf("effect: %+v %s", got, diff)
	}
	got = get[workload.EffectPage](t, f, "/policies/overridepolicies/default/nginx-override/effect")
	want := []workload.EffectCluster{{Name: "member1", State: workload.EffectApplied, Health: "Healthy"}}
	if len(got.Items.Items) != 1 || !cmp.Equal(want, got.Items.Items[0].Clusters) {
		t.Errorf("the override is in effect in member1 alone: %+v", got.Items)
	}

	editWork(f.World, "member2", func(work *workv1alpha1.Work) {
		work.Status.Conditions = append(work.Status.Conditions, metav1.Condition{Type: workv1alpha1.WorkDrifted, Status: metav1.ConditionFalse,
			ObservedGeneration: work.Generation, LastTransitionTime: metav1.Unix(1700000000, 0)})
	})
	eventually(t, "drift is shown", func() bool {
		got = get[workload.EffectPage](t, f, "/policies/propagationpolicies/default/nginx-propagation/effect")
		clusters := got.Items.Items[0].Clusters
		return cmp.Equal(workload.EffectCounts{Applied: 2, Drifted: 1}, got.Counts) && clusters[0].DriftedAt == nil &&
			clusters[1].DriftedAt != nil && clusters[1].DriftedAt.Unix() == 1700000000
	})

	f.YAML(`{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterOverridePolicy, metadata: {name: fresh}, spec: {overrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {x: y}}]}}]}}`)
	got = get[workload.EffectPage](t, f, "/policies/clusteroverridepolicies/-/fresh/effect")
	if diff := cmp.Diff(workload.EffectCounts{Pending: 2, Drifted: 1}, got.Counts); diff != "" {
		t.Errorf("no Work was made with it yet (-want +got):\n%s", diff)
	}
}
