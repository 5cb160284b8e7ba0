package e2e_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/e2e/load"
	"muster.dev/muster/e2e/load/loadtest"
)

// The benchmarks of Open Cluster Management (issue 5, section 6). Sizes can be set
// in the environment: MUSTER_BENCH_STARTS (10 agents, one after the other),
// MUSTER_BENCH_WORKS (100 ManifestWorks, five a second), MUSTER_BENCH_AGENTS (1000
// registrations), MUSTER_BENCH_OCM_IDLE (60 seconds).

// ocmLimit bounds each of them.
const ocmLimit = 10 * time.Minute

// selfService is the flag of a hub that needs nobody's consent.
const selfService = "--auto-approve-users=" + ocmAccountUser

// reportLoad says how busy the machine was: seconds mean little without that.
func reportLoad(b *testing.B) {
	b.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		b.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	average, err := strconv.ParseFloat(first, 64)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(average, "load-average")
	b.ReportMetric(0, "ns/op")
}

// quietMember is a cluster that nothing runs on.
func quietMember(b *testing.B, name string) *controlplanetest.Member {
	b.Helper()
	return controlplanetest.StartMember(b, controlplanetest.MemberOptions{Name: name, Nodes: 1})
}

// BenchmarkOCMStart starts our agent with nothing but a bootstrap kubeconfig, at a
// hub that consents by itself, and watches from outside how far it has come when.
func BenchmarkOCMStart(b *testing.B) {
	starts := size(b, "STARTS", 10)
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), ocmLimit)
		h, m := startHub(b, selfService), quietMember(b, "spoke")
		bootstrap := ocmBootstrap(b, h, ocmToken(b, h))
		steps, err := loadtest.FollowJoins(ctx, h.config(b))
		if err != nil {
			b.Fatal(err)
		}
		startKlusterlet(b, m, "first", bootstrap, "--identity-dir", b.TempDir()) // installs definitions in the member
		b.Logf("first: %v", awaitSteps(ctx, b, steps, "first"))
		h.awaitQuiet(b)
		seen := map[string]*load.Latency{}
		for i := range starts {
			name := fmt.Sprintf("start-%02d", i)
			begin := time.Now()
			agent := startKlusterlet(b, m, name, bootstrap, "--identity-dir", b.TempDir())
			at := awaitSteps(ctx, b, steps, name)
			for step, when := range at {
				if seen[step] == nil {
					seen[step] = &load.Latency{}
				}
				seen[step].Note(when.Sub(begin))
			}
			if err := agent.Stop(); err != nil {
				b.Fatal(err)
			}
		}
		for step, latency := range seen {
			reportStep(b, "", step, latency.Take(), goals{p50: "300 (Open Cluster Management 1430)", p99: "none (Open Cluster Management 2500)"})
		}
		reportLoad(b)
		cancel()
	}
}

// reportStep reports how long agents took to a step; the goals are of the last one.
func reportStep(b *testing.B, kind, step string, q load.Quantiles, g goals) {
	b.Helper()
	if step != loadtest.StepAvailable {
		b.ReportMetric(q.P50, kind+step+"-p50-ms")
		return
	}
	against(b, q.P50, kind+step+"-p50-ms", g.p50)
	against(b, q.P99, kind+step+"-p99-ms", g.p99)
}

func awaitSteps(ctx context.Context, b *testing.B, steps *loadtest.Joins, cluster string) map[string]time.Time {
	b.Helper()
	at, err := steps.Await(ctx, cluster, loadtest.StepAvailable)
	if err != nil {
		b.Fatalf("%s is not available: %v; so far %v", cluster, err, at)
	}
	return at
}

// acceptGoals are those of an accepted cluster's way to Available.
var acceptGoals = map[string]string{
	"early": "200 (Open Cluster Management 1000)", "late": "200 (Open Cluster Management 12,000 to 17,000)",
}

// BenchmarkOCMAccept accepts clusters whose agents have their certificates: at once
// (early), and when they have waited for some seconds (late).
func BenchmarkOCMAccept(b *testing.B) {
	starts := size(b, "STARTS", 10)
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), ocmLimit)
		h, m := startHub(b), quietMember(b, "spoke")
		bootstrap := ocmBootstrap(b, h, ocmToken(b, h))
		steps, err := loadtest.FollowJoins(ctx, h.config(b))
		if err != nil {
			b.Fatal(err)
		}
		for kind, pause := range map[string]time.Duration{"early": 0, "late": 5 * time.Second} {
			took := map[string]*load.Latency{}
			for i := range starts {
				name := fmt.Sprintf("%s-%02d", kind, i)
				agent := startKlusterlet(b, m, name, bootstrap, "--identity-dir", b.TempDir())
				request := h.awaitRequest(b, name)
				h.approveRequest(b, request)
				h.awaitIssued(b, request)
				select {
				case <-time.After(pause):
				case <-ctx.Done():
				}
				begin := time.Now()
				h.accept(b, name, true)
				for step, when := range awaitSteps(ctx, b, steps, name) {
					if when.After(begin) {
						if took[step] == nil {
							took[step] = &load.Latency{}
						}
						took[step].Note(when.Sub(begin))
					}
				}
				if err := agent.Stop(); err != nil {
					b.Fatal(err)
				}
			}
			for step, latency := range took {
				reportStep(b, kind+"-", step, latency.Take(), goals{p50: acceptGoals[kind]})
			}
		}
		reportLoad(b)
		cancel()
	}
}

// sendWork creates a ManifestWork of one ConfigMap, which says when that was.
func (h *hub) sendWork(ctx context.Context, cluster, name string) error {
	object := manifest("v1", "ConfigMap", metav1.NamespaceDefault, name)
	object["metadata"].(map[string]any)["annotations"] = map[string]any{load.SentAnnotation: load.Stamp(time.Now())}
	object["data"] = map[string]any{"text": strings.Repeat("0123456789abcdef", 16)}
	work := manifest(ocmworkv1.GroupVersion.String(), "ManifestWork", cluster, name)
	work["spec"] = map[string]any{"workload": map[string]any{"manifests": []any{object}}}
	_, err := h.dynamic.Resource(manifestWorksResource).Namespace(cluster).Create(ctx, &unstructured.Unstructured{Object: work}, metav1.CreateOptions{})
	return err
}

// BenchmarkOCMWork creates one ManifestWork after the other, and watches the member
// for its object and the hub for its being told as available.
func BenchmarkOCMWork(b *testing.B) {
	works := size(b, "WORKS", 100)
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), ocmLimit)
		h, m := startHub(b, selfService), quietMember(b, "spoke")
		agent := startKlusterlet(b, m, "spoke", ocmBootstrap(b, h, ocmToken(b, h)))
		h.awaitManaged(b, "spoke", ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
		arrived, told := make(chan struct{}, works+1), make(chan struct{}, works+1)
		objects := &load.Latency{}
		if err := loadtest.Watch(ctx, loadConfig(b, m.Kubeconfig), "/api/v1/configmaps", func(e *loadtest.Event) {
			if sent, ok := load.Parse(e.Object.Metadata.Annotations[load.SentAnnotation]); ok && e.Type == "ADDED" {
				objects.Note(time.Since(sent))
				arrived <- struct{}{}
			}
		}); err != nil {
			b.Fatal(err)
		}
		known := map[string]struct{}{}
		if err := loadtest.Watch(ctx, h.config(b), "/apis/"+ocmworkv1.GroupVersion.String()+"/manifestworks", func(e *loadtest.Event) {
			if _, again := known[e.Key()]; !again && e.True(ocmworkv1.ConditionApplied) {
				known[e.Key()] = struct{}{}
				told <- struct{}{}
			}
		}); err != nil {
			b.Fatal(err)
		}
		if err := h.sendWork(ctx, "spoke", "first"); err != nil { // reads the API list, begins to watch the kind
			b.Fatal(err)
		}
		awaitAll(ctx, b, arrived, 1)
		awaitAll(ctx, b, told, 1)
		before, cpu, agentCPU := h.awaitQuiet(b), cpuSeconds(b, h.PID()), cpuSeconds(b, agent.PID())
		asked := h.requests(b)
		objects.Take()
		profiled := h.profile(b)
		ticker := time.NewTicker(200 * time.Millisecond)
		for i := range works {
			<-ticker.C
			if err := h.sendWork(ctx, "spoke", fmt.Sprintf("work-%03d", i)); err != nil {
				b.Fatal(err)
			}
		}
		ticker.Stop()
		awaitAll(ctx, b, arrived, works)
		awaitAll(ctx, b, told, works)
		during := h.requests(b).Since(asked)
		after := h.awaitQuiet(b)
		profiled()
		reportQuantiles(b, "object", objects.Take(), goals{p50: "10 (Open Cluster Management 21)", p99: "30 (Open Cluster Management 67)"})
		b.ReportMetric(float64(after-before-int64(works))/float64(works), "hub-writes/work")
		b.ReportMetric(during.Sum()/float64(works), "hub-requests/work-with-create")
		b.ReportMetric(1000*(cpuSeconds(b, h.PID())-cpu)/float64(works), "hub-cpu-ms/work")
		b.ReportMetric(1000*(cpuSeconds(b, agent.PID())-agentCPU)/float64(works), "agent-cpu-ms/work")
		b.Logf("requests for each work: %s", during.Per(works))
		reportLoad(b)
		cancel()
	}
}

func awaitAll(ctx context.Context, b *testing.B, events <-chan struct{}, count int) {
	b.Helper()
	for i := range count {
		select {
		case <-events:
		case <-ctx.Done():
			b.Fatalf("%d of %d came: %v", i, count, ctx.Err())
		}
	}
}

func (h *hub) requests(b *testing.B) loadtest.Requests {
	b.Helper()
	counts, err := loadtest.CountRequests(b.Context(), h.config(b))
	if err != nil {
		b.Fatal(err)
	}
	return counts
}

// BenchmarkOCMFleet registers many members at a hub that consents by itself, looks
// at what they cost when idle, and sends each a ManifestWork.
func BenchmarkOCMFleet(b *testing.B) {
	agents, idle := size(b, "AGENTS", 1000), size(b, "OCM_IDLE", 60)
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), 2*ocmLimit)
		h := startHub(b, selfService)
		settle(b)
		reportMemoryAs(b, h, "before", "")
		steps, err := loadtest.FollowJoins(ctx, h.config(b))
		if err != nil {
			b.Fatal(err)
		}
		written := h.listWrites(ctx, b)
		profiled := h.profile(b)
		asked, before, cpu, begin := h.requests(b), h.awaitQuiet(b), cpuSeconds(b, h.PID()), time.Now()
		program := loadtest.Start(b, "simklusterlet", "--agents", strconv.Itoa(agents), "--kubeconfig", h.Kubeconfig)
		last, err := steps.AwaitCount(ctx, loadtest.StepAvailable, agents)
		if err != nil {
			b.Fatal(err)
		}
		against(b, last.Sub(begin).Seconds(), "s-to-registered", "60, of 1,000 members")
		b.ReportMetric(1000*(cpuSeconds(b, h.PID())-cpu)/float64(agents), "hub-cpu-ms/registration")
		during := h.requests(b).Since(asked)
		profiled()
		settle(b) // it does not come to rest: leases are renewed
		after := h.revision(b)
		written("writes of registrations")
		b.ReportMetric(float64(after-before)/float64(agents), "hub-writes/registration")
		b.ReportMetric(during.Sum()/float64(agents), "hub-requests/registration")
		report := program.Report(b)
		b.ReportMetric(float64(report.Counts["hub requests"])/float64(agents), "agent-requests/registration")
		b.Logf("requests for each registration: %s", during.Per(agents))
		b.Logf("counted by the agents: %v", report.Counts)
		reportMemoryAs(b, h, "registered", "")
		h.lookIdle(b, program, agents, time.Duration(idle)*time.Second)
		written("writes of idle members")
		h.sendEach(ctx, b, agents)
		written("writes of works")
		reportMemoryAs(b, h, "with-works", "")
		reportLoad(b)
		cancel()
	}
}

// lookIdle counts what members cost that have nothing to do.
func (h *hub) lookIdle(b *testing.B, program *loadtest.Program, agents int, span time.Duration) {
	b.Helper()
	asked, report, before, cpu, begin := h.requests(b), program.Report(b), h.revision(b), cpuSeconds(b, h.PID()), time.Now()
	select {
	case <-time.After(span):
	case <-b.Context().Done():
	}
	minutes := time.Since(begin).Minutes() * float64(agents)
	during := h.requests(b).Since(asked)
	b.ReportMetric(float64(h.revision(b)-before)/minutes, "idle-writes/member-minute")
	b.ReportMetric(during.Sum()/minutes, "idle-requests/member-minute")
	b.ReportMetric(float64(program.Report(b).Counts["hub requests"]-report.Counts["hub requests"])/minutes, "idle-agent-requests/member-minute")
	b.ReportMetric(1000*(cpuSeconds(b, h.PID())-cpu)/minutes, "idle-hub-cpu-ms/member-minute")
	b.Logf("requests while idle, for each member: %s", during.Per(agents))
}

// sendEach sends every simulated member one ManifestWork.
func (h *hub) sendEach(ctx context.Context, b *testing.B, agents int) {
	b.Helper()
	told, writes := make(chan struct{}, agents), atomic.Int64{}
	known := map[string]struct{}{}
	if err := loadtest.Watch(ctx, h.config(b), "/apis/"+ocmworkv1.GroupVersion.String()+"/manifestworks", func(e *loadtest.Event) {
		writes.Add(1)
		if _, again := known[e.Key()]; !again && e.True(ocmworkv1.ConditionApplied) {
			known[e.Key()] = struct{}{}
			told <- struct{}{}
		}
	}); err != nil {
		b.Fatal(err)
	}
	cpu, begin := cpuSeconds(b, h.PID()), time.Now()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range agents {
		group.Go(func() error { return h.sendWork(within, fmt.Sprintf("sim-%05d", i+1), "work") })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	awaitAll(ctx, b, told, agents)
	b.ReportMetric(time.Since(begin).Seconds(), "s-to-works-told")
	b.ReportMetric(1000*(cpuSeconds(b, h.PID())-cpu)/float64(agents), "hub-cpu-ms/work")
	b.ReportMetric(float64(writes.Load()-int64(agents))/float64(agents), "hub-writes/work")
}

// reportMemoryAs reports the hub's memory at one stage.
func reportMemoryAs(b *testing.B, h *hub, stage, goal string) {
	b.Helper()
	settle(b)
	against(b, memoryMB(b, h.PID(), "VmRSS:"), "MB-resident-"+stage, goal)
	b.ReportMetric(memoryMB(b, h.PID(), "RssAnon:"), "MB-own-"+stage)
}

// BenchmarkBothDialects looks at the memory of a hub with members of both dialects,
// as many of the one as of the other.
func BenchmarkBothDialects(b *testing.B) {
	agents := size(b, "AGENTS", 1000) / 2
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), 2*ocmLimit)
		h := startHub(b, selfService)
		steps, err := loadtest.FollowJoins(ctx, h.config(b))
		if err != nil {
			b.Fatal(err)
		}
		reportMemoryAs(b, h, "empty", "")
		loadtest.Start(b, "simagent", "--agents", strconv.Itoa(agents), "--name", "karmada", "--data-dir", h.DataDir)
		h.awaitAllReady(b, agents)
		h.awaitQuiet(b)
		reportMemoryAs(b, h, "one-dialect", "")
		loadtest.Start(b, "simklusterlet", "--agents", strconv.Itoa(agents), "--kubeconfig", h.Kubeconfig)
		if _, err := steps.AwaitCount(ctx, loadtest.StepAvailable, 2*agents); err != nil {
			b.Fatal(err)
		}
		reportMemoryAs(b, h, "both-dialects", "740 (what Open Cluster Management takes at rest, Kubernetes not counted)")
		reportLoad(b)
		cancel()
	}
}
