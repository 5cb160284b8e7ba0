package template_test

import (
	"maps"
	"testing"

	dto "github.com/prometheus/client_model/go"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// testMetrics reads what those before it have left in the metrics of the process.
func testMetrics(t *testing.T, _ *fixture) {
	success := map[string]string{"result": "success"}
	for name, labels := range map[string]map[string]string{
		"resource_match_policy_duration_seconds": {}, "resource_apply_policy_duration_seconds": success,
		"policy_apply_attempts_total": success, "policy_preemption_total": success,
	} {
		for _, spelling := range []string{name, "karmada_" + name} {
			if n := samples(t, spelling, labels); n == 0 {
				t.Errorf("%s%v: nothing was noted", spelling, labels)
			}
		}
	}
}

// samples is the value of a counter, or the number of observations of a histogram.
func samples(t *testing.T, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if maps.Equal(labels, labelsOf(m)) {
				return m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, pair := range m.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	return labels
}
