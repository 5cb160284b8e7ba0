package kube_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/kube"
)

func TestPurge(t *testing.T) {
	ctx, plane := t.Context(), controlplanetest.Start(t)
	purger, err := kube.NewPurger(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	namespaces, maps := plane.Client.CoreV1().Namespaces(), plane.Client.CoreV1().ConfigMaps("space")
	if left, err := purger.Purge(ctx, "space"); err != nil || len(left) > 0 {
		t.Fatalf("a namespace that does not exist: %v, %v", left, err)
	}
	if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "space"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, object := range []metav1.ObjectMeta{{Name: "plain"}, {Name: "held", Finalizers: []string{"example.org/hold"}}} {
		if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: object}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := purger.Purge(ctx, "space"); err == nil {
		t.Fatal("a living namespace was purged")
	}
	if err := namespaces.Delete(ctx, "space", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	left, err := purger.Purge(ctx, "space")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"configmaps"}, left); diff != "" {
		t.Fatal(diff)
	}
	if _, err := namespaces.Get(ctx, "space", metav1.GetOptions{}); err != nil {
		t.Fatalf("the namespace went before its contents: %v", err)
	}
	if _, err := maps.Patch(ctx, "held", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if left, err := purger.Purge(ctx, "space"); err != nil || len(left) > 0 {
		t.Fatalf("an empty namespace: %v, %v", left, err)
	}
	if _, err := namespaces.Get(ctx, "space", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("the namespace is still there: %v", err)
	}
	t.Logf("purged in %s", time.Since(began))
}

// A namespace goes if nobody put anything into it.
func TestRemoveEmpty(t *testing.T) {
	ctx, plane := t.Context(), controlplanetest.Start(t)
	purger, err := kube.NewPurger(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	core := plane.Client.CoreV1()
	space, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	remove := func(uid types.UID, want bool) {
		t.Helper()
		if removed, err := purger.RemoveEmpty(ctx, "bare", uid); err != nil || removed != want {
			t.Fatalf("removed: %t, %v, want %t", removed, err, want)
		}
		if _, err := core.Namespaces().Get(ctx, "bare", metav1.GetOptions{}); apierrors.IsNotFound(err) != want {
			t.Fatalf("the namespace: %v", err)
		}
	}
	ours, secret := metav1.ObjectMeta{Name: "kube-root-ca.crt"}, metav1.ObjectMeta{Name: "somebodys"}
	if _, err := core.ConfigMaps("bare").Create(ctx, &corev1.ConfigMap{ObjectMeta: ours}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "told"}, InvolvedObject: corev1.ObjectReference{Namespace: "bare", Name: "bare", Kind: "Thing"}}
	if _, err := core.Events("bare").Create(ctx, event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.Secrets("bare").Create(ctx, &corev1.Secret{ObjectMeta: secret}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	remove(space.UID, false)
	if err := core.Secrets("bare").Delete(ctx, secret.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	remove("another", false)
	remove(space.UID, true)
}
