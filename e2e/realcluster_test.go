package e2e_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/e2e/cluster"
)

// startLab starts real clusters, which need root and a node's programs.
func startLab(t *testing.T, members ...string) (*cluster.Lab, map[string]*cluster.Cluster) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("real clusters need root")
	}
	kube, err := controlplanetest.Binary("kube")
	if err != nil {
		t.Fatal(err)
	}
	lab, err := cluster.New(cluster.Options{Bin: filepath.Dir(kube)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), sitePatience)
	defer cancel()
	started := make([]*cluster.Cluster, len(members))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range members {
		group.Go(func() (err error) {
			started[i], err = lab.Start(ctx, name, cluster.ClusterOptions{NAT: name == "hidden"})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	byName := map[string]*cluster.Cluster{}
	for i, name := range members {
		byName[name] = started[i]
	}
	return lab, byName
}

// agentImage is the archive that "make image" builds. Its image has the name
// that register puts into the agent's Deployment unless told otherwise.
func agentImage(t *testing.T) string {
	t.Helper()
	archive, err := controlplanetest.Binary("muster-agent.tar")
	if err != nil {
		t.Fatalf("%v (make image)", err)
	}
	return archive
}

// TestRealClusters joins clusters with kubelets: one by push, one behind NAT by
// pull with its agent as a pod, follows the walkthrough in both, and undoes both.
func TestRealClusters(t *testing.T) {
	lab, members := startLab(t, "open", "hidden")
	open, hidden := members["open"], members["hidden"]
	h := &hub{Hub: controlplanetest.StartHub(t, controlplanetest.HubOptions{Flags: []string{"--cert-host", cluster.HubIP}})}
	h.connect(t)
	_, port, err := net.SplitHostPort(h.Address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := lab.Expose(number, h.Address)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("push", func(t *testing.T) { pushReal(t, h, open) })
	t.Run("pull", func(t *testing.T) { pullReal(t, h, hidden, inside) })
	t.Run("walkthrough", func(t *testing.T) {
		loadWalkthroughImages(t, open, hidden)
		page := &reader{
			kubeconfigs: map[string]string{"hub": h.Kubeconfig, "one": open.Kubeconfig(), "two": hidden.Kubeconfig()},
			// These clusters reach no registry.
			here: strings.NewReplacer("cluster1", "open", "cluster2", "hidden", "--image nginx", "--image "+cluster.WebImage,
				`"1.20"`, `"`+otherTag+`"`, "\nnginx:1.20\n", "\n"+otherWebImage+"\n", "\nnginx\n", "\n"+cluster.WebImage+"\n"),
		}
		page.follow(t, "docs/walkthrough.md")
		for _, m := range members {
			podsGone(t, m, "nginx")
		}
		t.Run("in the other order", func(t *testing.T) { walkLate(t, h, open, hidden) })
	})
	t.Run("push leaves", func(t *testing.T) { unjoinReal(t, h, open) })
	t.Run("pull leaves", func(t *testing.T) { unregisterReal(t, h, hidden) })
}

const (
	otherTag      = "2"
	otherWebImage = "muster.test/web:" + otherTag
)

// loadWalkthroughImages gives clusters the example's image under both of the names
// that the walkthrough uses.
func loadWalkthroughImages(t *testing.T, clusters ...*cluster.Cluster) {
	t.Helper()
	archive, err := controlplanetest.Binary("web.tar")
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(otherWebImage)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.tar")
	if err := tarball.WriteToFile(other, tag, image); err != nil {
		t.Fatal(err)
	}
	for _, c := range clusters {
		for _, file := range []string{archive, other} {
			if err := c.LoadImage(t.Context(), file); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// walkLate has the Deployment there before its policy, and watches what kubectl
// would print of it on its way.
func walkLate(t *testing.T, h *hub, members ...*cluster.Cluster) {
	const name = "late"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	printed := map[string]func() string{"hub": printedOf(ctx, t, h.Kubeconfig, name)}
	for _, m := range members {
		printed[m.Kubeconfig()] = printedOf(ctx, t, m.Kubeconfig(), name)
	}
	kubectl(t, h.Kubeconfig, "create", "deployment", name, "--image", cluster.WebImage)
	policy := strings.NewReplacer("cluster1", "open", "cluster2", "hidden").Replace(fmt.Sprintf(walkthroughPolicy, name))
	if r := runWith(t, policy, "kube", "kubectl", "--kubeconfig", h.Kubeconfig, "apply", "-f", "-"); r.code != 0 {
		t.Fatalf("apply: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	for of, next := range printed {
		stages := []string{"0/1 1 0", "1/1 1 1"}
		if of == "hub" {
			stages = []string{"0/1 0 0", "2/1 2 2"}
		}
		for got := ""; len(stages) > 0; {
			line := next()
			if line == "" {
				t.Fatalf("%s: the Deployment prints%s and then no more, want %s", of, got, stages[0])
			}
			if got += ", " + line; line == stages[0] {
				stages = stages[1:]
			}
		}
	}
	kubectl(t, h.Kubeconfig, "delete", "propagationpolicy,deployment", name)
	for _, m := range members {
		podsGone(t, m, name)
	}
}

// printedOf gives READY, UP-TO-DATE and AVAILABLE of a Deployment from each of its
// changes from now on, "" once the context has ended.
func printedOf(ctx context.Context, t *testing.T, kubeconfig, name string) func() string {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(loadConfig(t, kubeconfig))
	changes, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	return func() string {
		for e := range changes.ResultChan() {
			if d, ok := e.Object.(*appsv1.Deployment); ok {
				return fmt.Sprintf("%d/%d %d %d", d.Status.ReadyReplicas, *d.Spec.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas)
			}
		}
		return ""
	}
}

// podsGone waits until no pod of a Deployment is left.
func podsGone(t *testing.T, m *cluster.Cluster, app string) {
	t.Helper()
	eventually(t, "the pods of "+app+" are gone", func(ctx context.Context) bool {
		left, err := m.Kubectl(ctx, nil, "get", "pods", "-l", "app="+app, "-o", "name")
		return err == nil && strings.TrimSpace(left) == ""
	})
}

func pushReal(t *testing.T, h *hub, m *cluster.Cluster) {
	r := run(t, "muster", "join", "open", "--kubeconfig", h.Kubeconfig, "--cluster-kubeconfig", m.Kubeconfig())
	if r.code != 0 {
		t.Fatalf("join: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	joined := h.awaitReady(t, "open", metav1.ConditionTrue)
	if n := joined.Status.NodeSummary; n == nil || n.ReadyNum != 1 {
		t.Errorf("status.nodeSummary is %+v, want 1 ready", n)
	}
	throughProxy(t, h, "open", m)
}

func unjoinReal(t *testing.T, h *hub, m *cluster.Cluster) {
	mustRun(t, "muster", "unjoin", "open", "--kubeconfig", h.Kubeconfig, "--cluster-kubeconfig", m.Kubeconfig())
	h.awaitGone(t, "open")
	namespaceGone(t, m, "karmada-cluster")
}

// throughProxy runs a pod in the member and talks to it through the hub: logs
// are a stream, exec is an upgraded connection.
func throughProxy(t *testing.T, h *hub, name string, m *cluster.Cluster) {
	t.Helper()
	archive, err := controlplanetest.Binary("web.tar")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.LoadImage(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Kubectl(t.Context(), strings.NewReader(cluster.ExampleManifest), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	server := "https://" + h.Address + "/apis/cluster.karmada.io/v1alpha1/clusters/" + name + "/proxy"
	through := func(args ...string) string {
		return kubectl(t, h.Kubeconfig, append([]string{"--server", server}, args...)...)
	}
	through("wait", "deployment/web", "--for=condition=Available", "--timeout=100s")
	if logs := through("logs", "deployment/web"); !strings.Contains(logs, "listening on :8080") {
		t.Errorf("logs through the proxy: %q", logs)
	}
	if answer := through("exec", "deployment/web", "--", "/web", "whoami"); !strings.Contains(answer, "system:serviceaccount:default:default") {
		t.Errorf("exec through the proxy: %q", answer)
	}
	through("delete", "deployment/web", "service/web")
}

func pullReal(t *testing.T, h *hub, m *cluster.Cluster, inside string) {
	if err := m.LoadImage(t.Context(), agentImage(t)); err != nil {
		t.Fatal(err)
	}
	agent, err := controlplanetest.Binary("muster-agent")
	if err != nil {
		t.Fatal(err)
	}
	// As an operator on the member: everything is dialled from inside.
	register := exec.CommandContext(t.Context(), agent, "register", inside, "--token", createToken(t, h), "--discovery-token-ca-cert-hash", pin(t, h),
		"--kubeconfig", m.WANKubeconfig(), "--cluster-name", "hidden")
	var printed strings.Builder
	register.Stdout, register.Stderr = &printed, &printed
	begin := time.Now()
	if err := m.StartInside(register); err != nil {
		t.Fatal(err)
	}
	if err := register.Wait(); err != nil {
		pods, _ := m.Kubectl(t.Context(), nil, "get", "pods", "-A", "-o", "wide")
		t.Fatalf("register: %v\n%s\n%s", err, printed.String(), pods)
	}
	h.awaitReady(t, "hidden", metav1.ConditionTrue)
	t.Logf("pull join with the agent as a pod took %.1f s", time.Since(begin).Seconds())
	pods, err := m.Kubectl(t.Context(), nil, "get", "pods", "-A", "-o", "name")
	if err != nil || !strings.Contains(pods, "muster-agent") {
		t.Errorf("pods in the member: %q, %v, want the agent's", pods, err)
	}

	work(t, h, "karmada-es-hidden", "settings", manifest("v1", "ConfigMap", "default", "settings"))
	member := kubernetes.NewForConfigOrDie(loadConfig(t, m.Kubeconfig()))
	eventually(t, "the Work's object is in the member", func(ctx context.Context) bool {
		_, err := member.CoreV1().ConfigMaps("default").Get(ctx, "settings", metav1.GetOptions{})
		return err == nil
	})
	cableFault(t, h, m)
}

func unregisterReal(t *testing.T, h *hub, m *cluster.Cluster) {
	r := run(t, "muster-agent", "unregister", "hidden", "--cluster-kubeconfig", m.Kubeconfig(), "--karmada-config", h.Kubeconfig)
	if r.code != 0 {
		t.Fatalf("unregister: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	h.awaitGone(t, "hidden")
	for _, namespace := range []string{"karmada-cluster", "muster-system"} {
		namespaceGone(t, m, namespace)
	}
}

// cableFault pulls the member's cable: Ready falls, and comes back by itself.
func cableFault(t *testing.T, h *hub, m *cluster.Cluster) {
	t.Helper()
	if err := m.Disconnect(); err != nil {
		t.Fatal(err)
	}
	h.awaitReady(t, "hidden", metav1.ConditionUnknown)
	if err := m.Reconnect(); err != nil {
		t.Fatal(err)
	}
	h.awaitReady(t, "hidden", metav1.ConditionTrue)
}

func namespaceGone(t *testing.T, m *cluster.Cluster, name string) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, what := range [][]string{{"get", "namespace", name, "-o", "yaml"}, {"get", "pods", "-A", "-o", "wide"}, {"get", "events", "-n", name}} {
			out, _ := m.Kubectl(context.WithoutCancel(t.Context()), nil, what...)
			t.Logf("%v:\n%s", what, out)
		}
	})
	client := kubernetes.NewForConfigOrDie(loadConfig(t, m.Kubeconfig()))
	eventually(t, "namespace "+name+" gone from "+m.Name, func(ctx context.Context) bool {
		_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
