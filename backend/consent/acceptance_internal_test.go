package consent

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

// TestCacheBehindOwnWrite: what the reconciler wrote itself is waited for, once.
func TestCacheBehindOwnWrite(t *testing.T) {
	t.Parallel()
	at := func(version string) *ocmv1.ManagedCluster {
		return &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "east", ResourceVersion: version}}
	}
	r := &AcceptanceReconciler{}
	if r.behind(at("7")) {
		t.Error("a cluster that was not written to is behind")
	}
	r.told.Store("east", "12")
	for _, step := range []struct {
		version string
		behind  bool
	}{{"9", true}, {"11", true}, {"12", false}, {"9", false}} { // the last: a cache that starts anew is no reason to wait again
		if got := r.behind(at(step.version)); got != step.behind {
			t.Errorf("version %s is behind: %v, want %v", step.version, got, step.behind)
		}
	}
	r.told.Store("east", "12")
	if r.behind(at("no number")) {
		t.Error("a version that cannot be compared is waited for")
	}
}
