package e2e_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// bounce kills the hub and starts it again.
func (h *hub) bounce(t testing.TB) {
	t.Helper()
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.connect(t)
}

// throughout asks a hub without pause what it may ask, whether the hub is there or not.
type throughout struct {
	who               string
	cancel            context.CancelFunc
	done              chan struct{}
	served, away, bad int
	worst             error // of those who say that it may not
}

// askThroughout asks for what somebody may read. An agent that hears 401 or 403
// gives up or starts over, where 503 and no answer have it ask again (contract
// ocm.md section 2.3).
func askThroughout(t testing.TB, who string, config *rest.Config, path string) *throughout {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := &throughout{who: who, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			err := client.Discovery().RESTClient().Get().AbsPath(path).MaxRetries(0).Param("limit", "1").Do(ctx).Error()
			switch {
			case err == nil:
				a.served++
			case apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err):
				a.bad, a.worst = a.bad+1, err
			default:
				a.away++
			}
		}, 5*time.Millisecond)
	}()
	t.Cleanup(cancel)
	return a
}

func (a *throughout) end(t testing.TB) {
	t.Helper()
	a.cancel()
	<-a.done
	t.Logf("%s was served %d times and found the hub away %d times", a.who, a.served, a.away)
	if a.bad > 0 {
		t.Errorf("%s was refused %d times: %v", a.who, a.bad, a.worst)
	}
	if a.served == 0 || a.away == 0 {
		t.Errorf("for %s the hub was never there, or never away: nothing is shown", a.who)
	}
}

const (
	aStranger     = "a stranger with a good token"
	heldByTheTest = "muster.test/hold"
)

// TestFaultOCMHubKilledInEachPhase kills the hub as soon as each phase of a
// member's life has begun, from the first request to the last clean-up. The
// member's agent runs all the time, and is never helped along.
func TestFaultOCMHubKilledInEachPhase(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	bootstrap := ocmBootstrap(t, h, ocmToken(t, h))
	stranger := askThroughout(t, aStranger, loadConfig(t, bootstrap), requestsPath)
	defer stranger.end(t)

	// The agent comes while the hub is away.
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	agent := startKlusterlet(t, m, "east", bootstrap)
	awaitLog(t, agent, "connection refused")
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.connect(t)
	h.awaitAsked(t, "east")
	eventually(t, "the agent has announced its cluster", func(context.Context) bool { return h.managedCluster(t, "east") != nil })

	// Asked for, not approved.
	h.bounce(t)
	h.awaitAsked(t, "east")
	eventually(t, "a request is approved", func(ctx context.Context) bool { return h.approvePending(ctx, t, "east") > 0 })

	// Approved, perhaps not signed.
	h.bounce(t)
	identityOf(t, h, m)
	h.accept(t, "east", true)

	// Accepted, its rights perhaps not made.
	h.bounce(t)
	h.awaitServed(t, "east")
	h.awaitManaged(t, "east", ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
	h.giveSettings(t, "east", "settings")

	// Given work, perhaps not told to the agent.
	h.bounce(t)
	awaitSettings(t, m, "settings", true)
	h.awaitWork(t, "east", "settings", ocmworkv1.ConditionApplied, ocmworkv1.ReasonWorkApplied)
	kubectl(t, h.Kubeconfig, "-n", "east", "delete", "manifestwork", "settings", "--wait=false")

	// Work taken back, perhaps not told to the agent. A denial waits for works to go.
	h.bounce(t)
	awaitSettings(t, m, "settings", false)
	h.accept(t, "east", false)

	// Denied, its rights perhaps not taken.
	h.bounce(t)
	h.awaitManaged(t, "east", ocmv1.ConditionHubAccepted, metav1.ConditionFalse, ocmv1.ReasonDenied)
	works := clientFor(t, identityOf(t, h, m)).Resource(manifestWorksResource).Namespace("east")
	eventually(t, "a denied agent lists its works no more", func(ctx context.Context) bool {
		_, err := works.List(ctx, metav1.ListOptions{})
		return apierrors.IsForbidden(err)
	})
	h.accept(t, "east", true)

	// Accepted again.
	h.bounce(t)
	h.awaitManaged(t, "east", ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
	h.giveSettings(t, "east", "again")
	awaitSettings(t, m, "again", true)
	h.awaitServed(t, "east")
	kubectl(t, h.Kubeconfig, "delete", "managedcluster", "east", "--wait=false")

	// Deleted, its works perhaps not.
	h.bounce(t)
	eventually(t, "the cluster is gone", func(context.Context) bool { return h.managedCluster(t, "east") == nil })
	awaitSettings(t, m, "again", false)
	eventually(t, "the agent's role is gone", func(ctx context.Context) bool {
		return apierrors.IsNotFound(send(ctx, h.admin(t), http.MethodGet, "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:managedcluster:east", ""))
	})
	eventually(t, "the mirror is gone with its member", func(ctx context.Context) bool {
		return apierrors.IsNotFound(send(ctx, h.admin(t), http.MethodGet, "/apis/cluster.karmada.io/v1alpha1/clusters/east", ""))
	})
}

// TestFaultOCMHubKilledInEachPhaseOfService is the same for what a hub does by
// itself: it lets clusters in by a rule, renews certificates, notices that an agent is
// silent and that it is back, and waits for what an agent has to remove first.
func TestFaultOCMHubKilledInEachPhaseOfService(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	token := ocmToken(t, h)
	bootstrap := ocmBootstrap(t, h, token)
	stranger := askThroughout(t, aStranger, loadConfig(t, bootstrap), requestsPath)
	defer stranger.end(t)

	agent := h.killedByRule(t, m, bootstrap, token)
	registration := askThroughout(t, "the registration of an accepted agent", identityOf(t, h, m), managedPath+"/east")
	work := askThroughout(t, "the work of an accepted agent", identityOf(t, h, m), "/apis/work.open-cluster-management.io/v1/namespaces/east/manifestworks")
	agent = h.killedAmidRenewal(t, m, bootstrap, agent)
	h.killedAmidSilence(t, m, bootstrap, agent)
	registration.end(t) // what it may goes with the deletion, while works are taken back (contract ocm.md section 2.8)
	h.killedAmidRemoval(t, m, work)
}

// killedByRule kills the hub as soon as a rule has something to let in: six clusters
// whose agents never come, and one with an agent.
func (h *hub) killedByRule(t *testing.T, m *controlplanetest.Member, bootstrap, token string) *controlplanetest.Process {
	t.Helper()
	must(t, admin(t, h), "POST", "/api/v1/approval-rules", map[string]any{"kind": "cluster-name", "value": "e*", "approve": true, "accept": true}, nil)
	var edges []string
	for number := range 6 {
		edges = append(edges, fmt.Sprintf("edge-%d", number))
		introduce(t, bootstrapConfig(t, h, token), edges[number], "abcde")
	}
	h.bounce(t)
	for _, edge := range edges {
		found := h.awaitManaged(t, edge, ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
		if found.Annotations[ocmv1.AutomaticallyAcceptedAnnotation] == "" {
			t.Errorf("the annotations %v of %s do not say that nobody was asked", found.Annotations, edge)
		}
		h.awaitIssued(t, h.awaitRequest(t, edge))
	}

	agent := startKlusterlet(t, m, "east", bootstrap)
	h.awaitRequest(t, "east")
	h.bounce(t)
	h.awaitManaged(t, "east", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	return agent
}

// killedAmidRenewal gives the agent a certificate that is due, and kills the hub as
// soon as the agent asks for the next: with its own identity, and nobody is asked.
func (h *hub) killedAmidRenewal(t *testing.T, m *controlplanetest.Member, bootstrap string, agent *controlplanetest.Process) *controlplanetest.Process {
	t.Helper()
	if err := agent.Kill(); err != nil {
		t.Fatal(err)
	}
	ends := time.Now().Add(10 * time.Minute)
	itself := ocmPrefix + "east:" + replaceIdentity(t, h, m, ends.Add(-70*time.Minute), ends)
	before := h.requestsOf(t.Context(), t, "east")
	agent = startKlusterlet(t, m, "east", bootstrap)
	asked := func(ctx context.Context) (fresh []certificatesv1.CertificateSigningRequest) {
		return slices.DeleteFunc(h.requestsOf(ctx, t, "east"), func(csr certificatesv1.CertificateSigningRequest) bool {
			return slices.ContainsFunc(before, func(old certificatesv1.CertificateSigningRequest) bool { return old.UID == csr.UID })
		})
	}
	eventually(t, "the agent asks for its next certificate", func(ctx context.Context) bool { return len(asked(ctx)) > 0 })
	h.bounce(t)
	h.awaitManaged(t, "east", ocmv1.ConditionCertificateRotated, metav1.ConditionTrue, ocmv1.ReasonClientCertificateUpdated)
	h.awaitManaged(t, "east", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	leaf, err := tls.X509KeyPair(identityOf(t, h, m).CertData, identityOf(t, h, m).KeyData)
	if err != nil || leaf.Leaf == nil || !leaf.Leaf.NotAfter.After(ends) || leaf.Leaf.Subject.CommonName != itself {
		t.Errorf("the agent's certificate is %+v, %v; want one of %s that ends later", leaf.Leaf, err, itself)
	}
	for _, csr := range asked(t.Context()) {
		if csr.Spec.Username != itself {
			t.Errorf("request %s was made by %s, want the agent to renew as itself", csr.Name, csr.Spec.Username)
		}
	}
	return agent
}

// killedAmidSilence kills the hub while it waits for an agent that is gone, when it
// has just said so, and when the agent is just back.
func (h *hub) killedAmidSilence(t *testing.T, m *controlplanetest.Member, bootstrap string, agent *controlplanetest.Process) {
	t.Helper()
	h.shortLease(t, "east")
	if err := agent.Kill(); err != nil {
		t.Fatal(err)
	}
	h.bounce(t)
	h.awaitSilent(t, "east")
	h.bounce(t)
	h.awaitSilent(t, "east")
	unreachable := func(taint ocmv1.Taint) bool { return taint.Key == ocmv1.UnreachableTaint }
	eventually(t, "the silent cluster is tainted", func(context.Context) bool {
		return slices.ContainsFunc(h.managedCluster(t, "east").Spec.Taints, unreachable)
	})

	before := len(h.requestsOf(t.Context(), t, "east"))
	h.longLease(t, "east")
	awaitLog(t, startKlusterlet(t, m, "east", bootstrap), "serving the hub")
	h.bounce(t)
	h.awaitManaged(t, "east", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	eventually(t, "no taint is left", func(context.Context) bool { return len(h.managedCluster(t, "east").Spec.Taints) == 0 })
	if after := len(h.requestsOf(t.Context(), t, "east")); after > before {
		t.Errorf("an agent that was silent asked for %d certificates", after-before)
	}
}

// killedAmidRemoval deletes the cluster while something in the member does not let go,
// and kills the hub as it waits for the agent, and as the agent has just done. Until
// then the agent may see to its works: work is one who looks.
func (h *hub) killedAmidRemoval(t *testing.T, m *controlplanetest.Member, work *throughout) {
	t.Helper()
	h.giveSettings(t, "east", "held")
	h.giveSettings(t, "east", "free")
	for _, name := range []string{"held", "free"} {
		awaitSettings(t, m, name, true)
		h.awaitWork(t, "east", name, ocmworkv1.ConditionApplied, ocmworkv1.ReasonWorkApplied)
	}
	kubectl(t, m.Kubeconfig, "-n", "default", "patch", "configmap", "held", "--type=merge", `-p={"metadata":{"finalizers":["`+heldByTheTest+`"]}}`)
	kubectl(t, h.Kubeconfig, "delete", "managedcluster", "east", "--wait=false")
	h.bounce(t)
	awaitSettings(t, m, "free", false)
	h.awaitManaged(t, "east", ocmv1.ConditionDeleting, metav1.ConditionFalse, ocmv1.ReasonResourceRemaining)
	eventually(t, "the condition Deleting names the work that is held, and no other", func(context.Context) bool {
		found := meta.FindStatusCondition(h.managedCluster(t, "east").Status.Conditions, ocmv1.ConditionDeleting)
		return strings.Contains(found.Message, ": held")
	})
	works := clientFor(t, identityOf(t, h, m)).Resource(manifestWorksResource).Namespace("east")
	held, err := works.Get(t.Context(), "held", metav1.GetOptions{})
	if err != nil || !slices.Contains(held.GetFinalizers(), ocmworkv1.ManifestWorkFinalizer) {
		t.Errorf("the agent's hold on its work: %v, %v", held, err)
	}
	work.end(t)

	kubectl(t, m.Kubeconfig, "-n", "default", "patch", "configmap", "held", "--type=merge", `-p={"metadata":{"finalizers":null}}`)
	h.bounce(t)
	eventually(t, "the cluster is gone", func(context.Context) bool { return h.managedCluster(t, "east") == nil })
	awaitSettings(t, m, "held", false)
	eventually(t, "the agent's role is gone", func(ctx context.Context) bool {
		return apierrors.IsNotFound(send(ctx, h.admin(t), http.MethodGet, "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:managedcluster:east", ""))
	})
	records, err := clientFor(t, m.Config()).Resource(ocmworkv1.GroupVersion.WithResource("appliedmanifestworks")).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(records.Items) > 0 {
		t.Errorf("records that outlived their works: %v, %v", names(records), err)
	}
}

// awaitWork waits until a condition of a ManifestWork is True for a reason.
func (h *hub) awaitWork(t testing.TB, cluster, name, kind, reason string) {
	t.Helper()
	eventually(t, "manifest work "+name+" is "+kind, func(context.Context) bool {
		work, _ := h.feedback(t, cluster, name)
		for _, c := range work.Status.Conditions {
			if c.Type == kind && c.Status == metav1.ConditionTrue && c.Reason == reason {
				return true
			}
		}
		return false
	})
}
