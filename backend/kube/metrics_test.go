package kube_test

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"muster.dev/muster/backend/kube"
)

func TestMetricsHaveBothNames(t *testing.T) {
	t.Parallel()
	durations := kube.NewDurations("t_seconds", "Test.", 3, "who")
	counters := kube.NewCounters("t_total", "Test.", "result")
	gauges := kube.NewGauges("t_depth", "Test.", "name")
	durations.Observe(time.Second, "m1")
	durations.Observe(time.Second, "m2")
	durations.Drop("m1")
	counters.Add(2, kube.Outcome(nil))
	counters.Add(1, kube.Outcome(errors.New("no")))
	gauges.Add(3, "q")
	gauges.Add(-1, "q")
	gauges.Add(1, "gone")
	gauges.Drop("name", "gone")
	if len(durations) != 2 || len(counters) != 2 || len(gauges) != 2 {
		t.Fatal("not each has two names")
	}
	for i := range counters {
		if n := testutil.CollectAndCount(durations[i]); n != 1 {
			t.Errorf("%d series of durations", n)
		}
		if ok, failed := testutil.ToFloat64(counters[i].WithLabelValues("success")), testutil.ToFloat64(counters[i].WithLabelValues("error")); ok != 2 || failed != 1 {
			t.Errorf("counted %v and %v", ok, failed)
		}
		if n := testutil.CollectAndCount(gauges[i]); n != 1 {
			t.Errorf("%d series of gauges", n)
		}
		if n := testutil.ToFloat64(gauges[i].WithLabelValues("q")); n != 2 {
			t.Errorf("the gauge shows %v", n)
		}
	}
}
