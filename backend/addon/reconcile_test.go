package addon_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/addon"
	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	ocmaddonv1beta1 "muster.dev/muster/backend/apis/ocm/addon/v1beta1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/deploy"
)

// TestVersions writes an add-on in one version and reads it in the other, both ways.
func TestVersions(t *testing.T) {
	hub := kubetest.StartHub(t)
	hub.InstallDefinitions(t, deploy.HubCRDs())
	manager, err := kube.NewManager(hub.Config(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := addon.SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	hub.Run(t, manager)
	hub.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "c1"}})

	older := &ocmaddonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "older"}}
	older.Spec.InstallNamespace = "elsewhere"
	hub.Create(t, older)
	hub.Await(t, "status in the older version", func(ctx context.Context) bool {
		if hub.Client.Get(ctx, client.ObjectKeyFromObject(older), older) != nil {
			return false
		}
		older.Status.Registrations = []ocmaddonv1alpha1.RegistrationConfig{{SignerName: "kubernetes.io/kube-apiserver-client", Subject: &ocmaddonv1alpha1.Subject{User: "u"}}}
		return hub.Client.Status().Update(ctx, older) == nil
	})
	seen := new(ocmaddonv1beta1.ManagedClusterAddOn)
	hub.Await(t, "the newer version's words", func(ctx context.Context) bool {
		return hub.Client.Get(ctx, client.ObjectKeyFromObject(older), seen) == nil && seen.Annotations[ocmaddonv1beta1.InstallNamespaceAnnotation] == "elsewhere" &&
			len(seen.Status.Registrations) == 1 && seen.Status.Registrations[0].Type == ocmaddonv1beta1.RegistrationKubeClient
	})
	if diff := cmp.Diff(&ocmaddonv1beta1.KubeClientConfig{Subject: &ocmaddonv1beta1.KubeClientSubject{User: "u"}}, seen.Status.Registrations[0].KubeClient); diff != "" {
		t.Error(diff)
	}

	newer := &ocmaddonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{
		Namespace: "c1", Name: "newer", Annotations: map[string]string{ocmaddonv1beta1.InstallNamespaceAnnotation: "there"},
	}}
	hub.Create(t, newer)
	hub.Await(t, "status in the newer version", func(ctx context.Context) bool {
		if hub.Client.Get(ctx, client.ObjectKeyFromObject(newer), newer) != nil {
			return false
		}
		newer.Status.Registrations = []ocmaddonv1beta1.RegistrationConfig{{
			Type: ocmaddonv1beta1.RegistrationCustomSigner, CustomSigner: &ocmaddonv1beta1.CustomSignerConfig{SignerName: "example.com/own"},
		}}
		return hub.Client.Status().Update(ctx, newer) == nil
	})
	read := new(ocmaddonv1alpha1.ManagedClusterAddOn)
	hub.Await(t, "the older version's words", func(ctx context.Context) bool {
		return hub.Client.Get(ctx, client.ObjectKeyFromObject(newer), read) == nil && read.Spec.InstallNamespace == "there" &&
			len(read.Status.Registrations) == 1 && read.Status.Registrations[0].SignerName == "example.com/own"
	})
}
