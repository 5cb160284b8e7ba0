package policy_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
)

func TestMatch(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "shop", "name": "web", "labels": map[string]any{"tier": "front"}},
	}}
	front := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
	back := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "back"}}
	broken := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Near"}}}
	for name, test := range map[string]struct {
		selector policyv1alpha1.ResourceSelector
		want     policy.Strength
	}{
		"kind":                      {policyv1alpha1.ResourceSelector{}, policy.MatchKind},
		"kind in namespace":         {policyv1alpha1.ResourceSelector{Namespace: "shop"}, policy.MatchKind},
		"other namespace":           {policyv1alpha1.ResourceSelector{Namespace: "bank"}, policy.MatchNone},
		"name":                      {policyv1alpha1.ResourceSelector{Name: "web"}, policy.MatchName},
		"other name":                {policyv1alpha1.ResourceSelector{Name: "api"}, policy.MatchNone},
		"name, whatever the label":  {policyv1alpha1.ResourceSelector{Name: "web", LabelSelector: back}, policy.MatchName},
		"other name, fitting label": {policyv1alpha1.ResourceSelector{Name: "api", LabelSelector: front}, policy.MatchNone},
		"labels":                    {policyv1alpha1.ResourceSelector{LabelSelector: front}, policy.MatchLabels},
		"other labels":              {policyv1alpha1.ResourceSelector{LabelSelector: back}, policy.MatchNone},
		"broken selector":           {policyv1alpha1.ResourceSelector{LabelSelector: broken}, policy.MatchNone},
		"other version":             {policyv1alpha1.ResourceSelector{APIVersion: "extensions/v1beta1"}, policy.MatchNone},
		"other kind":                {policyv1alpha1.ResourceSelector{Kind: "deployment"}, policy.MatchNone},
	} {
		selector := test.selector
		if selector.APIVersion == "" {
			selector.APIVersion = "apps/v1"
		}
		if selector.Kind == "" {
			selector.Kind = "Deployment"
		}
		if got := policy.Match(&selector, object); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
	if got := policy.MatchOverride(&policyv1alpha1.OverrideSpec{}, object); got != policy.MatchKind {
		t.Errorf("an override policy without selectors matches with %d", got)
	}
	both := []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment"}, {APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}}
	if got := policy.MatchAny(both, object); got != policy.MatchName {
		t.Errorf("the closest selector was not taken: %d", got)
	}
}

func TestMatchesCluster(t *testing.T) {
	cluster := &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "m1", Labels: map[string]string{"env": "prod"}},
		Spec:       clusterv1alpha1.ClusterSpec{Provider: "own", Region: "eu", Zones: []string{"eu-1", "eu-2"}},
	}
	field := func(key string, operator corev1.NodeSelectorOperator, values ...string) *policyv1alpha1.ClusterAffinity {
		return &policyv1alpha1.ClusterAffinity{FieldSelector: &policyv1alpha1.FieldSelector{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}},
		}}
	}
	prod := &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	for name, test := range map[string]struct {
		affinity *policyv1alpha1.ClusterAffinity
		want     bool
	}{
		"none":                    {nil, true},
		"empty":                   {&policyv1alpha1.ClusterAffinity{}, true},
		"named":                   {&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m0", "m1"}}, true},
		"not named":               {&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m0"}}, false},
		"named and excluded":      {&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}, ExcludeClusters: []string{"m1"}}, false},
		"label":                   {&policyv1alpha1.ClusterAffinity{LabelSelector: prod}, true},
		"named without the label": {&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "test"}}}, false},
		"provider":                {field("provider", corev1.NodeSelectorOpIn, "own"), true},
		"not the region":          {field("region", corev1.NodeSelectorOpNotIn, "eu"), false},
		"one of the zones":        {field("zone", corev1.NodeSelectorOpIn, "eu-2", "us-1"), true},
		"none of the zones":       {field("zone", corev1.NodeSelectorOpNotIn, "eu-2"), false},
		"other zones":             {field("zone", corev1.NodeSelectorOpNotIn, "us-1"), true},
	} {
		if got := policy.MatchesCluster(test.affinity, cluster); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
