package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

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
	bootstrap := ocmBootstrap(t, h, ocmToken(t, h))
	agent := startKlusterlet(t, m, "east", bootstrap, "--client-cert-expiration-seconds", "7200")

	walkToAvailable(t, h, m)
	checkConsents(t, h, m, bootstrap)
	walkHang(t, h, m)
	walkWork(t, h, m)
	walkNamespaces(t, h, m)
	walkDenial(t, h, m)
	walkDenialWithWork(t, h, m)

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
	walkAgain(t, h, m, agent, bootstrap)
}

// checkConsents looks at what both consents have left: a certificate for as long as
// was asked for, a row each in the audit, and the cluster as the first event of a
// watch such as that of "clusteradm join --wait".
func checkConsents(t *testing.T, h *hub, m *controlplanetest.Member, bootstrap string) {
	t.Helper()
	requests := h.requestsOf(t.Context(), t, "east")
	if len(requests) != 1 || requests[0].Spec.ExpirationSeconds == nil || *requests[0].Spec.ExpirationSeconds != 7200 {
		t.Fatalf("requests %+v, want one for two hours", requests)
	}
	pair, err := tls.X509KeyPair(identityOf(t, h, m).CertData, identityOf(t, h, m).KeyData)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if asked := 2 * time.Hour; leaf.NotAfter.Before(requests[0].CreationTimestamp.Add(asked)) || leaf.NotAfter.After(time.Now().Add(asked)) {
		t.Errorf("two hours were asked for at %s, and the certificate ends %s", requests[0].CreationTimestamp, leaf.NotAfter)
	}

	root := admin(t, h)
	for what, query := range map[string][]string{
		"kubectl certificate approve": {"name=" + requests[0].Name, "kind=CertificateSigningRequest"}, "kubectl patch managedcluster": {"name=east", "kind=ManagedCluster"},
	} {
		awaitRow(t, root, what, func(e auditEntry) bool {
			return e.Outcome == "ok" && e.Actor != "" && !strings.HasPrefix(e.Actor, ocmPrefix) && (e.Verb == "update" || e.Verb == "patch" || e.Verb == "approve" || e.Verb == "accept")
		}, query...)
	}

	config, err := clientcmd.BuildConfigFromFlags("", bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), cutPatience)
	defer cancel()
	stream, err := clientFor(t, config).Resource(managedClustersResource).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=east"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	first, ok := <-stream.ResultChan()
	if object, is := first.Object.(*unstructured.Unstructured); !ok || first.Type != watch.Added || !is || object.GetName() != "east" {
		t.Errorf("the first event of a plain watch is %s %v, want the cluster that is there", first.Type, first.Object)
	}
}

// walkHang has the member's API hang: the agent says so, not the hub, and placements
// keep away until it answers again.
func walkHang(t *testing.T, h *hub, m *controlplanetest.Member) {
	t.Helper()
	resume, err := m.Hang()
	if err != nil {
		t.Fatal(err)
	}
	h.awaitManaged(t, "east", ocmv1.ConditionAvailable, metav1.ConditionFalse, ocmv1.ReasonKubeAPIServerUnavailable)
	eventually(t, "the taint of a cluster whose API does not answer", func(context.Context) bool {
		taints := h.managedCluster(t, "east").Spec.Taints
		return len(taints) == 1 && taints[0].Key == ocmv1.UnavailableTaint && taints[0].Effect == ocmv1.TaintEffectNoSelect
	})
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	h.awaitManaged(t, "east", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	eventually(t, "no taint is left", func(context.Context) bool { return len(h.managedCluster(t, "east").Spec.Taints) == 0 })
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

// walkNamespaces has a set ask for a namespace in its clusters, until the cluster
// is in another set.
func walkNamespaces(t *testing.T, h *hub, m *controlplanetest.Member) {
	t.Helper()
	h.apply(t, "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSet\nmetadata: {name: blue}\nspec: {managedNamespaces: [{name: team-blue}]}\n")
	kubectl(t, h.Kubeconfig, "label", "--overwrite", "managedcluster", "east", ocmv1.ClusterSetLabel+"=blue")
	eventually(t, "east tells of the namespace of its set", func(context.Context) bool {
		entries := h.managedCluster(t, "east").Status.ManagedNamespaces
		return len(entries) == 1 && entries[0].Name == "team-blue" && entries[0].ClusterSet == "blue" && meta.IsStatusConditionTrue(entries[0].Conditions, ocmv1.ConditionNamespaceAvailable)
	})
	if _, err := m.Client.CoreV1().Namespaces().Get(t.Context(), "team-blue", metav1.GetOptions{}); err != nil {
		t.Errorf("the namespace that is told available: %v", err)
	}
	kubectl(t, h.Kubeconfig, "label", "--overwrite", "managedcluster", "east", ocmv1.ClusterSetLabel+"="+ocmv1.DefaultClusterSet)
	eventually(t, "nothing is asked for by the set that east has left", func(context.Context) bool { return len(h.managedCluster(t, "east").Status.ManagedNamespaces) == 0 })
	eventually(t, "the namespace stays, and nobody manages it", func(ctx context.Context) bool {
		namespace, err := m.Client.CoreV1().Namespaces().Get(ctx, "team-blue", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(slices.Collect(maps.Keys(namespace.Labels)), func(key string) bool { return strings.HasPrefix(key, "clusterset.") })
	})
}

// awaitCut waits until the hub has cut a watch, and tells of what.
func awaitCut(t *testing.T, what string, stream watch.Interface) {
	t.Helper()
	begin, late := time.Now(), time.After(cutPatience)
	for open := true; open; {
		select {
		case _, open = <-stream.ResultChan():
		case <-late:
			t.Fatalf("a denied agent watches %s %s after the denial", what, cutPatience)
		}
	}
	t.Logf("a denied agent's watch of %s was cut after %.2f s", what, time.Since(begin).Seconds())
}

// walkDenialWithWork takes the hub's consent back while there is a work: all rights
// go but those over works, the hub says what it waits for, and the last work's end
// is the end of those, too.
func walkDenialWithWork(t *testing.T, h *hub, m *controlplanetest.Member) {
	t.Helper()
	agent := identityOf(t, h, m)
	open := func(resource schema.GroupVersionResource) watch.Interface {
		t.Helper()
		stream, err := clientFor(t, agent).Resource(resource).Namespace("east").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stream.Stop)
		return stream
	}
	works, leases := open(manifestWorksResource), open(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"})
	h.accept(t, "east", false)
	awaitCut(t, "its lease", leases)
	held := h.awaitManaged(t, "east", ocmv1.ConditionHubDenied, metav1.ConditionFalse, ocmv1.ReasonWorksRemaining)
	if !meta.IsStatusConditionTrue(held.Status.Conditions, ocmv1.ConditionHubAccepted) {
		t.Error("the denial is told before it is done") // contract 2.4
	}
	if said := meta.FindStatusCondition(held.Status.Conditions, ocmv1.ConditionHubDenied).Message; !strings.Contains(said, ": again. ") || !strings.Contains(said, "kubectl -n east delete manifestworks --all") {
		t.Errorf("what a denial waits for, and what ends that: %q", said)
	}
	for { // whatever was written, the watch goes on
		select {
		case _, more := <-works.ResultChan():
			if !more {
				t.Fatal("the agent cannot finish its work: its watch was cut")
			}
			continue
		default:
		}
		break
	}
	kubectl(t, h.Kubeconfig, "-n", "east", "delete", "manifestworks", "--all")
	awaitSettings(t, m, "again", false)
	denied := h.awaitManaged(t, "east", ocmv1.ConditionHubAccepted, metav1.ConditionFalse, ocmv1.ReasonDenied)
	awaitCut(t, "its works", works)
	if found := meta.FindStatusCondition(denied.Status.Conditions, ocmv1.ConditionHubDenied); found != nil {
		t.Errorf("a denial that is done waits: %+v", found)
	}

	h.accept(t, "east", true)
	h.awaitManaged(t, "east", ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted)
	h.apply(t, strings.ReplaceAll(walkManifestWork, "WORK", "again"))
	awaitSettings(t, m, "again", true)
}

// walkDenial takes the hub's consent back and gives it again.
func walkDenial(t *testing.T, h *hub, m *controlplanetest.Member) {
	t.Helper()
	agent := identityOf(t, h, m)
	works := clientFor(t, agent).Resource(manifestWorksResource).Namespace("east")
	stream, err := works.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()

	kubectl(t, h.Kubeconfig, "patch", "managedcluster", "east", "-p={\"spec\":{\"hubAcceptsClient\":false}}", "--type=merge")
	awaitCut(t, "its works", stream)
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

// walkAgain joins a cluster by a name that was deleted: over the namespace, the
// lease and the requests that it has left. Who comes needs both consents anew, and
// is at no time called silent.
func walkAgain(t *testing.T, h *hub, m *controlplanetest.Member, old *controlplanetest.Process, bootstrap string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < 3*time.Second; { // the old agent still runs
		if h.managedCluster(t, "east") != nil {
			t.Fatal("an agent that runs on makes its deleted cluster anew")
		}
	}
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := m.Client.CoreV1().Secrets("open-cluster-management-agent").Delete(t.Context(), "hub-kubeconfig-secret", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	before := h.requestsOf(t.Context(), t, "east")
	begin := metav1.NewTime(time.Now().Add(-time.Second)).Rfc3339Copy()
	startKlusterlet(t, m, "east", bootstrap)
	eventually(t, "east is announced anew", func(context.Context) bool { return h.managedCluster(t, "east") != nil })
	if east := h.managedCluster(t, "east"); east.Spec.HubAcceptsClient || len(east.Status.Conditions) > 0 {
		t.Errorf("the consent to the cluster that went counts for the new one: %+v, %+v", east.Spec, east.Status.Conditions)
	}
	h.letIn(t, "east")
	east := h.awaitManaged(t, "east", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	told, err := h.client.EventsV1().Events("east").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range told.Items {
		if e := &told.Items[i]; e.Reason == "AvailableUnknown" && (e.Regarding.UID == east.UID || !e.EventTime.Time.Before(begin.Time)) {
			t.Errorf("the agent that joined was called silent: %s", e.Note)
		}
	}
	t.Logf("joined again beside %d requests of before", len(before))
	h.giveSettings(t, "east", "anew")
	awaitSettings(t, m, "anew", true)
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
