package eviction_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	remedyv1alpha1 "muster.dev/muster/backend/apis/remedy/v1alpha1"
	"muster.dev/muster/backend/eviction"
	"muster.dev/muster/backend/kube"
)

const namesResolve = "ServiceDomainNameResolutionReady"

func remedy(name string, change func(*remedyv1alpha1.RemedySpec)) remedyv1alpha1.Remedy {
	r := remedyv1alpha1.Remedy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: remedyv1alpha1.RemedySpec{Actions: []remedyv1alpha1.RemedyAction{remedyv1alpha1.TrafficControl}}}
	change(&r.Spec)
	return r
}

func when(operator remedyv1alpha1.ClusterConditionOperator, status string) remedyv1alpha1.DecisionMatch {
	return remedyv1alpha1.DecisionMatch{ClusterConditionMatch: &remedyv1alpha1.ClusterConditionRequirement{ConditionType: namesResolve, Operator: operator, ConditionStatus: status}}
}

func TestRemedyActions(t *testing.T) {
	t.Parallel()
	always := remedy("always", func(*remedyv1alpha1.RemedySpec) {})
	for name, test := range map[string]struct {
		status   metav1.ConditionStatus
		remedies []remedyv1alpha1.Remedy
		want     []string
	}{
		"none": {"False", nil, nil},
		"no reason is wanted, of no cluster in particular": {"", []remedyv1alpha1.Remedy{always}, []string{"TrafficControl"}},
		"this cluster": {"", []remedyv1alpha1.Remedy{remedy("r", func(s *remedyv1alpha1.RemedySpec) {
			s.ClusterAffinity = &remedyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2", "m1"}}
		})}, []string{"TrafficControl"}},
		"another cluster": {"", []remedyv1alpha1.Remedy{remedy("r", func(s *remedyv1alpha1.RemedySpec) {
			s.ClusterAffinity = &remedyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}}
		})}, nil},
		"no cluster is named": {"", []remedyv1alpha1.Remedy{remedy("r", func(s *remedyv1alpha1.RemedySpec) {
			s.ClusterAffinity = &remedyv1alpha1.ClusterAffinity{}
		})}, nil},
		"equal": {"False", []remedyv1alpha1.Remedy{remedy("r", func(s *remedyv1alpha1.RemedySpec) {
			s.DecisionMatches = []remedyv1alpha1.DecisionMatch{when("Equal", "False")}
		})}, []string{"TrafficControl"}},
		"not equal": {"Unknown", []remedyv1alpha1.Remedy{remedy("r", func(s *remedyv1alpha1.RemedySpec) {
			s.DecisionMatches = []remedyv1alpha1.DecisionMatch{when("Equal", "False"), when("NotEqual", "True")}
		})}, []string{"TrafficControl"}},
		"recovered": {"True", []remedyv1alpha1.Remedy{remedy("r", func(s *remedyv1alpha1.RemedySpec) {
			s.DecisionMatches = []remedyv1alpha1.DecisionMatch{when("Equal", "False"), when("NotEqual", "True")}
		})}, nil},
		"a condition that is not there": {"", []remedyv1alpha1.Remedy{remedy("r", func(s *remedyv1alpha1.RemedySpec) {
			s.DecisionMatches = []remedyv1alpha1.DecisionMatch{when("NotEqual", "True"), {}}
		})}, nil},
		"several, in order and once each": {"False", []remedyv1alpha1.Remedy{always, remedy("r", func(s *remedyv1alpha1.RemedySpec) {
			s.Actions = []remedyv1alpha1.RemedyAction{"Wait", remedyv1alpha1.TrafficControl, "Ask"}
		})}, []string{"Ask", "TrafficControl", "Wait"}},
	} {
		on := cluster("m1")
		if test.status != "" {
			on.Status.Conditions = []metav1.Condition{{Type: namesResolve, Status: test.status}}
		}
		if diff := cmp.Diff(test.want, eviction.RemedyActions(test.remedies, on)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestARemedyIsWrittenOnItsCluster(t *testing.T) {
	t.Parallel()
	on := cluster("m1")
	on.Status.KubernetesVersion = "v1.36.3"
	asked := remedy("r", func(s *remedyv1alpha1.RemedySpec) {
		s.DecisionMatches = []remedyv1alpha1.DecisionMatch{when("Equal", "False")}
	})
	hub := fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(on, &asked).WithStatusSubresource(&clusterv1alpha1.Cluster{}).Build()
	r := eviction.NewRemedyReconciler(hub)
	look := func() *clusterv1alpha1.Cluster {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "m1"}}); err != nil {
			t.Fatal(err)
		}
		c := &clusterv1alpha1.Cluster{}
		if err := hub.Get(t.Context(), client.ObjectKey{Name: "m1"}, c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	at := look()
	if len(at.Status.RemedyActions) != 0 {
		t.Fatalf("while nothing is known: %v", at.Status.RemedyActions)
	}
	at.Status.Conditions = []metav1.Condition{{Type: namesResolve, Status: metav1.ConditionFalse, Reason: "Probe", LastTransitionTime: metav1.Now()}}
	if err := hub.Status().Update(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	at = look()
	if diff := cmp.Diff([]string{"TrafficControl"}, at.Status.RemedyActions); diff != "" || at.Status.KubernetesVersion != "v1.36.3" {
		t.Fatalf("names do not resolve: %s, version %s", diff, at.Status.KubernetesVersion)
	}
	if again := look(); again.ResourceVersion != at.ResourceVersion {
		t.Error("it is written again, though nothing has changed")
	}
	if err := hub.Delete(t.Context(), &asked); err != nil {
		t.Fatal(err)
	}
	if at = look(); len(at.Status.RemedyActions) != 0 {
		t.Errorf("the remedy is gone: %v", at.Status.RemedyActions)
	}
}
