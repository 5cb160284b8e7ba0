package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// faultDeployments are propagated by some writers while the hub is killed
// $MUSTER_KILLS times, each time at most latestKill after a step of theirs.
const (
	faultDeployments = 200
	writers          = 4
	usualKills       = 10
	latestKill       = 300 * time.Millisecond
)

// pairs says, by the label "go", where a Deployment belongs.
var pairs = map[string][]string{
	"a": {"push1", "pull1"}, "b": {"push2", "pull2"}, "c": {"push1", "push2"}, "d": {"pull1", "pull2"},
}

// TestFaultHubKilledWhilePropagating keeps a history of what the hub has
// acknowledged, outside of it, and compares that with what the members hold at
// last: nothing lost, nothing twice, nothing made anew, nothing where it does not
// belong. The hub is killed at random points, while several writers wait for its
// answers.
func TestFaultHubKilledWhilePropagating(t *testing.T) {
	kills := usualKills
	if text := os.Getenv("MUSTER_KILLS"); text != "" {
		kills, _ = strconv.Atoi(text)
	}
	// The seed is printed, so that a failure can be played again.
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("MUSTER_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("MUSTER_SEED=%d, %d kills", seed, kills)
	h := startHub(t)
	members, made := map[string]*controlplanetest.Member{}, map[string]*births{}
	for _, name := range []string{"push1", "push2", "pull1", "pull2"} {
		members[name] = controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: name})
		made[name] = watchBirths(t, members[name])
		if strings.HasPrefix(name, "push") {
			mustJoin(t, h, name, members[name])
			continue
		}
		startAgent(t, h, members[name], createToken(t, h), "--cluster-name", name)
		h.awaitReady(t, name, metav1.ConditionTrue)
	}
	for label, clusters := range pairs {
		h.apply(t, fmt.Sprintf(`{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: %s, namespace: default}, spec: {
			resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {go: %[1]s}}}],
			placement: {clusterAffinity: {clusterNames: [%s]}}}}`, label, strings.Join(clusters, ", ")))
	}
	history, where := h.writeWhileKilled(t, seed, kills)

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
		awaitSame(t, "deployments of "+cluster, want[cluster], func() map[string]int32 { return deployed(t, m) })
		for name, uids := range made[cluster].all() {
			if len(uids) > 1 {
				t.Errorf("%s was made %d times in %s: %v", name, len(uids), cluster, uids)
			}
		}
	}
	wantWorks := map[string]int{}
	for cluster, names := range want {
		for name := range names {
			wantWorks[cluster+" "+name+"-deployment"] = 1
		}
	}
	awaitSame(t, "works by cluster and binding", wantWorks, func() map[string]int { return h.worksOfBindings(t) })
}

// awaitSame waits until what is there is what the history says.
func awaitSame[V any](t *testing.T, what string, want map[string]V, read func() map[string]V) {
	t.Helper()
	var diff string
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, 5*time.Minute, true, func(context.Context) (bool, error) {
		diff = cmp.Diff(want, read())
		return diff == "", nil
	})
	if err != nil {
		t.Errorf("%s (-history +found):\n%s", what, diff)
	}
}

// writeWhileKilled has writers make and change the Deployments, each its own, while
// the hub is killed and started again. It returns replicas and labels by name, as
// acknowledged.
func (h *hub) writeWhileKilled(t *testing.T, seed uint64, kills int) (history map[string]int32, where map[string]string) {
	t.Helper()
	all := make([]*writer, writers)
	steps := make(chan struct{}, faultDeployments)
	var group errgroup.Group
	for i := range all {
		all[i] = &writer{hub: h, random: rand.New(rand.NewPCG(seed, uint64(i))), history: map[string]int32{}, where: map[string]string{}}
		group.Go(func() error { return all[i].run(t.Context(), i, steps) })
	}
	group.Go(func() error { return h.kills(t.Context(), rand.New(rand.NewPCG(seed, writers)), kills, steps) })
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	history, where = map[string]int32{}, map[string]string{}
	interrupted := 0
	for _, w := range all {
		maps.Copy(history, w.history)
		maps.Copy(where, w.where)
		interrupted += w.interrupted
	}
	t.Logf("%d writes were interrupted, %d deployments are left", interrupted, len(history))
	if interrupted < kills {
		t.Errorf("%d writes were interrupted by %d kills: they come between the writes", interrupted, kills)
	}
	return history, where
}

// kills kills the hub now and then, a random moment after a step of the writers, who
// do not wait for that, and starts it again.
func (h *hub) kills(ctx context.Context, random *rand.Rand, kills int, steps <-chan struct{}) error {
	done := 0
	for kill := range kills {
		for ; done < (kill+1)*faultDeployments/(kills+1); done++ {
			select {
			case <-steps:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case <-time.After(time.Duration(random.IntN(int(latestKill)))):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := h.Kill(); err != nil {
			return err
		}
		if err := h.Restart(ctx); err != nil {
			return err
		}
	}
	return nil
}

// writer writes Deployments of its own, and keeps what the hub has acknowledged.
type writer struct {
	hub         *hub
	random      *rand.Rand
	history     map[string]int32  // replicas
	where       map[string]string // labels
	interrupted int               // writes that the hub did not answer at once
}

// run makes the Deployments whose number divided by writers leaves own.
func (w *writer) run(ctx context.Context, own int, steps chan<- struct{}) error {
	for i := own; i < faultDeployments; i += writers {
		name, label := fmt.Sprintf("web-%03d", i), []string{"a", "b", "c", "d"}[w.random.IntN(4)]
		err := w.retried(ctx, "create "+name, func(ctx context.Context) error {
			_, err := w.hub.client.AppsV1().Deployments("default").Create(ctx, labelled(name, label), metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil // acknowledged by the hub, though not to us
			}
			return err
		})
		if err != nil {
			return err
		}
		w.history[name], w.where[name] = 1, label
		steps <- struct{}{}
		if err := w.change(ctx); err != nil {
			return err
		}
	}
	return nil
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
func (w *writer) change(ctx context.Context) error {
	deployments := w.hub.client.AppsV1().Deployments("default")
	names := slices.Sorted(maps.Keys(w.history))
	name := names[w.random.IntN(len(names))]
	if len(names) > 1 && w.random.IntN(8) == 0 {
		delete(w.history, name)
		delete(w.where, name)
		return w.retried(ctx, "delete "+name, func(ctx context.Context) error {
			return client.IgnoreNotFound(deployments.Delete(ctx, name, metav1.DeleteOptions{}))
		})
	}
	replicas := int32(w.random.IntN(9) + 1)
	w.history[name] = replicas
	return w.retried(ctx, "scale "+name, func(ctx context.Context) error {
		scale, err := deployments.GetScale(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		scale.Spec.Replicas = replicas
		_, err = deployments.UpdateScale(ctx, name, scale, metav1.UpdateOptions{})
		return err
	})
}

// retried repeats a write until the hub acknowledges it.
func (w *writer) retried(ctx context.Context, what string, write func(ctx context.Context) error) error {
	var last error
	cut := false
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = write(ctx)
		var answered apierrors.APIStatus
		cut = cut || last != nil && !errors.As(last, &answered)
		return last == nil, nil
	})
	if cut {
		w.interrupted++
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, errors.Join(err, last))
	}
	return nil
}

// births are the Deployments that a member has ever held of ours.
type births struct {
	mu   sync.Mutex
	uids map[string][]types.UID // by name, each once
}

// watchBirths follows a member's Deployments until the test ends.
func watchBirths(t *testing.T, m *controlplanetest.Member) *births {
	t.Helper()
	b := &births{uids: map[string][]types.UID{}}
	note := func(object any) {
		d, ok := object.(*appsv1.Deployment)
		if !ok || d.Labels["karmada.io/managed"] != "true" {
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if !slices.Contains(b.uids[d.Name], d.UID) {
			b.uids[d.Name] = append(b.uids[d.Name], d.UID)
		}
	}
	factory := informers.NewSharedInformerFactory(m.Client, 0)
	informer := factory.Apps().V1().Deployments().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, object any) { note(object) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the member's deployments cannot be followed")
	}
	return b
}

func (b *births) all() map[string][]types.UID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.uids)
}

// worksOfBindings counts the Works of each binding in each cluster.
func (h *hub) worksOfBindings(t *testing.T) map[string]int {
	t.Helper()
	list, err := h.dynamic.Resource(worksResource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for i := range list.Items {
		if binding := list.Items[i].GetAnnotations()[workv1alpha2.ResourceBindingNameAnnotation]; binding != "" {
			found[strings.TrimPrefix(list.Items[i].GetNamespace(), "karmada-es-")+" "+binding]++
		}
	}
	return found
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
