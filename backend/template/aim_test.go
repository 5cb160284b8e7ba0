package template_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/template"
)

// testAim has a policy select nothing, then something, then nothing again.
func testAim(t *testing.T, f *fixture) {
	ns := f.namespace(t, "aim")
	f.Create(t, newConfigMap(ns, "there"))
	f.Await(t, "the template in the cache", func(context.Context) bool {
		_, ok := f.cache.Get(template.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: ns, Name: "there"})
		return ok
	})
	hits := newPP(ns, "hits", sel("v1", "ConfigMap", "there", nil))
	f.Create(t, hits)
	pp := newPP(ns, "p", sel("v1", "ConfigMap", "c", nil))
	f.Create(t, pp)
	override := &policyv1alpha1.OverridePolicy{}
	override.Namespace, override.Name = ns, "o"
	override.Spec = policyv1alpha1.OverrideSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "shop.io/v1", Kind: "Till", Namespace: ns}},
		OverrideRules:     []policyv1alpha1.RuleWithCluster{},
	}
	f.Create(t, override)
	targets := map[string]policy.Target{
		"p": {Resource: "propagationpolicies", Namespace: ns, Name: "p"}, "hits": {Resource: "propagationpolicies", Namespace: ns, Name: "hits"},
		"o": {Resource: "overridepolicies", Namespace: ns, Name: "o"},
	}
	causes := func(of string) (causes []string) {
		for _, miss := range f.misses.Of(targets[of]) {
			causes = append(causes, miss.Cause)
		}
		return causes
	}
	f.Await(t, "what the policies miss", func(context.Context) bool {
		return slices.Equal(causes("p"), []string{policy.CauseNoName}) && slices.Equal(causes("o"), []string{policy.CauseNoKind})
	})
	f.Await(t, "the events", func(ctx context.Context) bool {
		return f.event(ctx, ns, "p", "MatchesNothing") && f.event(ctx, ns, "o", "MatchesNothing")
	})
	cm := newConfigMap(ns, "c")
	f.Create(t, cm)
	f.Await(t, "the end of it", func(ctx context.Context) bool { return causes("p") == nil && f.event(ctx, ns, "p", "MatchesObjects") })
	f.remove(t, cm)
	f.Await(t, "what the policy misses again", func(context.Context) bool { return slices.Equal(causes("p"), []string{policy.CauseNoName}) })
	f.remove(t, override)
	f.Await(t, "the end of the override policy", func(context.Context) bool { return causes("o") == nil })

	if causes("hits") != nil || f.event(t.Context(), ns, "hits", "MatchesNothing") {
		t.Error("a policy that selects something is said to select nothing")
	}
	var list corev1.EventList
	if err := f.Client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if e := &list.Items[i]; e.Reason == "MatchesNothing" && (e.Type != corev1.EventTypeWarning || !strings.Contains(e.Message, "correct")) {
			t.Errorf("%s %s: %s", e.Type, e.InvolvedObject.Name, e.Message)
		}
	}
}
