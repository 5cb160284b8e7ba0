package eviction

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// TestMetrics counts evictions from cluster-wide bindings, which no other test here
// evicts from.
func TestMetrics(t *testing.T) {
	t.Parallel()
	const name = "cluster-binding-eviction"
	a, b := types.NamespacedName{Name: "a-clusterrole"}, types.NamespacedName{Name: "b-clusterrole"}
	r := NewBindingReconciler(nil, nil, Deps{})
	depth := func(want float64) {
		t.Helper()
		for i := range waiting {
			if got := testutil.ToFloat64(waiting[i].WithLabelValues(name)); got != want {
				t.Errorf("%v wait, want %v", got, want)
			}
		}
	}
	r.wait(a, 3)
	r.wait(b, 1)
	depth(4)
	r.wait(a, 3)
	r.wait(a, 1)
	depth(2)
	r.forget(a)
	r.wait(b, 0)
	depth(0)
	tasks := []workv1alpha2.GracefulEvictionTask{{FromCluster: "metered-1"}, {FromCluster: "metered-2"}}
	r.count(a, tasks, "ClusterRole", time.Second, nil)
	r.count(a, tasks[:1], "ClusterRole", time.Second, errors.New("no"))
	r.count(a, nil, "ClusterRole", time.Second, nil)
	for i := range processed {
		if ok, failed := testutil.ToFloat64(processed[i].WithLabelValues(name, "success")), testutil.ToFloat64(processed[i].WithLabelValues(name, "error")); ok != 2 || failed != 1 {
			t.Errorf("%v went well, %v did not", ok, failed)
		}
		if n := testutil.ToFloat64(evictions[i].WithLabelValues("metered-1", "ClusterRole")); n != 1 {
			t.Errorf("%v from the first cluster", n)
		}
	}
}
