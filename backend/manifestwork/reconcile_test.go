package manifestwork_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	ocmworkv1alpha1 "muster.dev/muster/backend/apis/ocm/work/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/manifestwork"
	"muster.dev/muster/deploy"
)

// fixture is a hub with the controllers of the package. The test plays placement
// controller and agents.
type fixture struct {
	*kubetest.Hub
	clock *clocktesting.FakePassiveClock
}

func TestControllers(t *testing.T) {
	f := &fixture{Hub: kubetest.StartHub(t), clock: clocktesting.NewFakePassiveClock(time.Now())}
	f.InstallDefinitions(t, deploy.HubCRDs())
	manager, err := kube.NewManager(f.Config(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := manifestwork.SetupWithManager(manager, manifestwork.Deps{Clock: f.clock}); err != nil {
		t.Fatal(err)
	}
	f.Run(t, manager)
	for i := 1; i <= 4; i++ {
		f.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cluster%d", i)}})
	}
	t.Run("executor", f.testExecutor)
	t.Run("all", f.testAll)
	t.Run("nobody", f.testNobody)
	t.Run("progressive", f.testProgressive)
	t.Run("foreign work", f.testForeign)
	t.Run("clean-up", f.testCleanUp)
	t.Run("blocking", f.testBlocking)
}

func manifest(value string) ocmworkv1.ManifestWorkSpec {
	raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},"data":{"k":%q}}`, value)
	return ocmworkv1.ManifestWorkSpec{Workload: ocmworkv1.ManifestsTemplate{Manifests: []ocmworkv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}}}}
}

// decide writes the decision of a placement, "canary: cluster1; : cluster2".
func (f *fixture) decide(t *testing.T, placement, text string) {
	t.Helper()
	for i, group := range strings.Split(text, ";") {
		name, clusters, _ := strings.Cut(group, ":")
		d := &ocmv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-decision-%d", placement, i+1), Labels: map[string]string{
			ocmv1beta1.PlacementLabel: placement, ocmv1beta1.DecisionGroupNameLabel: strings.TrimSpace(name), ocmv1beta1.DecisionGroupIndexLabel: fmt.Sprint(i),
		}}}
		f.Create(t, d.DeepCopy())
		f.Await(t, "decision", func(ctx context.Context) bool {
			if f.Client.Get(ctx, client.ObjectKeyFromObject(d), d) != nil {
				return false
			}
			d.Status.Decisions = []ocmv1beta1.ClusterDecision{}
			for _, cluster := range strings.Fields(clusters) {
				d.Status.Decisions = append(d.Status.Decisions, ocmv1beta1.ClusterDecision{ClusterName: cluster})
			}
			return f.Client.Status().Update(ctx, d) == nil
		})
	}
}

// values are what the works of a name carry, by cluster.
func (f *fixture) values(ctx context.Context, name string) map[string]string {
	var works ocmworkv1.ManifestWorkList
	if f.Client.List(ctx, &works) != nil {
		return nil
	}
	found := map[string]string{}
	for i := range works.Items {
		if works.Items[i].Name == name {
			_, value, _ := strings.Cut(string(works.Items[i].Spec.Workload.Manifests[0].Raw), `"k":"`)
			found[works.Items[i].Namespace], _, _ = strings.Cut(value, `"`)
		}
	}
	return found
}

func (f *fixture) awaitValues(t *testing.T, name string, want map[string]string) {
	t.Helper()
	var got map[string]string
	defer func() {
		if t.Failed() {
			t.Logf("the works are %v, want %v", got, want)
		}
	}()
	f.Await(t, "works "+name, func(ctx context.Context) bool {
		got = f.values(ctx, name)
		return cmp.Equal(want, got)
	})
}

// report is what a cluster's agent says of its work's current spec.
func (f *fixture) report(t *testing.T, cluster, name string, conditions map[string]metav1.ConditionStatus) {
	t.Helper()
	f.Await(t, "report of "+cluster, func(ctx context.Context) bool {
		work := new(ocmworkv1.ManifestWork)
		if f.Client.Get(ctx, client.ObjectKey{Namespace: cluster, Name: name}, work) != nil {
			return false
		}
		for kind, status := range conditions {
			meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "Told", ObservedGeneration: work.Generation})
		}
		return f.Client.Status().Update(ctx, work) == nil
	})
}

var well = map[string]metav1.ConditionStatus{"Applied": metav1.ConditionTrue, "Available": metav1.ConditionTrue}

// awaitStatus waits until a replica set shows conditions such as
// "PlacementVerified True/AsExpected".
func (f *fixture) awaitStatus(t *testing.T, name string, conditions ...string) *ocmworkv1alpha1.ManifestWorkReplicaSet {
	t.Helper()
	set := new(ocmworkv1alpha1.ManifestWorkReplicaSet)
	defer func() {
		if t.Failed() {
			t.Logf("status %+v", set.Status)
		}
	}()
	f.Await(t, strings.Join(conditions, ", "), func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, set) != nil {
			return false
		}
		shown := map[string]bool{}
		for _, c := range set.Status.Conditions {
			shown[fmt.Sprintf("%s %s/%s", c.Type, c.Status, c.Reason)] = true
		}
		for _, want := range conditions {
			if !shown[want] {
				return false
			}
		}
		return true
	})
	return set
}

func (f *fixture) replicaSet(t *testing.T, name string, refs ...ocmworkv1alpha1.LocalPlacementReference) *ocmworkv1alpha1.ManifestWorkReplicaSet {
	t.Helper()
	set := &ocmworkv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	set.Spec = ocmworkv1alpha1.ManifestWorkReplicaSetSpec{ManifestWorkTemplate: manifest("1"), PlacementRefs: refs}
	f.Create(t, set)
	return set
}

func (f *fixture) setTemplate(t *testing.T, name, value string) {
	t.Helper()
	f.Await(t, "template", func(ctx context.Context) bool {
		set := new(ocmworkv1alpha1.ManifestWorkReplicaSet)
		if f.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, set) != nil {
			return false
		}
		set.Spec.ManifestWorkTemplate = manifest(value)
		return f.Client.Update(ctx, set) == nil
	})
}

// testAll follows a replica set over two placements from nothing to nothing.
func (f *fixture) testAll(t *testing.T) {
	set := f.replicaSet(t, "all", ocmworkv1alpha1.LocalPlacementReference{Name: "one"}, ocmworkv1alpha1.LocalPlacementReference{Name: "two"})
	f.awaitStatus(t, "all", "PlacementVerified False/PlacementDecisionNotFound", "PlacementRolledOut False/Progressing", "ManifestworkApplied False/Processing")
	f.decide(t, "one", ": cluster1 cluster2")
	f.awaitValues(t, "all", map[string]string{"cluster1": "1", "cluster2": "1"})
	f.decide(t, "two", ":")
	f.awaitStatus(t, "all", "PlacementVerified False/PlacementDecisionEmpty")
	f.decide(t, "two", ": cluster2 cluster3")
	f.awaitValues(t, "all", map[string]string{"cluster1": "1", "cluster2": "1", "cluster3": "1"})
	for _, cluster := range []string{"cluster1", "cluster2", "cluster3"} {
		f.report(t, cluster, "all", well)
	}
	shown := f.awaitStatus(t, "all", "PlacementVerified True/AsExpected", "PlacementRolledOut True/Complete", "ManifestworkApplied True/AsExpected")
	three := ocmworkv1alpha1.ManifestWorkReplicaSetSummary{Total: 3, DesiredTotal: 3, Updated: 3, Available: 3, Applied: 3}
	if diff := cmp.Diff(three, shown.Status.Summary); diff != "" {
		t.Error(diff)
	}
	one, two := shown.Status.PlacementsSummary[0], shown.Status.PlacementsSummary[1]
	if one.Summary.Total != 2 || two.Summary.DesiredTotal != 1 || two.Summary.Updated != 1 || one.AvailableDecisionGroups != "1 (2 / 2 clusters applied)" {
		t.Errorf("by placement: %+v", shown.Status.PlacementsSummary)
	}
	work := new(ocmworkv1.ManifestWork)
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: "cluster3", Name: "all"}, work); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		"work.open-cluster-management.io/manifestworkreplicaset": "default.all", "work.open-cluster-management.io/placementname": "two",
	}, work.Labels); diff != "" {
		t.Error(diff)
	}
	f.setTemplate(t, "all", "2")
	f.awaitValues(t, "all", map[string]string{"cluster1": "2", "cluster2": "2", "cluster3": "2"})
	f.awaitStatus(t, "all", "PlacementRolledOut False/Progressing", "ManifestworkApplied False/Processing")
	// A cluster that the first placement gives up stays for the second.
	f.decide(t, "one", ": cluster1")
	f.Await(t, "work of the other placement", func(ctx context.Context) bool {
		return f.Client.Get(ctx, client.ObjectKey{Namespace: "cluster2", Name: "all"}, work) == nil && work.Labels[ocmworkv1alpha1.PlacementNameLabel] == "two"
	})
	f.decide(t, "two", ": cluster2")
	f.awaitValues(t, "all", map[string]string{"cluster1": "2", "cluster2": "2"})
	// Drift is put right, a deleted work comes back.
	f.Await(t, "drift", func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKey{Namespace: "cluster1", Name: "all"}, work) != nil {
			return false
		}
		work.Spec = manifest("drift")
		return f.Client.Update(ctx, work) == nil
	})
	f.awaitValues(t, "all", map[string]string{"cluster1": "2", "cluster2": "2"})
	if err := f.Client.Delete(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	f.awaitValues(t, "all", map[string]string{"cluster1": "2", "cluster2": "2"})
	// A placement that has no decision any more takes nothing away.
	if err := f.Client.Delete(t.Context(), &ocmv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "two-decision-1"}}); err != nil {
		t.Fatal(err)
	}
	f.awaitStatus(t, "all", "PlacementVerified False/PlacementDecisionNotFound")
	f.awaitValues(t, "all", map[string]string{"cluster1": "2", "cluster2": "2"})
	if err := f.Client.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "replica set to go", func(ctx context.Context) bool { return f.Gone(ctx, client.ObjectKeyFromObject(set), set) })
	f.awaitValues(t, "all", map[string]string{})
}

// testNobody has a placement that chooses no cluster, which counts as decided, and
// a label that its works get.
func (f *fixture) testNobody(t *testing.T) {
	f.decide(t, "none", ":")
	f.Create(t, &ocmworkv1alpha1.ManifestWorkReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nobody", Labels: map[string]string{"team": "paint"}},
		Spec:       ocmworkv1alpha1.ManifestWorkReplicaSetSpec{ManifestWorkTemplate: manifest("1"), PlacementRefs: []ocmworkv1alpha1.LocalPlacementReference{{Name: "none"}}},
	})
	f.awaitStatus(t, "nobody", "PlacementVerified False/PlacementDecisionEmpty", "ManifestworkApplied False/PlacementDecisionEmpty")
	f.decide(t, "none", ": cluster3")
	f.awaitValues(t, "nobody", map[string]string{"cluster3": "1"})
	work := new(ocmworkv1.ManifestWork)
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: "cluster3", Name: "nobody"}, work); err != nil || work.Labels["team"] != "paint" {
		t.Errorf("the labels of the work are %v, %v", work.Labels, err)
	}
}

// testProgressive takes one cluster at a time, and a canary first; it ends with a
// foreground deletion.
func (f *fixture) testProgressive(t *testing.T) {
	canary := ocmv1alpha1.MandatoryDecisionGroups{MandatoryDecisionGroups: []ocmv1alpha1.MandatoryDecisionGroup{{GroupName: "canary"}}}
	f.decide(t, "step", ": cluster1 cluster2 cluster3; canary: cluster4")
	// Decisions and replica sets are watched apart: one that goes everywhere at once
	// shows that the decisions are known.
	witness := f.replicaSet(t, "witness", ocmworkv1alpha1.LocalPlacementReference{Name: "step"})
	f.awaitValues(t, "witness", map[string]string{"cluster1": "1", "cluster2": "1", "cluster3": "1", "cluster4": "1"})
	if err := f.Client.Delete(t.Context(), witness); err != nil {
		t.Fatal(err)
	}
	f.clock.SetTime(time.Now())
	set := f.replicaSet(t, "step", ocmworkv1alpha1.LocalPlacementReference{Name: "step", RolloutStrategy: ocmv1alpha1.RolloutStrategy{
		Type: ocmv1alpha1.RolloutProgressive, Progressive: &ocmv1alpha1.RolloutProgressiveStrategy{
			RolloutConfig:           ocmv1alpha1.RolloutConfig{ProgressDeadline: "1h", MinSuccessTime: metav1.Duration{Duration: time.Minute}, MaxFailures: intstr.FromInt32(1)},
			MandatoryDecisionGroups: canary, MaxConcurrency: intstr.FromInt32(1),
		},
	}})
	f.awaitValues(t, "step", map[string]string{"cluster4": "1"})
	f.report(t, "cluster4", "step", well)
	f.awaitStatus(t, "step", "ManifestworkApplied False/Processing")
	if got := f.values(t.Context(), "step"); len(got) != 1 {
		t.Errorf("not a minute well, and it went on: %v", got)
	}
	f.clock.SetTime(time.Now().Add(2 * time.Minute)) // agents tell the real time
	f.poke(t, "cluster4", "step")
	f.awaitValues(t, "step", map[string]string{"cluster4": "1", "cluster1": "1"})
	// It takes too long; one may fail.
	f.clock.SetTime(time.Now().Add(3 * time.Hour))
	f.poke(t, "cluster4", "step")
	f.awaitValues(t, "step", map[string]string{"cluster4": "1", "cluster1": "1", "cluster2": "1"})
	f.report(t, "cluster2", "step", map[string]metav1.ConditionStatus{"Applied": metav1.ConditionTrue, "Available": metav1.ConditionTrue, "Degraded": metav1.ConditionTrue})
	shown := f.awaitStatus(t, "step", "PlacementRolledOut False/Progressing")
	f.Await(t, "the stop to be told", func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKeyFromObject(shown), shown) != nil {
			return false
		}
		return meta.FindStatusCondition(shown.Status.Conditions, "PlacementRolledOut").Message == "the rollout stopped: placement step: 2 of 4 clusters failed, and 1 may"
	})
	if got := f.values(t.Context(), "step"); got["cluster3"] != "" || shown.Status.Summary.Degraded != 1 {
		t.Errorf("it went on: %v, %+v", got, shown.Status.Summary)
	}
	if got := shown.Status.Summary; got.Total != 3 || got.DesiredTotal != 4 || got.Updated != 3 {
		t.Errorf("three of four clusters have the template, the summary is %+v", got)
	}
	// A new template begins anew, with the canary.
	f.setTemplate(t, "step", "2")
	f.awaitValues(t, "step", map[string]string{"cluster4": "2", "cluster1": "1", "cluster2": "1"})
	f.Await(t, "the canary to be counted as updated", func(ctx context.Context) bool {
		got := &shown.Status.Summary
		return f.Client.Get(ctx, client.ObjectKeyFromObject(shown), shown) == nil && got.Total == 3 && got.DesiredTotal == 4 && got.Updated == 1
	})
	f.hold(t, "cluster4", "step")
	f.Await(t, "foreground", func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKeyFromObject(set), set) != nil {
			return false
		}
		set.Spec.CascadeDeletionPolicy = ocmworkv1alpha1.CascadeForeground
		return f.Client.Update(ctx, set) == nil
	})
	if err := f.Client.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	f.awaitValues(t, "step", map[string]string{"cluster4": "2"})
	if f.Gone(t.Context(), client.ObjectKeyFromObject(set), set) {
		t.Error("the replica set is gone before its works")
	}
	f.release(t, "cluster4", "step")
	f.Await(t, "replica set to go", func(ctx context.Context) bool { return f.Gone(ctx, client.ObjectKeyFromObject(set), set) })
}

// poke changes a condition of a work, so that its replica set is looked at.
func (f *fixture) poke(t *testing.T, cluster, name string) {
	t.Helper()
	f.report(t, cluster, name, map[string]metav1.ConditionStatus{fmt.Sprintf("Poke%d", time.Now().UnixNano()): metav1.ConditionTrue})
}

// hold puts the agent's finalizer on a work, release takes it off.
func (f *fixture) hold(t *testing.T, cluster, name string) {
	t.Helper()
	f.patch(t, cluster, name, `{"metadata":{"finalizers":["`+ocmworkv1.ManifestWorkFinalizer+`"]}}`)
}

func (f *fixture) release(t *testing.T, cluster, name string) {
	t.Helper()
	f.patch(t, cluster, name, `{"metadata":{"finalizers":null}}`)
}

func (f *fixture) patch(t *testing.T, cluster, name, patch string) {
	t.Helper()
	work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name}}
	if err := f.Client.Patch(t.Context(), work, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// testForeign has a work of the same name in one cluster, and another cluster
// whose namespace is missing.
func (f *fixture) testForeign(t *testing.T) {
	f.Create(t, &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "theirs"}, Spec: manifest("theirs")})
	f.decide(t, "foreign", ": cluster1 cluster2 cluster9")
	set := f.replicaSet(t, "theirs", ocmworkv1alpha1.LocalPlacementReference{Name: "foreign"})
	f.awaitStatus(t, "theirs", "ManifestworkApplied False/NotAsExpected", "PlacementRolledOut False/Progressing")
	f.awaitValues(t, "theirs", map[string]string{"cluster1": "theirs", "cluster2": "1"})
	if err := f.Client.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	f.awaitValues(t, "theirs", map[string]string{"cluster1": "theirs"})
}

func (f *fixture) testCleanUp(t *testing.T) {
	spec := manifest("done")
	spec.DeleteOption = &ocmworkv1.DeleteOption{TTLSecondsAfterFinished: ptr.To[int64](3600)}
	later, soon := spec.DeepCopy(), spec.DeepCopy()
	soon.DeleteOption.TTLSecondsAfterFinished = ptr.To[int64](0)
	f.Create(t, &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "later"}, Spec: *later})
	f.Create(t, &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "soon"}, Spec: *soon})
	complete := map[string]metav1.ConditionStatus{"Complete": metav1.ConditionTrue}
	f.clock.SetTime(time.Now().Add(time.Minute))
	f.report(t, "cluster1", "later", complete)
	f.report(t, "cluster1", "soon", complete)
	f.awaitValues(t, "soon", map[string]string{})
	if got := f.values(t.Context(), "later"); len(got) != 1 {
		t.Error("it went too early")
	}
	f.clock.SetTime(time.Now().Add(2 * time.Hour))
	f.poke(t, "cluster1", "later")
	f.awaitValues(t, "later", map[string]string{})
}

func (f *fixture) testBlocking(t *testing.T) {
	for _, cluster := range []string{"cluster2", "cluster1"} {
		f.Create(t, &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "held"}, Spec: manifest("held")})
		f.hold(t, cluster, "held")
		if err := f.Client.Delete(t.Context(), &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "held"}}); err != nil {
			t.Fatal(err)
		}
	}
	held := func(cluster string) []types.NamespacedName {
		t.Helper()
		names, err := manifestwork.Blocking(t.Context(), f.Client, cluster)
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if diff := cmp.Diff([]types.NamespacedName{{Namespace: "cluster1", Name: "held"}, {Namespace: "cluster2", Name: "held"}}, held("")); diff != "" {
		t.Error(diff)
	}
	if got := held("cluster2"); len(got) != 1 {
		t.Errorf("in one cluster: %v", got)
	}
	f.release(t, "cluster1", "held")
	f.release(t, "cluster2", "held")
}
