package template

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
)

func deployment() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "default", "name": "nginx", "resourceVersion": "1", "generation": int64(1), "labels": map[string]any{"app": "nginx"}},
		"spec":     map[string]any{"replicas": int64(1)},
	}}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	set := func(value any, path ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, value, path...) }
	}
	for name, c := range map[string]struct {
		edit                 func(*unstructured.Unstructured)
		content, user, claim bool
	}{
		"nothing":               {func(*unstructured.Unstructured) {}, false, false, false},
		"status":                {set(int64(2), "status", "replicas"), false, false, false},
		"version":               {set("2", "metadata", "resourceVersion"), false, false, false},
		"generation":            {set(int64(2), "metadata", "generation"), false, false, false},
		"managed fields":        {set([]any{map[string]any{"manager": "x"}}, "metadata", "managedFields"), false, false, false},
		"finalizers":            {set([]any{"x"}, "metadata", "finalizers"), false, false, false},
		"replicas":              {set(int64(2), "spec", "replicas"), true, true, false},
		"a new top-level field": {set("x", "data", "key"), true, true, false},
		"label":                 {set("web", "metadata", "labels", "app"), true, true, false},
		"annotation":            {set("x", "metadata", "annotations", "note"), true, true, false},
		"claim": {func(o *unstructured.Unstructured) {
			Claim{Kind: "PropagationPolicy", Namespace: "default", Name: "p", ID: "1"}.Put(o)
		}, false, false, true},
		"conflict resolution": {set("overwrite", "metadata", "annotations", "work.karmada.io/conflict-resolution"), true, false, false},
		"deletion":            {func(o *unstructured.Unstructured) { now := metav1.Now(); o.SetDeletionTimestamp(&now) }, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, current := deployment(), deployment()
			c.edit(current)
			for _, pair := range [][2]*unstructured.Unstructured{{old, current}, {current, old}} {
				if content, user, claim := changes(pair[0], pair[1]); content != c.content || user != c.user || claim != c.claim {
					t.Errorf("content %v, user %v, claim %v; want %v, %v, %v", content, user, claim, c.content, c.user, c.claim)
				}
			}
		})
	}
	if content, user, claim := changes(nil, deployment()); !content || !user || !claim {
		t.Error("a new template is no change")
	}
}

func TestFollowsLazily(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) metav1.Time { return metav1.NewTime(time.Unix(seconds, 0)) }
	lazyPolicy := &policyv1alpha1.PropagationPolicy{Spec: policyv1alpha1.PropagationSpec{ActivationPreference: policyv1alpha1.LazyActivation}}
	lazyPolicy.CreationTimestamp = at(100)
	older, younger := deployment(), deployment()
	older.SetCreationTimestamp(at(50))
	younger.SetCreationTimestamp(at(150))
	for name, c := range map[string]struct {
		policy PolicyObject
		object *unstructured.Unstructured
		mark   mark
		bound  bool
		want   bool
	}{
		"not lazy":                             {&policyv1alpha1.PropagationPolicy{}, older, markPolicy, true, true},
		"the policy changed":                   {lazyPolicy, younger, markPolicy, true, false},
		"the policy changed, never propagated": {lazyPolicy, older, markPolicy, false, false},
		"a user changed the template":          {lazyPolicy, older, markUser | markContent, true, true},
		"our claim changed the template":       {lazyPolicy, older, markContent, true, false},
		"hub started, bound":                   {lazyPolicy, younger, markInitial, true, false},
		"hub started, the policy came later":   {lazyPolicy, older, markInitial, false, false},
		"hub started, the template came later": {lazyPolicy, younger, markInitial, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := follows(c.policy, c.object, c.mark, c.bound); got != c.want {
				t.Errorf("follows = %v, want %v", got, c.want)
			}
		})
	}
}
