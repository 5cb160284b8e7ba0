package template_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/template"
)

// testRefusedClaim: an object on which the hub's own admission lets nobody write a
// claim is not propagated, and is once that changes.
func testRefusedClaim(t *testing.T, f *fixture) {
	ns := f.namespace(t, "refused-claim")
	deny := f.denyUpdates(t, ns)
	cm := newConfigMap(ns, "fixed")
	f.Create(t, cm)
	pp := newPP(ns, "p", sel("v1", "ConfigMap", "fixed", nil), clusters("member1"))
	f.Create(t, pp)
	f.Await(t, "the refusal to be told", func(ctx context.Context) bool { return f.event(ctx, ns, "fixed", "ApplyPolicyFailed") })
	about := template.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: ns, Name: "fixed"}
	if trouble, _ := f.troubles.Of(about); trouble.Reason != "ApplyPolicyFailed" || !strings.Contains(trouble.Message, "nothing here is changed") {
		t.Errorf("the trouble that is known: %+v", trouble)
	}
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "fixed-configmap"}}
	f.Await(t, "the binding to be taken back", func(ctx context.Context) bool {
		return f.Client.Get(ctx, client.ObjectKeyFromObject(b), b) == nil && b.DeletionTimestamp != nil
	})
	f.update(t, b, func() { b.Finalizers = nil }) // as the controller of Works would
	f.Await(t, "the end of the binding", func(ctx context.Context) bool { return f.Gone(ctx, client.ObjectKeyFromObject(b), b) })
	f.remove(t, deny)
	f.awaitClaim(t, cm, "fixed-configmap", pp)
	f.Await(t, "the trouble to be over", func(context.Context) bool {
		_, stuck := f.troubles.Of(about)
		return !stuck
	})
}

// testRefusedPreemption: a policy that may not take an object over leaves it with the
// one that has it, and where it is; that is told, and mended once it may.
func testRefusedPreemption(t *testing.T, f *fixture) {
	ns := f.namespace(t, "refused-preemption")
	cm := newConfigMap(ns, "kept")
	f.Create(t, cm)
	owner := newPP(ns, "owner", sel("v1", "ConfigMap", "kept", nil), clusters("member1"))
	f.Create(t, owner)
	before := f.awaitClaim(t, cm, "kept-configmap", owner)
	deny := f.denyUpdates(t, ns)
	taker := newPP(ns, "taker", sel("v1", "ConfigMap", "kept", nil), clusters("member2"), always, prio(3))
	f.Create(t, taker)
	f.Await(t, "the refusal to be told", func(ctx context.Context) bool {
		return f.told(ctx, ns, "kept", "PreemptPolicyFailed", "nothing here is changed")
	})
	if f.event(t.Context(), ns, "kept", "PreemptPolicySucceed") {
		t.Error("what was refused is told to have succeeded")
	}
	kept := f.awaitClaim(t, cm, "kept-configmap", owner)
	if kept.UID != before.UID || kept.DeletionTimestamp != nil || !slices.Equal(kept.Spec.Placement.ClusterAffinity.ClusterNames, []string{"member1"}) {
		t.Errorf("the binding of the policy that has the object: %+v", kept)
	}
	f.remove(t, deny)
	f.awaitClaim(t, cm, "kept-configmap", taker)
	f.Await(t, "the event", func(ctx context.Context) bool { return f.event(ctx, ns, "kept", "PreemptPolicySucceed") })
}

// testUncounted: an object whose replicas nobody can count is not propagated, and is
// once somebody can.
func testUncounted(t *testing.T, f *fixture) {
	ns := f.namespace(t, "uncounted")
	d := newDeployment(ns, "many", 2)
	d.Annotations = map[string]string{"uncountable": "yes"}
	f.Create(t, d)
	pp := newPP(ns, "p", sel("apps/v1", "Deployment", "many", nil), clusters("member1"))
	f.Create(t, pp)
	f.Await(t, "the failure to be told", func(ctx context.Context) bool {
		return f.told(ctx, ns, "many", "GetReplicasFailed", "nobody can count it")
	})
	about := template.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: ns, Name: "many"}
	if trouble, _ := f.troubles.Of(about); trouble.Reason != "GetReplicasFailed" {
		t.Errorf("the trouble that is known: %+v", trouble)
	}
	if b := f.binding(t.Context(), ns, "many-deployment"); b != nil {
		t.Errorf("it has a binding all the same: %+v", b.Spec)
	}
	f.update(t, d, func() { d.Annotations = nil })
	if b := f.awaitClaim(t, d, "many-deployment", pp); b.Spec.Replicas != 2 {
		t.Errorf("the binding is for %d replicas", b.Spec.Replicas)
	}
	f.Await(t, "the trouble to be over", func(context.Context) bool {
		_, stuck := f.troubles.Of(about)
		return !stuck
	})
}

// denyUpdates has the API refuse every update of a ConfigMap of a namespace.
func (f *fixture) denyUpdates(t *testing.T, ns string) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	t.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}}},
		},
		Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "nothing here is changed"}},
	}}
	f.Create(t, policy)
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: ns, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}}
	f.Create(t, binding)
	probe := newConfigMap(ns, "probe")
	probe.Immutable = ptr.To(false)
	f.Create(t, probe)
	f.Await(t, "updates to be refused", func(ctx context.Context) bool {
		return f.Client.Patch(ctx, probe, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"k":"w"}}`)), client.DryRunAll) != nil
	})
	return binding
}
