package cluster_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/joining/joiningtest"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/liveness"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

// stages records what controllers report of registrations.
type stages struct {
	mu     sync.Mutex
	passed []string
	failed []registration.Failure
}

func (s *stages) Advance(_ context.Context, m registration.Match, stage string, _ registration.StageEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passed = append(s.passed, m.TokenID+"/"+m.Cluster+"/"+stage)
}

func (s *stages) Fail(_ context.Context, _ registration.Match, _ string, f registration.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, f)
}

func (s *stages) has(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, passed := range s.passed {
		if passed == line {
			return true
		}
	}
	return false
}

// hubUnderTest is a hub with the controllers of this package on it.
type hubUnderTest struct {
	*kubetest.Hub
	stages   *stages
	liveness *liveness.Agents
}

func startHub(t *testing.T) *hubUnderTest {
	t.Helper()
	h := &hubUnderTest{Hub: kubetest.StartHub(t), stages: &stages{}}
	manager, err := kube.NewManager(h.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	purger, err := kube.NewPurger(h.Config())
	if err != nil {
		t.Fatal(err)
	}
	h.liveness, err = cluster.SetupWithManager(manager, cluster.ControllerDeps{
		Members: kube.NewMembers(manager.GetAPIReader(), clock.RealClock{}), Purger: purger, Stages: h.stages,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Run(t, manager)
	return h
}

func (h *hubUnderTest) cluster(ctx context.Context, name string) *clusterv1alpha1.Cluster {
	var c clusterv1alpha1.Cluster
	if err := h.Client.Get(ctx, client.ObjectKey{Name: name}, &c); err != nil {
		return nil
	}
	return &c
}

func (h *hubUnderTest) remove(t *testing.T, name string) {
	t.Helper()
	if err := h.Client.Delete(t.Context(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
}

// awaitRemoved waits until a cluster is gone and checks that nothing is left.
func (h *hubUnderTest) awaitRemoved(t *testing.T, name string) time.Duration {
	t.Helper()
	took := h.Await(t, "the end of cluster "+name, func(ctx context.Context) bool {
		return h.Gone(ctx, client.ObjectKey{Name: name}, &clusterv1alpha1.Cluster{})
	})
	for what, left := range map[string]bool{
		"execution namespace": !h.Gone(t.Context(), client.ObjectKey{Name: "karmada-es-" + name}, &corev1.Namespace{}),
		"credential":          !h.Gone(t.Context(), client.ObjectKey{Namespace: "karmada-cluster", Name: name}, &corev1.Secret{}),
		"impersonator":        !h.Gone(t.Context(), client.ObjectKey{Namespace: "karmada-cluster", Name: name + "-impersonator"}, &corev1.Secret{}),
		"heartbeat":           !h.Gone(t.Context(), client.ObjectKey{Namespace: "karmada-cluster", Name: name}, &coordinationv1.Lease{}),
		"leader lease":        !h.Gone(t.Context(), client.ObjectKey{Namespace: "karmada-system", Name: "karmada-agent-" + name}, &coordinationv1.Lease{}),
		"role":                !h.Gone(t.Context(), client.ObjectKey{Name: "system:karmada:" + name + ":agent"}, &rbacv1.ClusterRole{}),
	} {
		if left {
			t.Errorf("the cluster is gone, its %s is not", what)
		}
	}
	return took
}

// told are the reasons of the Events about the removal of a cluster, each once; those
// about what has no namespace are kept in default.
func (h *hubUnderTest) told(ctx context.Context, name string) map[string]corev1.Event {
	var list corev1.EventList
	if err := h.Client.List(ctx, &list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
		return nil
	}
	told := map[string]corev1.Event{}
	for _, event := range list.Items {
		if about := event.InvolvedObject; about.Kind == "Cluster" && about.Name == name && strings.HasPrefix(event.Reason, "RemoveExecutionSpace") {
			told[event.Reason] = event
		}
	}
	return told
}

func (h *hubUnderTest) setReady(t *testing.T, name string, status metav1.ConditionStatus) {
	t.Helper()
	h.Await(t, "readiness of "+name, func(ctx context.Context) bool {
		c := h.cluster(ctx, name)
		if c == nil {
			return false
		}
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: "Ready", Status: status, Reason: "Test"})
		return h.Client.Status().Update(ctx, c) == nil
	})
}

func taintKeys(c *clusterv1alpha1.Cluster) string {
	var keys []string
	for _, taint := range c.Spec.Taints {
		keys = append(keys, taint.Key)
	}
	return strings.Join(keys, " ")
}

// pullCluster registers what an unmodified agent registers.
func (h *hubUnderTest) pullCluster(t *testing.T, name string) *clusterv1alpha1.Cluster {
	t.Helper()
	labels := map[string]string{apis.SystemLabel: "true"}
	h.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-cluster", Name: name, Labels: labels}, StringData: map[string]string{"token": "t"}})
	h.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-cluster", Name: name + "-impersonator", Labels: labels}, StringData: map[string]string{"token": "t"}})
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1alpha1.ClusterSpec{
		ID: "id-" + name, SyncMode: clusterv1alpha1.Pull,
		SecretRef:             &clusterv1alpha1.LocalSecretReference{Namespace: "karmada-cluster", Name: name},
		ImpersonatorSecretRef: &clusterv1alpha1.LocalSecretReference{Namespace: "karmada-cluster", Name: name + "-impersonator"},
	}}
	h.Create(t, c)
	h.Create(t, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-cluster", Name: name}})
	h.Create(t, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-system", Name: "karmada-agent-" + name}})
	return c
}

// awaitSpace waits until a cluster has its namespace, and is held: the finalizer is
// written last.
func (h *hubUnderTest) awaitSpace(t *testing.T, name string) {
	t.Helper()
	h.Await(t, "namespace and finalizer of "+name, func(ctx context.Context) bool {
		c := h.cluster(ctx, name)
		return c != nil && len(c.Finalizers) == 1 && !h.Gone(ctx, client.ObjectKey{Name: "karmada-es-" + name}, &corev1.Namespace{})
	})
}

func (h *hubUnderTest) work(t *testing.T, cluster, name string) *workv1alpha1.Work {
	t.Helper()
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-" + cluster, Name: name, Finalizers: []string{workv1alpha1.ExecutionControllerFinalizer}}}
	h.Create(t, work)
	return work
}

// TestLifecycle runs everything that happens to Clusters on one hub.
func TestLifecycle(t *testing.T) {
	h := startHub(t)
	t.Run("what a cluster gets", func(t *testing.T) { testEnsure(t, h) })
	t.Run("taints follow readiness", func(t *testing.T) { testTaints(t, h) })
	t.Run("removal", func(t *testing.T) { testRemoval(t, h) })
	t.Run("removal with an agent that answers", func(t *testing.T) { testRemovalByAgent(t, h) })
	t.Run("removal with manifest works", func(t *testing.T) { testRemovalWithManifestWorks(t, h) })
	t.Run("removal of a cluster that is not ready", func(t *testing.T) { testRemovalNotReady(t, h) })
	t.Run("removal that is blocked", func(t *testing.T) { testRemovalBlocked(t, h) })
	t.Run("removal by force", func(t *testing.T) { testRemovalByForce(t, h) })
	t.Run("push", func(t *testing.T) { testPush(t, h) })
	t.Run("silence of an unmodified agent", func(t *testing.T) { testLease(t, h) })
	t.Run("silence of our agent", func(t *testing.T) { testSilence(t, h) })
	t.Run("link", func(t *testing.T) { testLink(t, h) })
	t.Run("certificates", func(t *testing.T) { testCertificates(t, h) })
}

func testEnsure(t *testing.T, h *hubUnderTest) {
	h.pullCluster(t, "e1")
	took := h.Await(t, "finalizer, namespace and roles", func(ctx context.Context) bool {
		c := h.cluster(ctx, "e1")
		return len(c.Finalizers) == 1 && taintKeys(c) == clusterv1alpha1.TaintClusterNotReady &&
			!h.Gone(ctx, client.ObjectKey{Namespace: "karmada-es-e1", Name: "system:karmada:e1:agent-work"}, &rbacv1.RoleBinding{}) &&
			!h.Gone(ctx, client.ObjectKey{Namespace: "karmada-cluster", Name: "system:karmada:e1:agent-secret"}, &rbacv1.Role{}) &&
			!h.Gone(ctx, client.ObjectKey{Name: "system:karmada:e1:agent"}, &rbacv1.ClusterRoleBinding{})
	})
	t.Logf("ready for its agent after %s", took)
	h.Await(t, "adoption of the namespace", func(ctx context.Context) bool {
		var space corev1.Namespace
		return h.Client.Get(ctx, client.ObjectKey{Name: "karmada-es-e1"}, &space) == nil &&
			space.Labels[apis.SystemLabel] == "true" && space.Annotations[identity.AnnotationPreparedFor] == ""
	})
}

func testTaints(t *testing.T, h *hubUnderTest) {
	c := h.cluster(t.Context(), "e1")
	before := c.DeepCopy()
	c.Spec.Taints = append(c.Spec.Taints, corev1.Taint{Key: "mine", Effect: corev1.TaintEffectNoExecute})
	if err := h.Client.Patch(t.Context(), c, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		status metav1.ConditionStatus
		want   string
	}{
		{metav1.ConditionTrue, "mine"},
		{metav1.ConditionFalse, "mine " + clusterv1alpha1.TaintClusterNotReady},
		{metav1.ConditionUnknown, "mine " + clusterv1alpha1.TaintClusterUnreachable},
		{metav1.ConditionTrue, "mine"},
	} {
		h.setReady(t, "e1", step.status)
		h.Await(t, fmt.Sprintf("taints of Ready=%s", step.status), func(ctx context.Context) bool { return taintKeys(h.cluster(ctx, "e1")) == step.want })
	}
}

func testRemoval(t *testing.T, h *hubUnderTest) {
	binding := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}, Spec: workv1alpha2.ResourceBindingSpec{
		Clusters: []workv1alpha2.TargetCluster{{Name: "e1"}, {Name: "e2"}},
	}}
	h.Create(t, binding)
	h.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-cluster", Name: "other"}})
	uid := h.cluster(t.Context(), "e1").UID
	h.remove(t, "e1")
	t.Logf("removed in %s", h.awaitRemoved(t, "e1"))
	h.Await(t, "word of the end", func(ctx context.Context) bool {
		event, told := h.told(ctx, "e1")[cluster.EventRemoveExecutionSpace]
		return told && event.Type == corev1.EventTypeNormal && event.InvolvedObject.UID == uid
	})
	if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(binding), binding); err != nil {
		t.Fatal(err)
	}
	if len(binding.Spec.Clusters) != 1 || binding.Spec.Clusters[0].Name != "e2" {
		t.Errorf("the binding names %+v", binding.Spec.Clusters)
	}
	if h.Gone(t.Context(), client.ObjectKey{Namespace: "karmada-cluster", Name: "other"}, &corev1.Secret{}) {
		t.Error("a Secret of somebody else is gone")
	}
}

// testRemovalByAgent plays an agent that needs some time for its Works.
func testRemovalByAgent(t *testing.T, h *hubUnderTest) {
	h.pullCluster(t, "a1")
	h.setReady(t, "a1", metav1.ConditionTrue)
	h.awaitSpace(t, "a1")
	work := h.work(t, "a1", "w")
	h.remove(t, "a1")
	h.Await(t, "explanation", func(ctx context.Context) bool {
		removing := meta.FindStatusCondition(h.cluster(ctx, "a1").Status.Conditions, cluster.ConditionRemoving)
		return removing != nil && removing.Reason == cluster.ReasonWaitingForWorks && strings.Contains(removing.Message, "w")
	})
	if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(work), work); err != nil || work.DeletionTimestamp == nil {
		t.Fatalf("the work is not being deleted: %v", err)
	}
	work.Finalizers = nil
	if err := h.Client.Update(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	t.Logf("removed %s after the agent's word", h.awaitRemoved(t, "a1"))
}

func testRemovalNotReady(t *testing.T, h *hubUnderTest) {
	h.pullCluster(t, "n1")
	h.setReady(t, "n1", metav1.ConditionUnknown)
	h.awaitSpace(t, "n1")
	for i := range 50 {
		h.work(t, "n1", fmt.Sprintf("w%d", i))
	}
	h.remove(t, "n1")
	t.Logf("50 works released in %s", h.awaitRemoved(t, "n1"))
}

func testRemovalBlocked(t *testing.T, h *hubUnderTest) {
	h.pullCluster(t, "b1")
	h.awaitSpace(t, "b1")
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-b1", Name: "x", Finalizers: []string{"example.org/hold"}}}
	h.Create(t, held)
	h.remove(t, "b1")
	h.Await(t, "explanation", func(ctx context.Context) bool {
		removing := meta.FindStatusCondition(h.cluster(ctx, "b1").Status.Conditions, cluster.ConditionRemoving)
		return removing != nil && removing.Reason == cluster.ReasonWaitingForNamespace && strings.Contains(removing.Message, "configmaps")
	})
	h.Await(t, "word of the wait", func(ctx context.Context) bool {
		event, told := h.told(ctx, "b1")[cluster.EventRemoveExecutionSpaceFailed]
		return told && event.Type == corev1.EventTypeWarning && strings.Contains(event.Message, "configmaps")
	})
	if _, told := h.told(t.Context(), "b1")[cluster.EventRemoveExecutionSpace]; told {
		t.Error("the namespace is told to be gone while it is held")
	}
	h.Await(t, "release", func(ctx context.Context) bool {
		if err := h.Client.Get(ctx, client.ObjectKeyFromObject(held), held); err != nil {
			return apierrors.IsNotFound(err)
		}
		held.Finalizers = nil
		return h.Client.Update(ctx, held) == nil
	})
	h.awaitRemoved(t, "b1")
	h.Await(t, "word of the end", func(ctx context.Context) bool {
		_, told := h.told(ctx, "b1")[cluster.EventRemoveExecutionSpace]
		return told
	})
}

// testRemovalByForce takes the finalizer off a cluster whose Works are held, as
// unjoin --force does: the rest has to go all the same.
func testRemovalByForce(t *testing.T, h *hubUnderTest) {
	h.pullCluster(t, "f1")
	h.setReady(t, "f1", metav1.ConditionTrue)
	h.awaitSpace(t, "f1")
	h.work(t, "f1", "w")
	h.remove(t, "f1")
	h.Await(t, "force", func(ctx context.Context) bool {
		c := h.cluster(ctx, "f1")
		if c == nil {
			return true
		}
		c.Finalizers = nil
		return h.Client.Update(ctx, c) == nil
	})
	h.Await(t, "the end of the namespace", func(ctx context.Context) bool {
		return h.Gone(ctx, client.ObjectKey{Name: "karmada-es-f1"}, &corev1.Namespace{}) &&
			h.Gone(ctx, client.ObjectKey{Namespace: "karmada-system", Name: "karmada-agent-f1"}, &coordinationv1.Lease{}) &&
			h.Gone(ctx, client.ObjectKey{Name: "system:karmada:f1:agent"}, &rbacv1.ClusterRole{})
	})
}

func testPush(t *testing.T, h *hubUnderTest) {
	member := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "p1", Nodes: 2})
	began := time.Now()
	made, err := joining.Join(t.Context(), joining.Request{Name: "p1", Hub: h.Client, Member: member.Config()})
	if err != nil {
		t.Fatal(err)
	}
	joined := time.Now()
	h.Await(t, "inventory", func(ctx context.Context) bool {
		c := h.cluster(ctx, "p1")
		return meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterConditionReady) && c.Status.KubernetesVersion != "" &&
			len(c.Status.APIEnablements) > 10 && c.Status.NodeSummary != nil && c.Status.NodeSummary.TotalNum == 2 && taintKeys(c) == ""
	})
	t.Logf("joined in %s, ready and described %s later", joined.Sub(began), time.Since(joined))

	// A credential that is lost is told at once, and used at once when it is back.
	secret := &corev1.Secret{}
	if err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: "karmada-cluster", Name: "p1"}, secret); err != nil {
		t.Fatal(err)
	}
	if err := h.Client.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	h.Await(t, "the loss of the credential", func(ctx context.Context) bool {
		ready := meta.FindStatusCondition(h.cluster(ctx, "p1").Status.Conditions, clusterv1alpha1.ClusterConditionReady)
		return ready.Status == metav1.ConditionFalse && ready.Reason == clusterv1alpha1.ReasonStatusCollectionFailed
	})
	secret.ResourceVersion, secret.UID = "", ""
	h.Create(t, secret)
	h.Await(t, "the credential's return", func(ctx context.Context) bool {
		return meta.IsStatusConditionTrue(h.cluster(ctx, "p1").Status.Conditions, clusterv1alpha1.ClusterConditionReady)
	})

	// A member that is gone does not hold up its removal: its Works are let go.
	h.awaitSpace(t, "p1")
	h.work(t, "p1", "w")
	if err := member.Kill(); err != nil {
		t.Fatal(err)
	}
	h.remove(t, made.Name)
	t.Logf("removed %s after its member had gone", h.awaitRemoved(t, "p1"))
}

// testLease moves the clock of a LeaseReconciler of its own.
func testLease(t *testing.T, h *hubUnderTest) {
	fake := testingclock.NewFakePassiveClock(time.Now())
	leases := liveness.NewLeaseReconciler(h.Client, fake)
	request := ctrl.Request{NamespacedName: client.ObjectKey{Name: "s1"}}
	h.pullCluster(t, "s1")
	look := func(after time.Duration, want metav1.ConditionStatus, reason string) {
		t.Helper()
		fake.SetTime(fake.Now().Add(after))
		if _, err := leases.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		got, why := metav1.ConditionStatus(""), ""
		if ready := meta.FindStatusCondition(h.cluster(t.Context(), "s1").Status.Conditions, "Ready"); ready != nil {
			got, why = ready.Status, ready.Reason
		}
		if got != want || why != reason {
			t.Errorf("Ready is %q (%s), want %q (%s)", got, why, want, reason)
		}
	}
	renew := func() {
		t.Helper()
		var lease coordinationv1.Lease
		if err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: "karmada-cluster", Name: "s1"}, &lease); err != nil {
			t.Fatal(err)
		}
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-time.Hour)} // the agent's clock is wrong
		if err := h.Client.Update(t.Context(), &lease); err != nil {
			t.Fatal(err)
		}
	}
	look(0, "", "")
	look(55*time.Second, "", "")
	look(6*time.Second, metav1.ConditionUnknown, clusterv1alpha1.ReasonClusterStatusNeverUpdated)
	h.setReady(t, "s1", metav1.ConditionTrue)
	look(time.Second, metav1.ConditionTrue, "Test")
	look(39*time.Second, metav1.ConditionTrue, "Test")
	renew()
	look(0, metav1.ConditionTrue, "Test")
	look(39*time.Second, metav1.ConditionTrue, "Test")
	look(2*time.Second, metav1.ConditionUnknown, clusterv1alpha1.ReasonClusterStatusUnknown)
	look(0, metav1.ConditionUnknown, clusterv1alpha1.ReasonClusterStatusUnknown)
	h.setReady(t, "s1", metav1.ConditionTrue)
	look(time.Minute, metav1.ConditionTrue, "Test") // the agent's own word counts from when it came
	h.remove(t, "s1")
	h.awaitRemoved(t, "s1")
}

// testSilence moves the clock of Agents of its own.
func testSilence(t *testing.T, h *hubUnderTest) {
	fake := testingclock.NewFakeClock(time.Now())
	liveness := liveness.NewAgents(h.Client, liveness.AgentsDeps{Live: h.Client, Stages: h.stages, Clock: fake})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- liveness.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	isReady := func(want metav1.ConditionStatus) func(context.Context) bool {
		return func(ctx context.Context) bool {
			ready := meta.FindStatusCondition(h.cluster(ctx, "s2").Status.Conditions, "Ready")
			return ready != nil && ready.Status == want
		}
	}
	if err := liveness.Report(t.Context(), "s2", clusterv1alpha1.ClusterStatus{}); err == nil {
		t.Error("a report was taken of a cluster that has not joined")
	}
	if err := liveness.Joined(t.Context(), "s2", agentapi.Hello{ClusterID: "id-s2", AgentVersion: "v1"}, "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	status := clusterv1alpha1.ClusterStatus{KubernetesVersion: "v1.36.3", Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "ClusterReady", Message: "ok"}}}
	if err := liveness.Report(t.Context(), "s2", status); err != nil {
		t.Fatal(err)
	}
	h.Await(t, "what every cluster gets", func(ctx context.Context) bool {
		c := h.cluster(ctx, "s2")
		return len(c.Finalizers) == 1 && taintKeys(c) == ""
	})
	before := h.cluster(t.Context(), "s2").ResourceVersion
	for range 100 {
		fake.Step(agentapi.Heartbeat)
		liveness.Beat("s2")
	}
	if err := liveness.Report(t.Context(), "s2", status); err != nil {
		t.Fatal(err)
	}
	if after := h.cluster(t.Context(), "s2").ResourceVersion; after != before {
		t.Error("a connected agent at rest caused a write")
	}
	liveness.Lost("s2", "closed", true)
	if state, _ := liveness.Link("s2"); state.Connected {
		t.Error("the link is shown as open")
	}
	fake.Step(agentapi.Deadline)
	h.Await(t, "Ready=Unknown", isReady(metav1.ConditionUnknown))
	if c := h.cluster(t.Context(), "s2"); c.Status.KubernetesVersion != "v1.36.3" {
		t.Error("a silent cluster lost its inventory")
	}
	liveness.Beat("s2")
	h.Await(t, "Ready=True", isReady(metav1.ConditionTrue))

	for what, refused := range map[string]agentapi.Hello{
		registration.CodeNameTaken: {ClusterID: "id-other", AgentVersion: "v1"},
	} {
		if err := liveness.Joined(t.Context(), "s2", refused, "192.0.2.2"); joiningtest.CodeOf(err) != what {
			t.Errorf("%+v: %v", refused, err)
		}
	}
	liveness.Lost("s2", "the connection broke off", false)
	if connected, settled := liveness.Connected("s2"); connected || settled {
		t.Errorf("right after a broken link: connected %v, settled %v; the agent may be back in a moment", connected, settled)
	}
	fake.Step(agentapi.Deadline)
	if connected, settled := liveness.Connected("s2"); connected || !settled {
		t.Errorf("long after a broken link: connected %v, settled %v", connected, settled)
	}
	h.remove(t, "s2")
	liveness.Lost("s2", "closed", true)
	h.awaitRemoved(t, "s2")
}

func testLink(t *testing.T, h *hubUnderTest) {
	ctx := t.Context()
	hello := agentapi.Hello{ClusterID: "id-l1", AgentVersion: "v1", Region: "eu"}
	began := time.Now()
	if err := h.liveness.Joined(ctx, "l1", hello, "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	ready := clusterv1alpha1.ClusterStatus{KubernetesVersion: "v1.36.3", Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "ClusterReady", Message: "ok"}}}
	if err := h.liveness.Report(ctx, "l1", ready); err != nil {
		t.Fatal(err)
	}
	t.Logf("from hello to Ready in %s", time.Since(began))
	c := h.cluster(ctx, "l1")
	if !registration.HasOwnAgent(c) || c.Spec.ID != "id-l1" || c.Spec.Region != "eu" || !meta.IsStatusConditionTrue(c.Status.Conditions, "Ready") {
		t.Errorf("%+v %+v", c.ObjectMeta, c.Status)
	}
	if state, ok := h.liveness.Link("l1"); !ok || !state.Connected || state.Address != "192.0.2.1" || state.Version != "v1" {
		t.Errorf("link %+v", state)
	}
	for _, stage := range []string{"/l1/link", "/l1/inventory", "/l1/ready"} {
		if !h.stages.has(stage) {
			t.Errorf("stage %s is missing", stage)
		}
	}
	h.awaitSpace(t, "l1")
	h.work(t, "l1", "w")
	h.remove(t, "l1")
	h.Await(t, "deletion of the work", func(ctx context.Context) bool {
		var work workv1alpha1.Work
		return h.Client.Get(ctx, client.ObjectKey{Namespace: "karmada-es-l1", Name: "w"}, &work) == nil && work.DeletionTimestamp != nil
	})
	// The agent is undeployed before it has done its work.
	h.liveness.Lost("l1", "closed", true)
	// A hub younger than the deadline waits for agents that may still come back.
	t.Logf("removed in %s", h.awaitRemoved(t, "l1"))

	// Its old certificate does not bring it back; a new registration does.
	if err := h.liveness.Joined(ctx, "l1", hello, "192.0.2.1"); joiningtest.CodeOf(err) != registration.CodeLinkRefused {
		t.Errorf("the removed agent joins: %v", err)
	}
	h.allowTokens(t)
	h.addToken(t, "again0", token.Spec{})
	h.awaitCertificate(t, h.askCertificate(t, h.as(t, "again0"), "l1-bbbbb", apis.AgentUserPrefix+"l1", nil))
	if err := h.liveness.Joined(ctx, "l1", hello, "192.0.2.1"); err != nil {
		t.Errorf("the agent that registered again: %v", err)
	}
}
