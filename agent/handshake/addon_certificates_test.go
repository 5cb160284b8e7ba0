package handshake_test

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	ocmaddonv1beta1 "muster.dev/muster/backend/apis/ocm/addon/v1beta1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

const addonLabel = "open-cluster-management.io/addon-name"

// requestsOf are the requests of an add-on.
func (f *fixture) requestsOf(addon string) []certificatesv1.CertificateSigningRequest {
	f.Helper()
	return slices.DeleteFunc(f.requests(), func(r certificatesv1.CertificateSigningRequest) bool { return r.Labels[addonLabel] != addon })
}

// An add-on whose manager wants it to have a certificate gets one, in a Secret
// where it runs; what is not wanted any more goes.
func TestAddonCertificates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.join()

	space := "mesh-of-" + f.cluster
	addons := f.client.Resource(ocmaddonv1beta1.GroupVersion.WithResource("managedclusteraddons")).Namespace(f.cluster)
	mesh := &unstructured.Unstructured{Object: map[string]any{"apiVersion": ocmaddonv1beta1.GroupVersion.String(), "kind": "ManagedClusterAddOn",
		"metadata": map[string]any{"name": "mesh", "annotations": map[string]any{ocmaddonv1beta1.InstallNamespaceAnnotation: space}}}}
	if _, err := addons.Create(t.Context(), mesh, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	register := func(registrations string) {
		t.Helper()
		if _, err := addons.Patch(t.Context(), "mesh", types.MergePatchType, []byte(`{"status":{"registrations":`+registrations+`}}`), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	register(`[{"type":"kubeClient","kubeClient":{}}]`)
	f.eventually("the add-on's request", func() bool { return len(f.requestsOf("mesh")) == 1 })
	request := f.requestsOf("mesh")[0]
	user := "system:open-cluster-management:cluster:" + f.cluster + ":addon:mesh"
	cn, groups := subject(t, request.Spec.Request)
	if diff := cmp.Diff([]string{user + ":agent:mesh", user, certificatesv1.KubeAPIServerClientSignerName, "addon-" + f.cluster + "-mesh-"},
		append(append([]string{cn}, groups...), request.Spec.SignerName, request.GenerateName)); diff != "" {
		t.Error(diff)
	}

	// The certificate is kept although its namespace comes later.
	f.approve(certificatesv1.CertificateApproved)
	f.eventually("the certificate is issued", func() bool { return len(f.requestsOf("mesh")[0].Status.Certificate) > 0 })
	if _, err := plane.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secrets := plane.Client.CoreV1().Secrets(space)
	var secret *corev1.Secret
	f.eventually("the add-on's Secret", func() bool {
		var err error
		secret, err = secrets.Get(t.Context(), "mesh-hub-kubeconfig", metav1.GetOptions{})
		return err == nil
	})
	keys := []string{}
	for key := range secret.Data {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if diff := cmp.Diff([]string{"cluster-name", "kubeconfig", "tls.crt", "tls.key"}, keys); diff != "" {
		t.Error(diff)
	}
	block, _ := pem.Decode(secret.Data["tls.crt"])
	if block == nil {
		t.Fatal("tls.crt holds no certificate")
	}
	if leaf, err := x509.ParseCertificate(block.Bytes); err != nil || leaf.Subject.CommonName != user+":agent:mesh" {
		t.Errorf("the certificate is %v, %v", leaf, err)
	}
	if n := len(f.requestsOf("mesh")); n != 1 {
		t.Errorf("%d requests were made, want 1", n)
	}
	f.eventually("the hub is told of the certificate", func() bool {
		o, err := addons.Get(t.Context(), "mesh", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		registrations, _, _ := unstructured.NestedSlice(o.Object, "status", "registrations")
		driver, _, _ := unstructured.NestedString(registrations[0].(map[string]any), "kubeClient", "driver")
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		rotated := slices.ContainsFunc(conditions, func(c any) bool {
			is := c.(map[string]any)
			return is["type"] == ocmv1.ConditionCertificateRotated && is["status"] == "True"
		})
		return driver == "csr" && rotated
	})

	// Another signer, in the words of the older version.
	register(`[{"signerName":"example.com/own","subject":{"user":"u","organizationUnit":["o"]}}]`)
	f.eventually("a request to the other signer", func() bool {
		return slices.ContainsFunc(f.requestsOf("mesh"), func(r certificatesv1.CertificateSigningRequest) bool {
			cn, _ := subject(t, r.Spec.Request)
			return r.Spec.SignerName == "example.com/own" && cn == "u"
		})
	})
	f.eventually("the former Secret is gone", func() bool {
		_, err := secrets.Get(t.Context(), "mesh-hub-kubeconfig", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
