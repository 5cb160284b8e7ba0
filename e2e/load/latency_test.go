package load_test

import (
	"testing"
	"time"

	"muster.dev/muster/e2e/load"
)

func TestSentIsFoundInsideWorks(t *testing.T) {
	t.Parallel()
	meant := time.Unix(1700000000, 123456789)
	for _, c := range []struct {
		name, json string
		want       time.Time
		found      bool
	}{
		{"object", `{"metadata":{"annotations":{"a":"b","load.muster.dev/sent":"` + load.Stamp(meant) + `"}}}`, meant, true},
		{"work", `{"spec":{"workload":{"manifests":[{"metadata":{"annotations":{"load.muster.dev/sent":"` + load.Stamp(meant) + `"}}}]}}}`, meant, true},
		{"none", `{"metadata":{"annotations":{"a":"b"}}}`, time.Time{}, false},
		{"broken", `{"metadata":{"annotations":{"load.muster.dev/sent":"soon"}}}`, time.Time{}, false},
	} {
		got, found := load.Sent([]byte(c.json))
		if found != c.found || found && !got.Equal(c.want) {
			t.Errorf("%s: %v, %v", c.name, got, found)
		}
	}
}

func TestLatencyIsSinceTheLastTake(t *testing.T) {
	t.Parallel()
	var l load.Latency
	for i := range 100 {
		l.Note(time.Duration(100-i) * time.Millisecond)
	}
	if got, want := l.Take(), (load.Quantiles{Count: 100, P50: 51, P95: 96, P99: 100, Max: 100}); got != want {
		t.Errorf("took %+v, want %+v", got, want)
	}
	if got := l.Take(); got != (load.Quantiles{}) {
		t.Errorf("took %+v again", got)
	}
}
