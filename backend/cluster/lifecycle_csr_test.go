package cluster_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

// as returns a client of the hub that acts for a join token.
func (h *hubUnderTest) as(t *testing.T, tokenID string) client.Client {
	t.Helper()
	config := h.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:bootstrap:" + tokenID, Groups: []string{"system:bootstrappers", apis.BootstrapTokenGroup, "system:authenticated"},
	}
	acting, err := client.New(config, client.Options{Scheme: kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return acting
}

// allowTokens binds the roles of contract section 6.4.
func (h *hubUnderTest) allowTokens(t *testing.T) {
	t.Helper()
	h.Create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "approve"}, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"create"}, APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests/clusteragent"},
	}}})
	for _, role := range []string{"system:node-bootstrapper", "approve"} {
		h.Create(t, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "tokens:" + strings.ReplaceAll(role, ":", "-")},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: apis.BootstrapTokenGroup}},
		})
	}
}

func (h *hubUnderTest) addToken(t *testing.T, id string, spec token.Spec) {
	t.Helper()
	h.Create(t, spec.Secret(id, "0123456789abcdef", time.Now()))
}

func (h *hubUnderTest) askCertificate(t *testing.T, acting client.Client, name, commonName string, life *int32) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: commonName, Organization: []string{apis.AgentGroup}}}, key)
	if err != nil {
		t.Fatal(err)
	}
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		SignerName: agentapi.SignerName, ExpirationSeconds: life,
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
	}}
	if err := acting.Create(t.Context(), csr); err != nil {
		t.Fatal(err)
	}
	return csr
}

func (h *hubUnderTest) awaitCertificate(t *testing.T, csr *certificatesv1.CertificateSigningRequest) time.Duration {
	t.Helper()
	return h.Await(t, "the certificate of "+csr.Name, func(ctx context.Context) bool {
		return h.Client.Get(ctx, client.ObjectKeyFromObject(csr), csr) == nil && len(csr.Status.Certificate) > 0
	})
}

// awaitPending waits until a request was left pending for a reason.
func (h *hubUnderTest) awaitPending(t *testing.T, csr *certificatesv1.CertificateSigningRequest, code string) {
	t.Helper()
	h.Await(t, "the reason why "+csr.Name+" waits", func(ctx context.Context) bool {
		return h.Client.Get(ctx, client.ObjectKeyFromObject(csr), csr) == nil && strings.HasPrefix(csr.Annotations[identity.AnnotationWaiting], code+": ")
	})
	if len(csr.Status.Conditions) > 0 {
		t.Errorf("%s: %+v", csr.Name, csr.Status.Conditions)
	}
}

func testCertificates(t *testing.T, h *hubUnderTest) {
	h.allowTokens(t)
	h.addToken(t, "abcdef", token.Spec{})
	h.addToken(t, "bound0", token.Spec{ClusterName: "c1"})
	open, bound := h.as(t, "abcdef"), h.as(t, "bound0")
	short, agent := ptr.To(int32(600)), apis.AgentUserPrefix+"c1"

	// An unmodified client asks for the helper first.
	helper := h.askCertificate(t, open, "agent-rbac-generator-c1bbbbb", apis.RBACGeneratorUser, short)
	t.Logf("helper's certificate after %s", h.awaitCertificate(t, helper))
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-es-c1"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:karmada:c1:agent"}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "system:karmada:c1:agent"}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-cluster", Name: "system:karmada:c1:agent-secret"}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-c1", Name: "system:karmada:c1:agent-work"}},
	} {
		if h.Gone(t.Context(), client.ObjectKeyFromObject(object), object) {
			t.Errorf("%T was not made before the helper was approved", object)
		}
	}
	h.awaitPending(t, h.askCertificate(t, open, "agent-rbac-generator-c9bbbbb", apis.RBACGeneratorUser, nil), registration.CodeCSRRefused) // it would live for a year

	csr := h.askCertificate(t, open, "c1-bbbbb", agent, nil)
	t.Logf("agent's certificate after %s", h.awaitCertificate(t, csr))
	h.Await(t, "stages", func(context.Context) bool {
		return h.stages.has("abcdef/c1/approved") && h.stages.has("abcdef/c1/identity")
	})
	var secret corev1.Secret
	if err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "bootstrap-token-abcdef"}, &secret); err != nil || secret.Annotations[token.AnnotationUsedBy] != "c1" {
		t.Errorf("the token was used by %q, %v", secret.Annotations[token.AnnotationUsedBy], err)
	}

	// Now the name is taken.
	h.pullCluster(t, "c1")
	taken := h.askCertificate(t, open, "c1-ccccc", agent, nil)
	h.awaitPending(t, taken, registration.CodeNameTaken)
	h.awaitCertificate(t, h.askCertificate(t, bound, "c1-ddddd", agent, nil))
	h.awaitPending(t, h.askCertificate(t, bound, "c2-bbbbb", apis.AgentUserPrefix+"c2", nil), registration.CodeTokenBound)

	// An administrator may still say yes.
	taken.Status.Conditions = append(taken.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Manual",
	})
	if err := h.Client.SubResource("approval").Update(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	h.awaitCertificate(t, taken)

	// What is not an agent's is nobody's business here.
	foreign := h.askCertificate(t, open, "stranger", "system:node:n1", nil)
	h.awaitCertificate(t, h.askCertificate(t, open, "c3-bbbbb", apis.AgentUserPrefix+"c3", nil)) // later than foreign, and done
	if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || len(foreign.Status.Conditions)+len(foreign.Annotations) > 0 {
		t.Errorf("%+v, %v", foreign.Status, err)
	}
	h.stages.mu.Lock()
	defer h.stages.mu.Unlock()
	if slices.ContainsFunc(h.stages.failed, func(f registration.Failure) bool { return strings.Contains(f.Cause+f.Fix, "0123456789abcdef") }) {
		t.Error("a recorded failure tells a token's secret")
	}
}
