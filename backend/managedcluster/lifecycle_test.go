package managedcluster_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/managedcluster"
	"muster.dev/muster/deploy"
)

// hubUnderTest is an API server for the controllers of this package. It has no
// admission of ours, so that the test sets when taints came.
type hubUnderTest struct{ *kubetest.Hub }

// run runs the controllers until the returned function is called.
func (h hubUnderTest) run(t *testing.T) (stop func()) {
	t.Helper()
	manager, err := kube.NewManager(h.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := managedcluster.SetupWithManager(manager, managedcluster.Deps{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	if !manager.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the cache was not filled")
	}
	return func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.DeadlineExceeded) { // a busy machine stops slowly
			t.Error(err)
		}
	}
}

// accept makes an accepted cluster, as package consent leaves it.
func (h hubUnderTest) accept(t *testing.T, name string, leaseSeconds int32) {
	t.Helper()
	h.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	h.Create(t, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: ocmv1.ManagedClusterSpec{HubAcceptsClient: true, LeaseDurationSeconds: leaseSeconds}})
	h.setCondition(t, name, ocmv1.ConditionHubAccepted, metav1.ConditionTrue)
}

// setCondition writes a condition as its owner would.
func (h hubUnderTest) setCondition(t *testing.T, name, kind string, status metav1.ConditionStatus) {
	t.Helper()
	h.Await(t, kind+" of "+name+" to be written", func(ctx context.Context) bool {
		cluster := h.cluster(ctx, name)
		meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "Test"})
		return h.Client.Status().Update(ctx, cluster) == nil
	})
}

func (h hubUnderTest) cluster(ctx context.Context, name string) *ocmv1.ManagedCluster {
	cluster := new(ocmv1.ManagedCluster)
	if h.Client.Get(ctx, client.ObjectKey{Name: name}, cluster) != nil {
		return nil
	}
	return cluster
}

func (h hubUnderTest) condition(ctx context.Context, name, kind string) metav1.Condition {
	if cluster := h.cluster(ctx, name); cluster != nil {
		if condition := meta.FindStatusCondition(cluster.Status.Conditions, kind); condition != nil {
			return *condition
		}
	}
	return metav1.Condition{}
}

func (h hubUnderTest) awaitCondition(t *testing.T, name, kind, reason string) {
	t.Helper()
	h.Await(t, kind+" of "+name+" to be "+reason, func(ctx context.Context) bool { return h.condition(ctx, name, kind).Reason == reason })
}

func (h hubUnderTest) awaitTaint(t *testing.T, name, key string) {
	t.Helper()
	h.Await(t, name+" to have the taint "+key, func(ctx context.Context) bool {
		taints := h.cluster(ctx, name).Spec.Taints
		return key == "" && len(taints) == 0 || len(taints) == 1 && taints[0].Key == key && taints[0].Effect == ocmv1.TaintEffectNoSelect
	})
}

// renew does what an agent does with its lease.
func (h hubUnderTest) renew(t *testing.T, name string, at time.Time) {
	t.Helper()
	h.Await(t, "the lease of "+name+" to be renewed", func(ctx context.Context) bool {
		lease := new(coordinationv1.Lease)
		if h.Client.Get(ctx, client.ObjectKey{Namespace: name, Name: ocmv1.LeaseName}, lease) != nil {
			return false
		}
		renewed := metav1.NewMicroTime(at)
		lease.Spec.RenewTime = &renewed
		return h.Client.Update(ctx, lease) == nil
	})
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	h := hubUnderTest{kubetest.StartHub(t)}
	h.InstallDefinitions(t, deploy.HubCRDs())
	stop := h.run(t)
	t.Run("heartbeat", h.testHeartbeat)
	t.Run("clock", h.testClock)
	t.Run("add-ons", h.testAddons)
	t.Run("deletion", h.testDeletion)
	t.Run("namespaces", h.testNamespaces)
	t.Run("joined again", h.testJoinedAgain)
	h.accept(t, "restart", 60)
	h.renew(t, "restart", time.Now())
	h.setCondition(t, "restart", ocmv1.ConditionAvailable, metav1.ConditionTrue)
	stop()
	short := h.cluster(t.Context(), "restart") // from here on, its lease runs out soon
	short.Spec.LeaseDurationSeconds = 1
	if err := h.Client.Update(t.Context(), short); err != nil {
		t.Fatal(err)
	}
	renewed := time.Now()
	h.Await(t, "the lease to run out while no hub runs", func(context.Context) bool { return time.Since(renewed) > 6*time.Second })
	if got := h.condition(t.Context(), "restart", ocmv1.ConditionAvailable).Status; got != metav1.ConditionTrue {
		t.Errorf("available %s while no hub runs", got)
	}
	defer h.run(t)()
	h.awaitCondition(t, "restart", ocmv1.ConditionAvailable, ocmv1.ReasonLeaseUpdateStopped)
}

// testHeartbeat turns clusters Unknown whose agents fall silent, or never came.
func (h hubUnderTest) testHeartbeat(t *testing.T) {
	ctx := t.Context()
	h.Create(t, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "waiting"}})
	h.awaitTaint(t, "waiting", ocmv1.UnreachableTaint)
	h.accept(t, "silent", 1)
	lease := new(coordinationv1.Lease)
	h.Await(t, "the lease", func(ctx context.Context) bool {
		return h.Client.Get(ctx, client.ObjectKey{Namespace: "silent", Name: ocmv1.LeaseName}, lease) == nil
	})
	if lease.Labels[ocmv1.ClusterNameLabel] != "silent" || *lease.Spec.HolderIdentity != ocmv1.LeaseName || lease.Spec.RenewTime == nil {
		t.Errorf("lease %+v", lease)
	}
	h.awaitCondition(t, "silent", ocmv1.ConditionAvailable, ocmv1.ReasonLeaseUpdateStopped) // it never joined
	h.Await(t, "the event", func(ctx context.Context) bool {
		var told eventsv1.EventList
		return h.Client.List(ctx, &told, client.InNamespace("silent")) == nil && slices.ContainsFunc(told.Items, func(e eventsv1.Event) bool { return e.Reason == "AvailableUnknown" && e.Type == "Warning" })
	})
	h.awaitTaint(t, "silent", ocmv1.UnreachableTaint)
	h.renew(t, "silent", time.Now())
	h.Await(t, "silent to have no taint while it is heard", func(ctx context.Context) bool {
		h.renew(t, "silent", time.Now())
		h.setCondition(t, "silent", ocmv1.ConditionAvailable, metav1.ConditionTrue)
		return len(h.cluster(ctx, "silent").Spec.Taints) == 0
	})
	h.awaitCondition(t, "silent", ocmv1.ConditionAvailable, ocmv1.ReasonLeaseUpdateStopped) // once more
	h.awaitTaint(t, "silent", ocmv1.UnreachableTaint)
	h.setCondition(t, "silent", ocmv1.ConditionAvailable, metav1.ConditionFalse)
	h.awaitTaint(t, "silent", ocmv1.UnavailableTaint)
	if waiting := h.cluster(ctx, "waiting"); len(waiting.Status.Conditions) > 0 || !h.Gone(ctx, client.ObjectKey{Namespace: "waiting", Name: ocmv1.LeaseName}, lease) {
		t.Errorf("a cluster that nobody decided about has %+v", waiting.Status)
	}
}

func (h hubUnderTest) testClock(t *testing.T) {
	h.accept(t, "clock", 60)
	h.renew(t, "clock", time.Now().Add(-time.Hour))
	h.awaitCondition(t, "clock", ocmv1.ConditionClockSynced, ocmv1.ReasonClockOutOfSync)
	h.renew(t, "clock", time.Now())
	h.awaitCondition(t, "clock", ocmv1.ConditionClockSynced, ocmv1.ReasonClockSynced)
}

func (h hubUnderTest) testAddons(t *testing.T) {
	h.accept(t, "addons", 60)
	addon := &ocmaddonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: "addons", Name: "x"}}
	h.Create(t, addon)
	label := func(want string) {
		t.Helper()
		h.Await(t, "the feature label "+want, func(ctx context.Context) bool {
			return h.cluster(ctx, "addons").Labels[ocmv1.AddonFeatureLabelPrefix+"x"] == want
		})
	}
	label("unreachable")
	h.Await(t, "the add-on's word", func(ctx context.Context) bool {
		if h.Client.Get(ctx, client.ObjectKeyFromObject(addon), addon) != nil {
			return false
		}
		meta.SetStatusCondition(&addon.Status.Conditions, metav1.Condition{Type: ocmaddonv1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: "Test"})
		return h.Client.Status().Update(ctx, addon) == nil
	})
	label("available")
	h.setCondition(t, "addons", ocmv1.ConditionAvailable, metav1.ConditionUnknown)
	h.Await(t, "the add-on to be unknown", func(ctx context.Context) bool {
		if h.Client.Get(ctx, client.ObjectKeyFromObject(addon), addon) != nil {
			return false
		}
		available := meta.FindStatusCondition(addon.Status.Conditions, ocmaddonv1alpha1.ConditionAvailable)
		return available.Status == metav1.ConditionUnknown && available.Reason == ocmv1.ReasonLeaseUpdateStopped
	})
	label("unreachable")
	if err := h.Client.Delete(t.Context(), addon); err != nil {
		t.Fatal(err)
	}
	label("")
}

// testJoinedAgain: what a cluster of the same name has left is no silence of the
// agent that comes now.
func (h hubUnderTest) testJoinedAgain(t *testing.T) {
	ctx := t.Context()
	h.accept(t, "again", 1)
	h.renew(t, "again", time.Now())
	renewed := time.Now()
	if err := h.Client.Delete(ctx, h.cluster(ctx, "again")); err != nil {
		t.Fatal(err)
	}
	h.Await(t, "the cluster to go", func(ctx context.Context) bool { return h.cluster(ctx, "again") == nil })
	if err := h.Client.Get(ctx, client.ObjectKey{Namespace: "again", Name: ocmv1.LeaseName}, new(coordinationv1.Lease)); err != nil {
		t.Fatalf("the lease that stays: %v", err)
	}
	h.Await(t, "the lease to be old", func(context.Context) bool { return time.Since(renewed) > 7*time.Second })
	h.Create(t, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "again"}, Spec: ocmv1.ManagedClusterSpec{HubAcceptsClient: true, LeaseDurationSeconds: 1}})
	h.setCondition(t, "again", ocmv1.ConditionHubAccepted, metav1.ConditionTrue)
	h.awaitCondition(t, "again", ocmv1.ConditionAvailable, ocmv1.ReasonLeaseUpdateStopped) // nobody came
	waited := h.condition(ctx, "again", ocmv1.ConditionAvailable).LastTransitionTime.Sub(h.condition(ctx, "again", ocmv1.ConditionHubAccepted).LastTransitionTime.Time)
	if waited < 4*time.Second { // both times are cut to seconds
		t.Errorf("the new agent was called silent after %v, want the 5 s of its lease", waited)
	}
}

// testDeletion takes add-ons first, then works by their priority, and says what
// holds the cluster up.
func (h hubUnderTest) testDeletion(t *testing.T) {
	ctx := t.Context()
	h.accept(t, "leaving", 60)
	h.renew(t, "leaving", time.Now())
	held := func(name, priority string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "leaving", Name: name, Finalizers: []string{"example.com/agent"}, Annotations: map[string]string{ocmv1.CleanupPriorityAnnotation: priority}}
	}
	manifests := []ocmworkv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default"}}`)}}}
	var works []*ocmworkv1.ManifestWork
	for name, priority := range map[string]string{"first": "1", "last": "90"} {
		work := &ocmworkv1.ManifestWork{ObjectMeta: held(name, priority)}
		work.Spec.Workload.Manifests = manifests
		h.Create(t, work)
		works = append(works, work)
	}
	addon := &ocmaddonv1alpha1.ManagedClusterAddOn{ObjectMeta: held("addon", "")}
	h.Create(t, addon)
	h.Await(t, "the cluster to be held", func(ctx context.Context) bool {
		return slices.Contains(h.cluster(ctx, "leaving").Finalizers, ocmv1.ResourceCleanupFinalizer)
	})
	if err := h.Client.Delete(ctx, h.cluster(ctx, "leaving")); err != nil {
		t.Fatal(err)
	}
	finish := func(object client.Object) {
		t.Helper()
		if err := h.Client.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			t.Fatal(err)
		}
	}
	going := func(name string) bool {
		work := new(ocmworkv1.ManifestWork)
		return h.Client.Get(ctx, client.ObjectKey{Namespace: "leaving", Name: name}, work) == nil && work.DeletionTimestamp != nil
	}
	awaitBlocked := func(by string) {
		t.Helper()
		h.Await(t, "the deletion to wait for "+by, func(ctx context.Context) bool {
			deleting := h.condition(ctx, "leaving", ocmv1.ConditionDeleting)
			return deleting.Reason == ocmv1.ReasonResourceRemaining && strings.Contains(deleting.Message, by)
		})
	}
	awaitBlocked("addon")
	h.setCondition(t, "leaving", ocmv1.ConditionAvailable, metav1.ConditionTrue)
	if err := h.Client.Delete(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "leaving", Name: ocmv1.LeaseName}}); err != nil {
		t.Fatal(err)
	}
	h.awaitCondition(t, "leaving", ocmv1.ConditionAvailable, ocmv1.ReasonLeaseUpdateStopped) // at once: none is made any more
	if going("first") || going("last") {
		t.Error("a work was deleted before the add-ons were gone")
	}
	finish(addon)
	awaitBlocked("first, last")
	h.Await(t, "the first work to be deleted", func(context.Context) bool { return going("first") })
	if going("last") {
		t.Error("a work was deleted before its turn")
	}
	awaitBlocked("example.com/agent") // what holds them
	slices.SortFunc(works, func(a, b *ocmworkv1.ManifestWork) int { return strings.Compare(a.Name, b.Name) })
	finish(works[0])
	h.Await(t, "the last work to be deleted", func(context.Context) bool { return going("last") })
	finish(works[1])
	h.Await(t, "the cluster to go", func(ctx context.Context) bool { return h.cluster(ctx, "leaving") == nil })
	if err := h.Client.Get(ctx, client.ObjectKey{Name: "leaving"}, new(corev1.Namespace)); err != nil {
		t.Errorf("the namespace went: %v", err)
	}
}

// testNamespaces asks in a cluster for what its sets ask for, and leaves alone what
// the agent says of it.
func (h hubUnderTest) testNamespaces(t *testing.T) {
	ctx := t.Context()
	set := func(name string, selector ocmv1beta2.ManagedClusterSelector, namespaces ...string) *ocmv1beta2.ManagedClusterSet {
		made := &ocmv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: ocmv1beta2.ManagedClusterSetSpec{ClusterSelector: selector}}
		for _, namespace := range namespaces {
			made.Spec.ManagedNamespaces = append(made.Spec.ManagedNamespaces, ocmv1beta2.ManagedNamespace{Name: namespace})
		}
		h.Create(t, made)
		return made
	}
	labelled := ocmv1beta2.ManagedClusterSelector{SelectorType: ocmv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}}
	exclusive := ocmv1beta2.ManagedClusterSelector{SelectorType: ocmv1beta2.ExclusiveClusterSetLabel}
	set("blue", exclusive, "team-b", "team-a")
	gold := set("gold", labelled, "team-a")
	h.Create(t, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "spaces", Labels: map[string]string{ocmv1.ClusterSetLabel: "blue"}}})
	mirror := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "spaces-mirror", Labels: map[string]string{"tier": "gold"}, Annotations: map[string]string{"muster.dev/origin": "Cluster"}}}
	h.Create(t, mirror)
	asked := func(want ...string) {
		t.Helper()
		h.Await(t, "the cluster to be asked for "+strings.Join(want, " "), func(ctx context.Context) bool {
			var got []string
			for _, entry := range h.cluster(ctx, "spaces").Status.ManagedNamespaces {
				got = append(got, entry.ClusterSet+"/"+entry.Name)
			}
			return slices.Equal(got, want)
		})
	}
	asked("blue/team-a", "blue/team-b")
	h.Await(t, "the agent's word", func(ctx context.Context) bool {
		cluster := h.cluster(ctx, "spaces")
		meta.SetStatusCondition(&cluster.Status.ManagedNamespaces[0].Conditions, metav1.Condition{Type: ocmv1.ConditionNamespaceAvailable, Status: metav1.ConditionTrue, Reason: ocmv1.ReasonNamespaceApplied})
		return h.Client.Status().Update(ctx, cluster) == nil
	})
	label := func(patch string) {
		t.Helper()
		if err := h.Client.Patch(ctx, h.cluster(ctx, "spaces"), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":`+patch+`}}`))); err != nil {
			t.Fatal(err)
		}
	}
	label(`{"tier": "gold"}`)
	asked("blue/team-a", "blue/team-b", "gold/team-a")
	if entries := h.cluster(ctx, "spaces").Status.ManagedNamespaces; !meta.IsStatusConditionTrue(entries[0].Conditions, ocmv1.ConditionNamespaceAvailable) || len(entries[2].Conditions) > 0 {
		t.Errorf("entries %+v: one is the agent's word, and none of another set", entries)
	}
	label(`{"` + ocmv1.ClusterSetLabel + `": "other"}`)
	asked("gold/team-a")
	if err := h.Client.Patch(ctx, gold, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"managedNamespaces":[{"name":"team-c"}]}}`))); err != nil {
		t.Fatal(err)
	}
	asked("gold/team-c")
	if err := h.Client.Delete(ctx, gold); err != nil {
		t.Fatal(err)
	}
	asked()
	if got := h.cluster(ctx, mirror.Name).Status.ManagedNamespaces; len(got) > 0 {
		t.Errorf("a mirror, in which nobody makes any, is asked for %+v", got)
	}
}
