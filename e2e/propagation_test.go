package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// fleet is a hub with one push and one pull member, and now and then a third.
type fleet struct {
	*hub
	push, pull, third *controlplanetest.Member
	// foreseen counts the placements that were as their previews said, overtaken those
	// before which the fleet changed.
	foreseen, overtaken atomic.Int32
}

// pushName and pullName are what the members of a fleet are called.
const (
	pushName  = "cluster1"
	pullName  = "cluster2"
	thirdName = "cluster3"
)

func startFleet(t testing.TB) *fleet {
	t.Helper()
	f := &fleet{hub: startHub(t)}
	f.push = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: pushName})
	f.pull = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: pullName})
	mustJoin(t, f.hub, pushName, f.push)
	startAgent(t, f.hub, f.pull, createToken(t, f.hub), "--cluster-name", pullName)
	f.awaitReady(t, pullName, metav1.ConditionTrue)
	return f
}

func (f *fleet) members() map[string]*controlplanetest.Member {
	members := map[string]*controlplanetest.Member{pushName: f.push, pullName: f.pull}
	if f.third != nil {
		members[thirdName] = f.third
	}
	return members
}

// apply sends YAML to the hub.
func (f *fleet) apply(t testing.TB, yaml string) {
	t.Helper()
	if r := runWith(t, yaml, "kube", "kubectl", "--kubeconfig", f.Kubeconfig, "apply", "-f", "-"); r.code != 0 {
		t.Fatalf("kubectl apply: status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// on runs kubectl on the hub.
func (f *fleet) on(t testing.TB, args ...string) string {
	t.Helper()
	return kubectl(t, f.Kubeconfig, args...)
}

// memberDeployment is a member's Deployment in namespace default; nil when there is none.
func memberDeployment(t testing.TB, m *controlplanetest.Member, name string) *appsv1.Deployment {
	t.Helper()
	d, err := m.Client.AppsV1().Deployments("default").Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// awaitDeployments waits until every member's Deployment fits.
func (f *fleet) awaitDeployments(t testing.TB, name, what string, fits func(cluster string, d *appsv1.Deployment) bool) {
	t.Helper()
	for cluster, m := range f.members() {
		eventually(t, fmt.Sprintf("deployment %s in %s: %s", name, cluster, what), func(context.Context) bool {
			d := memberDeployment(t, m, name)
			return fits(cluster, d)
		})
	}
}

// runPods plays the kubelet, which these members do not have: it says of a
// Deployment's pods that they run.
func runPods(t testing.TB, m *controlplanetest.Member, name string) {
	t.Helper()
	runPodsIn(t, m, "default", name)
}

func runPodsIn(t testing.TB, m *controlplanetest.Member, namespace, name string) {
	t.Helper()
	eventually(t, "pods of "+name+" in "+m.Name, func(ctx context.Context) bool {
		pods, err := m.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil || len(pods.Items) == 0 {
			return false
		}
		for i := range pods.Items {
			if runPod(ctx, m, &pods.Items[i]) != nil {
				return false
			}
		}
		return true
	})
}

func runPod(ctx context.Context, m *controlplanetest.Member, pod *corev1.Pod) error {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	_, err := m.Client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

// keepPodsRunning plays the kubelet for all pods of a member until ctx ends.
func keepPodsRunning(ctx context.Context, m *controlplanetest.Member) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		pods, err := m.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Pending"})
		if err != nil {
			return // asked again
		}
		for i := range pods.Items {
			_ = runPod(ctx, m, &pods.Items[i]) // one that has changed meanwhile is seen again
		}
	}, 100*time.Millisecond)
}

// awaitTable waits until kubectl get deployment prints READY UP-TO-DATE AVAILABLE.
func awaitTable(t testing.TB, kubeconfig, name, want string) {
	t.Helper()
	var got string
	defer func() {
		if t.Failed() {
			t.Logf("deployment %s prints %q, want %q", name, got, want)
		}
	}()
	eventually(t, "kubectl get deployment "+name+" prints "+want, func(context.Context) bool {
		fields := strings.Fields(kubectl(t, kubeconfig, "get", "deployment", name, "--no-headers"))
		got = strings.Join(fields[1:min(4, len(fields))], " ")
		return got == want
	})
}

const walkthroughPolicy = `
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: %[1]s, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: %[1]s}]
  placement: {clusterAffinity: {clusterNames: [cluster1, cluster2]}}
`

const walkthroughOverride = `
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: %[1]s, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: %[1]s}]
  overrideRules:
  - targetCluster: {clusterNames: [cluster1]}
    overriders: {imageOverrider: [{component: Tag, operator: replace, value: "1.20"}]}
`

// TestWalkthrough is what a newcomer does first, in both orders; then the page that
// tells of it is followed word for word. The hub is started again with what is there,
// and a member of an unmodified karmada-agent joins the two.
func TestWalkthrough(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	for _, c := range []struct {
		name  string
		begin func(name string)
	}{
		{"nginx", func(name string) {
			f.apply(t, fmt.Sprintf(walkthroughPolicy, name))
			f.on(t, "create", "deployment", name, "--image", "nginx")
		}},
		{"late", func(name string) {
			f.on(t, "create", "deployment", name, "--image", "nginx")
			f.apply(t, fmt.Sprintf(walkthroughPolicy, name))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.begin(c.name)
			f.walk(t, c.name)
		})
	}
	t.Run("page", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var kubelets sync.WaitGroup
		defer kubelets.Wait()
		defer stop()
		for _, m := range f.members() {
			kubelets.Go(func() { keepPodsRunning(ctx, m) })
		}
		page := &reader{here: strings.NewReplacer(), kubeconfigs: map[string]string{"hub": f.Kubeconfig, "one": f.push.Kubeconfig, "two": f.pull.Kubeconfig}}
		for _, name := range []string{"walkthrough", "status", "overrides"} {
			page.follow(t, "docs/"+name+".md")
		}
	})
	t.Run("events", f.seeEvents)
	t.Run("restarted", f.restartUnnoticed)
	t.Run("beside a karmada-agent", f.besideKarmadaAgent)
	t.Run("figures", f.seeFigures)
}

func (f *fleet) walk(t *testing.T, name string) {
	f.awaitDeployments(t, name, "there", func(_ string, d *appsv1.Deployment) bool { return d != nil && *d.Spec.Replicas == 1 })
	for _, m := range f.members() {
		awaitTable(t, m.Kubeconfig, name, "0/1 1 0")
	}
	awaitTable(t, f.Kubeconfig, name, "0/1 2 0")
	for _, m := range f.members() {
		runPods(t, m, name)
		awaitTable(t, m.Kubeconfig, name, "1/1 1 1")
	}
	awaitTable(t, f.Kubeconfig, name, "2/1 2 2")

	f.apply(t, fmt.Sprintf(walkthroughOverride, name))
	images := map[string]string{pushName: "nginx:1.20", pullName: "nginx"}
	image := func(cluster string, d *appsv1.Deployment) bool {
		return d.Spec.Template.Spec.Containers[0].Image == images[cluster]
	}
	f.awaitDeployments(t, name, "its own image", image)
	if got := f.on(t, "get", "deployment", name, "-o", "jsonpath={.spec.template.spec.containers[0].image}"); got != "nginx" {
		t.Errorf("the hub's own object has image %s", got)
	}

	f.on(t, "delete", "propagationpolicy", name)
	eventually(t, "the claim is gone", func(context.Context) bool {
		return !strings.Contains(f.on(t, "get", "deployment", name, "-o", "yaml"), "propagationpolicy.karmada.io/")
	})
	f.awaitDeployments(t, name, "stays", image)
	f.on(t, "delete", "deployment", name)
	f.awaitDeployments(t, name, "gone", func(_ string, d *appsv1.Deployment) bool { return d == nil })
}
