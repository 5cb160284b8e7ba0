package preview_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/preview"
	"muster.dev/muster/backend/workload/workloadtest"
)

const (
	pp       = "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\n"
	cpp      = "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterPropagationPolicy\n"
	op       = "apiVersion: policy.karmada.io/v1alpha1\nkind: OverridePolicy\n"
	cop      = "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterOverridePolicy\n"
	everyApp = "spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]"
)

// shop is two ready clusters and some templates: free is held by nobody, held and
// wide by policies, foreign by a component.
func shop(w *workloadtest.World) {
	for _, name := range []string{"m1", "m2"} {
		w.YAML(`{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: ` + name + `, labels: {site: ` + name + `}}, spec: {syncMode: Push}, status: {
			apiEnablements: [{groupVersion: apps/v1, resources: [{name: deployments, kind: Deployment}]}, {groupVersion: v1, resources: [{name: configmaps, kind: ConfigMap}, {name: secrets, kind: Secret}]}],
			resourceSummary: {allocatable: {pods: "5"}}}}`)
	}
	deployment := func(name, labels, annotations string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: ` + name + `, namespace: shop, uid: ` + name + `, labels: {` + labels + `}, annotations: {` + annotations + `}},
			spec: {replicas: 2, template: {spec: {containers: [{name: main, image: nginx}]}}}}`
	}
	const heldID = `propagationpolicy.karmada.io/permanent-id: held-id`
	const heldBy = `propagationpolicy.karmada.io/namespace: shop, propagationpolicy.karmada.io/name: holder`
	w.YAML(deployment("free", "app: free", ""))
	w.YAML(deployment("held", heldID, heldBy))
	w.YAML(deployment("wide", "clusterpropagationpolicy.karmada.io/permanent-id: wide-id", "clusterpropagationpolicy.karmada.io/name: wide"))
	w.YAML(deployment("orphan", "propagationpolicy.karmada.io/permanent-id: gone-id", "propagationpolicy.karmada.io/namespace: shop, propagationpolicy.karmada.io/name: gone"))
	w.YAML(deployment("foreign", "resourcetemplate.karmada.io/claimed-by: operator", ""))
	w.YAML(`{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: shop}, data: {a: YWJj}}`)
	w.YAML(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {a: b}}`)
	w.YAML(pp + `metadata: {name: holder, namespace: shop, labels: {` + heldID + `}}
spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, namespace: shop, name: held}], schedulerName: default-scheduler, priority: 3, preemption: Never, placement: {clusterAffinity: {clusterNames: [m1]}}}`)
	w.YAML(cpp + `metadata: {name: wide, labels: {clusterpropagationpolicy.karmada.io/permanent-id: wide-id}}
spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: wide}], schedulerName: default-scheduler, placement: {}}`)
	w.YAML(`{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: held-deployment, namespace: shop, labels: {` + heldID + `}, annotations: {` + heldBy + `},
		ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: held, uid: held}]},
		spec: {resource: {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: held, uid: held}, replicas: 2, schedulerName: default-scheduler, clusters: [{name: m1, replicas: 2}], placement: {clusterAffinity: {clusterNames: [m1]}}}}`)
}

func outcome(item preview.Item) string {
	line := fmt.Sprintf("%s %v %s:", item.Name, item.Takes, item.WhyCode)
	for _, cluster := range item.Chosen {
		line += fmt.Sprintf(" %s %s", cluster.Change, cluster.Name)
		if cluster.Replicas != nil {
			line += fmt.Sprintf("=%d", *cluster.Replicas)
		}
	}
	for _, leave := range item.Leaves {
		line += " left " + leave.Name
	}
	if item.Failure != nil {
		line += " failure " + item.Failure.Reason
	}
	return line
}

func outcomes(got preview.Preview) []string {
	all := []string{}
	for _, item := range got.Templates.Items {
		all = append(all, outcome(item))
	}
	slices.Sort(all)
	return all
}

func TestClaims(t *testing.T) {
	preempting := policy.DefaultGates()
	preempting.PropagationPolicyPreemption = true
	for name, test := range map[string]struct {
		gates policy.Gates
		world string // one more object
		draft string
		want  []string
	}{
		"a new policy for all": {draft: pp + "metadata: {name: new, namespace: shop}\n" + everyApp + "}\n", want: []string{
			"foreign false preview.component:", "free true preview.takes: new m1=2 new m2=2", "held false preview.held:", "orphan true preview.takes: new m1=2 new m2=2", "wide false preview.held:",
		}},
		"of another namespace": {draft: pp + "metadata: {name: new, namespace: other}\n" + everyApp + "}\n", want: []string{}},
		"cluster-wide, divided": {draft: cpp + "metadata: {name: new}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}], placement: {replicaScheduling: {}}}\n",
			want: []string{"free true preview.takes: new m1=1 new m2=1"}},
		"beaten by a closer one": {
			world: pp + "metadata: {name: closer, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}]}\n",
			draft: pp + "metadata: {name: a, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: free}}}]}\n",
			want:  []string{"free false preview.beaten:"}},
		"wins by priority": {
			world: pp + "metadata: {name: closer, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}]}\n",
			draft: pp + "metadata: {name: a, namespace: shop}\nspec: {priority: 1, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: free}}}]}\n",
			want:  []string{"free true preview.takes: new m1=2 new m2=2"}},
		"a change of the holder": {draft: pp + "metadata: {name: holder, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: held}], placement: {clusterAffinity: {clusterNames: [m2]}}}\n",
			want: []string{"held true preview.holds: new m2=2 left m1"}},
		"the holder as it is": {draft: pp + "metadata: {name: holder, namespace: shop}\nspec: {priority: 3, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: held}], placement: {clusterAffinity: {clusterNames: [m1]}}}\n",
			want: []string{"held true preview.holds: kept m1=2"}},
		"a lazy change": {draft: pp + "metadata: {name: holder, namespace: shop}\nspec: {activationPreference: Lazy, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: held}], placement: {clusterAffinity: {clusterNames: [m2]}}}\n",
			want: []string{"held true preview.lazy: kept m1=2"}},
		"another scheduler": {draft: pp + "metadata: {name: new, namespace: shop}\nspec: {schedulerName: mine, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}]}\n",
			want: []string{"free true preview.scheduler:"}},
		"letting go": {draft: pp + "metadata: {name: holder, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}]}\n",
			want: []string{"free true preview.takes: new m1=2 new m2=2", "held false preview.releases:"}},
		"passing on": {
			world: cpp + "metadata: {name: net}\n" + everyApp + "}\n",
			draft: pp + "metadata: {name: holder, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}]}\n",
			want:  []string{"free true preview.takes: new m1=2 new m2=2", "held false preview.passes:"}},
		"preemption is off": {draft: pp + "metadata: {name: new, namespace: shop}\nspec: {priority: 9, preemption: Always, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: held}]}\n",
			want: []string{"held false preview.held:"}},
		"preemption": {gates: preempting,
			draft: pp + "metadata: {name: new, namespace: shop}\nspec: {priority: 9, preemption: Always, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: held}]}\n",
			want:  []string{"held true preview.preempts: kept m1=2 new m2=2"}},
		"preemption of equals": {gates: preempting,
			draft: pp + "metadata: {name: new, namespace: shop}\nspec: {priority: 3, preemption: Always, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: held}]}\n",
			want:  []string{"held false preview.held:"}},
		"waiting for an override": {draft: pp + "metadata: {name: new, namespace: shop}\nspec: {dependentOverrides: [tag], resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}]}\n",
			want: []string{"free false preview.waits:"}},
		"the override is there": {
			world: op + "metadata: {name: tag, namespace: shop}\nspec: {overrideRules: []}\n",
			draft: pp + "metadata: {name: new, namespace: shop}\nspec: {dependentOverrides: [tag], resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}]}\n",
			want:  []string{"free true preview.takes: new m1=2 new m2=2"}},
		"nowhere": {draft: pp + "metadata: {name: new, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}], placement: {clusterAffinity: {clusterNames: [m9]}}}\n",
			want: []string{"free true preview.takes: failure NoClusterFit"}},
		"not wanted anywhere any more": {draft: pp + "metadata: {name: holder, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: held}], placement: {clusterAffinity: {clusterNames: [m9]}}}\n",
			want: []string{"held true preview.holds: left m1 failure NoClusterFit"}},
		"a priority class that is not there": {draft: pp + "metadata: {name: new, namespace: shop}\nspec: {schedulePriority: {priorityClassSource: KubePriorityClass, priorityClassName: urgent}, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}]}\n",
			want: []string{"free true preview.takes: failure MissingReference"}},
		"a priority class": {
			world: "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: urgent}\nvalue: 7\n",
			draft: pp + "metadata: {name: new, namespace: shop}\nspec: {schedulePriority: {priorityClassSource: KubePriorityClass, priorityClassName: urgent}, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}]}\n",
			want:  []string{"free true preview.takes: new m1=2 new m2=2"}},
		"without replicas": {draft: pp + "metadata: {name: new, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}\n",
			want: []string{"settings true preview.takes: new m1 new m2"}},
		"matches nothing": {draft: pp + "metadata: {name: new, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: StatefulSet}]}\n", want: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.gates == (policy.Gates{}) {
				test.gates = policy.DefaultGates()
			}
			f := newFixture(t, test.gates, func(w *workloadtest.World) { shop(w); w.YAML(test.world) })
			got := f.preview(preview.Draft{YAML: test.draft})
			if diff := cmp.Diff(test.want, outcomes(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, item := range got.Templates.Items {
				if item.Why == "" || strings.Contains(item.Why, "{") {
					t.Errorf("%s: %q says nothing", item.Name, item.Why)
				}
			}
		})
	}
}

// Objects that a draft takes together reckon with each other, as they will once the
// policy is saved.
func TestGroups(t *testing.T) {
	const draft = pp + "metadata: {name: new, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {tier: db}}}], " +
		"placement: {workloadAffinity: {antiAffinity: {groupByLabelKey: tier}}, spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]}}\n"
	gates := policy.DefaultGates()
	for on, want := range map[bool][]string{
		true:  {"a true preview.takes: new m1=2", "b true preview.takes: new m2=2", "c true preview.takes: failure NoClusterFit"},
		false: {"a true preview.takes: new m1=2", "b true preview.takes: new m1=2", "c true preview.takes: new m1=2"},
	} {
		gates.WorkloadAffinity = on
		f := newFixture(t, gates, func(w *workloadtest.World) {
			shop(w)
			for _, name := range []string{"a", "b", "c"} {
				w.YAML(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: ` + name + `, namespace: shop, uid: ` + name + `, labels: {tier: db}}, spec: {replicas: 2, template: {spec: {containers: [{name: main, image: nginx}]}}}}`)
			}
		})
		got := f.preview(preview.Draft{YAML: draft})
		if diff := cmp.Diff(want, outcomes(got)); diff != "" {
			t.Errorf("gate %t (-want +got):\n%s", on, diff)
		}
		if on && (len(got.Templates.Items[1].Excluded) == 0 || got.Templates.Items[1].Excluded[0] != (preview.Exclusion{Name: "m1", Filter: "WorkloadAntiAffinity", Reason: "the group tier=db is on it already (Deployment a)"})) {
			t.Errorf("the second one is left out of %+v", got.Templates.Items[1].Excluded)
		}
	}
}

// What estimators of members say counts in the preview too.
func TestEstimates(t *testing.T) {
	f := newFixture(t, policy.DefaultGates(), func(w *workloadtest.World) { shop(w); w.SetEstimates(map[string]int32{"m1": 1}) })
	got := f.preview(preview.Draft{YAML: pp + "metadata: {name: new, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}], " +
		"placement: {clusterAffinities: [{affinityName: first, clusterNames: [m1], overflowAffinities: [{affinityName: next, clusterNames: [m2]}]}], replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}}}\n"})
	if diff := cmp.Diff([]string{"free true preview.takes: new m1=1 new m2=1"}, outcomes(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestShortfall(t *testing.T) {
	f := newFixture(t, policy.DefaultGates(), func(w *workloadtest.World) {
		shop(w)
		w.YAML(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: big, namespace: shop, uid: big}, spec: {replicas: 30, template: {spec: {containers: [{name: main, image: nginx}]}}}}`)
	})
	for spread, want := range map[string]struct {
		reason    string
		available int64
	}{
		"": {"Unschedulable", 10},
		"spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}], ": {"SchedulerError", 10},
	} {
		got := f.preview(preview.Draft{YAML: pp + "metadata: {name: new, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: big}], placement: {" + spread +
			"replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}}}\n"})
		item := got.Templates.Items[0]
		if item.Failure == nil || item.Failure.Reason != want.reason || item.Failure.Available == nil || *item.Failure.Available != want.available || *item.Replicas != 30 {
			t.Errorf("%q: %+v %+v", spread, item, item.Failure)
		}
	}
}

// TestQuotas: what the API would refuse, as it goes beyond a quota, fails in the words
// that the scheduler would leave; of objects that fit one by one the first gets the room.
func TestQuotas(t *testing.T) {
	gates := policy.DefaultGates()
	prepare := func(w *workloadtest.World) {
		shop(w)
		w.YAML(`{apiVersion: policy.karmada.io/v1alpha1, kind: FederatedResourceQuota, metadata: {name: budget, namespace: shop}, spec: {overall: {cpu: "1"}}}`)
		for _, name := range []string{"one", "two"} {
			w.YAML(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: ` + name + `, namespace: shop, uid: ` + name + `, labels: {app: hungry}}, spec: {replicas: 2, template: {spec: {containers: [
				{name: main, image: nginx, resources: {requests: {cpu: 300m}}}]}}}}`)
		}
	}
	const draft = pp + "metadata: {name: new, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: hungry}}}], placement: {clusterAffinity: {clusterNames: [m1]}}}\n"
	for enforced, want := range map[bool]string{false: "", true: "QuotaExceeded"} {
		gates.FederatedQuotaEnforcement = enforced
		items := newFixture(t, gates, prepare).preview(preview.Draft{YAML: draft}).Templates.Items
		if len(items) != 2 || items[0].Failure != nil || len(items[0].Chosen) != 1 {
			t.Fatalf("enforced %v: the first is %+v", enforced, items)
		}
		second := &items[1]
		if want == "" {
			if second.Failure != nil || len(second.Chosen) != 1 {
				t.Errorf("not enforced: the second is %+v %+v", second, second.Failure)
			}
			continue
		}
		if second.Failure == nil || second.Failure.Reason != want || len(second.Chosen) != 0 ||
			!strings.HasPrefix(second.Failure.Message, "the placement was refused: ") || !strings.Contains(second.Failure.Message, "binding shop/two-deployment exceeds FederatedResourceQuota budget") {
			t.Errorf("enforced: the second is %+v %+v", second, second.Failure)
		}
	}
}

func TestWhatIsLookedAt(t *testing.T) {
	f := newFixture(t, policy.DefaultGates(), func(w *workloadtest.World) {
		shop(w)
		for i := range 30 {
			w.YAML(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: "c%02d", namespace: many}}`, i))
		}
		w.Unlisted("secrets")
	})
	draft := pp + "metadata: {name: new, namespace: many}\nspec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]}\n"
	if got := f.preview(preview.Draft{YAML: draft}); got.Templates.Matched != 30 || len(got.Templates.Items) != 10 || got.Templates.Items[0].Name != "c00" {
		t.Errorf("%d matched, %d shown", got.Templates.Matched, len(got.Templates.Items))
	}
	if got := f.preview(preview.Draft{YAML: draft, Limit: 3}); len(got.Templates.Items) != 3 {
		t.Errorf("%d shown", len(got.Templates.Items))
	}
	got := f.preview(preview.Draft{YAML: draft, Templates: []fact.ObjectRef{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "many", Name: "c20"}, {APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"},
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "many", Name: "not there"}, {APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "keys"},
	}})
	if diff := cmp.Diff([]string{"c20 true preview.takes: new m1 new m2", "settings false preview.no-match:"}, outcomes(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	secrets := preview.Draft{YAML: cpp + "metadata: {name: new}\nspec: {resourceSelectors: [{apiVersion: v1, kind: Secret}, {apiVersion: v1, kind: ConfigMap, namespace: shop}]}\n"}
	got = f.preview(secrets)
	if got.Templates.Matched != 2 || got.Templates.Hidden != 1 || len(got.Templates.Items) != 1 || got.Templates.Items[0].Kind != "ConfigMap" {
		t.Errorf("a viewer sees %+v", got.Templates)
	}
	f.ctx = access.WithActor(f.ctx, access.Actor{Name: "root", Role: access.RoleAdmin})
	if got = f.preview(secrets); got.Templates.Hidden != 0 || len(got.Templates.Items) != 2 {
		t.Errorf("an administrator sees %+v", got.Templates)
	}
}

func TestOverrides(t *testing.T) {
	f := newFixture(t, policy.DefaultGates(), func(w *workloadtest.World) {
		shop(w)
		w.YAML(op + "metadata: {name: tag, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, namespace: shop}], overrideRules: [{overriders: {imageOverrider: [{component: Tag, operator: replace, value: '1.20'}]}}]}\n")
	})
	changes := func(got preview.Preview, name string) []string {
		all := []string{}
		for _, item := range got.Templates.Items {
			for _, override := range item.Overrides {
				if item.Name != name {
					continue
				}
				for _, change := range override.Changes {
					all = append(all, fmt.Sprintf("%s %s %v→%v by %s line>0:%v", override.Cluster, change.Path, change.Before, change.After, change.Policy.Name, change.Line > 0))
				}
				if override.Error != "" {
					all = append(all, override.Cluster+" error")
				}
			}
		}
		return all
	}
	const image = "m1 /spec/template/spec/containers/0/image nginx→"
	for name, test := range map[string]struct {
		draft string
		want  []string
	}{
		"the saved one changed": {op + "metadata: {name: tag, namespace: shop}\nspec: {overrideRules: [{overriders: {imageOverrider: [{component: Tag, operator: replace, value: '1.21'}]}}]}\n",
			[]string{image + "nginx:1.21 by tag line>0:true"}},
		"one more, for all objects": {cop + "metadata: {name: marks}\nspec: {overrideRules: [{targetCluster: {labelSelector: {matchLabels: {site: m1}}}, overriders: {labelsOverrider: [{operator: add, value: {x: z}}]}}]}\n",
			[]string{"m1 /metadata/labels/x <nil>→z by marks line>0:true", image + "nginx:1.20 by tag line>0:true"}},
		"for other clusters": {op + "metadata: {name: tag, namespace: shop}\nspec: {overrideRules: [{targetCluster: {clusterNames: [m2]}, overriders: {imageOverrider: [{component: Tag, operator: replace, value: '1.21'}]}}]}\n", []string{}},
		"that cannot be applied": {op + "metadata: {name: wrong, namespace: shop}\nspec: {overrideRules: [{overriders: {plaintext: [{path: /spec/none/here, operator: remove}]}}]}\n",
			[]string{"m1 error"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.preview(preview.Draft{YAML: test.draft})
			if diff := cmp.Diff(test.want, changes(got, "held")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	got := f.preview(preview.Draft{YAML: op + "metadata: {name: tag, namespace: shop}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: free}], overrideRules: []}\n"})
	if diff := cmp.Diff([]string{"free false preview.nowhere:"}, outcomes(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInvalidDrafts(t *testing.T) {
	f := newFixture(t, policy.DefaultGates(), shop)
	got, err := f.service.Preview(f.ctx, preview.Draft{YAML: pp + "metadata: {name: a}\nspec: {placement: {spreadConstraints: [{spreadByField: planet}]}}\n"})
	if err != nil || got.Valid || len(got.Problems) < 2 || got.ClustersTotal != 2 || got.Templates.Items == nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := f.service.Preview(f.ctx, preview.Draft{Limit: 51}); err == nil {
		t.Error("any limit goes")
	}
}
