package consent_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"slices"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/consent"
)

// ask posts the certificate request of an agent, as who.
func (h *hubUnderTest) ask(t *testing.T, who client.Client, name string, agent consent.Agent) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	subject := pkix.Name{CommonName: agent.User(), Organization: []string{consent.Group(agent.Cluster), consent.Group("managed-clusters")}}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		t.Fatal(err)
	}
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{ocmv1.ClusterNameLabel: agent.Cluster}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
		},
	}
	if err := who.Create(t.Context(), csr); err != nil {
		t.Fatal(err)
	}
}

func (h *hubUnderTest) request(ctx context.Context, name string) *certificatesv1.CertificateSigningRequest {
	csr := new(certificatesv1.CertificateSigningRequest)
	if h.Client.Get(ctx, client.ObjectKey{Name: name}, csr) != nil {
		return nil
	}
	return csr
}

func (h *hubUnderTest) awaitIssued(t *testing.T, name string) {
	t.Helper()
	h.Await(t, "the certificate of "+name, func(ctx context.Context) bool {
		csr := h.request(ctx, name)
		return csr != nil && len(csr.Status.Certificate) > 0
	})
}

func (h *hubUnderTest) awaitWaiting(t *testing.T, name string) {
	t.Helper()
	h.Await(t, "why "+name+" waits", func(ctx context.Context) bool {
		csr := h.request(ctx, name)
		return csr != nil && csr.Annotations[consent.AnnotationWaiting] != "" && len(csr.Status.Conditions) == 0
	})
}

// testCertificates approves what a rule lets in and what agents renew, and leaves
// the rest to people.
func (h *hubUnderTest) testCertificates(t *testing.T) {
	newcomer := h.as(t, consent.BootstrapUser, "system:serviceaccounts")
	h.ask(t, newcomer, "auto-late-1", consent.Agent{Cluster: "auto-late", Name: "a1"}) // consents are independent: it was denied as a cluster
	h.awaitIssued(t, "auto-late-1")
	h.Await(t, "the record of the approval", func(context.Context) bool { return h.audit.has("approve auto-late-1") })
	csr := h.request(t.Context(), "auto-late-1")
	if reason := csr.Status.Conditions[0].Reason; reason != "AutoApprovedByHubCSRApprovingController" {
		t.Errorf("reason %s", reason)
	}
	h.ask(t, newcomer, "manual-1", consent.Agent{Cluster: "manual", Name: "a1"})

	// An agent renews its own identity, in an accepted cluster.
	h.introduce(t, "renews")
	h.decide(t, "renews", true)
	h.awaitReason(t, "renews", ocmv1.ReasonAccepted)
	agent := h.agentOf(t, "renews")
	h.Await(t, "the agent's rights", func(ctx context.Context) bool {
		return agent.List(ctx, &certificatesv1.CertificateSigningRequestList{}) == nil
	})
	h.ask(t, agent, "renews-1", consent.Agent{Cluster: "renews", Name: "a1"})
	h.awaitIssued(t, "renews-1")
	h.ask(t, agent, "renews-2", consent.Agent{Cluster: "renews", Name: "zzzzz"})
	h.ask(t, agent, "auto-stolen", consent.Agent{Cluster: "auto-late", Name: "a1"})
	h.awaitWaiting(t, "renews-2")
	h.awaitWaiting(t, "auto-stolen") // although a rule means the cluster

	// Who did not introduce a cluster that has joined does not get its identity.
	h.Await(t, "auto-early to have joined", func(ctx context.Context) bool {
		cluster := h.cluster(ctx, "auto-early")
		meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: ocmv1.ConditionJoined, Status: metav1.ConditionTrue, Reason: ocmv1.ReasonJoined})
		return h.Client.Status().Update(ctx, cluster) == nil
	})
	h.ask(t, newcomer, "auto-early-1", consent.Agent{Cluster: "auto-early", Name: "b1"})
	h.awaitWaiting(t, "auto-early-1")
	if csr := h.request(t.Context(), "manual-1"); len(csr.Status.Conditions) > 0 || csr.Annotations[consent.AnnotationWaiting] != "" {
		t.Errorf("a request without a rule: %+v", csr)
	}
}

// testCleanUp keeps an agent from seeing ten requests, and lets one that was
// denied ask again.
func (h *hubUnderTest) testCleanUp(t *testing.T) {
	newcomer := h.as(t, consent.BootstrapUser, "system:serviceaccounts")
	h.introduce(t, "stale")
	for i := range 12 {
		h.ask(t, newcomer, fmt.Sprintf("stale-%02d", i), consent.Agent{Cluster: "stale", Name: fmt.Sprint("a", i)})
	}
	h.ask(t, newcomer, "stale-live", consent.Agent{Cluster: "stale", Name: "live"})
	names := func(ctx context.Context) (names []string) {
		var requests certificatesv1.CertificateSigningRequestList
		if h.Client.List(ctx, &requests, client.MatchingLabels{ocmv1.ClusterNameLabel: "stale"}) == nil {
			for i := range requests.Items {
				names = append(names, requests.Items[i].Name)
			}
		}
		return names
	}
	h.Await(t, "the stale requests to go", func(ctx context.Context) bool {
		left := names(ctx)
		return len(left) == 3 && slices.Contains(left, "stale-live")
	})
	h.Await(t, "the denial", func(ctx context.Context) bool {
		denied := h.request(ctx, "stale-live")
		denied.Status.Conditions = append(denied.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue, Reason: "KubectlDeny", LastUpdateTime: metav1.Unix(metav1.Now().Unix()-3600, 0),
		})
		return h.Client.SubResource("approval").Update(ctx, denied) == nil
	})
	h.decide(t, "stale", true)
	h.Await(t, "the denied request to go with acceptance", func(ctx context.Context) bool { return h.request(ctx, "stale-live") == nil })
}
