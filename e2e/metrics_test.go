package e2e_test

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// figure is what dashboards and alerts know of a metric: its name and its labels,
// separated by commas (contract karmada.md section 14).
type figure struct{ name, labels string }

// anyLabels stands for labels that are a library's business.
const anyLabels = "*"

// figures have series once a Deployment was sent to two clusters, changed and taken
// back. Those of evictions and preemption have theirs in the packages' own tests.
var figures = []figure{
	{"cluster_ready_state", "member_cluster"},
	{"cluster_node_number", "member_cluster"},
	{"cluster_ready_node_number", "member_cluster"},
	{"cluster_memory_allocatable_bytes", "member_cluster"},
	{"cluster_cpu_allocatable_number", "member_cluster"},
	{"cluster_pod_allocatable_number", "member_cluster"},
	{"cluster_memory_allocated_bytes", "member_cluster"},
	{"cluster_cpu_allocated_number", "member_cluster"},
	{"cluster_pod_allocated_number", "member_cluster"},
	{"cluster_sync_status_duration_seconds", "member_cluster"},
	{"resource_match_policy_duration_seconds", ""},
	{"resource_apply_policy_duration_seconds", "result"},
	{"binding_sync_work_duration_seconds", "result"},
	{"work_sync_workload_duration_seconds", "result"},
	{"policy_apply_attempts_total", "result"},
	{"create_resource_to_cluster", "result,apiversion,kind,member_cluster,recreate"},
	{"update_resource_to_cluster", "result,apiversion,kind,member_cluster,operationResult"},
	{"delete_resource_from_cluster", "result,apiversion,kind,member_cluster"},
	{"karmada_build_info", "git_version,git_commit,git_short_commit,git_tree_state,build_date,go_version,compiler,platform"},
	{"karmada_scheduler_schedule_attempts_total", "result,schedule_type"},
	{"karmada_scheduler_e2e_scheduling_duration_seconds", "result,schedule_type"},
	{"karmada_scheduler_scheduling_algorithm_duration_seconds", "schedule_step"},
	{"karmada_scheduler_queue_incoming_bindings_total", "event"},
	{"karmada_scheduler_framework_extension_point_duration_seconds", "extension_point,result"},
	{"karmada_scheduler_plugin_execution_duration_seconds", "plugin,extension_point,result"},
	{"controller_runtime_reconcile_total", "controller,result"},
	{"controller_runtime_reconcile_errors_total", "controller"},
	{"controller_runtime_reconcile_time_seconds", "controller"},
	{"workqueue_depth", anyLabels},
	{"workqueue_adds_total", anyLabels},
	{"workqueue_retries_total", anyLabels},
	{"workqueue_queue_duration_seconds", anyLabels},
	{"workqueue_work_duration_seconds", anyLabels},
	{"rest_client_requests_total", anyLabels},
	{"apiserver_request_total", anyLabels},
	{"process_resident_memory_bytes", anyLabels},
	{"go_goroutines", anyLabels},
}

// libraries are the beginnings of names that Kubernetes' libraries use: those have one
// spelling.
var libraries = []string{"karmada_", "controller_runtime_", "workqueue_", "rest_client_", "apiserver_", "process_", "go_"}

// seeFigures looks for all figures, under both spellings, with exactly their labels.
func (f *fleet) seeFigures(t *testing.T) {
	families := f.scrape(t)
	for _, want := range figures {
		names := []string{want.name}
		if !slices.ContainsFunc(libraries, func(prefix string) bool { return strings.HasPrefix(want.name, prefix) }) {
			names = append(names, "karmada_"+want.name)
		}
		for _, name := range names {
			family := families[name]
			if family == nil || len(family.Metric) == 0 {
				t.Errorf("there is no series of %s", name)
				continue
			}
			if want.labels == anyLabels {
				continue
			}
			for _, series := range family.Metric {
				if got := labelsOf(series); got != sorted(want.labels) {
					t.Errorf("a series of %s has the labels %s, want %s", name, got, sorted(want.labels))
					break
				}
			}
		}
	}
	// What a member that has left had to tell is gone with it.
	mustRun(t, "muster", "unjoin", pushName, "--kubeconfig", f.Kubeconfig, "--cluster-kubeconfig", f.push.Kubeconfig)
	f.awaitGone(t, pushName)
	var left []string
	defer func() {
		if t.Failed() {
			t.Logf("series of a member that left: %v", left)
		}
	}()
	eventually(t, "no series of a member that left", func(context.Context) bool {
		left = nil
		for name, family := range f.scrape(t) {
			for _, series := range family.Metric {
				if slices.ContainsFunc(series.Label, func(l *dto.LabelPair) bool {
					return l.GetName() == "member_cluster" && l.GetValue() == pushName
				}) {
					left = append(left, name)
				}
			}
		}
		return len(left) == 0
	})
}

func labelsOf(series *dto.Metric) string {
	var names []string
	for _, label := range series.Label {
		names = append(names, label.GetName())
	}
	return sorted(strings.Join(names, ","))
}

func sorted(labels string) string {
	names := strings.Split(labels, ",")
	slices.Sort(names)
	return strings.Join(names, ",")
}

// scrape reads what collectors read.
func (h *hub) scrape(t testing.TB) map[string]*dto.MetricFamily {
	t.Helper()
	answer, err := admin(t, h).Do(t.Context(), http.MethodGet, "/metrics", nil)
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("/metrics: %d, %v", answer.Status, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(answer.Body))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// told are the Events that each kind of object has got once a Deployment was sent to
// two clusters, changed and taken back (contract karmada.md section 3.8).
var told = map[string][]string{
	"Cluster":         {"CreateExecutionSpaceSucceed", "TaintClusterSucceed", "SyncImpersonationConfigSucceed"},
	"Deployment":      {"ApplyPolicySucceed", "GetReplicasSucceed", "ScheduleBindingSucceed", "ApplyOverridePolicySucceed", "SyncWorkSucceed", "SyncSucceed", "AggregateStatusSucceed"},
	"ResourceBinding": {"ScheduleBindingSucceed", "SyncWorkSucceed", "AggregateStatusSucceed"},
	"Work":            {"WorkDispatching", "SyncSucceed", "ReflectStatusSucceed", "InterpretHealthSucceed"},
}

func (f *fleet) seeEvents(t *testing.T) {
	var missing []string
	defer func() {
		if t.Failed() {
			t.Logf("nobody has the Events %v", missing)
		}
	}()
	eventually(t, "all Events", func(context.Context) bool {
		seen := strings.Fields(f.on(t, "get", "events", "-A", "-o", `jsonpath={range .items[*]}{.involvedObject.kind}/{.reason}{"\n"}{end}`))
		missing = nil
		for kind, reasons := range told {
			for _, reason := range reasons {
				if !slices.Contains(seen, kind+"/"+reason) {
					missing = append(missing, kind+"/"+reason)
				}
			}
		}
		return len(missing) == 0
	})
}
