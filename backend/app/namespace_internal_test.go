package app

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/kube/kubetest"
)

// A namespace of the hub's own that was being deleted when the hub stopped is
// ended before anything is made in it, and one that cannot end does not keep the
// hub from starting.
func TestEndNamespace(t *testing.T) {
	h := kubetest.StartHub(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: consent.BootstrapNamespace}}
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "note"}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: consent.BootstrapAccount}}
	end := func() {
		t.Helper()
		if err := endNamespace(t.Context(), h.Client, h.Config(), namespace.Name); err != nil {
			t.Fatal(err)
		}
	}
	bootstrap := func() {
		t.Helper()
		if err := consent.Bootstrap(t.Context(), h.Client, true); err != nil {
			t.Fatal(err)
		}
	}
	end() // there is none
	bootstrap()
	end() // it is not being deleted
	h.Create(t, note)
	if err := h.Client.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	end()
	if !h.Gone(t.Context(), client.ObjectKeyFromObject(namespace), namespace) {
		t.Fatal("the namespace is still there")
	}
	bootstrap()
	if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(account), account); err != nil {
		t.Fatalf("the account is not made anew: %v", err)
	}

	held := note.DeepCopy()
	held.ObjectMeta = metav1.ObjectMeta{Namespace: namespace.Name, Name: "held", Finalizers: []string{"example.test/hold"}}
	h.Create(t, held)
	if err := h.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace.Name}}); err != nil {
		t.Fatal(err)
	}
	bootstrap()
}
