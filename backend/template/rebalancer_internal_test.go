package template

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// TestStampAt: the stamp of a rebalancer created at second 10 is that second, as
// clients expect, and not older than the last scheduling, or the scheduler would not
// heed it.
func TestStampAt(t *testing.T) {
	const none = -1
	second := func(n int64) *metav1.Time {
		if n == none {
			return nil
		}
		at := metav1.NewTime(time.Unix(n, 0))
		return &at
	}
	for name, row := range map[string]struct{ stamped, scheduled, want int64 }{
		"never scheduled":                {none, none, 10},
		"scheduled before":               {none, 9, 10},
		"scheduled in the same second":   {none, 10, 10},
		"scheduled since":                {none, 15, 15},
		"stamped before, and done":       {5, 6, 10},
		"stamped before, and not done":   {5, 5, 10},
		"stamped, and not done":          {10, 9, none},
		"stamped, and never scheduled":   {10, none, none},
		"stamped later, and not done":    {11, 10, none},
		"another one of the same second": {10, 11, 11},
		"stamped later, and done":        {11, 12, 12},
	} {
		b := &workv1alpha2.ResourceBinding{}
		b.Spec.RescheduleTriggeredAt, b.Status.LastScheduledTime = second(row.stamped), second(row.scheduled)
		got := stampAt(b, *second(10))
		if want := second(row.want); !got.Equal(want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
