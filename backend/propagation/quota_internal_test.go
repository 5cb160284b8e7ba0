package propagation

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// shelf is a cache that holds what a test puts on it.
type shelf struct {
	client.Client
	bindings []workv1alpha2.ResourceBinding
	quotas   []policyv1alpha1.FederatedResourceQuota
}

func (s *shelf) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	switch list := into.(type) {
	case *workv1alpha2.ResourceBindingList:
		list.Items = s.bindings
	case *policyv1alpha1.FederatedResourceQuotaList:
		list.Items = s.quotas
	}
	return nil
}

// Where quotas are enforced, what is used is what bindings ask for.
func TestUsedOfQuota(t *testing.T) {
	cpu := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(text)}
	}
	scheduled := workv1alpha2.ResourceBindingSpec{
		ReplicaRequirements: &workv1alpha2.ReplicaRequirements{ResourceRequest: cpu("200m")},
		Clusters:            []workv1alpha2.TargetCluster{{Name: "m1", Replicas: 2}, {Name: "m2", Replicas: 3}},
	}
	parts := workv1alpha2.ResourceBindingSpec{
		Components: []workv1alpha2.Component{{Name: "manager", Replicas: 1, ReplicaRequirements: &workv1alpha2.ReplicaRequirements{ResourceRequest: cpu("1")}}},
		Clusters:   []workv1alpha2.TargetCluster{{Name: "m1"}},
	}
	waiting := workv1alpha2.ResourceBindingSpec{ReplicaRequirements: scheduled.ReplicaRequirements, Replicas: 9}
	on := &shelf{bindings: []workv1alpha2.ResourceBinding{{Spec: scheduled}, {Spec: parts}, {Spec: waiting}}}
	quota := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "limits"}, Spec: policyv1alpha1.FederatedResourceQuotaSpec{
		Overall:           corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		StaticAssignments: []policyv1alpha1.StaticClusterAssignment{{ClusterName: "m1", Hard: cpu("4")}},
	}}
	on.quotas = []policyv1alpha1.FederatedResourceQuota{*quota}
	work := workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-m1"}}
	work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Status: &runtime.RawExtension{Raw: []byte(`{"used":{"cpu":"300m"}}`)}}}
	for enforced, want := range map[bool]string{true: "2", false: "300m"} {
		r := &QuotaReconciler{hub: on, enforced: enforced}
		demand, err := r.demand(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		status, err := quotaStatus(quota, []workv1alpha1.Work{work}, demand)
		if err != nil {
			t.Fatal(err)
		}
		used, names := status.OverallUsed[corev1.ResourceCPU], 2
		if enforced {
			names = 1 // nobody asks for memory
		}
		if used.String() != want || len(status.OverallUsed) != names || len(status.AggregatedStatus) != 1 {
			t.Errorf("enforced %t: %+v", enforced, status)
		}
	}
	requests := (&QuotaReconciler{hub: on}).holding(t.Context(), &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "x"}})
	if len(requests) != 1 {
		t.Fatal(requests)
	}
	if diff := cmp.Diff("shop/limits", requests[0].String()); diff != "" {
		t.Error(diff)
	}
}
