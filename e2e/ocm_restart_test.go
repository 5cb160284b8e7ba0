package e2e_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

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
	cancel            context.CancelFunc
	done              chan struct{}
	served, away, bad int
	worst             error // of those who say that it may not
}

// askThroughout asks with a kubeconfig with which an agent introduces its cluster. An
// agent that hears 401 or 403 gives up or starts over, where 503 and no answer have it
// ask again (contract ocm.md section 2.3).
func askThroughout(t testing.TB, h *hub, kubeconfig string) *throughout {
	t.Helper()
	config := loadConfig(t, kubeconfig)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := &throughout{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			err := client.CertificatesV1().RESTClient().Get().Resource("certificatesigningrequests").MaxRetries(0).Param("limit", "1").Do(ctx).Error()
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
	return a
}

func (a *throughout) end(t testing.TB) {
	t.Helper()
	a.cancel()
	<-a.done
	t.Logf("a stranger with a good token was served %d times and found the hub away %d times", a.served, a.away)
	if a.bad > 0 {
		t.Errorf("it was refused %d times: %v", a.bad, a.worst)
	}
	if a.served == 0 || a.away == 0 {
		t.Error("the hub was never there, or never away: nothing is shown")
	}
}

// TestFaultOCMHubKilledInEachPhase kills the hub as soon as each phase of a
// member's life has begun, from the first request to the last clean-up. The
// member's agent runs all the time, and is never helped along.
func TestFaultOCMHubKilledInEachPhase(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	bootstrap := ocmBootstrap(t, h, ocmToken(t, h))
	stranger := askThroughout(t, h, bootstrap)
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
