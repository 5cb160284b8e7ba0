package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// The benchmarks print figures, and their goals beside them, and judge none: "make
// bench". A machine with other work to do prints others.

// against reports a figure, and logs its goal beside it: what it is to be at most, and
// what others take where that was measured. An empty goal is none.
func against(b *testing.B, figure float64, unit, goal string) {
	b.Helper()
	b.ReportMetric(figure, unit)
	if goal != "" {
		b.Logf("%s: %.4g, goal %s", unit, figure, goal)
	}
}

// reportMemory reports a process' resident memory in MB, pages of files
// included, and how much of it is the process' own.
func reportMemory(b *testing.B, pid int, goal string) {
	b.Helper()
	against(b, memoryMB(b, pid, "VmRSS:"), "MB-resident", goal)
	b.ReportMetric(memoryMB(b, pid, "RssAnon:"), "MB-own")
}

func memoryMB(b *testing.B, pid int, key string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kb) / 1024
		}
	}
	b.Fatalf("no %s line", key)
	return 0
}

// settle lets a process come to rest.
func settle(b *testing.B) {
	b.Helper()
	select {
	case <-time.After(15 * time.Second): // ten seconds after it serves, a hub gives back what only its start needed
	case <-b.Context().Done():
	}
}

func BenchmarkStartOnEmptyDirectory(b *testing.B) {
	for b.Loop() {
		h := controlplanetest.StartHub(b, controlplanetest.HubOptions{})
		against(b, h.ServingAfter.Seconds(), "s-to-serving", "2")
		settle(b)
		reportMemory(b, h.PID(), "300")
		if err := h.Kill(); err != nil {
			b.Fatal(err)
		}
		if err := h.Restart(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(h.ServingAfter.Seconds(), "s-after-kill")
	}
}

// BenchmarkRestartOfALargeHub restarts, as after kill -9, a hub with 10,000 clusters
// and 50,000 works of users (MUSTER_BENCH_CLUSTERS, with five works each). One of the
// clusters joins and comes to rest; clonehub writes what the hub keeps of it as often
// as it takes, where joins would take half an hour of CPU.
func BenchmarkRestartOfALargeHub(b *testing.B) {
	clusters := 10_000
	if text := os.Getenv("MUSTER_BENCH_CLUSTERS"); text != "" {
		var err error
		if clusters, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		h := startHub(b)
		fill(b, h, clusters, 5)
		awaitWork(b, h, 2)
		if err := h.Kill(); err != nil {
			b.Fatal(err)
		}
		restart(b, h)
		against(b, h.ServingAfter.Seconds(), "s-after-kill", "3, of 10,000 clusters and 50,000 works")
		b.ReportMetric(cpuSeconds(b, h.PID()), "cpu-s-after-kill")
		begin, profiled := time.Now(), h.profile(b)
		awaitWork(b, h, 3)
		b.ReportMetric((h.ServingAfter + time.Since(begin)).Seconds(), "s-to-work")
		b.ReportMetric(cpuSeconds(b, h.PID()), "cpu-s-to-work")
		profiled()
		settle(b)
		b.Logf("requests since the restart, for each cluster: %s", h.requests(b).Per(clusters))
		reportMemory(b, h.PID(), "")
		b.ReportMetric(directoryMB(b, h.DataDir), "MB-disk")
	}
}

// restart starts a hub again that was stopped or killed, however much it has to read.
func restart(b *testing.B, h *hub) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	if err := h.Restart(ctx); err != nil {
		b.Fatal(err)
	}
	h.connect(b)
}

// awaitWork waits until the controllers of a hub's nth run are at work.
func awaitWork(b *testing.B, h *hub, nth int) {
	b.Helper()
	for end := time.Now().Add(10 * time.Minute); strings.Count(h.Output(), "hub at work") < nth; {
		if time.Now().After(end) || b.Context().Err() != nil {
			b.Fatal("the hub's controllers are not at work")
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-b.Context().Done():
		}
	}
}

// fill leaves a hub with pull clusters without an agent, and works for each.
func fill(b *testing.B, h *hub, clusters, worksEach int) {
	b.Helper()
	const name = "cluster-00000"
	if err := createCluster(b, h.dynamic, name, string(uuid.NewUUID())); err != nil {
		b.Fatal(err)
	}
	data := strings.Repeat("0123456789abcdef", 200) // a Work of 3.5 KB
	for i := range worksEach {
		w := manifest("work.karmada.io/v1alpha1", "Work", "karmada-es-"+name, fmt.Sprintf("work-%d", i))
		object := manifest("v1", "ConfigMap", "default", fmt.Sprintf("config-%d", i))
		object["data"] = map[string]any{"text": data}
		w["spec"] = map[string]any{"workload": map[string]any{"manifests": []any{object}}}
		if err := createWhenNamespaceExists(b.Context(), h.dynamic, w); err != nil {
			b.Fatal(err)
		}
	}
	h.awaitReady(b, name, metav1.ConditionUnknown) // nobody reports for it
	settle(b)
	if err := h.Stop(); err != nil {
		b.Fatal(err)
	}
	mustRun(b, "clonehub", "--data-dir", h.DataDir, "--cluster", name, "--until", strconv.Itoa(clusters))
	restart(b, h)
}

// createWhenNamespaceExists creates a Work; the hub makes the execution
// namespace a moment after the cluster.
func createWhenNamespaceExists(ctx context.Context, client dynamic.Interface, w map[string]any) error {
	object := &unstructured.Unstructured{Object: w}
	for end := time.Now().Add(patience); ; {
		_, err := client.Resource(worksResource).Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{})
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("create work in %s: %w", object.GetNamespace(), err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func directoryMB(b *testing.B, dir string) float64 {
	b.Helper()
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return float64(sum) / (1 << 20)
}

func BenchmarkPushJoinAndUnjoin(b *testing.B) {
	h := startHub(b)
	m := controlplanetest.StartMember(b, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	for b.Loop() {
		begin := time.Now()
		mustJoin(b, h, "east", m)
		against(b, time.Since(begin).Seconds(), "s-join-to-Ready", "2 (Karmada 4.4 to 4.6)")
		r := mustRun(b, "muster", "unjoin", "east", "--kubeconfig", h.Kubeconfig, "--cluster-kubeconfig", m.Kubeconfig)
		b.ReportMetric(r.took.Seconds(), "s-unjoin")
		h.awaitGone(b, "east")
	}
}

func BenchmarkPullJoin(b *testing.B) {
	h := startHub(b)
	m := controlplanetest.StartMember(b, controlplanetest.MemberOptions{Name: "west", Nodes: 1})
	for b.Loop() {
		token := createToken(b, h)
		begin := time.Now()
		agent := startAgent(b, h, m, token, "--cluster-name", "west")
		h.awaitReady(b, "west", metav1.ConditionTrue)
		against(b, time.Since(begin).Seconds(), "s-register-to-Ready", "2 (Karmada 7.8)")
		mustRun(b, "muster-agent", "unregister", "west", "--cluster-kubeconfig", m.Kubeconfig, "--karmada-config", h.Kubeconfig)
		h.awaitGone(b, "west")
		if err := agent.Stop(); err != nil {
			b.Fatal(err)
		}
	}
}
