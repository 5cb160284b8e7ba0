package e2e_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// cutPatience bounds how long a denied agent's streams may live. The promise is
// 5 s; a loaded machine is given more, and far less than the minutes they would
// live by themselves.
const cutPatience = time.Minute

// TestOCMWalk is the walk of the README with Open Cluster Management, command by
// command, and what follows: work, denial, a killed hub, the end.
func TestOCMWalk(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 2})
	startKlusterlet(t, m, "east", ocmBootstrap(t, h, ocmToken(t, h)))

	walkToAvailable(t, h, m)
	walkWork(t, h, m)
	walkDenial(t, h, m)

	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.connect(t)
	h.apply(t, strings.ReplaceAll(walkManifestWork, "WORK", "after-restart"))
	awaitSettings(t, m, "after-restart", true)
	h.awaitManaged(t, "east", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)

	walkDeletion(t, h, m)
}

// managedRow is the row of a cluster that "kubectl get managedcluster" prints,
// without its age; cells that hold blanks are not in it.
func managedRow(t testing.TB, h *hub, name string) (header []string, row string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(kubectl(t, h.Kubeconfig, "get", "managedcluster", name)), "\n")
	if len(lines) != 2 {
		t.Fatalf("kubectl get managedcluster %s prints %q", name, lines)
	}
	for cell := range strings.SplitSeq(lines[0], "  ") {
		if cell = strings.TrimSpace(cell); cell != "" {
			header = append(header, cell)
		}
	}
	fields := strings.Fields(lines[1])
	return header, strings.Join(fields[:len(fields)-1], " ")
}

func walkToAvailable(t *testing.T, h *hub, m *controlplanetest.Member) {
	t.Helper()
	csr := h.awaitRequest(t, "east")
	table := kubectl(t, h.Kubeconfig, "get", "csr")
	for _, part := range []string{csr, "kubernetes.io/kube-apiserver-client", ocmAccountUser, "Pending"} {
		if !strings.Contains(table, part) {
			t.Errorf("kubectl get csr prints no %s:\n%s", part, table)
		}
	}
	eventually(t, "the agent has announced its cluster", func(context.Context) bool { return h.managedCluster(t, "east") != nil })
	header, row := managedRow(t, h, "east")
	if want := []string{"NAME", "HUB ACCEPTED", "MANAGED CLUSTER URLS", "JOINED", "AVAILABLE", "AGE"}; !slices.Equal(header, want) {
		t.Errorf("kubectl get managedcluster prints the columns %q, want %q", header, want)
	}
	if want := "east false " + m.Server; row != want {
		t.Errorf("before any consent the row is %q, want %q", row, want)
	}

	// The certificate alone gives no right.
	if out := kubectl(t, h.Kubeconfig, "certificate", "approve", csr); !strings.Contains(out, csr+" approved") {
		t.Errorf("kubectl certificate approve prints %q", out)
	}
	agent := clientFor(t, identityOf(t, h, m))
	if _, err := agent.Resource(managedClustersResource).Get(t.Context(), "east", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an agent that was not accepted reads its cluster: %v", err)
	}

	out := kubectl(t, h.Kubeconfig, "patch", "managedcluster", "east", "-p={\"spec\":{\"hubAcceptsClient\":true}}", "--type=merge")
	if !strings.Contains(out, "managedcluster.cluster.open-cluster-management.io/east patched") {
		t.Errorf("kubectl patch prints %q", out)
	}
	begin := time.Now()
	h.awaitManaged(t, "east", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	t.Logf("available %.2f s after acceptance", time.Since(begin).Seconds())
	if _, row = managedRow(t, h, "east"); row != "east true "+m.Server+" True True" {
		t.Errorf("in the end the row is %q", row)
	}
	east := h.awaitManaged(t, "east", ocmv1.ConditionJoined, metav1.ConditionTrue, ocmv1.ReasonJoined)
	if !meta.IsStatusConditionTrue(east.Status.Conditions, ocmv1.ConditionHubAccepted) {
		t.Errorf("conditions are %+v", east.Status.Conditions)
	}
	if cpu := east.Status.Capacity["cpu"]; cpu.String() != "8" || east.Status.Version.Kubernetes == "" {
		t.Errorf("status is %+v, want the sum of two nodes of 4 CPUs and a version", east.Status)
	}
	h.awaitManaged(t, "east", ocmv1.ConditionClockSynced, metav1.ConditionTrue, ocmv1.ReasonClockSynced)
	eventually(t, "no taint is left", func(context.Context) bool { return len(h.managedCluster(t, "east").Spec.Taints) == 0 })
}

const walkManifestWork = `
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: WORK, namespace: east}
spec:
  workload:
    manifests:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: WORK, namespace: default}, data: {colour: green}}
`

const walkDeployment = `
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: shop, namespace: default}
      spec:
        replicas: 1
        selector: {matchLabels: {app: shop}}
        template:
          metadata: {labels: {app: shop}}
          spec: {containers: [{name: web, image: web}]}
  manifestConfigs:
  - resourceIdentifier: {group: apps, resource: deployments, namespace: default, name: shop}
    feedbackRules:
    - type: WellKnownStatus
    - type: JSONPaths
      jsonPaths: [{name: wanted, path: .spec.replicas}]
`

func awaitSettings(t testing.TB, m *controlplanetest.Member, name string, there bool) {
	t.Helper()
	eventually(t, "config map "+name+" in the member", func(ctx context.Context) bool {
		_, err := m.Client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
		return there && err == nil || !there && apierrors.IsNotFound(err)
	})
}

func walkWork(t *testing.T, h *hub, m *controlplanetest.Member) {
	t.Helper()
	h.apply(t, strings.ReplaceAll(walkManifestWork, "WORK", "settings")+walkDeployment)
	awaitSettings(t, m, "settings", true)
	runPods(t, m, "shop")
	var work *ocmworkv1.ManifestWork
	var values map[string]string
	defer func() {
		if t.Failed() && work != nil {
			t.Logf("feedback %v, status %+v", values, work.Status)
		}
	}()
	eventually(t, "feedback of the running Deployment", func(context.Context) bool {
		work, values = h.feedback(t, "east", "settings")
		return strings.Contains(values["ReadyReplicas"], "1") && strings.Contains(values["wanted"], "1")
	})
	for kind, reason := range map[string]string{
		ocmworkv1.ConditionApplied: ocmworkv1.ReasonWorkApplied, ocmworkv1.ConditionAvailable: ocmworkv1.ReasonResourcesAvailable,
	} {
		if found := meta.FindStatusCondition(work.Status.Conditions, kind); found == nil || found.Status != metav1.ConditionTrue || found.Reason != reason {
			t.Errorf("condition %s of the work is %+v, want True %s", kind, found, reason)
		}
	}
	if got := len(work.Status.ResourceStatus.Manifests); got != 2 {
		t.Errorf("the work tells of %d manifests, want 2", got)
	}

	kubectl(t, h.Kubeconfig, "-n", "east", "delete", "manifestwork", "settings")
	awaitSettings(t, m, "settings", false)
	if _, err := m.Client.AppsV1().Deployments("default").Get(t.Context(), "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment outlived its work: %v", err)
	}
}

// walkDenial takes the hub's consent back and gives it again.
func walkDenial(t *testing.T, h *hub, m *controlplanetest.Member) {
	t.Helper()
	agent := identityOf(t, h, m)
	works := clientFor(t, agent).Resource(manifestWorksResource).Namespace("east")
	watch, err := works.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()

	kubectl(t, h.Kubeconfig, "patch", "managedcluster", "east", "-p={\"spec\":{\"hubAcceptsClient\":false}}", "--type=merge")
	begin, late := time.Now(), time.After(cutPatience)
	for open := true; open; {
		select {
		case _, open = <-watch.ResultChan():
		case <-late:
			t.Fatalf("a denied agent watches its works %s after the denial", cutPatience)
		}
	}
	t.Logf("the denied agent's watch was cut after %.2f s", time.Since(begin).Seconds())
	h.awaitManaged(t, "east", ocmv1.ConditionHubAccepted, metav1.ConditionFalse, ocmv1.ReasonDenied)
	client := kubernetes.NewForConfigOrDie(agent)
	for what, try := range map[string]func(context.Context) error{
		"list its works": func(ctx context.Context) error { return second(works.List(ctx, metav1.ListOptions{})) },
		"read its lease": func(ctx context.Context) error {
			return second(client.CoordinationV1().Leases("east").Get(ctx, ocmv1.LeaseName, metav1.GetOptions{}))
		},
		"ask for a renewal": func(ctx context.Context) error { return second2(requestOf("east", "denied").create(ctx, agent)) },
	} {
		eventually(t, "a denied agent may no more "+what, func(ctx context.Context) bool { return apierrors.IsForbidden(try(ctx)) })
	}
	if _, err := clientFor(t, agent).Resource(managedClustersResource).Get(t.Context(), "east", metav1.GetOptions{}); err != nil {
		t.Errorf("a denied agent cannot see that it is: %v", err)
	}
	if _, err := h.client.CoreV1().Namespaces().Get(t.Context(), "east", metav1.GetOptions{}); err != nil {
		t.Errorf("the namespace of a denied cluster: %v", err)
	}

	h.accept(t, "east", true)
	h.awaitManaged(t, "east", ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
	h.apply(t, strings.ReplaceAll(walkManifestWork, "WORK", "again"))
	awaitSettings(t, m, "again", true)
}

func second[T any](_ T, err error) error { return err }

func second2[T, U any](_ T, _ U, err error) error { return err }

// walkDeletion deletes the ManagedCluster: its works go first, then its rights;
// namespace and lease stay.
func walkDeletion(t *testing.T, h *hub, m *controlplanetest.Member) {
	t.Helper()
	east := h.managedCluster(t, "east")
	for _, finalizer := range []string{ocmv1.ManagedClusterFinalizer, ocmv1.ResourceCleanupFinalizer} {
		if !slices.Contains(east.Finalizers, finalizer) {
			t.Errorf("the cluster is not held by %s, only by %v", finalizer, east.Finalizers)
		}
	}
	kubectl(t, h.Kubeconfig, "delete", "managedcluster", "east")
	awaitSettings(t, m, "again", false)
	awaitSettings(t, m, "after-restart", false)
	eventually(t, "the rights of the agent are gone", func(ctx context.Context) bool {
		const name = "open-cluster-management:managedcluster:east"
		for _, path := range []string{"clusterroles/" + name, "clusterrolebindings/" + name,
			"namespaces/east/rolebindings/" + name + ":registration", "namespaces/east/rolebindings/" + name + ":work"} {
			err := h.client.Discovery().RESTClient().Verb(http.MethodGet).AbsPath("/apis/rbac.authorization.k8s.io/v1/" + path).Do(ctx).Error()
			if !apierrors.IsNotFound(err) {
				return false
			}
		}
		return true
	})
	if _, err := h.client.CoordinationV1().Leases("east").Get(t.Context(), ocmv1.LeaseName, metav1.GetOptions{}); err != nil {
		t.Errorf("the lease in the namespace that stays: %v", err)
	}
}

// TestOCMAcceptedFirst gives the two consents in the other order, with the hub
// killed between them.
func TestOCMAcceptedFirst(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "west", Nodes: 1})
	startKlusterlet(t, m, "west", ocmBootstrap(t, h, ocmToken(t, h)))
	eventually(t, "the agent has announced its cluster", func(context.Context) bool { return h.managedCluster(t, "west") != nil })
	h.accept(t, "west", true)
	h.awaitManaged(t, "west", ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
	csr := h.awaitRequest(t, "west")

	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.connect(t)
	if west := h.managedCluster(t, "west"); meta.IsStatusConditionTrue(west.Status.Conditions, ocmv1.ConditionJoined) {
		t.Error("joined without a certificate")
	}
	kubectl(t, h.Kubeconfig, "certificate", "approve", csr)
	h.awaitManaged(t, "west", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	if requests := h.requestsOf(t.Context(), t, "west"); len(requests) != 1 {
		t.Errorf("the agent made %d certificate requests, want the one that survived the restart", len(requests))
	}
}
