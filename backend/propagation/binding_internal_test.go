package propagation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/override"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(encoded); err != nil {
		t.Fatal(err)
	}
	return o
}

func specOf(t *testing.T, text string) *workv1alpha2.ResourceBindingSpec {
	t.Helper()
	spec := &workv1alpha2.ResourceBindingSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

const anyResource = "resource: {apiVersion: apps/v1, kind: Deployment, namespace: default, name: nginx}\n"

func TestTargets(t *testing.T) {
	for name, test := range map[string]struct {
		spec    string
		targets []Target
		kept    string
	}{
		"none":        {"", []Target{}, ""},
		"scheduled":   {"clusters: [{name: m2, replicas: 1}, {name: m1, replicas: 3}]", []Target{{"m1", true, 3}, {"m2", true, 1}}, "m1 m2"},
		"required by": {"requiredBy: [{name: p, clusters: [{name: m3, replicas: 5}]}, {name: q, clusters: [{name: m3}, {name: m1}]}]", []Target{{"m1", false, 0}, {"m3", false, 0}}, "m1 m3"},
		"both":        {"{clusters: [{name: m1, replicas: 2}], requiredBy: [{name: p, clusters: [{name: m1, replicas: 5}, {name: m2}]}]}", []Target{{"m1", true, 2}, {"m2", false, 0}}, "m1 m2"},
		"leaving gracefully": {"{clusters: [{name: m1}], gracefulEvictionTasks: [{fromCluster: m2, reason: r, producer: p, purgeMode: Gracefully}, {fromCluster: m3, reason: r, producer: p, purgeMode: Never}, {fromCluster: m4, reason: r, producer: p}]}",
			[]Target{{"m1", true, 0}}, "m1 m2 m3 m4"},
		"leaving at once": {"{clusters: [{name: m1}], gracefulEvictionTasks: [{fromCluster: m2, reason: r, producer: p, purgeMode: Directly}]}", []Target{{"m1", true, 0}}, "m1"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(t, test.spec)
			if diff := cmp.Diff(test.targets, Targets(spec)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			kept := Kept(spec)
			for _, cluster := range strings.Fields(test.kept) {
				if !kept[cluster] {
					t.Errorf("the work in %s is dropped", cluster)
				}
				delete(kept, cluster)
			}
			if len(kept) > 0 {
				t.Errorf("works are kept in %v", kept)
			}
		})
	}
}

func TestSuspended(t *testing.T) {
	for text, want := range map[string]bool{
		"{}": false, "suspension: {dispatching: true}": true, "suspension: {dispatching: false}": false,
		"suspension: {dispatchingOnClusters: {clusterNames: [m2, m1]}}": true, "suspension: {dispatchingOnClusters: {clusterNames: [m2]}}": false,
		"suspension: {scheduling: true}": false,
	} {
		if got := suspended(specOf(t, text), "m1"); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestCompletions(t *testing.T) {
	const job = "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 4, completions: %d}}"
	const sharedOut = "{replicas: 4, clusters: [{name: m1, replicas: 1}, {name: m2, replicas: 3}], placement: {replicaScheduling: {replicaSchedulingType: Divided}}}"
	for name, test := range map[string]struct {
		template, spec string
		want           map[string]int64
	}{
		"divided":                   {fmt.Sprintf(job, 9), sharedOut, map[string]int64{"m1": 2, "m2": 7}}, // the contract's example of the rule
		"many":                      {fmt.Sprintf(job, 4_000_000_001), sharedOut, map[string]int64{"m1": 1_000_000_000, "m2": 3_000_000_001}},
		"empty type is divided":     {fmt.Sprintf(job, 4), strings.Replace(sharedOut, "replicaSchedulingType: Divided", "", 1), map[string]int64{"m1": 1, "m2": 3}},
		"duplicated":                {fmt.Sprintf(job, 9), strings.Replace(sharedOut, "Divided", "Duplicated", 1), nil},
		"no placement":              {fmt.Sprintf(job, 9), "{replicas: 4, clusters: [{name: m1, replicas: 4}]}", nil},
		"no completions":            {"{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 4}}", sharedOut, nil},
		"another kind":              {"{apiVersion: x.y/v1, kind: Job, metadata: {name: j}, spec: {completions: 9}}", sharedOut, nil},
		"required by gets them all": {fmt.Sprintf(job, 9), strings.Replace(sharedOut, "clusters:", "requiredBy: [{name: p, clusters: [{name: m3}]}], clusters:", 1), map[string]int64{"m1": 2, "m2": 7}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, completions(object(t, test.template), specOf(t, test.spec))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The shortcut for large totals must not change what the rule says.
func TestApportionIsTheRuleFromZero(t *testing.T) {
	for total := range int64(60) {
		for _, weights := range [][]int64{{1}, {1, 1}, {1, 3}, {5, 3, 1}, {1, 1, 1, 97}, {0, 2, 7}, {33, 33, 33, 1}} {
			var quick, slow []part
			for i, w := range weights {
				quick = append(quick, part{name: fmt.Sprint(i), weight: w})
				slow = append(slow, part{name: fmt.Sprint(i), weight: w})
			}
			apportion(total, quick)
			for range total {
				best := -1
				for i := range slow {
					if slow[i].weight > 0 && (best < 0 || deserves(&slow[i], &slow[best])) {
						best = i
					}
				}
				slow[best].share++
			}
			for i := range quick {
				if quick[i].share != slow[i].share {
					t.Fatalf("%d over %v: %+v, want %+v", total, weights, quick, slow)
				}
			}
		}
	}
}

// counter counts how often replicas are written, and so how often is rendered.
type counter struct {
	Interpreter
	revised int
}

func (c *counter) Revise(ctx context.Context, o *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	c.revised++
	return c.Interpreter.Revise(ctx, o, replicas)
}

func rendererFor(t *testing.T, spec string, policies ...string) (*Renderer, *counter) {
	t.Helper()
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nginx-deployment",
		Labels: map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: "id"}}, Spec: *specOf(t, anyResource+spec)}
	var all override.Policies
	for _, text := range policies {
		p := &policyv1alpha1.ClusterOverridePolicy{}
		if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
			t.Fatal(err)
		}
		all.Cluster = append(all.Cluster, p)
	}
	c := &counter{Interpreter: interpret.Native()}
	o := object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: nginx, uid: u, generation: 2, labels: {app: nginx}}, spec: {replicas: 9,
		template: {metadata: {}, spec: {containers: [{name: c, image: nginx}]}}}, status: {replicas: 3}}`)
	return NewRenderer(Source{Template: o, Binding: b, Overrides: all}, c), c
}

const imageForM1 = `{metadata: {name: image, generation: 1}, spec: {overrideRules: [{targetCluster: {clusterNames: [m1]}, overriders: {imageOverrider: [{component: Tag, operator: replace, value: "1.20"}]}}]}}`

func TestRenderIsDoneOncePerDistinctResult(t *testing.T) {
	r, c := rendererFor(t, "replicas: 2\nclusters: []", imageForM1)
	images := map[string]string{}
	for i := range 100 {
		name := fmt.Sprintf("m%d", i)
		rendered, err := r.Render(t.Context(), Target{Cluster: name, Scheduled: true, Replicas: 2}, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil {
			t.Fatal(err)
		}
		containers, _, _ := unstructured.NestedSlice(rendered.Object.Object, "spec", "template", "spec", "containers")
		images[name] = containers[0].(map[string]any)["image"].(string)
		if _, has := rendered.Object.Object["status"]; has {
			t.Error("the hub's status goes to the member")
		}
	}
	if c.revised != 2 {
		t.Errorf("rendered %d times for 2 results", c.revised)
	}
	if images["m1"] != "nginx:1.20" || images["m2"] != "nginx" {
		t.Errorf("%v", images)
	}
	if _, err := r.Render(t.Context(), Target{Cluster: "m5", Scheduled: true, Replicas: 3}, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m5"}}); err != nil || c.revised != 3 {
		t.Errorf("other replicas were not rendered: %d, %v", c.revised, err)
	}
}

func TestRenderNamesThePolicyAtFault(t *testing.T) {
	r, _ := rendererFor(t, "", `{metadata: {name: broken}, spec: {overrideRules: [{overriders: {plaintext: [{path: /spec/none/x, operator: replace, value: 1}]}}]}}`)
	_, err := r.Render(t.Context(), Target{Cluster: "m1"}, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
	var fault *overrideError
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "broken") {
		t.Errorf("%v", err)
	}
}

func TestRequiredTargetGetsTheTemplateAsItIs(t *testing.T) {
	r, c := rendererFor(t, "replicas: 2")
	rendered, err := r.Render(t.Context(), Target{Cluster: "m1"}, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
	if err != nil || c.revised != 0 {
		t.Fatalf("%d, %v", c.revised, err)
	}
	if n, _, _ := unstructured.NestedInt64(rendered.Object.Object, "spec", "replicas"); n != 9 {
		t.Errorf("%d replicas", n)
	}
}

func TestTask(t *testing.T) {
	for name, test := range map[string]struct {
		spec, annotation  string
		conflict          string
		suspend, preserve bool
	}{
		"plain":                    {conflict: "abort"},
		"policy overwrites":        {spec: "conflictResolution: Overwrite", conflict: "overwrite"},
		"template overwrites":      {spec: "conflictResolution: Abort", annotation: "overwrite", conflict: "overwrite"},
		"template aborts":          {spec: "conflictResolution: Overwrite", annotation: "abort", conflict: "abort"},
		"template says nonsense":   {spec: "conflictResolution: Overwrite", annotation: "maybe", conflict: "overwrite"},
		"suspended":                {spec: "suspension: {dispatching: true}", conflict: "abort", suspend: true},
		"suspended elsewhere":      {spec: "suspension: {dispatchingOnClusters: {clusterNames: [m2]}}", conflict: "abort"},
		"preserved after deletion": {spec: "preserveResourcesOnDeletion: true", conflict: "abort", preserve: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := rendererFor(t, test.spec, imageForM1)
			if test.annotation != "" {
				r.source.Template.SetAnnotations(map[string]string{workv1alpha1.ConflictResolutionAnnotation: test.annotation})
			}
			target := Target{Cluster: "m1", Scheduled: true}
			rendered, err := r.Render(t.Context(), target, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := r.task(target, rendered)
			if err != nil {
				t.Fatal(err)
			}
			made, err := wanted.Made()
			if err != nil {
				t.Fatal(err)
			}
			manifest := object(t, string(made.Spec.Workload.Manifests[0].Raw))
			if got := []string{made.Annotations[workv1alpha1.ConflictResolutionAnnotation], manifest.GetAnnotations()[workv1alpha1.ConflictResolutionAnnotation]}; got[0] != test.conflict || got[1] != test.conflict {
				t.Errorf("conflict resolution %v", got)
			}
			if *made.Spec.SuspendDispatching != test.suspend || *made.Spec.PreserveResourcesOnDeletion != test.preserve {
				t.Errorf("%+v", made.Spec)
			}
			if !strings.Contains(made.Annotations[policyv1alpha1.AppliedClusterOverridesAnnotation], `"policyName":"image"`) {
				t.Errorf("overrides are not noted: %v", made.Annotations)
			}
			again, err := wanted.Changed(made)
			if err != nil || again != nil {
				t.Errorf("the same counts as a change: %v", err)
			}
			made.Labels["theirs"], made.Annotations["theirs"] = "x", "y"
			made.Annotations[policyv1alpha1.AppliedOverridesAnnotation] = "[]" // of a policy that is gone
			again, err = wanted.Changed(made)
			if err != nil || again == nil || again.Labels["theirs"] != "x" || again.Annotations["theirs"] != "y" {
				t.Fatalf("%+v, %v", again, err)
			}
			if _, stays := again.Annotations[policyv1alpha1.AppliedOverridesAnnotation]; stays {
				t.Error("a policy that is gone stays noted")
			}
		})
	}
}

func TestPreservedStateGoesToNewClustersOnly(t *testing.T) {
	r, _ := rendererFor(t, "gracefulEvictionTasks: [{fromCluster: m1, reason: r, producer: p, preservedLabelState: {job: \"7\"}, clustersBeforeFailover: [m1, m2]}]")
	for cluster, want := range map[string]string{"m2": "", "m3": "7"} {
		rendered, err := r.Render(t.Context(), Target{Cluster: cluster, Scheduled: true}, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}})
		if err != nil || rendered.Object.GetLabels()["job"] != want {
			t.Errorf("%s: %v, %v", cluster, rendered, err)
		}
	}
}

func TestUnsettled(t *testing.T) {
	workload := func(generation, observed int64, spec string) *workv1alpha2.ResourceBinding {
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Generation: generation}, Spec: *specOf(t, spec)}
		b.Spec.Resource.ResourceVersion = "10"
		b.Status.SchedulerObservedGeneration = observed
		return b
	}
	const divide = ", placement: {replicaScheduling: {replicaSchedulingType: Divided}}"
	for name, test := range map[string]struct {
		b        *workv1alpha2.ResourceBinding
		version  string
		replicas int32
		want     bool
	}{
		"as one":                           {workload(1, 0, "{replicas: 2, clusters: [{name: a, replicas: 2}]}"), "10", 2, false},
		"template newer":                   {workload(1, 0, "{replicas: 2, clusters: [{name: a, replicas: 2}]}"), "11", 2, false},
		"template older":                   {workload(1, 0, "{replicas: 2, clusters: [{name: a, replicas: 2}]}"), "9", 2, true},
		"versions that cannot be compared": {workload(1, 0, "{}"), "x", 0, false},
		"binding behind":                   {workload(1, 1, "{replicas: 2, clusters: [{name: a, replicas: 2}]}"), "11", 3, true},
		"not scheduled":                    {workload(2, 1, "{replicas: 3, clusters: [{name: a, replicas: 2}]}"), "11", 3, true},
		"scheduled, status behind":         {workload(2, 1, "{replicas: 3, clusters: [{name: a, replicas: 3}]}"), "11", 3, false},
		"cannot be scheduled":              {workload(2, 2, "{replicas: 3, clusters: [{name: a, replicas: 2}]}"), "11", 3, false},
		"divided":                          {workload(2, 1, "{replicas: 3, clusters: [{name: a, replicas: 2}, {name: b, replicas: 1}]"+divide+"}"), "11", 3, false},
		"divided, not scheduled":           {workload(2, 1, "{replicas: 4, clusters: [{name: a, replicas: 2}, {name: b, replicas: 1}]"+divide+"}"), "11", 4, true},
		"no clusters":                      {workload(2, 1, "{replicas: 4}"), "11", 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{}}
			o.SetResourceVersion(test.version)
			if got := unsettled(test.b, o, test.replicas); (got != "") != test.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestSignificant(t *testing.T) {
	const base = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, labels: {a: b}}, data: {k: v}}"
	for name, test := range map[string]struct {
		now  string
		want bool
	}{
		"nothing":                 {base, false},
		"resource version":        {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, labels: {a: b}, resourceVersion: \"5\", finalizers: [x]}, data: {k: v}}", false},
		"status":                  {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, labels: {a: b}}, data: {k: v}, status: {x: y}}", false},
		"data":                    {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, labels: {a: b}}, data: {k: w}}", true},
		"no data":                 {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, labels: {a: b}}}", true},
		"more data":               {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, labels: {a: b}}, data: {k: v}, immutable: true}", true},
		"labels":                  {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u}, data: {k: v}}", true},
		"annotations":             {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, labels: {a: b}, annotations: {x: z}}, data: {k: v}}", true},
		"another one of the name": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: w, labels: {a: b}}, data: {k: v}}", true},
	} {
		if got := significant(object(t, base), object(t, test.now)); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !significant(nil, object(t, base)) {
		t.Error("coming does not count")
	}
}

func workOf(cluster string, generation int64, status workv1alpha1.WorkStatus) workv1alpha1.Work {
	return workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-" + cluster, Name: "w", Generation: generation}, Status: status}
}

func TestSummarize(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, message string, generation int64) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Message: message, ObservedGeneration: generation}
	}
	applied := func(generation int64) workv1alpha1.WorkStatus {
		return workv1alpha1.WorkStatus{Conditions: []metav1.Condition{condition("Applied", "True", "", generation)}, ManifestStatuses: []workv1alpha1.ManifestStatus{{Health: "Healthy"}}}
	}
	failed := workv1alpha1.WorkStatus{Conditions: []metav1.Condition{condition("Applied", "False", "it exists", 1)}, ManifestStatuses: []workv1alpha1.ManifestStatus{{Health: "Healthy"}}}
	held := workv1alpha1.WorkStatus{Conditions: []metav1.Condition{condition("Dispatching", "False", "held back", 1)}}
	going := workOf("a", 1, applied(1))
	going.DeletionTimestamp = ptr.To(metav1.Now())
	const two = "clusters: [{name: b}, {name: a}]"
	for name, test := range map[string]struct {
		spec          string
		works         []workv1alpha1.Work
		unserved      map[string]string
		away          string
		before        bool // FullyApplied was set
		items         string
		full          metav1.ConditionStatus
		message       string
		any, complete bool
	}{
		"never scheduled":        {complete: true},
		"nobody answered":        {spec: two, full: "False", message: "0 of 2"},
		"one answered":           {spec: two, works: []workv1alpha1.Work{workOf("a", 1, applied(1))}, items: "a:true:Healthy", full: "False", message: "1 of 2 clusters have it; missing: b", any: true},
		"the other is away":      {spec: two, works: []workv1alpha1.Work{workOf("a", 1, applied(1))}, away: "b", items: "a:true:Healthy", full: "False", any: true, complete: true},
		"all answered":           {spec: two, works: []workv1alpha1.Work{workOf("b", 1, applied(1)), workOf("a", 1, applied(0))}, items: "a:true:Healthy b:true:Healthy", full: "True", any: true, complete: true},
		"answer is old":          {spec: two, works: []workv1alpha1.Work{workOf("b", 2, applied(1)), workOf("a", 1, applied(1))}, items: "a:true:Healthy b:true:Healthy", full: "True", any: true},
		"one failed":             {spec: two, works: []workv1alpha1.Work{workOf("b", 1, failed), workOf("a", 1, applied(1))}, items: "a:true:Healthy b:false:Unknown:it exists", full: "False", message: "b (it exists)", any: true, complete: true},
		"held back":              {spec: two, works: []workv1alpha1.Work{workOf("b", 1, held), workOf("a", 1, held)}, items: "a:false:Unknown:held back b:false:Unknown:held back", full: "False", any: true, complete: true},
		"no work for one":        {spec: two, works: []workv1alpha1.Work{workOf("a", 1, applied(1))}, unserved: map[string]string{"b": "policy p is broken"}, items: "a:true:Healthy", full: "False", message: "b (policy p is broken)", any: true, complete: true},
		"a change is stuck":      {spec: two, works: []workv1alpha1.Work{workOf("b", 1, applied(1)), workOf("a", 1, applied(1))}, unserved: map[string]string{"b": "policy p is broken"}, items: "a:true:Healthy b:true:Healthy", full: "False", message: "1 of 2 clusters have it; missing: b (policy p is broken)", any: true, complete: true},
		"stuck before an answer": {spec: two, works: []workv1alpha1.Work{workOf("b", 2, applied(1)), workOf("a", 1, applied(1))}, unserved: map[string]string{"b": "policy p is broken"}, items: "a:true:Healthy b:true:Healthy", full: "False", message: "b (policy p is broken)", any: true, complete: true},
		"others do not count":    {spec: "clusters: [{name: a}]", works: []workv1alpha1.Work{workOf("a", 1, applied(1)), workOf("z", 1, failed)}, items: "a:true:Healthy", full: "True", any: true, complete: true},
		"a work on its way out":  {spec: "clusters: [{name: a}]", works: []workv1alpha1.Work{going}, full: "False"},
		"the last parent went":   {before: true, full: "False", message: "No cluster", complete: true},
		"needed by another":      {spec: "requiredBy: [{name: p, clusters: [{name: a}]}]", works: []workv1alpha1.Work{workOf("a", 1, applied(1))}, items: "a:true:Healthy", full: "True", any: true, complete: true},
		"not told of the object": {spec: "clusters: [{name: a}]", works: []workv1alpha1.Work{workOf("a", 1, workv1alpha1.WorkStatus{Conditions: []metav1.Condition{condition("Applied", "True", "", 1)}})}, items: "a:true:Unknown", full: "True", any: true, complete: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &workv1alpha2.ResourceBinding{Spec: *specOf(t, test.spec)}
			if test.before {
				meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: workv1alpha2.FullyApplied, Status: "True"})
			}
			got := summarize(b, test.works, test.unserved, func(cluster string) bool { return cluster == test.away })
			var items []string
			for _, item := range got.items {
				text := fmt.Sprintf("%s:%v:%s", item.ClusterName, item.Applied, item.Health)
				if item.AppliedMessage != "" {
					text += ":" + item.AppliedMessage
				}
				items = append(items, text)
			}
			if strings.Join(items, " ") != test.items || got.any != test.any || got.complete != test.complete {
				t.Errorf("%v any=%v complete=%v", items, got.any, got.complete)
			}
			if (got.applied == nil) != (test.full == "") || got.applied != nil && (got.applied.Status != test.full || !strings.Contains(got.applied.Message, test.message)) {
				t.Errorf("%+v", got.applied)
			}
			if wanted := got.apply(&b.Status); wanted != nil {
				if again := got.apply(wanted); again != nil {
					t.Error("the same status would be written again")
				}
			}
		})
	}
}

func TestWorksOfUnseenBindings(t *testing.T) {
	u := newUnseen()
	binding, work := types.NamespacedName{Namespace: "default", Name: "b"}, types.NamespacedName{Namespace: "karmada-es-m1", Name: "w"}
	written := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: work.Namespace, Name: work.Name}}
	u.add(binding, written)
	if got := u.of(binding); len(got) != 1 || got[0] != work || u.get(binding, work) != written {
		t.Errorf("%v", got)
	}
	u.saw(binding, work)
	if got := u.of(binding); len(got) != 0 || u.get(binding, work) != nil {
		t.Errorf("%v", got)
	}
}

// In a storm bindings wait longer for their clusters, yet not for ever.
func TestPatienceInAStorm(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	s := newSettling(clock)
	first := types.NamespacedName{Name: "first"}
	after := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }
	if got := s.patience(first, completeWithin); got != completeWithin {
		t.Errorf("at first: %s", got)
	}
	after(completeWithin)
	if got := s.patience(first, completeWithin); got != 0 {
		t.Errorf("alone: %s", got)
	}
	for i := range stormSize {
		s.patience(types.NamespacedName{Name: fmt.Sprint(i)}, completeWithin)
	}
	if got := s.patience(first, completeWithin); got != completeWithin {
		t.Errorf("in a storm: %s", got)
	}
	after(stormWithin - completeWithin)
	if got := s.patience(first, completeWithin); got != 0 {
		t.Errorf("in a storm that does not end: %s", got)
	}
	s.done(types.NamespacedName{Name: "0"})
	second := types.NamespacedName{Name: "second"}
	s.done(first)
	if s.patience(second, completeWithin); len(s.since) != stormSize {
		t.Errorf("%d wait", len(s.since))
	}
}
