package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/e2e/load"
	"muster.dev/muster/e2e/load/loadtest"
)

// The benchmarks of status on its way from members to the hub: what a change there
// writes, and when the hub and a browser show it. Sizes can be set in the environment:
// MUSTER_BENCH_STATUSES (100 changes), MUSTER_BENCH_FANOUT (100 members),
// MUSTER_BENCH_ROUNDS (30 times all of those).

const (
	gaugeName    = "gauge"
	gaugeBinding = "gauge-statefulset"
	// gaugeReplicas are more than any member ever calls ready.
	gaugeReplicas = 100_000
)

// Where the hub shows what members tell, in the order of its way.
const (
	inWork     = "work"     // of the cluster
	inBinding  = "binding"  // what the cluster tells, in the binding's status
	inTemplate = "template" // the sum of all clusters
	inRow      = "row"      // the same sum, in a browser
)

// gauge is a StatefulSet on the hub and in members whose status nobody writes but the
// benchmark: members of tests have no controller of the kind, which would set it right.
type gauge struct {
	*hub
	ready map[string]int // what was told last, by cluster

	mu      sync.Mutex
	shown   map[string]sighting // by place
	changed chan struct{}       // closed and replaced at every new one
}

// sighting is what a place showed last.
type sighting struct {
	ready int
	at    time.Time
}

// startGauge makes the gauge on the hub, for all members, and begins to look.
func (h *hub) startGauge(ctx context.Context, b *testing.B) *gauge {
	b.Helper()
	g := &gauge{hub: h, ready: map[string]int{}, shown: map[string]sighting{}, changed: make(chan struct{})}
	root := admin(b, h)
	ticket := struct {
		Ticket string `json:"ticket"`
	}{}
	must(b, root, http.MethodPost, "/api/v1/live/ticket", nil, &ticket)
	config := h.config(b)
	for _, err := range []error{
		loadtest.Follow(ctx, config, "/apis/"+workv1alpha1.GroupVersion.String()+"/works", g.seeWork),
		loadtest.Follow(ctx, config, "/apis/"+workv1alpha2.GroupVersion.String()+"/resourcebindings", g.seeBinding),
		loadtest.Follow(ctx, config, "/apis/apps/v1/statefulsets", func(s *appsv1.StatefulSet) { g.show(inTemplate, int(s.Status.ReadyReplicas)) }),
		loadtest.FollowRows(ctx, loadtest.Dashboard{URL: h.DashboardURL, CA: config.CAData, Ticket: ticket.Ticket}, "workloads", g.seeRow),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
	p := manifest(policyv1alpha1.GroupVersion.String(), "PropagationPolicy", metav1.NamespaceDefault, gaugeName)
	p["spec"] = map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": gaugeName}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{}},
	}
	policies := h.dynamic.Resource(policyv1alpha1.GroupVersion.WithResource("propagationpolicies")).Namespace(metav1.NamespaceDefault)
	if _, err := policies.Create(ctx, &unstructured.Unstructured{Object: p}, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	labels := map[string]string{"app": gaugeName}
	if _, err := h.client.AppsV1().StatefulSets(metav1.NamespaceDefault).Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: gaugeName},
		Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](gaugeReplicas), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example/gauge:1"}}},
		}},
	}, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	return g
}

func (g *gauge) seeWork(w *workv1alpha1.Work) {
	cluster, ok := apis.ClusterOfExecutionSpace(w.Namespace)
	if ok && w.Annotations[workv1alpha2.ResourceBindingNameAnnotation] == gaugeBinding && len(w.Status.ManifestStatuses) > 0 {
		g.show(inWork+" "+cluster, readyIn(w.Status.ManifestStatuses[0].Status))
	}
}

func (g *gauge) seeBinding(binding *workv1alpha2.ResourceBinding) {
	if binding.Name != gaugeBinding {
		return
	}
	for i := range binding.Status.AggregatedStatus {
		item := &binding.Status.AggregatedStatus[i]
		g.show(inBinding+" "+item.ClusterName, readyIn(item.Status))
	}
}

func (g *gauge) seeRow(text json.RawMessage) {
	var row struct {
		Kind     string `json:"kind"`
		Replicas struct {
			Ready int `json:"ready"`
		} `json:"replicas"`
	}
	if json.Unmarshal(text, &row) == nil && row.Kind == "StatefulSet" {
		g.show(inRow, row.Replicas.Ready)
	}
}

// readyIn reads a count out of what a member reports.
func readyIn(status *runtime.RawExtension) int {
	var reported struct {
		ReadyReplicas int `json:"readyReplicas"`
	}
	if status == nil || json.Unmarshal(status.Raw, &reported) != nil {
		return 0
	}
	return reported.ReadyReplicas
}

// show notes what a place shows, the first time that it does.
func (g *gauge) show(place string, ready int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shown[place].ready == ready {
		return
	}
	g.shown[place] = sighting{ready, time.Now()}
	close(g.changed)
	g.changed = make(chan struct{})
}

// await returns since when a place shows a count, as soon as it does.
func (g *gauge) await(ctx context.Context, b *testing.B, place string, ready int) time.Time {
	b.Helper()
	for {
		g.mu.Lock()
		last, changed := g.shown[place], g.changed
		g.mu.Unlock()
		if last.ready == ready {
			return last.at
		}
		select {
		case <-changed:
		case <-ctx.Done():
			b.Fatalf("%s shows %d ready replicas, not %d: %v", place, last.ready, ready, ctx.Err())
		}
	}
}

// tell changes the status in a member, as a controller there would.
func (g *gauge) tell(ctx context.Context, member kubernetes.Interface, ready int) error {
	patch := fmt.Appendf(nil, `{"status":{"observedGeneration":1,"replicas":%d,"readyReplicas":%d}}`, gaugeReplicas, ready)
	_, err := member.AppsV1().StatefulSets(metav1.NamespaceDefault).Patch(ctx, gaugeName, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// turn tells of one more in a cluster, and returns how long that took to each place.
func (g *gauge) turn(ctx context.Context, b *testing.B, cluster string, member kubernetes.Interface) map[string]time.Duration {
	b.Helper()
	g.ready[cluster]++
	sum := 0
	for _, n := range g.ready {
		sum += n
	}
	begin := time.Now()
	if err := g.tell(ctx, member, g.ready[cluster]); err != nil {
		b.Fatal(err)
	}
	took := map[string]time.Duration{}
	for _, place := range []string{inWork, inBinding} {
		took[place] = g.await(ctx, b, place+" "+cluster, g.ready[cluster]).Sub(begin)
	}
	for _, place := range []string{inTemplate, inRow} {
		took[place] = g.await(ctx, b, place, sum).Sub(begin)
	}
	return took
}

// first has a cluster tell of its first one, as soon as it has the gauge.
func (g *gauge) first(ctx context.Context, b *testing.B, cluster string, member kubernetes.Interface) {
	b.Helper()
	eventually(b, "the gauge in "+cluster, func(ctx context.Context) bool {
		_, err := member.AppsV1().StatefulSets(metav1.NamespaceDefault).Get(ctx, gaugeName, metav1.GetOptions{})
		return err == nil
	})
	g.turn(ctx, b, cluster, member)
}

// turns tells of changes one after the other, each when the one before is shown, and
// reports what they took.
func (g *gauge) turns(ctx context.Context, b *testing.B, name, cluster string, member kubernetes.Interface) {
	b.Helper()
	changes := size(b, "STATUSES", 100)
	before, cpu := g.awaitQuiet(b), cpuSeconds(b, g.PID())
	written := g.listWrites(ctx, b)
	took := map[string]*load.Latency{}
	for range changes {
		for place, d := range g.turn(ctx, b, cluster, member) {
			if took[place] == nil {
				took[place] = &load.Latency{}
			}
			took[place].Note(d)
		}
	}
	used := cpuSeconds(b, g.PID()) - cpu
	b.ReportMetric(float64(g.awaitQuiet(b)-before)/float64(changes), name+"-writes/change")
	written(name)
	b.ReportMetric(1000*used/float64(changes), name+"-hub-cpu-ms/change")
	for _, place := range slices.Sorted(maps.Keys(took)) {
		q := took[place].Take()
		b.ReportMetric(q.P50, name+"-"+place+"-p50-ms")
		switch place {
		case inTemplate:
			against(b, q.P99, name+"-"+place+"-p99-ms", "200")
		case inRow:
			against(b, q.P99, name+"-"+place+"-p99-ms", "300")
		}
	}
}

// BenchmarkStatus changes a status in a member, again and again, and watches the hub
// and a browser for it. The time of the change itself counts.
func BenchmarkStatus(b *testing.B) {
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
		f := startFleet(b)
		g := f.startGauge(ctx, b)
		members := map[string]*controlplanetest.Member{"push": f.push, "pull": f.pull}
		for _, m := range members {
			g.first(ctx, b, m.Name, m.Client)
		}
		for name, m := range members {
			g.turns(ctx, b, name, m.Name, m.Client)
		}
		b.ReportMetric(0, "ns/op")
		cancel()
	}
}

// BenchmarkStatusOfMany does the same where many members have the object: one of them
// changes, whose cost should not grow with the others, and then all of them at once.
func BenchmarkStatusOfMany(b *testing.B) {
	count, rounds := size(b, "FANOUT", 100), size(b, "ROUNDS", 30)
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), 15*time.Minute)
		h := startHub(b)
		startFakeMembers(b, h, count)
		h.awaitAllReady(b, count)
		g, members := h.startGauge(ctx, b), h.fakeMembers(b)
		for cluster, member := range members {
			g.first(ctx, b, cluster, member)
		}
		one := slices.Min(slices.Collect(maps.Keys(members)))
		g.turns(ctx, b, "one", one, members[one])

		before, cpu := g.awaitQuiet(b), cpuSeconds(b, g.PID())
		written, took := g.listWrites(ctx, b), &load.Latency{}
		for range rounds {
			took.Note(g.turnAll(ctx, b, members))
		}
		changes := float64(rounds * count)
		used := cpuSeconds(b, g.PID()) - cpu
		b.ReportMetric(float64(g.awaitQuiet(b)-before)/changes, "all-writes/change")
		written("all")
		b.ReportMetric(1000*used/changes, "all-hub-cpu-ms/change")
		reportQuantiles(b, "all-row", took.Take(), goals{})
		b.ReportMetric(0, "ns/op")
		cancel()
	}
}

// turnAll has all members tell of one more, and returns how long it took until a
// browser showed the sum.
func (g *gauge) turnAll(ctx context.Context, b *testing.B, members map[string]kubernetes.Interface) time.Duration {
	b.Helper()
	begin, sum := time.Now(), 0
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for cluster, member := range members {
		g.ready[cluster]++
		ready := g.ready[cluster]
		sum += ready
		group.Go(func() error { return g.tell(inner, member, ready) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	g.await(ctx, b, inTemplate, sum)
	return g.await(ctx, b, inRow, sum).Sub(begin)
}

// fakeMembers are clients of members that a program plays, as the hub reaches them.
func (h *hub) fakeMembers(b *testing.B) map[string]kubernetes.Interface {
	b.Helper()
	list, err := h.dynamic.Resource(clustersResource).List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	members := map[string]kubernetes.Interface{}
	for i := range list.Items {
		c := &clusterv1alpha1.Cluster{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, c); err != nil {
			b.Fatal(err)
		}
		secret, err := h.client.CoreV1().Secrets(c.Spec.SecretRef.Namespace).Get(b.Context(), c.Spec.SecretRef.Name, metav1.GetOptions{})
		if err != nil {
			b.Fatal(err)
		}
		members[c.Name], err = kubernetes.NewForConfig(&rest.Config{
			Host: c.Spec.APIEndpoint, BearerToken: string(secret.Data[clusterv1alpha1.SecretTokenKey]), QPS: -1,
			TLSClientConfig: rest.TLSClientConfig{CAData: secret.Data[clusterv1alpha1.SecretCABundleKey]},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return members
}
