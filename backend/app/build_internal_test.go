package app

import (
	"runtime"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestBuildMetric(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(buildMetric("v9.9.9"))
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "karmada_build_info" {
		t.Fatalf("%v, %v", families, err)
	}
	m := families[0].GetMetric()[0]
	labels := map[string]string{}
	for _, pair := range m.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	if m.GetGauge().GetValue() != 1 || labels["git_version"] != "v9.9.9" || labels["go_version"] != runtime.Version() || len(labels) != 8 {
		t.Errorf("%v %v", m.GetGauge().GetValue(), labels)
	}
}
