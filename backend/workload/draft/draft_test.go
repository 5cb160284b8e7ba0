package draft_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/workload/draft"
	"muster.dev/muster/backend/workload/fact"
)

const head = "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\n"

func definitions() *draft.Schemas { return draft.NewSchemas(os.DirFS("../../../deploy/crds")) }

func none(fact.PolicyRef) client.Object { return nil }

func TestProblems(t *testing.T) {
	const selectors = "  resourceSelectors:\n  - {apiVersion: apps/v1, kind: Deployment}\n"
	for name, test := range map[string]struct {
		yaml string
		want []string // fields
	}{
		"good":               {head + "metadata: {name: a}\nspec:\n" + selectors, nil},
		"nothing":            {"", []string{""}},
		"no YAML":            {"a: [", []string{""}},
		"a list":             {"[1]", []string{""}},
		"twice":              {head + "kind: PropagationPolicy\n", []string{""}},
		"another kind":       {"apiVersion: v1\nkind: ConfigMap\n", []string{"kind"}},
		"another version":    {"apiVersion: policy.karmada.io/v2\nkind: PropagationPolicy\n", []string{"apiVersion"}},
		"unknown field":      {head + "metadata: {name: a}\nspec:\n  placment: {}\n" + selectors, []string{"spec.placment"}},
		"wrong type":         {head + "metadata: {name: a}\nspec:\n  priority: high\n" + selectors, []string{"spec.priority"}},
		"wrong word":         {head + "metadata: {name: a}\nspec:\n  conflictResolution: Maybe\n" + selectors, []string{"spec.conflictResolution"}},
		"no selectors":       {head + "metadata: {name: a}\nspec: {}\n", []string{"spec.resourceSelectors"}},
		"no name":            {head + "spec:\n" + selectors, []string{"metadata.name"}},
		"another namespace":  {head + "metadata: {name: a, namespace: shop}\nspec:\n  resourceSelectors:\n  - {apiVersion: v1, kind: X, namespace: other}\n", []string{"spec.resourceSelectors[0].namespace"}},
		"two affinities":     {head + "metadata: {name: a}\nspec:\n  placement: {clusterAffinity: {}, clusterAffinities: [{affinityName: x}]}\n" + selectors, []string{"spec.placement.clusterAffinities"}},
		"cluster's":          {strings.Replace(head, "kind: ", "kind: Cluster", 1) + "metadata: {name: a, namespace: b}\nspec:\n" + selectors, []string{"metadata.namespace"}},
		"override":           {"apiVersion: policy.karmada.io/v1alpha1\nkind: OverridePolicy\nmetadata: {name: a}\nspec: {overrideRules: []}\n", nil},
		"bad override":       {"apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterOverridePolicy\nmetadata: {name: a}\nspec: {targetCluster: {}, overrideRules: [{overriders: {}}]}\n", []string{"spec.targetCluster"}},
		"unknown overrider":  {"apiVersion: policy.karmada.io/v1alpha1\nkind: OverridePolicy\nmetadata: {name: a}\nspec: {overrideRules: [{overriders: {imageOverrider: [{component: Tag, operator: put}]}}]}\n", []string{"spec.overrideRules[0].overriders.imageOverrider[0].operator"}},
		"immutable":          {head + "metadata: {name: saved}\nspec:\n  schedulerName: mine\n" + selectors, []string{"spec.schedulerName"}},
		"immutable and same": {head + "metadata: {name: saved}\nspec:\n" + selectors, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems, err := definitions().Parse(test.yaml, func(ref fact.PolicyRef) client.Object {
				if ref.Name != "saved" {
					return nil
				}
				return &policyv1alpha1.PropagationPolicy{Spec: policyv1alpha1.PropagationSpec{SchedulerName: "default-scheduler"}}
			})
			if err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, problem := range problems {
				fields = append(fields, problem.Field)
				if problem.Message == "" {
					t.Errorf("%s: nothing is said", problem.Field)
				}
			}
			if diff := cmp.Diff(test.want, fields); diff != "" {
				t.Errorf("%v (-want +got):\n%s", problems, diff)
			}
		})
	}
}

// TestComplete compares a draft with what saving it would store.
func TestComplete(t *testing.T) {
	text := head + `metadata: {name: a}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  propagateDeps: true
  failover: {application: {decisionConditions: {}}}
  placement: {replicaScheduling: {}, spreadConstraints: [{maxGroups: 2}]}
`
	parsed, problems, err := definitions().Parse(text, none)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	got, ok := parsed.Object.(*policyv1alpha1.PropagationPolicy)
	if !ok || parsed.Ref != fact.PolicyOf("PropagationPolicy", "default", "a") {
		t.Fatalf("%T %v", parsed.Object, parsed.Ref)
	}
	priority, toleration, grace := int32(0), int32(300), int32(600)
	want := policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default"}}, PropagateDeps: true,
		Priority: &priority, Preemption: "Never", SchedulerName: "default-scheduler", ConflictResolution: "Abort",
		Failover: &policyv1alpha1.FailoverBehavior{Application: &policyv1alpha1.ApplicationFailoverBehavior{
			DecisionConditions: policyv1alpha1.DecisionConditions{TolerationSeconds: &toleration}, PurgeMode: "Gracefully", GracePeriodSeconds: &grace,
		}},
		Placement: policyv1alpha1.Placement{
			ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: "Divided", ReplicaDivisionPreference: "Weighted"},
			SpreadConstraints: []policyv1alpha1.SpreadConstraint{{SpreadByField: "cluster", MinGroups: 1, MaxGroups: 2}},
		},
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Labels[policyv1alpha1.PropagationPolicyPermanentIDLabel] == "" {
		t.Error("it has no permanent id")
	}
}

// TestIdentity gives a draft the permanent id of what it replaces: its templates
// stay its own.
func TestIdentity(t *testing.T) {
	saved := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 4, Labels: map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: "id"}},
		Spec: policyv1alpha1.PropagationSpec{SchedulerName: "default-scheduler"}}
	text := head + "metadata: {name: a, labels: {propagationpolicy.karmada.io/permanent-id: copied}}\nspec: {resourceSelectors: [{apiVersion: v1, kind: X}]}\n"
	parsed, problems, err := definitions().Parse(text, func(fact.PolicyRef) client.Object { return saved })
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	if parsed.Object.GetLabels()[policyv1alpha1.PropagationPolicyPermanentIDLabel] != "id" || parsed.Object.GetGeneration() != 5 {
		t.Errorf("%+v", parsed.Object)
	}
}

func TestWithoutDefinitions(t *testing.T) {
	if _, _, err := draft.NewSchemas(nil).Parse(head, none); err == nil {
		t.Error("it was judged by nothing")
	}
}
