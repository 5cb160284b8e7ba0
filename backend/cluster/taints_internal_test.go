package cluster

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/kube"
)

// Taints are told of as they are stored, not as they were to be.
func TestTaintsAreToldOfOnceTheyAreWritten(t *testing.T) {
	t.Parallel()
	resource := clusterv1alpha1.Resource(clusterv1alpha1.ResourcePluralCluster)
	for _, test := range []struct {
		name    string
		refusal error
		want    string
	}{
		{"written", nil, "Normal TaintClusterSucceed"},
		{"refused", apierrors.NewForbidden(resource, "m1", nil), "Warning TaintClusterFailed"},
		{"overtaken", apierrors.NewConflict(resource, "m1", nil), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stored := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", UID: types.UID(test.name)}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push}}
			hub := fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(stored).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
					if test.refusal != nil {
						return test.refusal
					}
					return c.Patch(ctx, o, patch, options...)
				},
			}).Build()
			told := events.NewFakeRecorder(10)
			r := NewReconciler(hub, told, ReconcilerDeps{Live: hub})
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "m1"}}); (err != nil) != strings.HasPrefix(test.want, "Warning") {
				t.Errorf("the error is %v", err)
			}
			close(told.Events)
			found := ""
			for event := range told.Events {
				if strings.Contains(event, "TaintCluster") {
					found = event
				}
			}
			if test.want == "" && found != "" || !strings.HasPrefix(found, test.want) {
				t.Errorf("told %q, want %q", found, test.want)
			}
		})
	}
}
