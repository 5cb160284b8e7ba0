package scheduling

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Steps of a decision, as the label schedule_step names them.
const (
	stepFilter = "Filter"
	stepScore  = "Score"
	stepSelect = "Select"
	stepAssign = "AssignReplicas"
)

// Values of the labels result, schedule_type and event.
const (
	resultSuccess = "success"
	resultError   = "error"

	typeReconcile = "ReconcileSchedule"
	typeScale     = "ScaleSchedule"

	eventBindingAdd     = "BindingAdd"
	eventBindingUpdate  = "BindingUpdate"
	eventAttemptFailure = "ScheduleAttemptFailure"
	eventPolicyChanged  = "PolicyChanged"
	eventClusterChanged = "ClusterChanged"
)

const subsystem = "karmada_scheduler"

// Buckets from 10 µs for parts of a decision, from 1 ms for what waits for writes.
var (
	stepBuckets  = prometheus.ExponentialBuckets(0.00001, 2, 20)
	writeBuckets = prometheus.ExponentialBuckets(0.001, 2, 15)
)

// The metrics of contract section 14, under the names that dashboards know. Those of
// estimators are served by the estimators.
var (
	attempts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: subsystem, Name: "schedule_attempts_total",
		Help: "Attempts to schedule a binding, by result.",
	}, []string{"result", "schedule_type"})
	endToEnd = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: subsystem, Name: "e2e_scheduling_duration_seconds",
		Help: "Time from taking a binding up to having written its result.", Buckets: writeBuckets,
	}, []string{"result", "schedule_type"})
	algorithm = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: subsystem, Name: "scheduling_algorithm_duration_seconds",
		Help: "Time that a step of a decision took.", Buckets: stepBuckets,
	}, []string{"schedule_step"})
	incoming = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: subsystem, Name: "queue_incoming_bindings_total",
		Help: "Bindings put into the queue, by what brought them there.",
	}, []string{"event"})
	extensionPoints = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: subsystem, Name: "framework_extension_point_duration_seconds",
		Help: "Time that all plugins of an extension point took over all clusters.", Buckets: stepBuckets,
	}, []string{"extension_point", "result"})
	plugins = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: subsystem, Name: "plugin_execution_duration_seconds",
		Help: "Time that a plugin took over all clusters.", Buckets: stepBuckets,
	}, []string{"plugin", "extension_point", "result"})
)

func init() {
	ctrlmetrics.Registry.MustRegister(attempts, endToEnd, algorithm, incoming, extensionPoints, plugins)
}

// stopwatch tells the metrics how long the steps of a decision take. A nil one
// measures nothing: previews do not count.
type stopwatch struct{}

// step tells how long a step took and returns the beginning of the next.
func (w *stopwatch) step(name string, began time.Time) time.Time {
	if w == nil {
		return began
	}
	now := time.Now()
	took := now.Sub(began).Seconds()
	algorithm.WithLabelValues(name).Observe(took)
	if name == stepFilter || name == stepScore {
		extensionPoints.WithLabelValues(name, resultSuccess).Observe(took)
	}
	return now
}

// plugin tells how long a filter took.
func (w *stopwatch) plugin(name string, began time.Time) {
	if w != nil {
		plugins.WithLabelValues(name, stepFilter, resultSuccess).Observe(time.Since(began).Seconds())
	}
}

func resultOf(ok bool) string {
	if ok {
		return resultSuccess
	}
	return resultError
}
