package klusterlet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/klusterlet"
	"muster.dev/muster/backend/operator/operatortest"
)

// blocked checks that a removal waits for a managed cluster that cannot be reached, and what is said of that.
func blocked(p *operatortest.Plane, name string, said ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		k := &ocmoperatorv1.Klusterlet{}
		if err := p.API.Get(ctx, client.ObjectKey{Name: name}, k); err != nil {
			return err
		}
		if err := operatortest.Condition(k.Status.Conditions, klusterlet.ConditionCleanupBlocked, metav1.ConditionTrue, "ManagedClusterUnreachable"); err != nil {
			return err
		}
		message := meta.FindStatusCondition(k.Status.Conditions, klusterlet.ConditionCleanupBlocked).Message
		for _, text := range said {
			if !strings.Contains(message, text) {
				return fmt.Errorf("%q is not said: %s", text, message)
			}
		}
		return nil
	}
}

// Somebody removes the kubeconfig of the managed cluster before the Klusterlet. What is waited for, for how long and what would stay is
// said; with the kubeconfig made again, nothing stays.
func TestRemovalWithoutTheManagedKubeconfig(t *testing.T) {
	management, managed := planes.management, planes.member
	operate(t, management)
	before, around := settled(t, managed), settled(t, management)
	k := newKlusterlet("keyless", "Hosted", "open-cluster-management-keyless")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.Name}}
	for _, object := range []client.Object{namespace, k} {
		if err := management.API.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := map[string][]byte{"kubeconfig": managed.KubeconfigText(t)}
	create(t, management, k.Name, "external-managed-kubeconfig", kubeconfig)
	operatortest.Eventually(t, "applied", conditions(management, k.Name, "Applied=True", "ReadyToApply=True"))

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Name, Name: "external-managed-kubeconfig"}}
	if err := management.API.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "missed", conditions(management, k.Name, "ReadyToApply=False/KlusterletPrepareFailed"))
	if err := management.API.Delete(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "waits", blocked(management, k.Name, "there is no secret keyless/external-managed-kubeconfig", "its clean-up is given up at",
		"Then stay there: namespace open-cluster-management-keyless", "open-cluster-management:keyless-"))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: k.Spec.Namespace, Name: "keyless-work-sa"}}
	if err := managed.API.Get(t.Context(), client.ObjectKeyFromObject(account), account); err != nil {
		t.Errorf("what is said to be there: %v", err)
	}

	create(t, management, k.Name, "external-managed-kubeconfig", kubeconfig)
	management.Gone(t, k)
	management.Gone(t, namespace)
	managed.AsBefore(t, before)
	management.AsBefore(t, around)
}

// A managed cluster that is gone holds removal for five minutes, says so, and no longer. What stays in it goes with the next Klusterlet of
// the name.
func TestUnreachableManagedClusterIsGivenUp(t *testing.T) {
	management, managed := planes.management, planes.member
	operate(t, management)
	before := settled(t, managed)
	k := newKlusterlet("stranded", "SingletonHosted", "open-cluster-management-stranded")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.Name}}
	for _, object := range []client.Object{namespace, k} {
		if err := management.API.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	create(t, management, k.Name, "external-managed-kubeconfig", map[string][]byte{"kubeconfig": managed.KubeconfigText(t)})
	operatortest.Eventually(t, "applied", conditions(management, k.Name, "Applied=True", "ReadyToApply=True"))
	// Nobody listens on this port of loopback.
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Name, Name: "external-managed-kubeconfig"}}
	dead := strings.ReplaceAll(string(managed.KubeconfigText(t)), managed.Server, "https://127.0.0.1:1")
	if err := management.API.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"stringData":{"kubeconfig":%q}}`, dead))); err != nil {
		t.Fatal(err)
	}
	if err := management.API.Delete(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "waits", blocked(management, k.Name, "127.0.0.1:1", "Then stay there: namespace open-cluster-management-stranded"))
	if err := management.API.Get(t.Context(), client.ObjectKeyFromObject(k), k); err != nil || k.Annotations[ocmoperatorv1.EvictionTimestampAnnotation] == "" {
		t.Fatalf("not noted since when: %v, %v", k.Annotations, err)
	}
	past := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"2020-01-01T00:00:00Z"}}}`, ocmoperatorv1.EvictionTimestampAnnotation)
	if err := management.API.Patch(t.Context(), k, client.RawPatch("application/merge-patch+json", past)); err != nil {
		t.Fatal(err)
	}
	management.Gone(t, k)
	management.Gone(t, namespace)
	operatortest.Eventually(t, "what stays is said for longer than the Klusterlet is there", func(ctx context.Context) error {
		told := &eventsv1.EventList{}
		if err := management.API.List(ctx, told, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return err
		}
		if !slices.ContainsFunc(told.Items, func(e eventsv1.Event) bool {
			return e.Reason == "CleanupGivenUp" && e.Regarding.Name == k.Name && strings.Contains(e.Note, "There stay: namespace open-cluster-management-stranded")
		}) {
			return fmt.Errorf("%d events, none of which tells", len(told.Items))
		}
		return nil
	})

	next := newKlusterlet(k.Name, "SingletonHosted", k.Spec.Namespace)
	namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.Name}}
	for _, object := range []client.Object{namespace, next} {
		if err := management.API.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	create(t, management, k.Name, "external-managed-kubeconfig", map[string][]byte{"kubeconfig": managed.KubeconfigText(t)})
	operatortest.Eventually(t, "applied again", conditions(management, k.Name, "Applied=True", "ReadyToApply=True"))
	removeKlusterlet(t, management, next)
	management.Gone(t, namespace)
	managed.AsBefore(t, before)
}
