package kube

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// spellings of the metrics of contract section 14: published dashboards use the
// second, which the code that they were made for does not emit.
var spellings = []string{"", "karmada_"}

// Durations is a histogram of seconds under both of its names.
type Durations []*prometheus.HistogramVec

// NewDurations registers a histogram with the process, with n buckets from a
// millisecond on, each twice the one before.
func NewDurations(name, help string, n int, labels ...string) Durations {
	var both Durations
	for _, prefix := range spellings {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 2, n)}, labels)
		ctrlmetrics.Registry.MustRegister(v)
		both = append(both, v)
	}
	return both
}

// Observe notes how long something took.
func (d Durations) Observe(took time.Duration, labels ...string) {
	for _, v := range d {
		v.WithLabelValues(labels...).Observe(took.Seconds())
	}
}

// Drop forgets the series with these labels.
func (d Durations) Drop(labels ...string) {
	for _, v := range d {
		v.DeleteLabelValues(labels...)
	}
}

// Counters is a counter under both of its names.
type Counters []*prometheus.CounterVec

// NewCounters registers a counter with the process.
func NewCounters(name, help string, labels ...string) Counters {
	var both Counters
	for _, prefix := range spellings {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
		ctrlmetrics.Registry.MustRegister(v)
		both = append(both, v)
	}
	return both
}

// Add counts n more.
func (c Counters) Add(n int, labels ...string) {
	for _, v := range c {
		v.WithLabelValues(labels...).Add(float64(n))
	}
}

// Gauges is a gauge under both of its names.
type Gauges []*prometheus.GaugeVec

// NewGauges registers a gauge with the process.
func NewGauges(name, help string, labels ...string) Gauges {
	var both Gauges
	for _, prefix := range spellings {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
		ctrlmetrics.Registry.MustRegister(v)
		both = append(both, v)
	}
	return both
}

// Add moves the gauge.
func (g Gauges) Add(n int, labels ...string) {
	for _, v := range g {
		v.WithLabelValues(labels...).Add(float64(n))
	}
}

// Drop forgets the series in which a label has a value.
func (g Gauges) Drop(label, value string) {
	for _, v := range g {
		v.DeletePartialMatch(prometheus.Labels{label: value})
	}
}

// Outcome is the value of the label result.
func Outcome(err error) string {
	if err != nil {
		return "error"
	}
	return "success"
}
