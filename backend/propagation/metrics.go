package propagation

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// metrics are those of contract section 14 about bindings, in both spellings
// that dashboards use.
type metrics struct {
	duration []*prometheus.HistogramVec
}

// shared are the metrics of this process: several managers may live in one.
var shared = newMetrics(ctrlmetrics.Registry)

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{}
	for _, name := range []string{"binding_sync_work_duration_seconds", "karmada_binding_sync_work_duration_seconds"} {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: "How long making the Works of a binding took.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 12),
		}, []string{"result"})
		registry.MustRegister(h)
		m.duration = append(m.duration, h)
	}
	return m
}

// synced counts one look at a binding.
func (m *metrics) synced(took time.Duration, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	for _, h := range m.duration {
		h.WithLabelValues(result).Observe(took.Seconds())
	}
}
