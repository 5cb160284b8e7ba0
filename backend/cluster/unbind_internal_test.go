package cluster

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
)

// TestUnbindAgainstTheScheduler takes a cluster out of bindings that somebody else
// writes at the same moment: nothing of his is lost, and none is left out.
func TestUnbindAgainstTheScheduler(t *testing.T) {
	t.Parallel()
	targets := []workv1alpha2.TargetCluster{{Name: "goes", Replicas: 1}, {Name: "stays", Replicas: 1}}
	binding := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"}, Spec: workv1alpha2.ResourceBindingSpec{Clusters: targets}}
	wide := &workv1alpha2.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "reader-clusterrole"}, Spec: workv1alpha2.ResourceBindingSpec{Clusters: targets}}
	interfered := map[string]bool{}
	hub := fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(binding, wide).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if name := object.GetName(); !interfered[name] {
				interfered[name] = true
				theirs, ok := object.DeepCopyObject().(workv1alpha2.Binding)
				if !ok {
					t.Fatalf("a patch of %T", object)
				}
				if err := c.Get(ctx, client.ObjectKeyFromObject(object), theirs); err != nil {
					return err
				}
				theirs.BindingSpec().Clusters[1].Replicas = 2
				if err := c.Update(ctx, theirs); err != nil {
					return err
				}
			}
			return c.Patch(ctx, object, patch, options...)
		},
	}).Build()
	r := &Reconciler{hub: hub, live: hub}
	if err := r.unbind(t.Context(), "goes"); err != nil {
		t.Fatal(err)
	}
	for _, b := range []workv1alpha2.Binding{binding, wide} {
		if err := hub.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			t.Fatal(err)
		}
		if left := b.BindingSpec().Clusters; len(left) != 1 || left[0].Name != "stays" || left[0].Replicas != 2 || !interfered[b.GetName()] {
			t.Errorf("%s is on %v", b.GetName(), left)
		}
	}
}
