package execution

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// metrics are those of contract section 14 about what is done in members. Each
// has two spellings, since published dashboards use the one that the code they
// were made for does not emit.
type metrics struct {
	created, updated, deleted []*prometheus.CounterVec
	duration                  []*prometheus.HistogramVec
}

const karmadaPrefix = "karmada_"

var spellings = []string{"", karmadaPrefix}

// shared are the metrics of this process: several managers may live in one.
var shared = newMetrics(ctrlmetrics.Registry)

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"result", "apiversion", "kind", "member_cluster"}, labels...))
		registry.MustRegister(c)
		return c
	}
	for _, prefix := range spellings {
		m.created = append(m.created, counter(prefix+"create_resource_to_cluster", "Objects created in members.", "recreate"))
		m.updated = append(m.updated, counter(prefix+"update_resource_to_cluster", "Objects updated in members.", "operationResult"))
		m.deleted = append(m.deleted, counter(prefix+"delete_resource_from_cluster", "Objects deleted in members."))
		duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "work_sync_workload_duration_seconds", Help: "How long executing a Work took.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 12),
		}, []string{"result"})
		registry.MustRegister(duration)
		m.duration = append(m.duration, duration)
	}
	return m
}

// executed counts one execution of a Work. recreated says that its object had
// been there before.
func (m *metrics) executed(cluster, apiVersion, kind string, recreated bool, made *calls, took time.Duration, err error) {
	for _, d := range m.duration {
		d.WithLabelValues(result(err == nil)).Observe(took.Seconds())
	}
	made.each(func(method string, ok bool, n int) {
		switch method {
		case http.MethodPost:
			for _, c := range m.created {
				c.WithLabelValues(result(ok), apiVersion, kind, cluster, truth(recreated)).Add(float64(n))
			}
		case http.MethodPut:
			for _, c := range m.updated {
				c.WithLabelValues(result(ok), apiVersion, kind, cluster, "updated").Add(float64(n))
			}
		case http.MethodDelete:
			for _, c := range m.deleted {
				c.WithLabelValues(result(ok), apiVersion, kind, cluster).Add(float64(n))
			}
		}
	})
}

// forget drops the series of a cluster that left.
func (m *metrics) forget(cluster string) {
	of := prometheus.Labels{"member_cluster": cluster}
	for _, counters := range [][]*prometheus.CounterVec{m.created, m.updated, m.deleted} {
		for _, c := range counters {
			c.DeletePartialMatch(of)
		}
	}
}

func result(ok bool) string {
	if ok {
		return "success"
	}
	return "error"
}

func truth(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
