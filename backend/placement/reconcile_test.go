package placement_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/placement"
	"muster.dev/muster/deploy"
)

// fixture is a hub with the controllers of the package.
type fixture struct {
	*kubetest.Hub
	clock *clocktesting.FakePassiveClock
}

func start(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Hub: kubetest.StartHub(t), clock: clocktesting.NewFakePassiveClock(time.Now())}
	f.InstallDefinitions(t, deploy.HubCRDs())
	manager, err := kube.NewManager(f.Config(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := placement.SetupWithManager(manager, placement.Deps{Clock: f.clock}); err != nil {
		t.Fatal(err)
	}
	f.Run(t, manager)
	return f
}

func (f *fixture) change(t *testing.T, object client.Object, change func()) {
	t.Helper()
	f.Await(t, "change of "+object.GetName(), func(ctx context.Context) bool {
		if err := f.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		change()
		return f.Client.Update(ctx, object) == nil
	})
}

func (f *fixture) delete(t *testing.T, object client.Object) {
	t.Helper()
	if err := f.Client.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// bind binds a set to a namespace of its own.
func (f *fixture) bind(t *testing.T, namespace, set string) {
	t.Helper()
	f.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	f.Create(t, &ocmv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set}, Spec: ocmv1beta2.ManagedClusterSetBindingSpec{ClusterSet: set}})
}

// decisions are the clusters of a placement's decisions by their names.
func (f *fixture) decisions(ctx context.Context, p *ocmv1beta1.Placement) map[string][]string {
	var list ocmv1beta1.PlacementDecisionList
	if f.Client.List(ctx, &list, client.InNamespace(p.Namespace), client.MatchingLabels{ocmv1beta1.PlacementLabel: p.Name}) != nil {
		return nil
	}
	found := map[string][]string{}
	for i := range list.Items {
		names := []string{}
		for _, d := range list.Items[i].Status.Decisions {
			names = append(names, d.ClusterName)
		}
		if list.Items[i].Status.Decisions == nil {
			names = nil // still to come
		}
		found[list.Items[i].Name] = names
	}
	return found
}

func (f *fixture) awaitDecisions(t *testing.T, p *ocmv1beta1.Placement, want map[string][]string) {
	t.Helper()
	var got map[string][]string
	defer func() {
		if t.Failed() {
			t.Logf("the decisions are %v, want %v", got, want)
		}
	}()
	f.Await(t, "decisions of "+p.Name, func(ctx context.Context) bool {
		got = f.decisions(ctx, p)
		return cmp.Equal(want, got)
	})
}

func (f *fixture) awaitCondition(t *testing.T, object client.Object, conditions func() []metav1.Condition, kind string, status metav1.ConditionStatus, reason string) *metav1.Condition {
	t.Helper()
	var found *metav1.Condition
	f.Await(t, fmt.Sprintf("%s %s %s/%s", object.GetName(), kind, status, reason), func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKeyFromObject(object), object) != nil {
			return false
		}
		found = meta.FindStatusCondition(conditions(), kind)
		return found != nil && found.Status == status && found.Reason == reason
	})
	return found
}

func TestControllers(t *testing.T) {
	f := start(t)
	t.Run("sets", f.testSets)
	t.Run("bindings", f.testBindings)
	t.Run("recorded placement", f.testRecordedPlacement)
	t.Run("changes", f.testChanges)
	t.Run("groups", f.testGroups)
	t.Run("scores", f.testScores)
	t.Run("misconfigured", f.testMisconfigured)
	t.Run("admission of bindings", f.testAdmission)
}

func (f *fixture) testSets(t *testing.T) {
	for _, name := range []string{ocmv1.DefaultClusterSet, ocmv1.GlobalClusterSet} {
		set := &ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
		conditions := func() []metav1.Condition { return set.Status.Conditions }
		empty := f.awaitCondition(t, set, conditions, "ClusterSetEmpty", metav1.ConditionTrue, "NoClusterMatched")
		if empty.Message != "No ManagedCluster selected" {
			t.Errorf("message %q", empty.Message)
		}
		before := set.UID
		f.delete(t, set)
		f.Await(t, "set "+name+" again", func(ctx context.Context) bool {
			return f.Client.Get(ctx, client.ObjectKey{Name: name}, set) == nil && set.UID != before
		})
	}
	set := &ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: ocmv1.GlobalClusterSet}}
	narrow := ocmv1beta2.ManagedClusterSelector{SelectorType: ocmv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
	f.change(t, set, func() { set.Spec.ClusterSelector = narrow })
	f.Await(t, "selector put back", func(ctx context.Context) bool {
		return f.Client.Get(ctx, client.ObjectKeyFromObject(set), set) == nil && len(set.Spec.ClusterSelector.LabelSelector.MatchLabels) == 0
	})
	f.change(t, set, func() {
		set.Annotations = map[string]string{ocmv1beta2.AutoUpdateAnnotation: "false"}
		set.Spec.ClusterSelector = narrow
	})
	one := cluster("in-sets", "a=b")
	f.Create(t, &one)
	conditions := func() []metav1.Condition { return set.Status.Conditions }
	selected := f.awaitCondition(t, set, conditions, "ClusterSetEmpty", metav1.ConditionFalse, "ClustersSelected")
	if selected.Message != "1 ManagedClusters selected" || len(set.Spec.ClusterSelector.LabelSelector.MatchLabels) != 1 {
		t.Errorf("a set that is not updated by itself: %q, %v", selected.Message, set.Spec.ClusterSelector)
	}
	f.delete(t, &one)
	f.awaitCondition(t, set, conditions, "ClusterSetEmpty", metav1.ConditionTrue, "NoClusterMatched")
	f.change(t, set, func() { set.Annotations = nil })
	f.Await(t, "selector put back", func(ctx context.Context) bool {
		return f.Client.Get(ctx, client.ObjectKeyFromObject(set), set) == nil && len(set.Spec.ClusterSelector.LabelSelector.MatchLabels) == 0
	})
}

func (f *fixture) testBindings(t *testing.T) {
	f.bind(t, "bound", "prod")
	binding := &ocmv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "bound", Name: "prod"}}
	conditions := func() []metav1.Condition { return binding.Status.Conditions }
	f.awaitCondition(t, binding, conditions, "Bound", metav1.ConditionFalse, "ClusterSetNotFound")
	set := &ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
	f.Create(t, set)
	f.awaitCondition(t, binding, conditions, "Bound", metav1.ConditionTrue, "ClusterSetBound")
	f.delete(t, set)
	f.awaitCondition(t, binding, conditions, "Bound", metav1.ConditionFalse, "ClusterSetNotFound")
}

// testRecordedPlacement does what clusteradm-placement and delete-managedcluster
// recorded, and compares what comes about.
func (f *fixture) testRecordedPlacement(t *testing.T) {
	f.bind(t, "recorded", "default")
	member := cluster("cluster1")
	f.Create(t, &member)
	p := &ocmv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "recorded", Name: "all"}, Spec: ocmv1beta1.PlacementSpec{ClusterSets: []string{"default"}}}
	f.Create(t, p)
	satisfied := func(status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		got := f.awaitCondition(t, p, func() []metav1.Condition { return p.Status.Conditions }, "PlacementSatisfied", status, reason)
		if got.Message != message || p.Status.Conditions[0].Reason != "Succeedconfigured" || p.Status.Conditions[0].Status != metav1.ConditionFalse {
			t.Errorf("conditions %v", p.Status.Conditions)
		}
	}
	satisfied(metav1.ConditionTrue, "AllDecisionsScheduled", "All cluster decisions scheduled")
	wanted := []ocmv1beta1.DecisionGroupStatus{{Decisions: []string{"all-decision-1"}, ClustersCount: 1}}
	if diff := cmp.Diff(wanted, p.Status.DecisionGroups); diff != "" || p.Status.NumberOfSelectedClusters != 1 || p.Status.LastScoreUpdateTime != nil {
		t.Errorf("status %+v\n%s", p.Status, diff)
	}
	decision := &ocmv1beta1.PlacementDecision{}
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: "recorded", Name: "all-decision-1"}, decision); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		"cluster.open-cluster-management.io/placement": "all", "cluster.open-cluster-management.io/decision-group-index": "0",
		"cluster.open-cluster-management.io/decision-group-name": "",
	}, decision.Labels); diff != "" {
		t.Error(diff)
	}
	owner := metav1.OwnerReference{
		APIVersion: "cluster.open-cluster-management.io/v1beta1", Kind: "Placement", Name: "all", UID: p.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
	if diff := cmp.Diff([]metav1.OwnerReference{owner}, decision.OwnerReferences); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]ocmv1beta1.ClusterDecision{{ClusterName: "cluster1"}}, decision.Status.Decisions); diff != "" {
		t.Error(diff)
	}
	f.delete(t, &member)
	f.awaitDecisions(t, p, map[string][]string{"all-decision-1": {}})
	satisfied(metav1.ConditionFalse, "AllManagedClusterSetsEmpty", "All ManagedClusterSets [default] have no member ManagedCluster")
	if len(p.Status.DecisionGroups) != 1 || p.Status.DecisionGroups[0].ClustersCount != 0 {
		t.Errorf("groups %v", p.Status.DecisionGroups)
	}
}

// testChanges follows a placement through everything that may change it.
func (f *fixture) testChanges(t *testing.T) {
	f.bind(t, "changes", "fleet")
	f.Create(t, &ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}})
	a, b := cluster("changes-a", ocmv1.ClusterSetLabel+"=fleet"), cluster("changes-b", ocmv1.ClusterSetLabel+"=default")
	f.Create(t, &a)
	f.Create(t, &b)
	p := &ocmv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "changes", Name: "p"}}
	f.Create(t, p)
	one, both, none := map[string][]string{"p-decision-1": {"changes-a"}}, map[string][]string{"p-decision-1": {"changes-a", "changes-b"}}, map[string][]string{"p-decision-1": {}}
	f.awaitDecisions(t, p, one)
	f.change(t, &b, func() { b.Labels[ocmv1.ClusterSetLabel] = "fleet" })
	f.awaitDecisions(t, p, both)
	f.change(t, &b, func() {
		b.Spec.Taints = []ocmv1.Taint{{Key: "maintenance", Effect: ocmv1.TaintEffectNoSelect, TimeAdded: metav1.Now()}}
	})
	f.awaitDecisions(t, p, one)
	f.change(t, p, func() {
		p.Spec.Tolerations = []ocmv1beta1.Toleration{{Key: "maintenance", Operator: ocmv1beta1.TolerationOpExists}}
	})
	f.awaitDecisions(t, p, both)
	f.change(t, p, func() { p.Spec.Predicates = []ocmv1beta1.ClusterPredicate{claimed("platform", "Bare")} })
	f.awaitDecisions(t, p, none)
	a.Status.ClusterClaims = []ocmv1.ManagedClusterClaim{{Name: "platform", Value: "Bare"}}
	if err := f.Client.Status().Update(t.Context(), &a); err != nil {
		t.Fatal(err)
	}
	f.awaitDecisions(t, p, one)
	f.delete(t, &ocmv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: "changes", Name: "p-decision-1"}})
	f.awaitDecisions(t, p, one)
	f.delete(t, &ocmv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "changes", Name: "fleet"}})
	f.awaitDecisions(t, p, none)
	f.awaitCondition(t, p, func() []metav1.Condition { return p.Status.Conditions }, "PlacementSatisfied", metav1.ConditionFalse, "NoManagedClusterSetBindings")
	f.change(t, p, func() { p.Annotations = map[string]string{ocmv1beta1.DisableAnnotation: "true"} })
	follow := &ocmv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "changes", Name: "follow"}}
	f.Create(t, follow)
	f.awaitDecisions(t, follow, map[string][]string{"follow-decision-1": {}}) // then the annotation is known, too
	f.bind(t, "changes", "fleet")
	last := cluster("changes-last", ocmv1.ClusterSetLabel+"=fleet")
	f.Create(t, &last)
	f.Await(t, "the other placement", func(ctx context.Context) bool {
		return slices.Contains(f.decisions(ctx, follow)["follow-decision-1"], "changes-last")
	})
	if got := f.decisions(t.Context(), p); !cmp.Equal(got, none) {
		t.Errorf("a placement that somebody else decides about has %v", got)
	}
	f.change(t, p, func() { p.Annotations = nil })
	f.awaitDecisions(t, p, one)
}

func (f *fixture) testGroups(t *testing.T) {
	f.bind(t, "groups", "many")
	f.Create(t, &ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "many"}})
	p := &ocmv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "groups", Name: "p"}}
	p.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup.IntVal = 1
	canary := ocmv1beta1.DecisionGroup{GroupName: "canary"}
	canary.ClusterSelector.LabelSelector.MatchLabels = map[string]string{"canary": "true"}
	p.Spec.DecisionStrategy.GroupStrategy.DecisionGroups = []ocmv1beta1.DecisionGroup{canary}
	for _, member := range []ocmv1.ManagedCluster{cluster("groups-a"), cluster("groups-b", "canary=true"), cluster("groups-c")} {
		member.Labels[ocmv1.ClusterSetLabel] = "many"
		f.Create(t, &member)
	}
	f.Create(t, p)
	f.awaitDecisions(t, p, map[string][]string{"p-decision-1": {"groups-b"}, "p-decision-2": {"groups-a"}, "p-decision-3": {"groups-c"}})
	first := &ocmv1beta1.PlacementDecision{}
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: "groups", Name: "p-decision-1"}, first); err != nil {
		t.Fatal(err)
	}
	if first.Labels[ocmv1beta1.DecisionGroupNameLabel] != "canary" || first.Labels[ocmv1beta1.DecisionGroupIndexLabel] != "0" {
		t.Errorf("labels %v", first.Labels)
	}
	everywhere := f.watchPresence(t, p, "groups-a", "groups-b", "groups-c")
	f.change(t, p, func() { p.Spec.DecisionStrategy = ocmv1beta1.DecisionStrategy{} })
	f.awaitDecisions(t, p, map[string][]string{"p-decision-1": {"groups-a", "groups-b", "groups-c"}})
	f.change(t, p, func() { p.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup.IntVal = 2 })
	f.awaitDecisions(t, p, map[string][]string{"p-decision-1": {"groups-a", "groups-b"}, "p-decision-2": {"groups-c"}})
	early := cluster("groups-0", ocmv1.ClusterSetLabel+"=many")
	f.Create(t, &early)
	f.awaitDecisions(t, p, map[string][]string{"p-decision-1": {"groups-0", "groups-a"}, "p-decision-2": {"groups-b", "groups-c"}})
	everywhere()
	f.Await(t, "label of the group", func(ctx context.Context) bool {
		return f.Client.Get(ctx, client.ObjectKeyFromObject(first), first) == nil && first.Labels[ocmv1beta1.DecisionGroupNameLabel] == ""
	})
}

// watchPresence follows the decisions of a placement. What it returns fails the
// test if any of the clusters was in none of them for a moment.
func (f *fixture) watchPresence(t *testing.T, p *ocmv1beta1.Placement, clusters ...string) (check func()) {
	t.Helper()
	watcher, err := client.NewWithWatch(f.Config(), client.Options{Scheme: kube.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	var list ocmv1beta1.PlacementDecisionList
	options := []client.ListOption{client.InNamespace(p.Namespace), client.MatchingLabels{ocmv1beta1.PlacementLabel: p.Name}}
	stream, err := watcher.Watch(t.Context(), &list, options...)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := f.Client.List(t.Context(), &list, options...); err != nil {
			t.Fatal(err)
		}
		last := map[string]string{}
		for i := range list.Items {
			last[list.Items[i].Name] = list.Items[i].ResourceVersion
		}
		now, started := map[string][]ocmv1beta1.ClusterDecision{}, false
		for len(last) > 0 {
			event := <-stream.ResultChan()
			decision, ok := event.Object.(*ocmv1beta1.PlacementDecision)
			if !ok {
				t.Fatalf("watch of decisions: %v", event.Object)
			}
			now[decision.Name] = decision.Status.Decisions
			if event.Type == watch.Deleted {
				delete(now, decision.Name)
			}
			if last[decision.Name] == decision.ResourceVersion {
				delete(last, decision.Name)
			}
			missing := slices.DeleteFunc(slices.Clone(clusters), func(name string) bool {
				for _, choices := range now {
					if slices.ContainsFunc(choices, func(c ocmv1beta1.ClusterDecision) bool { return c.ClusterName == name }) {
						return true
					}
				}
				return false
			})
			if started = started || len(missing) == 0; started && len(missing) > 0 {
				t.Errorf("%v are in no decision after %s of %s", missing, event.Type, decision.Name)
			}
		}
		stream.Stop()
	}
}

// testScores changes scores only: once at once, then not before the limit.
func (f *fixture) testScores(t *testing.T) {
	f.bind(t, "scores", "scored")
	f.Create(t, &ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "scored"}})
	set := func(name string, value int32) {
		t.Helper()
		s := scored(name, "cpu", 0, nil)
		f.Create(t, s.DeepCopy())
		f.Await(t, "score", func(ctx context.Context) bool {
			if f.Client.Get(ctx, client.ObjectKeyFromObject(&s), &s) != nil {
				return false
			}
			s.Status.Scores = []ocmv1alpha1.AddOnPlacementScoreItem{{Name: "cpu", Value: value}}
			return f.Client.Status().Update(ctx, &s) == nil
		})
	}
	for _, name := range []string{"scores-a", "scores-b"} {
		f.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		member := cluster(name, ocmv1.ClusterSetLabel+"=scored")
		f.Create(t, &member)
	}
	set("scores-a", 10)
	p := &ocmv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "scores", Name: "p"}, Spec: ocmv1beta1.PlacementSpec{
		NumberOfClusters: ptr.To[int32](1), PrioritizerPolicy: exactly(addOn("cpu", 1)), SortBy: ocmv1beta1.SortByScore, ScoreRateLimit: "1h",
	}}
	f.Create(t, p)
	f.awaitDecisions(t, p, map[string][]string{"p-decision-1": {"scores-a"}})
	set("scores-b", 50)
	f.awaitDecisions(t, p, map[string][]string{"p-decision-1": {"scores-b"}})
	f.Await(t, "time of the scores", func(ctx context.Context) bool {
		return f.Client.Get(ctx, client.ObjectKeyFromObject(p), p) == nil && p.Status.LastScoreUpdateTime != nil
	})
	set("scores-a", 90)
	// Another placement shows that the scores were seen.
	witness := &ocmv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "scores", Name: "witness"}, Spec: *p.Spec.DeepCopy()}
	f.Create(t, witness)
	f.awaitDecisions(t, witness, map[string][]string{"witness-decision-1": {"scores-a"}})
	if got := f.decisions(t.Context(), p); !cmp.Equal(got, map[string][]string{"p-decision-1": {"scores-b"}}) {
		t.Errorf("scores changed the decision again at once: %v", got)
	}
	f.clock.SetTime(f.clock.Now().Add(2 * time.Hour))
	set("scores-a", 91)
	f.awaitDecisions(t, p, map[string][]string{"p-decision-1": {"scores-a"}})
	// A changed spec does not wait.
	f.change(t, p, func() { p.Spec.PrioritizerPolicy = exactly(addOn("cpu", -1)) })
	f.awaitDecisions(t, p, map[string][]string{"p-decision-1": {"scores-b"}})
	decision := &ocmv1beta1.PlacementDecision{}
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: "scores", Name: "p-decision-1"}, decision); err != nil {
		t.Fatal(err)
	}
	if score := decision.Status.Decisions[0].Score; score == nil || *score != -50 {
		t.Errorf("score %v, want -50", score)
	}
}

func (f *fixture) testMisconfigured(t *testing.T) {
	f.bind(t, "wrong", "wrong")
	f.Create(t, &ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "wrong"}})
	member := cluster("wrong-a", ocmv1.ClusterSetLabel+"=wrong")
	f.Create(t, &member)
	p := &ocmv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "wrong", Name: "p"}}
	f.Create(t, p)
	kept := map[string][]string{"p-decision-1": {"wrong-a"}}
	f.awaitDecisions(t, p, kept)
	f.change(t, p, func() { p.Spec.Predicates = []ocmv1beta1.ClusterPredicate{expressed("managedCluster.")} })
	conditions := func() []metav1.Condition { return p.Status.Conditions }
	f.awaitCondition(t, p, conditions, "PlacementMisconfigured", metav1.ConditionTrue, "Misconfigured")
	f.awaitDecisions(t, p, kept)
	f.change(t, p, func() { p.Spec.Predicates = nil })
	f.awaitCondition(t, p, conditions, "PlacementMisconfigured", metav1.ConditionFalse, "Succeedconfigured")
}
