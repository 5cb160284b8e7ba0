package template_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/template"
)

func TestNewBinding(t *testing.T) {
	t.Parallel()
	o := object("apps/v1", "Deployment", "default", "Web:1", map[string]string{"group": "front"})
	o.SetUID("u")
	o.SetResourceVersion("7")
	policy := newPP("default", "p", clusters("m1"), withDependencies, func(_ *metav1.ObjectMeta, s *policyv1alpha1.PropagationSpec) {
		s.Suspension = &policyv1alpha1.Suspension{Dispatching: ptr.To(true)}
		s.PreserveResourcesOnDeletion = ptr.To(true)
		s.ConflictResolution = policyv1alpha1.ConflictOverwrite
		s.Placement.WorkloadAffinity = &policyv1alpha1.WorkloadAffinity{
			Affinity:     &policyv1alpha1.WorkloadAffinityTerm{GroupByLabelKey: "group"},
			AntiAffinity: &policyv1alpha1.WorkloadAffinityTerm{GroupByLabelKey: "missing"},
		}
	})
	need := &workv1alpha2.ReplicaRequirements{Namespace: "default"}
	b := template.NewBinding(o, policy, template.Scale{Replicas: 2, Need: need}, template.Extras{Priority: ptr.To[int32](9), AffinityGroups: true})
	want := workv1alpha2.ResourceBindingSpec{
		Resource:      workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "Web:1", UID: "u", ResourceVersion: "7"},
		PropagateDeps: true, Replicas: 2, ReplicaRequirements: need, Placement: &policy.Spec.Placement, SchedulerName: "default-scheduler",
		ConflictResolution: policyv1alpha1.ConflictOverwrite, PreserveResourcesOnDeletion: ptr.To(true),
		Suspension:             &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: ptr.To(true)}},
		SchedulePriority:       &workv1alpha2.SchedulePriority{Priority: 9},
		WorkloadAffinityGroups: &workv1alpha2.WorkloadAffinityGroups{AffinityGroup: "group=front"},
	}
	if diff := difference(want, *b.BindingSpec()); diff != "" {
		t.Error(diff)
	}
	if claim, _ := template.ClaimIn(b); claim != template.ClaimOf(policy) || b.GetName() != "web.1-deployment" || b.GetNamespace() != "default" {
		t.Errorf("%s/%s with %v", b.GetNamespace(), b.GetName(), claim)
	}
	if b.BindingSpec().Placement == &policy.Spec.Placement {
		t.Error("binding and policy share a placement")
	}
	plain := template.NewBinding(object("v1", "Namespace", "", "shop", nil), newCPP("c"), template.Scale{}, template.Extras{})
	if _, ok := plain.(*workv1alpha2.ClusterResourceBinding); !ok || plain.BindingSpec().Suspension != nil || plain.BindingSpec().SchedulePriority != nil {
		t.Errorf("%T %+v", plain, plain.BindingSpec())
	}
}
