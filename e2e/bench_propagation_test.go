package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/e2e/load"
	"muster.dev/muster/e2e/load/loadtest"
)

// The benchmarks of propagation (issue 4, section 4). Sizes can be set in the
// environment: MUSTER_BENCH_OBJECTS (1000), MUSTER_BENCH_MEMBERS (2, fake ones),
// MUSTER_BENCH_FANOUT (100 members), MUSTER_BENCH_ROUNDS (30), MUSTER_BENCH_SINGLES
// (60 objects, one a second), MUSTER_BENCH_DRIFTS (100), MUSTER_BENCH_IDLE (60
// seconds). With
// MUSTER_BENCH_WRITES=1 the hub's writes are also listed by resource, and with
// MUSTER_BENCH_PROFILE=DIR profiles of the hub are put there; both slow it down.

// size is a number of the environment, or the usual one.
func size(b *testing.B, variable string, usual int) int {
	b.Helper()
	text := os.Getenv("MUSTER_BENCH_" + variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatalf("MUSTER_BENCH_%s: %v", variable, err)
	}
	return n
}

// revision is that of the hub's store: every write raises it by one.
func (h *hub) revision(b *testing.B) int64 {
	b.Helper()
	list, err := h.client.CoreV1().Namespaces().List(b.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		b.Fatal(err)
	}
	revision, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return revision
}

// awaitQuiet waits until nothing is written to the hub for two seconds, at most a
// minute, and returns the revision it came to rest at.
func (h *hub) awaitQuiet(b *testing.B) int64 {
	b.Helper()
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	last := h.revision(b)
	for range 30 {
		select {
		case <-ticker.C:
		case <-b.Context().Done():
			b.Fatal(b.Context().Err())
		}
		now := h.revision(b)
		if now == last {
			return now
		}
		last = now
	}
	b.Logf("the hub kept writing for a minute")
	return last
}

// awaitAllReady waits until as many clusters as there should be are Ready.
func (h *hub) awaitAllReady(b *testing.B, count int) {
	b.Helper()
	eventually(b, fmt.Sprintf("%d clusters Ready", count), func(ctx context.Context) bool {
		list, err := h.dynamic.Resource(clustersResource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		ready := 0
		for i := range list.Items {
			c := &clusterv1alpha1.Cluster{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, c); err == nil &&
				meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterConditionReady) {
				ready++
			}
		}
		return ready == count
	})
}

// propagate makes a policy that sends the ConfigMaps with a label to all members.
func (h *hub) propagate(b *testing.B, label string) {
	b.Helper()
	p := manifest(policyv1alpha1.GroupVersion.String(), "PropagationPolicy", metav1.NamespaceDefault, label)
	p["spec"] = map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": map[string]any{"matchLabels": map[string]any{"load": label}}}},
		"placement":         map[string]any{"clusterAffinity": map[string]any{}},
	}
	policies := h.dynamic.Resource(policyv1alpha1.GroupVersion.WithResource("propagationpolicies")).Namespace(metav1.NamespaceDefault)
	if _, err := policies.Create(b.Context(), &unstructured.Unstructured{Object: p}, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
}

// send creates a ConfigMap of some 400 bytes, meant for the members since a time.
func (h *hub) send(ctx context.Context, label, name string, meant time.Time) error {
	_, err := h.client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"load": label}, Annotations: map[string]string{load.SentAnnotation: load.Stamp(meant)}},
		Data:       map[string]string{"text": strings.Repeat("0123456789abcdef", 16)},
	}, metav1.CreateOptions{})
	return err
}

func (h *hub) config(b *testing.B) *rest.Config {
	b.Helper()
	config, err := h.Config()
	if err != nil {
		b.Fatal(err)
	}
	return config
}

// bulkLabel is that of the objects of many deliveries.
const bulkLabel = "bulk"

// bulk is what many deliveries took.
type bulk struct {
	objects, deliveries     int
	writes, workWrites      int64 // to the hub's store, the creates of the objects included
	stored                  int64 // bytes that the hub gave to the disk
	created, took           time.Duration
	cpu, memory, memoryThen float64 // of the hub: seconds, MB
}

// report prints it: counts first. seconds and rate are goals.
func (d bulk) report(b *testing.B, seconds, rate string) {
	b.Helper()
	per := func(n int64) float64 { return float64(n) / float64(d.deliveries) }
	against(b, per(d.writes-int64(d.objects)), "writes/delivery", "4 (Karmada about 12)")
	b.ReportMetric(per(d.writes), "writes/delivery-with-creates")
	b.ReportMetric(per(d.workWrites), "work-writes/delivery")
	b.ReportMetric(per(d.stored)/1000, "kB-to-disk/delivery")
	against(b, d.took.Seconds(), "s-to-acknowledged", seconds)
	b.ReportMetric(d.created.Seconds(), "s-to-created")
	against(b, float64(d.deliveries)/d.took.Seconds(), "deliveries/s", rate)
	b.ReportMetric(d.cpu, "hub-cpu-s")
	b.ReportMetric(d.memory, "hub-MB-before")
	against(b, d.memoryThen, "hub-MB-after", "none (Karmada 1,380, of 1,000 objects in two members)")
	b.ReportMetric(0, "ns/op")
}

// deliver sends many objects to all members, and returns once every delivery is
// acknowledged and the hub has come to rest.
func (h *hub) deliver(b *testing.B, members int) bulk {
	b.Helper()
	const label, creators = bulkLabel, 16
	objects := size(b, "OBJECTS", 1000)
	deliveries := objects * members
	h.awaitAllReady(b, members)
	h.propagate(b, label)
	before := h.awaitQuiet(b)
	within, cancel := context.WithTimeout(b.Context(), 15*time.Minute)
	defer cancel()
	written := h.listWrites(within, b)
	acks, err := loadtest.FollowAcks(within, h.config(b), label)
	if err != nil {
		b.Fatal(err)
	}
	memory, cpu, stored := memoryMB(b, h.PID(), "VmRSS:"), cpuSeconds(b, h.PID()), diskBytes(b, h.PID())

	profiled := h.profile(b)
	begin := time.Now()
	group, ctx := errgroup.WithContext(within)
	group.SetLimit(creators)
	for i := range objects {
		group.Go(func() error { return h.send(ctx, label, fmt.Sprintf("%s-%04d", label, i), time.Now()) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	created := time.Since(begin)
	last, err := acks.Await(within, deliveries)
	if err != nil {
		got, _ := acks.Count()
		b.Fatalf("%d of %d deliveries acknowledged: %v", got, deliveries, err)
	}
	after := h.awaitQuiet(b)
	_, workWrites := acks.Count()
	written("writes")
	profiled()

	return bulk{
		objects: objects, deliveries: deliveries, writes: after - before, workWrites: int64(workWrites), created: created, took: last.Sub(begin),
		stored: diskBytes(b, h.PID()) - stored,
		cpu:    cpuSeconds(b, h.PID()) - cpu, memory: memory, memoryThen: memoryMB(b, h.PID(), "VmRSS:"),
	}
}

// reportStored reports how large the records of the objects with a label are in the
// hub's store, for each delivery: Works, which clients of the field read, and apart from
// them what is kept besides, which is the binding.
func (h *hub) reportStored(b *testing.B, label, goal string) {
	b.Helper()
	length := func(o any) int {
		text, err := json.Marshal(o)
		if err != nil {
			b.Fatal(err)
		}
		return len(text)
	}
	list := func(resource schema.GroupVersionResource) []unstructured.Unstructured {
		found, err := h.dynamic.Resource(resource).List(b.Context(), metav1.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		return found.Items
	}
	deliveries, work, manifests, binding := 0, 0, 0, 0
	for _, w := range list(worksResource) {
		if !strings.HasPrefix(w.GetAnnotations()[workv1alpha2.ResourceBindingNameAnnotation], label) {
			continue
		}
		carried, _, err := unstructured.NestedFieldNoCopy(w.Object, "spec", "workload", "manifests")
		if err != nil {
			b.Fatal(err)
		}
		deliveries, work, manifests = deliveries+1, work+length(w.Object), manifests+length(carried)
	}
	for _, one := range list(workv1alpha2.GroupVersion.WithResource("resourcebindings")) {
		if strings.HasPrefix(one.GetName(), label) {
			binding += length(one.Object)
		}
	}
	b.ReportMetric(float64(work)/float64(deliveries), "B-of-work/delivery")
	b.ReportMetric(float64(manifests)/float64(deliveries), "B-of-manifest/delivery")
	against(b, float64(binding)/float64(deliveries), "B-besides/delivery", goal)
}

// secondsToRealMembers is the goal of the gate's run.
const secondsToRealMembers = "10, of 1,000 objects in two members (Karmada 106 to 437)"

// BenchmarkDeliverToRealMembers delivers to two kube-apiservers with their etcds,
// which share the machine with the hub.
func BenchmarkDeliverToRealMembers(b *testing.B) {
	names := []string{"east", "west"}
	b.Run("push", func(b *testing.B) {
		for b.Loop() {
			h := startHub(b)
			for _, name := range names {
				mustJoin(b, h, name, controlplanetest.StartMember(b, controlplanetest.MemberOptions{Name: name}))
			}
			h.deliver(b, len(names)).report(b, secondsToRealMembers, "")
			h.reportStored(b, bulkLabel, "")
		}
	})
	b.Run("pull", func(b *testing.B) {
		for b.Loop() {
			h := startHub(b)
			for _, name := range names {
				m := controlplanetest.StartMember(b, controlplanetest.MemberOptions{Name: name})
				startAgent(b, h, m, createToken(b, h), "--cluster-name", name)
			}
			h.deliver(b, len(names)).report(b, secondsToRealMembers, "")
			h.reportStored(b, bulkLabel, "")
		}
	})
}

// BenchmarkDeliverToLightMembers delivers to members that cost next to nothing.
func BenchmarkDeliverToLightMembers(b *testing.B) {
	members := size(b, "MEMBERS", 2)
	b.Run("push", func(b *testing.B) {
		for b.Loop() {
			h := startHub(b)
			program := startFakeMembers(b, h, members)
			h.deliver(b, members).report(b, "", "2,000 or more")
			h.reportStored(b, bulkLabel, "")
			b.Logf("counted by the members: %v", program.take(b))
		}
	})
	b.Run("pull", func(b *testing.B) {
		for b.Loop() {
			h := startHub(b)
			program := startSimAgents(b, h, members)
			h.deliver(b, members).report(b, "", "2,000 or more")
			h.reportStored(b, bulkLabel, "")
			b.Logf("counted by the members: %v", program.take(b))
		}
	})
}

// BenchmarkLatency creates one object a second, and watches the members for it.
func BenchmarkLatency(b *testing.B) {
	const label = "single"
	objects := size(b, "SINGLES", 60)
	for b.Loop() {
		f := startFleet(b)
		seen := map[string]*load.Latency{}
		arrived := make(chan struct{}, 2*objects)
		for name, m := range map[string]*controlplanetest.Member{"push": f.push, "pull": f.pull} {
			latency := &load.Latency{}
			seen[name] = latency
			err := loadtest.Watch(b.Context(), loadConfig(b, m.Kubeconfig), "/api/v1/configmaps", func(e *loadtest.Event) {
				if sent, ok := load.Parse(e.Object.Metadata.Annotations[load.SentAnnotation]); ok && e.Type == "ADDED" {
					latency.Note(time.Since(sent))
					arrived <- struct{}{}
				}
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		f.propagate(b, label)
		before := f.awaitQuiet(b)
		written := f.listWrites(b.Context(), b)
		f.sendOneASecond(b, label, objects)
		f.awaitArrivals(b, arrived, 2*objects)
		after := f.awaitQuiet(b)
		written("writes")
		b.ReportMetric(float64(after-before-int64(objects))/float64(2*objects), "writes/delivery")
		for name, latency := range seen {
			reportQuantiles(b, name, latency.Take(), goals{p50: "10 (Karmada 65 pushed, 54 pulled)", p99: "40 (Karmada 123 pushed)"})
		}
		b.ReportMetric(0, "ns/op")
	}
}

// sendOneASecond creates objects at their times, whatever became of the one before.
func (h *hub) sendOneASecond(b *testing.B, label string, objects int) {
	b.Helper()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	group, ctx := errgroup.WithContext(b.Context())
	for i := range objects {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			b.Fatal(context.Cause(ctx))
		}
		meant := time.Now()
		group.Go(func() error { return h.send(ctx, label, fmt.Sprintf("%s-%04d", label, i), meant) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

func (h *hub) awaitArrivals(b *testing.B, arrived <-chan struct{}, count int) {
	b.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for i := range count {
		select {
		case <-arrived:
		case <-limit.C:
			b.Fatalf("%d of %d objects arrived", i, count)
		}
	}
}

// goals are those of quantiles, as far as there are any.
type goals struct{ p50, p99, most string }

func reportQuantiles(b *testing.B, name string, q load.Quantiles, g goals) {
	b.Helper()
	against(b, q.P50, name+"-p50-ms", g.p50)
	b.ReportMetric(q.P95, name+"-p95-ms")
	against(b, q.P99, name+"-p99-ms", g.p99)
	against(b, q.Max, name+"-max-ms", g.most)
}

// BenchmarkDrift changes an object in a member, as somebody there would with kubectl,
// again and again, and watches how long it takes until it is as the hub wants it. The
// time of the change itself counts.
func BenchmarkDrift(b *testing.B) {
	const label, name = "drift", "drift-0000"
	drifts := size(b, "DRIFTS", 100)
	for b.Loop() {
		f := startFleet(b)
		f.propagate(b, label)
		if err := f.send(b.Context(), label, name, time.Now()); err != nil {
			b.Fatal(err)
		}
		for kind, m := range map[string]*controlplanetest.Member{"push": f.push, "pull": f.pull} {
			settings := followConfigMap(b, m, name)
			f.awaitQuiet(b)
			latency := &load.Latency{}
			for range drifts {
				latency.Note(settings.drift(b))
			}
			reportQuantiles(b, kind+"-drift", latency.Take(), goals{most: "5000"})
		}
		b.ReportMetric(0, "ns/op")
	}
}

// followed is a ConfigMap of a member, and what happens to it.
type followed struct {
	member *controlplanetest.Member
	last   *corev1.ConfigMap
	events <-chan watch.Event
}

// followConfigMap follows a ConfigMap once it is in a member.
func followConfigMap(b *testing.B, m *controlplanetest.Member, name string) *followed {
	b.Helper()
	following, err := m.Client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Watch(b.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(following.Stop)
	o := &followed{member: m, events: following.ResultChan()}
	o.await(b, func() bool { return true })
	return o
}

// await waits until the object fits.
func (o *followed) await(b *testing.B, fits func() bool) {
	b.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case e, open := <-o.events:
			if !open {
				b.Fatal("the member's watch ended")
			}
			if settings, ok := e.Object.(*corev1.ConfigMap); ok {
				if o.last = settings; fits() {
					return
				}
			}
		case <-limit.C:
			b.Fatalf("the object in %s stays as it is: %v", o.member.Name, o.last)
		}
	}
}

// drift changes the object, and returns how long it took until it was as before.
func (o *followed) drift(b *testing.B) time.Duration {
	b.Helper()
	const key = "text"
	text := o.last.Data[key]
	changed := o.last.DeepCopy()
	changed.Data[key], changed.ResourceVersion = "changed by hand", ""
	begin, seen := time.Now(), false
	if _, err := o.member.Client.CoreV1().ConfigMaps(changed.Namespace).Update(b.Context(), changed, metav1.UpdateOptions{FieldManager: "kubectl-edit"}); err != nil {
		b.Fatal(err)
	}
	o.await(b, func() bool {
		seen = seen || o.last.Data[key] != text
		return seen && o.last.Data[key] == text
	})
	return time.Since(begin)
}

// BenchmarkFanOut sends one object after the other to many members, and waits each
// time until all of them have acknowledged it.
func BenchmarkFanOut(b *testing.B) {
	members := size(b, "FANOUT", 100)
	b.Run("push", func(b *testing.B) {
		for b.Loop() {
			h := startHub(b)
			startFakeMembers(b, h, members)
			h.fanOut(b, members)
		}
	})
	b.Run("pull", func(b *testing.B) {
		for b.Loop() {
			h := startHub(b)
			startSimAgents(b, h, members)
			h.fanOut(b, members)
		}
	})
}

func (h *hub) fanOut(b *testing.B, members int) {
	b.Helper()
	const label = "wide"
	rounds := size(b, "ROUNDS", 30)
	h.awaitAllReady(b, members)
	h.propagate(b, label)
	before := h.awaitQuiet(b)
	ctx, cancel := context.WithTimeout(b.Context(), 15*time.Minute)
	defer cancel()
	written := h.listWrites(ctx, b)
	acks, err := loadtest.FollowAcks(ctx, h.config(b), label)
	if err != nil {
		b.Fatal(err)
	}
	cpu, profiled := cpuSeconds(b, h.PID()), h.profile(b)
	latency := &load.Latency{}
	for i := range rounds {
		begin := time.Now()
		if err := h.send(ctx, label, fmt.Sprintf("%s-%04d", label, i), begin); err != nil {
			b.Fatal(err)
		}
		last, err := acks.Await(ctx, (i+1)*members)
		if err != nil {
			b.Fatal(err)
		}
		latency.Note(last.Sub(begin))
	}
	after := h.awaitQuiet(b)
	written("writes")
	profiled()
	b.ReportMetric(float64(after-before-int64(rounds))/float64(rounds*members), "writes/delivery")
	b.ReportMetric((cpuSeconds(b, h.PID())-cpu)/float64(rounds), "hub-cpu-s/round")
	reportQuantiles(b, "all", latency.Take(), goals{p99: "300, of 100 members"})
	h.reportStored(b, label, "512")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRestartWithBindings restarts a hub that has delivered everything, and
// looks for ten seconds at what it does although there is nothing to do.
func BenchmarkRestartWithBindings(b *testing.B) {
	for b.Loop() {
		h := startHub(b)
		push, pull := startFakeMembers(b, h, 1), startSimAgents(b, h, 1)
		h.deliver(b, 2)
		before := h.awaitQuiet(b)
		push.take(b)
		pull.take(b)
		if err := h.Stop(); err != nil {
			b.Fatal(err)
		}
		if err := h.Restart(b.Context()); err != nil {
			b.Fatal(err)
		}
		h.connect(b)
		cpu := cpuSeconds(b, h.PID())
		settle(b)
		changed, err := loadtest.ChangedSince(b.Context(), h.config(b), before)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(h.revision(b)-before), "writes-after-restart")
		propagated := len(changed["works.work.karmada.io"]) + len(changed["resourcebindings.work.karmada.io"]) + len(changed["configmaps"])
		against(b, float64(propagated), "works-bindings-templates-rewritten", "0 (Karmada 5,300 writes)")
		b.ReportMetric(float64(changes(push.take(b))), "changes-sent-to-push-member")
		b.ReportMetric(float64(pull.take(b)["applied"]), "works-sent-to-pull-member")
		b.ReportMetric(h.ServingAfter.Seconds(), "s-to-serving")
		b.ReportMetric(cpuSeconds(b, h.PID())-cpu, "hub-cpu-s-in-10-s")
		b.ReportMetric(0, "ns/op")
		for _, resource := range slices.Sorted(maps.Keys(changed)) {
			names := changed[resource]
			b.Logf("written after the restart: %d %s, such as %v", len(names), resource, names[:min(3, len(names))])
		}
	}
}

// BenchmarkIdle looks at a hub with one push and one pull member that have nothing
// to do.
func BenchmarkIdle(b *testing.B) {
	seconds := size(b, "IDLE", 60)
	for b.Loop() {
		f := startFleet(b)
		settle(b)
		before, cpu, begin := f.awaitQuiet(b), cpuSeconds(b, f.PID()), time.Now()
		written := f.listWrites(b.Context(), b)
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-b.Context().Done():
		}
		minutes := time.Since(begin).Minutes()
		used := cpuSeconds(b, f.PID()) - cpu
		against(b, float64(f.revision(b)-before)/minutes, "writes/min", "none (Karmada 138)")
		against(b, 100*used/(60*minutes), "%-of-a-core", "none (Karmada 3)")
		reportMemory(b, f.PID(), "")
		b.ReportMetric(0, "ns/op")
		written("idle writes")
	}
}

// light are members that a program plays.
type light struct {
	*loadtest.Program
	last map[string]uint64 // counts
}

// startFakeMembers joins push members that one process plays.
func startFakeMembers(b *testing.B, h *hub, members int) *light {
	b.Helper()
	return &light{Program: loadtest.Start(b, "fakemember", "--members", strconv.Itoa(members), "--kubeconfig", h.Kubeconfig)}
}

// startSimAgents joins pull members that one process plays.
func startSimAgents(b *testing.B, h *hub, members int) *light {
	b.Helper()
	return &light{Program: loadtest.Start(b, "simagent", "--agents", strconv.Itoa(members), "--data-dir", h.DataDir)}
}

// take returns what the members have counted since the last call.
func (l *light) take(b *testing.B) map[string]uint64 {
	b.Helper()
	counts := l.Report(b).Counts
	since := map[string]uint64{}
	for name, n := range counts {
		if n > l.last[name] {
			since[name] = n - l.last[name]
		}
	}
	l.last = counts
	return since
}

// changes are how many of the requests to members were no reads.
func changes(counts map[string]uint64) (sum uint64) {
	for call, n := range counts {
		verb, _, _ := strings.Cut(call, " ")
		if slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, verb) {
			sum += n
		}
	}
	return sum
}
