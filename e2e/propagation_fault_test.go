package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// faultDeployments are propagated while the hub is killed $MUSTER_KILLS times.
const (
	faultDeployments = 200
	usualKills       = 10
)

// pairs says, by the label "go", where a Deployment belongs.
var pairs = map[string][]string{
	"a": {"push1", "pull1"}, "b": {"push2", "pull2"}, "c": {"push1", "push2"}, "d": {"pull1", "pull2"},
}

// TestFaultHubKilledWhilePropagating keeps a history of what the hub has
// acknowledged, outside of it, and compares that with what the members hold at
// last: nothing lost, nothing twice, nothing where it does not belong.
func TestFaultHubKilledWhilePropagating(t *testing.T) {
	kills := usualKills
	if text := os.Getenv("MUSTER_KILLS"); text != "" {
		kills, _ = strconv.Atoi(text)
	}
	h := startHub(t)
	members := map[string]*controlplanetest.Member{}
	for _, name := range []string{"push1", "push2", "pull1", "pull2"} {
		members[name] = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: name})
		if strings.HasPrefix(name, "push") {
			mustJoin(t, h, name, members[name])
			continue
		}
		startAgent(t, h, members[name], createToken(t, h), "--cluster-name", name)
		h.awaitReady(t, name, metav1.ConditionTrue)
	}
	f := &fleet{hub: h}
	for label, clusters := range pairs {
		f.apply(t, fmt.Sprintf(`{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: %s, namespace: default}, spec: {
			resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {go: %[1]s}}}],
			placement: {clusterAffinity: {clusterNames: [%s]}}}}`, label, strings.Join(clusters, ", ")))
	}

	// The seed is printed, so that a failure can be played again.
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d kills", seed, kills)
	random := rand.New(rand.NewPCG(seed, seed))
	history := map[string]int32{} // replicas, as acknowledged
	where := map[string]string{}
	for i := range faultDeployments {
		name := fmt.Sprintf("web-%03d", i)
		label := []string{"a", "b", "c", "d"}[random.IntN(4)]
		h.retried(t, "create "+name, func(ctx context.Context) error {
			_, err := h.client.AppsV1().Deployments("default").Create(ctx, labelled(name, label), metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil // acknowledged by the hub, though not to us
			}
			return err
		})
		history[name], where[name] = 1, label
		if i > 0 {
			h.change(t, random, history, where)
		}
		if i%(faultDeployments/kills) == faultDeployments/kills-1 {
			h.killAndRestart(t)
		}
	}
	want := map[string]map[string]int32{}
	for cluster := range members {
		want[cluster] = map[string]int32{}
	}
	for name, replicas := range history {
		for _, cluster := range pairs[where[name]] {
			want[cluster][name] = replicas
		}
	}
	for cluster, m := range members {
		var diff string
		err := wait.PollUntilContextTimeout(t.Context(), time.Second, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
			diff = cmp.Diff(want[cluster], deployed(t, m))
			return diff == "", nil
		})
		if err != nil {
			t.Errorf("%s (-history +member):\n%s", cluster, diff)
		}
	}
}

func labelled(name, label string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"go": label}},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			},
		},
	}
}

// change deletes one of the Deployments, now and then, or changes its replicas.
func (h *hub) change(t *testing.T, random *rand.Rand, history map[string]int32, where map[string]string) {
	t.Helper()
	names := make([]string, 0, len(history))
	for name := range history {
		names = append(names, name)
	}
	slices.Sort(names)
	name := names[random.IntN(len(names))]
	if random.IntN(8) == 0 {
		h.retried(t, "delete "+name, func(ctx context.Context) error {
			err := h.client.AppsV1().Deployments("default").Delete(ctx, name, metav1.DeleteOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
		delete(history, name)
		delete(where, name)
		return
	}
	replicas := int32(random.IntN(9) + 1)
	h.retried(t, "scale "+name, func(ctx context.Context) error {
		scale, err := h.client.AppsV1().Deployments("default").GetScale(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		scale.Spec.Replicas = replicas
		_, err = h.client.AppsV1().Deployments("default").UpdateScale(ctx, name, scale, metav1.UpdateOptions{})
		return err
	})
	history[name] = replicas
}

// retried repeats a write until the hub acknowledges it.
func (h *hub) retried(t *testing.T, what string, write func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = write(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, errors.Join(err, last))
	}
}

func (h *hub) killAndRestart(t *testing.T) {
	t.Helper()
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.connect(t)
}

// deployed is what a member holds of ours: replicas by name.
func deployed(t *testing.T, m *controlplanetest.Member) map[string]int32 {
	t.Helper()
	list, err := m.Client.AppsV1().Deployments(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{LabelSelector: "karmada.io/managed=true"})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int32{}
	for _, d := range list.Items {
		if _, twice := found[d.Name]; twice || d.Namespace != "default" {
			t.Errorf("%s holds %s/%s, which is one too many", m.Name, d.Namespace, d.Name)
		}
		found[d.Name] = *d.Spec.Replicas
	}
	return found
}
