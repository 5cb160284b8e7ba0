package controlplane_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"muster.dev/muster/backend/controlplane"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

const waiting = "muster.dev/waiting"

// request makes a certificate request; approved ones wait for a signer.
func request(t *testing.T, member *controlplanetest.Member, name, signer string, labels map[string]string, approved bool) {
	t.Helper()
	key, _, err := controlplanetest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:open-cluster-management:c1:" + name}}, key)
	if err != nil {
		t.Fatal(err)
	}
	requests := member.Client.CertificatesV1().CertificateSigningRequests()
	made, err := requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !approved {
		return
	}
	made.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test", LastUpdateTime: metav1.Now()}}
	if _, err := requests.UpdateApproval(t.Context(), name, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func look(ctx context.Context, t *testing.T, member *controlplanetest.Member, name string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	found, err := member.Client.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSignerIsMissing runs on a cluster that signs nothing: first it is told so,
// then the hub is given the CA.
func TestSignerIsMissing(t *testing.T) {
	member := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Unsigned: true})
	labelled := map[string]string{"open-cluster-management.io/cluster-name": "c1"}
	watching, stop := startExternal(t, externalOptions(t, member, func(o *controlplane.ExternalOptions) {
		o.Signing.Selector = "open-cluster-management.io/cluster-name"
	}))
	endLead := lead(t, watching)
	request(t, member, "pending", certificatesv1.KubeAPIServerClientSignerName, labelled, false)
	request(t, member, "others", certificatesv1.KubeAPIServerClientSignerName, nil, true)
	request(t, member, "ours", certificatesv1.KubeAPIServerClientSignerName, labelled, true)
	await(t, "the note on the request", func(ctx context.Context) bool {
		return strings.HasPrefix(look(ctx, t, member, "ours").Annotations[waiting], "SignerMissing: ")
	})
	await(t, "the event", func(ctx context.Context) bool {
		events, err := member.Client.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=ours,reason=SignerMissing"})
		return err == nil && len(events.Items) == 1 && events.Items[0].Type == corev1.EventTypeWarning
	})
	for _, name := range []string{"pending", "others"} {
		if note := look(t.Context(), t, member, name).Annotations[waiting]; note != "" {
			t.Errorf("%s is marked: %s", name, note)
		}
	}
	endLead()
	stop()

	signing, end := startExternal(t, externalOptions(t, member, func(o *controlplane.ExternalOptions) {
		o.Signing.Sign = true
		o.Signing.CertFile, o.Signing.KeyFile = member.CAFiles()
	}))
	endSigning := lead(t, signing)
	await(t, "the certificate", func(ctx context.Context) bool { return len(look(ctx, t, member, "ours").Status.Certificate) > 0 })
	certs, err := cert.ParseCertsPEM(look(t.Context(), t, member, "ours").Status.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(member.CA())
	if _, err := certs[0].Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("the certificate opens nothing: %v", err)
	}
	endSigning()
	end()

	again, _ := startExternal(t, externalOptions(t, member, nil))
	lead(t, again)
	await(t, "the note to go", func(ctx context.Context) bool { return look(ctx, t, member, "ours").Annotations[waiting] == "" })
}

// TestSignerIsThere says nothing on a cluster that signs.
func TestSignerIsThere(t *testing.T) {
	member := controlplanetest.Start(t)
	plane, _ := startExternal(t, externalOptions(t, member, func(o *controlplane.ExternalOptions) { o.Signing.Patience = testLimit }))
	lead(t, plane)
	request(t, member, "ours", certificatesv1.KubeAPIServerClientSignerName, nil, true)
	await(t, "the certificate", func(ctx context.Context) bool { return len(look(ctx, t, member, "ours").Status.Certificate) > 0 })
	if note := look(t.Context(), t, member, "ours").Annotations[waiting]; note != "" {
		t.Errorf("it is marked: %s", note)
	}
}
