package addon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	ocmaddonv1beta1 "muster.dev/muster/backend/apis/ocm/addon/v1beta1"
)

func TestCompleteNamespace(t *testing.T) {
	for _, test := range []struct {
		name, older, newer, agreed       string
		wantOlder, wantNewer, wantAgreed string
	}{
		{name: "nobody says where"},
		{name: "the default is not worth an annotation", older: defaultNamespace, wantOlder: defaultNamespace},
		{name: "the older says", older: "a", wantOlder: "a", wantNewer: "a", wantAgreed: "a"},
		{name: "the newer says", newer: "b", wantOlder: "b", wantNewer: "b", wantAgreed: "b"},
		{name: "the newer says, the older is defaulted", older: defaultNamespace, newer: "b", wantOlder: "b", wantNewer: "b", wantAgreed: "b"},
		{name: "both say the same", older: "a", newer: "a", wantOlder: "a", wantNewer: "a", wantAgreed: "a"},
		{name: "the older was changed", older: "c", newer: "a", agreed: "a", wantOlder: "c", wantNewer: "c", wantAgreed: "c"},
		{name: "the older was changed back", older: defaultNamespace, newer: "a", agreed: "a", wantOlder: defaultNamespace, wantNewer: defaultNamespace, wantAgreed: defaultNamespace},
		{name: "the newer was changed", older: "a", newer: "c", agreed: "a", wantOlder: "c", wantNewer: "c", wantAgreed: "c"},
		{name: "the newer was taken away", older: "a", agreed: "a", wantOlder: "a", wantNewer: "a", wantAgreed: "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			addon := &ocmaddonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
			addon.Spec.InstallNamespace = test.older
			for key, value := range map[string]string{ocmaddonv1beta1.InstallNamespaceAnnotation: test.newer, AnnotationInstallNamespace: test.agreed} {
				if value != "" {
					addon.Annotations[key] = value
				}
			}
			want := [3]string{test.wantOlder, test.wantNewer, test.wantAgreed}
			for range 2 { // a second time nothing changes
				complete(addon)
				got := [3]string{addon.Spec.InstallNamespace, addon.Annotations[ocmaddonv1beta1.InstallNamespaceAnnotation], addon.Annotations[AnnotationInstallNamespace]}
				if got != want {
					t.Errorf("older, newer, agreed: %q, want %q", got, want)
				}
			}
		})
	}
}

func TestCompleteRegistrations(t *testing.T) {
	const signer = "kubernetes.io/kube-apiserver-client"
	groups, units := []string{"g"}, []string{"o"}
	kube := ocmaddonv1alpha1.RegistrationConfig{SignerName: signer, Subject: &ocmaddonv1alpha1.Subject{User: "u", Groups: groups}}
	kubeNewer := ocmaddonv1alpha1.RegistrationConfig{
		Type: ocmaddonv1beta1.RegistrationKubeClient, KubeClient: &ocmaddonv1beta1.KubeClientConfig{Subject: &ocmaddonv1beta1.KubeClientSubject{User: "u", Groups: groups}},
	}
	kubeBoth := ocmaddonv1alpha1.RegistrationConfig{SignerName: kube.SignerName, Subject: kube.Subject, Type: kubeNewer.Type, KubeClient: kubeNewer.KubeClient}
	own := ocmaddonv1alpha1.RegistrationConfig{SignerName: "example.com/own", Subject: &ocmaddonv1alpha1.Subject{User: "u", OrganizationUnits: units}}
	ownNewer := ocmaddonv1alpha1.RegistrationConfig{
		Type:         ocmaddonv1beta1.RegistrationCustomSigner,
		CustomSigner: &ocmaddonv1beta1.CustomSignerConfig{SignerName: "example.com/own", Subject: &ocmaddonv1beta1.Subject{User: "u", OrganizationUnits: units}},
	}
	ownBoth := ocmaddonv1alpha1.RegistrationConfig{SignerName: own.SignerName, Subject: own.Subject, Type: ownNewer.Type, CustomSigner: ownNewer.CustomSigner}
	driven := kubeBoth
	driven.KubeClient = &ocmaddonv1beta1.KubeClientConfig{Subject: kubeBoth.KubeClient.Subject, Driver: "token"}
	for _, test := range []struct {
		name   string
		driver string
		have   ocmaddonv1alpha1.RegistrationConfig
		want   ocmaddonv1alpha1.RegistrationConfig
	}{
		{name: "the older's, for the hub", have: kube, want: kubeBoth},
		{name: "the newer's, for the hub", have: kubeNewer, want: kubeBoth},
		{name: "both", have: kubeBoth, want: kubeBoth},
		{name: "the older's, of a signer", have: own, want: ownBoth},
		{name: "the newer's, of a signer", have: ownNewer, want: ownBoth},
		{name: "the older's driver", driver: "token", have: kube, want: driven},
		{name: "the newer's driver", have: driven, want: driven},
		{name: "nothing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			addon := &ocmaddonv1alpha1.ManagedClusterAddOn{}
			addon.Status.Registrations, addon.Status.KubeClientDriver = []ocmaddonv1alpha1.RegistrationConfig{*test.have.DeepCopy()}, test.driver
			wantDriver := ""
			if test.want.KubeClient != nil {
				wantDriver = test.want.KubeClient.Driver
			}
			for range 2 { // a second time nothing changes
				complete(addon)
				if diff := cmp.Diff(test.want, addon.Status.Registrations[0]); diff != "" {
					t.Error(diff)
				}
				if addon.Status.KubeClientDriver != wantDriver {
					t.Errorf("driver %q, want %q", addon.Status.KubeClientDriver, wantDriver)
				}
			}
		})
	}
}
