package liveness

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// TestStatusIsTimed: the time that a report takes is noted by cluster, and forgotten
// with it.
func TestStatusIsTimed(t *testing.T) {
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "timed", UID: "u"}}
	hub := fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(cluster).WithStatusSubresource(cluster).Build()
	r := NewStatusReconciler(hub, hub, kube.NewMembers(hub, nil), testingclock.NewFakeClock(time.Unix(1e9, 0)))
	before := testutil.CollectAndCount(syncing[0])
	if err := r.write(t.Context(), cluster, &clusterv1alpha1.ClusterStatus{KubernetesVersion: "v1.36.3"}, true); err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(syncing[0]) - before; n != 1 {
		t.Errorf("%d clusters more are timed", n)
	}
	if err := hub.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "timed"}}); err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(syncing[0]); n != before {
		t.Errorf("%d clusters are timed after the end, %d before", n, before)
	}
}
