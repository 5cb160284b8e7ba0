package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// patience bounds every wait for something that takes a second or two when the
// machine has nothing else to do.
const patience = 3 * time.Minute

var (
	clustersResource = clusterv1alpha1.GroupVersion.WithResource("clusters")
	worksResource    = workv1alpha1.GroupVersion.WithResource("works")
)

// hub is a running hub with an administrator's clients of it.
type hub struct {
	*controlplanetest.Hub
	client  kubernetes.Interface
	dynamic dynamic.Interface
	root    *controlplanetest.REST // the first administrator's session, once signed in
	pki     string                 // where the authority of client certificates is; empty: in the data directory
}

// startHub starts a hub for one test. REST may dial loopback: members live there.
func startHub(t testing.TB, flags ...string) *hub {
	t.Helper()
	flags = append([]string{"--allow-member-cidr", "127.0.0.0/8"}, flags...)
	h := &hub{Hub: controlplanetest.StartHub(t, controlplanetest.HubOptions{Flags: flags})}
	h.connect(t)
	return h
}

// connect makes the clients anew, as after a restart.
func (h *hub) connect(t testing.TB) {
	t.Helper()
	config, err := h.Config()
	if err != nil {
		t.Fatal(err)
	}
	if h.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if h.dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
}

// cluster reads a Cluster; nil when there is none.
func (h *hub) cluster(t testing.TB, name string) *clusterv1alpha1.Cluster {
	t.Helper()
	object, err := h.dynamic.Resource(clustersResource).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatalf("get cluster %s: %v", name, err)
	}
	cluster := &clusterv1alpha1.Cluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, cluster); err != nil {
		t.Fatal(err)
	}
	return cluster
}

// awaitReady waits until a cluster's Ready condition has a status, and returns it.
func (h *hub) awaitReady(t testing.TB, name string, want metav1.ConditionStatus) *clusterv1alpha1.Cluster {
	t.Helper()
	var last *clusterv1alpha1.Cluster
	eventually(t, "cluster "+name+" Ready="+string(want), func(context.Context) bool {
		last = h.cluster(t, name)
		if last == nil {
			return false
		}
		ready := meta.FindStatusCondition(last.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
		return ready != nil && ready.Status == want
	})
	return last
}

// awaitGone waits until a cluster and its execution namespace are deleted.
func (h *hub) awaitGone(t testing.TB, name string) {
	t.Helper()
	eventually(t, "cluster "+name+" gone", func(ctx context.Context) bool {
		_, err := h.client.CoreV1().Namespaces().Get(ctx, "karmada-es-"+name, metav1.GetOptions{})
		return h.cluster(t, name) == nil && apierrors.IsNotFound(err)
	})
}

// eventually polls until a condition holds, and fails the test after patience.
func eventually(t testing.TB, what string, holds func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return holds(ctx), nil
	})
	if err != nil {
		t.Fatalf("waited in vain for: %s (%v)", what, err)
	}
}

// result is how a command ended.
type result struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// run runs a built program to its end.
func run(t testing.TB, program string, args ...string) result {
	t.Helper()
	return runWith(t, "", program, args...)
}

// runWith runs a built program with standard input.
func runWith(t testing.TB, stdin, program string, args ...string) result {
	t.Helper()
	path, err := controlplanetest.Binary(program)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	begin := time.Now()
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %s: %v", program, strings.Join(args, " "), err)
	}
	return result{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String(), took: time.Since(begin)}
}

// startProcess runs a built program until the test ends; its log has the name told.
func startProcess(t testing.TB, program, log string, args ...string) *controlplanetest.Process {
	t.Helper()
	path, err := controlplanetest.Binary(program)
	if err != nil {
		t.Fatal(err)
	}
	p, err := controlplanetest.StartProcess(exec.Command(path, args...), filepath.Join(t.TempDir(), log+".log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.Tail())
		}
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// mustRun runs a built program and fails the test unless it ends with status 0.
func mustRun(t testing.TB, program string, args ...string) result {
	t.Helper()
	r := run(t, program, args...)
	if r.code != 0 {
		t.Fatalf("%s %s: status %d\n%s%s", program, strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r
}

// kubectl runs kubectl against a kubeconfig and returns what it printed.
func kubectl(t testing.TB, kubeconfig string, args ...string) string {
	t.Helper()
	return mustRun(t, "kube", append([]string{"kubectl", "--kubeconfig", kubeconfig}, args...)...).stdout
}

// join runs "muster join" for a member.
func join(t testing.TB, h *hub, name string, m *controlplanetest.Member, more ...string) result {
	t.Helper()
	args := []string{"join", name, "--kubeconfig", h.Kubeconfig, "--cluster-kubeconfig", m.Kubeconfig}
	return run(t, "muster", append(args, more...)...)
}

func mustJoin(t testing.TB, h *hub, name string, m *controlplanetest.Member, more ...string) {
	t.Helper()
	if r := join(t, h, name, m, more...); r.code != 0 {
		t.Fatalf("join %s: status %d\n%s%s", name, r.code, r.stdout, r.stderr)
	}
	h.awaitReady(t, name, metav1.ConditionTrue)
}

// agentConfig is the client configuration of an agent whose identity Secret the
// member holds.
func clientFor(t testing.TB, config *rest.Config) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// loadConfig reads a kubeconfig file.
func loadConfig(t testing.TB, path string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// names lists objects as namespace/name.
func names(list *unstructured.UnstructuredList) []string {
	var out []string
	for _, item := range list.Items {
		out = append(out, strings.TrimPrefix(item.GetNamespace()+"/"+item.GetName(), "/"))
	}
	return out
}
