package e2e_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// startProgram runs a command of the agent until the test ends.
func startProgram(t testing.TB, command string, args ...string) *controlplanetest.Process {
	t.Helper()
	return startProcess(t, "muster-agent", command, append([]string{command}, args...)...)
}

// startRegistration runs the registration agent of a member alone.
func startRegistration(t testing.TB, m *controlplanetest.Member, cluster, bootstrap string, more ...string) *controlplanetest.Process {
	t.Helper()
	return startProgram(t, "registration", append([]string{"--bootstrap-kubeconfig", bootstrap, "--spoke-cluster-name", cluster,
		"--spoke-kubeconfig", m.Kubeconfig, "--spoke-external-server-urls", m.Server}, more...)...)
}

// startWork runs the work agent of a member alone, which finds its hub in the
// directory that the registration agent fills.
func startWork(t testing.TB, m *controlplanetest.Member, cluster, hubDir string) *controlplanetest.Process {
	t.Helper()
	kubectl(t, m.Kubeconfig, "apply", "-f", "../deploy/crds/ocm-member") // the operator's part
	kubectl(t, m.Kubeconfig, "wait", "--for=condition=Established", "--timeout=60s", "crd/appliedmanifestworks.work.open-cluster-management.io")
	return startProgram(t, "work", "--spoke-cluster-name", cluster, "--spoke-kubeconfig", m.Kubeconfig,
		"--workload-source-config", filepath.Join(hubDir, "kubeconfig"))
}

// approvePending approves, as an administrator who is asked, whatever waits for a
// certificate of a cluster, and returns how many did.
func (h *hub) approvePending(ctx context.Context, t testing.TB, cluster string) (approved int) {
	t.Helper()
	for _, csr := range h.requestsOf(ctx, t, cluster) {
		if len(csr.Status.Conditions) > 0 {
			continue
		}
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: "True", Reason: "Test Approve",
		})
		// Whoever got in between leaves it for the next look.
		if _, err := h.client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, csr.Name, &csr, metav1.UpdateOptions{}); err == nil {
			approved++
		}
	}
	return approved
}

// awaitAsked waits until an agent asks for a certificate as somebody who is no
// agent, and checks that nobody but a person approves that.
func (h *hub) awaitAsked(t testing.TB, cluster string) {
	t.Helper()
	eventually(t, "a request by whoever introduces "+cluster, func(ctx context.Context) bool {
		for _, csr := range h.requestsOf(ctx, t, cluster) {
			if csr.Spec.Username == ocmAccountUser && len(csr.Status.Conditions) == 0 {
				return true
			}
		}
		return false
	})
}

// awaitServed approves until a cluster is available, and checks that its acceptance
// is as told.
func (h *hub) awaitServed(t testing.TB, cluster string) {
	t.Helper()
	var last *ocmv1.ManagedCluster
	defer func() {
		if t.Failed() && last != nil {
			t.Logf("conditions of %s: %+v", cluster, last.Status.Conditions)
		}
	}()
	eventually(t, "managed cluster "+cluster+" is available", func(ctx context.Context) bool {
		h.approvePending(ctx, t, cluster)
		last = h.managedCluster(t, cluster)
		return last != nil && meta.IsStatusConditionTrue(last.Status.Conditions, ocmv1.ConditionAvailable)
	})
}

// letIn gives a cluster both consents once it is announced, and waits until it is
// served.
func (h *hub) letIn(t testing.TB, cluster string) {
	t.Helper()
	h.awaitAsked(t, cluster)
	eventually(t, cluster+" is announced", func(context.Context) bool { return h.managedCluster(t, cluster) != nil })
	h.accept(t, cluster, true)
	h.awaitServed(t, cluster)
}

// shortLease has a cluster judged ten seconds after its agent falls silent.
func (h *hub) shortLease(t testing.TB, cluster string) {
	t.Helper()
	kubectl(t, h.Kubeconfig, "patch", "managedcluster", cluster, "--type=merge", `-p={"spec":{"leaseDurationSeconds":2}}`)
}

// longLease is what agents on a busy machine can keep.
func (h *hub) longLease(t testing.TB, cluster string) {
	t.Helper()
	kubectl(t, h.Kubeconfig, "patch", "managedcluster", cluster, "--type=merge", `-p={"spec":{"leaseDurationSeconds":60}}`)
}

// awaitSilent waits until the hub says of a cluster that its agent is silent.
func (h *hub) awaitSilent(t testing.TB, cluster string) {
	t.Helper()
	h.awaitManaged(t, cluster, ocmv1.ConditionAvailable, metav1.ConditionUnknown, ocmv1.ReasonLeaseUpdateStopped)
}

// giveSettings gives a cluster a ManifestWork with one ConfigMap of its name.
func (h *hub) giveSettings(t testing.TB, cluster, name string) {
	t.Helper()
	h.apply(t, strings.NewReplacer("WORK", name, "namespace: east", "namespace: "+cluster).Replace(walkManifestWork))
}

// awaitLog waits until a program has printed something.
func awaitLog(t testing.TB, p *controlplanetest.Process, text string) {
	t.Helper()
	eventually(t, "the log says "+text, func(context.Context) bool {
		printed, err := os.ReadFile(p.Log)
		return err == nil && strings.Contains(string(printed), text)
	})
}

// TestOCMRenamed joins a member again under another name. The hub takes that for
// another cluster, which both consents are to be given anew; what the member held
// by its old name goes, and the old name ends Unknown until somebody deletes it.
func TestOCMRenamed(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "member", Nodes: 1})
	bootstrap := ocmBootstrap(t, h, ocmToken(t, h))
	agent := startKlusterlet(t, m, "east", bootstrap)
	h.awaitAsked(t, "east")
	kubectl(t, m.Kubeconfig, "wait", "--for=condition=Established", "--timeout=60s", "crd/clusterclaims.cluster.open-cluster-management.io")
	claim := "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: ClusterClaim\nmetadata: {name: id.k8s.io}\nspec: {value: the-one}\n"
	if r := runWith(t, claim, "kube", "kubectl", "--kubeconfig", m.Kubeconfig, "apply", "-f", "-"); r.code != 0 {
		t.Fatalf("claim the id: %s%s", r.stdout, r.stderr)
	}
	h.accept(t, "east", true)
	h.awaitServed(t, "east")
	eventually(t, "the Cluster of east has its id", func(context.Context) bool {
		east := h.cluster(t, "east")
		return east != nil && east.Spec.ID == "the-one"
	})
	h.giveSettings(t, "east", "settings")
	awaitSettings(t, m, "settings", true)
	h.shortLease(t, "east")

	if err := agent.Kill(); err != nil {
		t.Fatal(err)
	}
	startKlusterlet(t, m, "coast", bootstrap, "--appliedmanifestwork-eviction-grace-period", "1s")
	h.awaitAsked(t, "coast")
	eventually(t, "the new name is announced", func(context.Context) bool { return h.managedCluster(t, "coast") != nil })
	if coast := h.managedCluster(t, "coast"); coast.Spec.HubAcceptsClient || len(coast.Status.Conditions) > 0 {
		t.Errorf("the consent to the old name counts for the new one: %+v, %+v", coast.Spec, coast.Status.Conditions)
	}
	h.accept(t, "coast", true)
	h.awaitServed(t, "coast")
	awaitSettings(t, m, "settings", false)
	h.giveSettings(t, "coast", "new-settings")
	awaitSettings(t, m, "new-settings", true)
	h.awaitSilent(t, "east")
	eventually(t, "it is told that the id of coast is taken", func(context.Context) bool {
		return strings.Contains(kubectl(t, h.Kubeconfig, "get", "events", "-A", "--field-selector", "reason=MirrorRefused"), "managedcluster/coast")
	})

	// Nobody is left to take the works of the old name out of the member: the hub
	// says so, and waits for a person.
	kubectl(t, h.Kubeconfig, "delete", "managedcluster", "east", "--wait=false")
	gone := h.awaitManaged(t, "east", ocmv1.ConditionDeleting, metav1.ConditionFalse, ocmv1.ReasonResourceRemaining)
	if found := meta.FindStatusCondition(gone.Status.Conditions, ocmv1.ConditionDeleting); !strings.Contains(found.Message, "settings") {
		t.Errorf("the condition Deleting does not name the work: %q", found.Message)
	}
	kubectl(t, h.Kubeconfig, "-n", "east", "patch", "manifestwork", "settings", "--type=merge", `-p={"metadata":{"finalizers":null}}`)
	eventually(t, "east is gone in both dialects", func(context.Context) bool {
		return h.managedCluster(t, "east") == nil && h.cluster(t, "east") == nil
	})
	kubectl(t, h.Kubeconfig, "label", "managedcluster", "coast", "look=again") // before the minute is over
	coast := h.awaitReady(t, "coast", metav1.ConditionTrue)
	if coast.Spec.ID != "the-one" {
		t.Errorf("the Cluster of coast has the id %q", coast.Spec.ID)
	}
	awaitSettings(t, m, "new-settings", true)
}

// TestOCMHubAuthorityChanged gives the hub another certificate authority. Agents
// do not trust it until somebody hands them a kubeconfig with the new one; then
// they ask for a certificate, while the hub's acceptance holds.
func TestOCMHubAuthorityChanged(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	token := ocmToken(t, h)
	bootstrap := ocmBootstrap(t, h, token)
	agent := startKlusterlet(t, m, "east", bootstrap)
	h.letIn(t, "east")
	h.giveSettings(t, "east", "before")
	awaitSettings(t, m, "before", true)
	h.shortLease(t, "east")

	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ca.crt", "ca.key"} {
		if err := os.Remove(filepath.Join(h.DataDir, "pki", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.connect(t)
	h.giveSettings(t, "east", "after")
	h.awaitSilent(t, "east")
	awaitLog(t, agent, "certificate signed by unknown authority")
	h.longLease(t, "east")

	renewed, err := os.ReadFile(ocmBootstrap(t, h, token))
	if err == nil {
		err = os.WriteFile(bootstrap, renewed, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.awaitAsked(t, "east")
	awaitSettings(t, m, "after", false) // no certificate, no work
	if east := h.managedCluster(t, "east"); !meta.IsStatusConditionTrue(east.Status.Conditions, ocmv1.ConditionHubAccepted) {
		t.Errorf("the hub forgot that it accepts east: %+v", east.Status.Conditions)
	}
	h.awaitServed(t, "east")
	awaitSettings(t, m, "after", true)
	awaitSettings(t, m, "before", true)
}

// sign makes a client certificate as the hub's own signer does, for as long as is
// told.
func (h *hub) sign(t testing.TB, subject pkix.Name, from, to time.Time) (certPEM, keyPEM []byte) {
	t.Helper()
	pki := cmp.Or(h.pki, filepath.Join(h.DataDir, "pki"))
	authority, err := tls.LoadX509KeyPair(filepath.Join(pki, "ca.crt"), filepath.Join(pki, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	parent, err := x509.ParseCertificate(authority.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	key, keyPEM, err := controlplanetest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(from.UnixNano()), Subject: subject, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, parent, key.Public(), authority.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), keyPEM
}

// replaceIdentity gives the agent of a member a certificate that ends then.
func replaceIdentity(t testing.TB, h *hub, m *controlplanetest.Member, from, to time.Time) (agent string) {
	t.Helper()
	secrets := m.Client.CoreV1().Secrets("open-cluster-management-agent")
	secret, err := secrets.Get(t.Context(), "hub-kubeconfig-secret", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cluster, agent := string(secret.Data["cluster-name"]), string(secret.Data["agent-name"])
	asked := requestOf(cluster, agent)
	secret.Data["tls.crt"], secret.Data["tls.key"] = h.sign(t, pkix.Name{CommonName: asked.commonName, Organization: asked.organizations}, from, to)
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return agent
}

// TestOCMCertificateExpired lets an agent's certificate run out while the hub is
// away, so that it cannot be renewed. The agent introduces itself anew, by its old
// name; a person approves, and the hub's acceptance holds. The agents are two
// processes, as where an operator runs them.
func TestOCMCertificateExpired(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	bootstrap, hubDir := ocmBootstrap(t, h, ocmToken(t, h)), t.TempDir()
	registration := startRegistration(t, m, "east", bootstrap, "--hub-kubeconfig-dir", hubDir)
	startWork(t, m, "east", hubDir)
	h.letIn(t, "east")
	h.giveSettings(t, "east", "before")
	awaitSettings(t, m, "before", true)
	h.shortLease(t, "east")

	if err := registration.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	ends := time.Now().Add(5 * time.Second)
	agent := replaceIdentity(t, h, m, ends.Add(-time.Hour), ends)
	registration = startRegistration(t, m, "east", bootstrap, "--hub-kubeconfig-dir", hubDir)
	awaitLog(t, registration, "the certificate has expired")
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.connect(t)
	h.awaitAsked(t, "east")
	h.awaitSilent(t, "east")
	h.giveSettings(t, "east", "after")
	h.longLease(t, "east")
	h.awaitServed(t, "east")
	awaitSettings(t, m, "after", true)
	awaitSettings(t, m, "before", true)
	certificate, err := tls.X509KeyPair(identityOf(t, h, m).CertData, identityOf(t, h, m).KeyData)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil || !leaf.NotAfter.After(ends) || leaf.Subject.CommonName != ocmPrefix+"east:"+agent {
		t.Errorf("the agent is %s until %s (%v), want the same agent as before", leaf.Subject.CommonName, leaf.NotAfter, err)
	}
}

// TestOCMStaleRequests restarts an agent before anybody has approved its request
// more often than agents put up with: each time it forgets its key, and the hub
// clears away what nobody can use, so that the last one is served.
func TestOCMStaleRequests(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	bootstrap := ocmBootstrap(t, h, ocmToken(t, h))
	const restarts = 11
	seen, newest := sets.New[string](), ""
	for number := range restarts + 1 {
		agent := startRegistration(t, m, "east", bootstrap)
		eventually(t, fmt.Sprintf("request %d", number+1), func(ctx context.Context) bool {
			for _, csr := range h.requestsOf(ctx, t, "east") {
				if !seen.Has(csr.Name) {
					seen.Insert(csr.Name)
					newest = csr.Name
					return true
				}
			}
			return false
		})
		if number < restarts {
			if err := agent.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "few requests are left, the newest among them", func(ctx context.Context) bool {
		names := sets.New[string]()
		for _, csr := range h.requestsOf(ctx, t, "east") {
			names.Insert(csr.Name)
		}
		return len(names) < 5 && names.Has(newest)
	})
	h.accept(t, "east", true)
	h.awaitServed(t, "east")
}
