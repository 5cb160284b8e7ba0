package joining_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/kube"
)

// TestBlockersAreCoded checks what a page needs to word a blocker by itself: its
// code, the names in it and what somebody else said of it.
func TestBlockersAreCoded(t *testing.T) {
	gone := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	space := apis.ExecutionSpace("edge")
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge", Finalizers: []string{clusterv1alpha1.ClusterControllerFinalizer, "example.com/mine"}}}
	held := &workv1alpha1.Work{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "web", DeletionTimestamp: &gone, Finalizers: []string{workv1alpha1.ExecutionControllerFinalizer}},
		Status:     workv1alpha1.WorkStatus{Conditions: []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionFalse, Message: "no route to host"}}},
	}
	emptied := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: space, DeletionTimestamp: &gone, Finalizers: []string{"kubernetes"}},
		Status:     corev1.NamespaceStatus{Conditions: []corev1.NamespaceCondition{{Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionTrue, Message: "configmaps are left"}}},
	}
	bound := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"},
		Spec:       workv1alpha2.ResourceBindingSpec{Clusters: []workv1alpha2.TargetCluster{{Name: "edge"}}},
	}
	type told struct {
		Code   string
		Names  []string
		Detail string
	}
	finalizer := told{Code: joining.BlockerFinalizer, Names: []string{"example.com/mine"}}
	bindings := told{Code: joining.BlockerBindings, Names: []string{"shop/web-deployment"}}
	namespace := told{Code: joining.BlockerNamespace, Names: []string{space}, Detail: "configmaps are left"}
	for _, test := range []struct {
		name    string
		objects []client.Object
		find    func(context.Context, client.Reader, *clusterv1alpha1.Cluster) []joining.Blocker
		want    []told
	}{
		{"nothing but a finalizer", nil, joining.FindBlockers, []told{finalizer}},
		{"works come before their namespace", []client.Object{held, emptied, bound}, joining.FindBlockers,
			[]told{{Code: joining.BlockerWorks, Names: []string{"web"}, Detail: "no route to host"}, bindings, finalizer}},
		{"a namespace", []client.Object{emptied}, joining.FindBlockers, []told{namespace, finalizer}},
		{"bindings hold no removal that has not begun", []client.Object{emptied, bound}, joining.ForeseeBlockers, []told{namespace, finalizer}},
	} {
		t.Run(test.name, func(t *testing.T) {
			hub := fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(test.objects...).Build()
			var got []told
			for _, blocker := range test.find(t.Context(), hub, cluster) {
				got = append(got, told{blocker.Code, blocker.Names, blocker.Detail})
				if blocker.What == "" || blocker.Why == "" || blocker.Fix == "" {
					t.Errorf("not told in full: %+v", blocker)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}
