package execution

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// answers is a transport that answers by the path of a request.
type answers map[string]int

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if code := a[r.URL.Path]; code != 0 {
		return &http.Response{StatusCode: code, Body: http.NoBody}, nil
	}
	return nil, errors.New("no way")
}

func TestCallsAreCounted(t *testing.T) {
	transport := countCalls(answers{"/ok": 201, "/refused": 422, "/conflict": 409, "/gone": 404})
	ctx, made := withCalls(t.Context())
	for _, r := range [][2]string{{"GET", "/ok"}, {"POST", "/ok"}, {"PUT", "/ok"}, {"PUT", "/ok"}, {"POST", "/refused"}, {"PUT", "/conflict"}, {"DELETE", "/gone"}, {"DELETE", "/lost"}, {"POST", "/gone"}} {
		request, err := http.NewRequestWithContext(ctx, r[0], "http://member"+r[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err == nil {
			_ = response.Body.Close()
		}
	}
	registry := prometheus.NewRegistry()
	m := newMetrics(registry)
	m.executed("m1", "v1", "ConfigMap", true, made, 0, nil)
	want := map[string]float64{}
	for _, prefix := range []string{"", "karmada_"} {
		want[prefix+"create_resource_to_cluster success"] = 1
		want[prefix+"create_resource_to_cluster error"] = 2
		want[prefix+"update_resource_to_cluster success"] = 2
		want[prefix+"delete_resource_from_cluster error"] = 1
		want[prefix+"work_sync_workload_duration_seconds success"] = 1
	}
	if diff := cmp.Diff(want, values(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.forget("m1")
	for name := range values(t, registry) {
		if name != "work_sync_workload_duration_seconds success" && name != "karmada_work_sync_workload_duration_seconds success" {
			t.Errorf("%s stays when the cluster has left", name)
		}
	}
}

func values(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			name := family.GetName()
			for _, label := range metric.Label {
				if label.GetName() == "result" {
					name += " " + label.GetValue()
				}
			}
			if metric.Histogram != nil {
				found[name] += float64(metric.Histogram.GetSampleCount())
			}
			found[name] += metric.Counter.GetValue()
		}
	}
	return found
}
