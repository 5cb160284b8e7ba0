package eviction_test

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/eviction"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/policy"
)

var key = types.NamespacedName{Namespace: "default", Name: "web-deployment"}

// stage is one binding under the reconciler, with a clock of its own.
type stage struct {
	hub   client.Client
	clock *testingclock.FakePassiveClock
	r     *eviction.BindingReconciler
	told  *events.FakeRecorder
}

// gates changes the features that are on.
func (s *stage) gates(change func(*policy.Gates)) {
	gates := policy.DefaultGates()
	gates.Failover = true
	change(&gates)
	s.r = eviction.NewBindingReconciler(s.hub, s.told, eviction.Deps{Gates: gates, Taints: true, Rate: 100, Clock: s.clock})
}

func newStage(failover bool, objects ...client.Object) *stage {
	gates := policy.DefaultGates()
	gates.Failover = failover
	s := &stage{
		hub:   fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(objects...).WithStatusSubresource(&workv1alpha2.ResourceBinding{}).Build(),
		clock: testingclock.NewFakePassiveClock(time.Unix(10_000, 0)),
	}
	s.told = events.NewFakeRecorder(10)
	s.r = eviction.NewBindingReconciler(s.hub, s.told, eviction.Deps{Gates: gates, Taints: true, Rate: 100, Clock: s.clock})
	return s
}

func (s *stage) look(t *testing.T) (*workv1alpha2.ResourceBinding, time.Duration) {
	t.Helper()
	result, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil {
		t.Fatal(err)
	}
	b := &workv1alpha2.ResourceBinding{}
	if err := s.hub.Get(t.Context(), key, b); err != nil {
		t.Fatal(err)
	}
	return b, result.RequeueAfter
}

func (s *stage) after(d time.Duration) { s.clock.SetTime(s.clock.Now().Add(d)) }

func binding(change func(*workv1alpha2.ResourceBinding)) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 1},
		Spec:       workv1alpha2.ResourceBindingSpec{Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}, {Name: "m2"}}, PropagateDeps: true},
	}
	change(b)
	return b
}

func cluster(name string, taints ...corev1.Taint) *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push, Taints: taints}}
}

func TestATaintEvicts(t *testing.T) {
	t.Parallel()
	added := metav1.NewTime(time.Unix(10_000, 0))
	fire := corev1.Taint{Key: "fire", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added}
	s := newStage(true, cluster("m1", fire), cluster("m2"), binding(func(b *workv1alpha2.ResourceBinding) {
		b.Annotations = map[string]string{policyv1alpha1.AppliedPlacementAnnotation: `{"clusterTolerations":[{"key":"fire","operator":"Exists","tolerationSeconds":30}]}`}
	}))
	b, next := s.look(t)
	if len(b.Spec.Clusters) != 2 || next != 30*time.Second {
		t.Fatalf("while tolerated: %+v, next look in %s", b.Spec.Clusters, next)
	}
	s.after(30 * time.Second)
	b, _ = s.look(t)
	if len(b.Spec.Clusters) != 1 || len(b.Spec.GracefulEvictionTasks) != 1 || b.Spec.GracefulEvictionTasks[0].CreationTimestamp == nil {
		t.Fatalf("after: %+v", b.Spec)
	}
	for _, on := range []string{"binding", "template"} {
		select {
		case told := <-s.told.Events:
			if told != "Normal EvictWorkloadFromClusterSucceed evicted from cluster m1: TaintUntolerated" {
				t.Errorf("told on the %s: %s", on, told)
			}
		default:
			t.Errorf("nothing is told on the %s", on)
		}
	}
	// The move is over once the others are healthy.
	b.Status.SchedulerObservedGeneration = b.Generation
	b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m2", Health: workv1alpha2.ResourceHealthy}}
	if err := s.hub.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if b, _ = s.look(t); len(b.Spec.GracefulEvictionTasks) != 0 {
		t.Errorf("tasks stay: %+v", b.Spec.GracefulEvictionTasks)
	}
}

func TestNothingMovesWithoutTheGate(t *testing.T) {
	t.Parallel()
	s := newStage(false, cluster("m1", corev1.Taint{Key: "fire", Effect: corev1.TaintEffectNoExecute}), binding(func(*workv1alpha2.ResourceBinding) {}))
	if b, next := s.look(t); len(b.Spec.Clusters) != 2 || next != 0 {
		t.Errorf("%+v, next look in %s", b.Spec, next)
	}
}

func TestAnUnhealthyApplicationMoves(t *testing.T) {
	t.Parallel()
	s := newStage(true, cluster("m1"), cluster("m2"), binding(func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Failover = &policyv1alpha1.FailoverBehavior{Application: &policyv1alpha1.ApplicationFailoverBehavior{
			DecisionConditions: policyv1alpha1.DecisionConditions{TolerationSeconds: ptr.To[int32](60)}, PurgeMode: policyv1alpha1.PurgeModeNever,
		}}
		b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{
			{ClusterName: "m1", Health: workv1alpha2.ResourceUnhealthy}, {ClusterName: "m2", Health: workv1alpha2.ResourceUnknown},
		}
	}))
	if b, next := s.look(t); len(b.Spec.Clusters) != 2 || next != time.Minute {
		t.Fatalf("at first: %+v, next look in %s", b.Spec.Clusters, next)
	}
	s.after(time.Minute)
	b, _ := s.look(t)
	if len(b.Spec.Clusters) != 1 || b.Spec.Clusters[0].Name != "m2" || len(b.Spec.GracefulEvictionTasks) != 1 {
		t.Fatalf("after a minute: %+v", b.Spec)
	}
	s.after(time.Hour)
	if b, next := s.look(t); len(b.Spec.GracefulEvictionTasks) != 1 || next != 0 {
		t.Errorf("a task that only a user ends: %+v, next look in %s", b.Spec.GracefulEvictionTasks, next)
	}
}

// Where an application comes back to a cluster that it had left, its time there
// begins anew, also while nobody has told how it is.
func TestTheTimeBeginsAnewAfterAMove(t *testing.T) {
	t.Parallel()
	s := newStage(true, cluster("m1"), binding(func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = b.Spec.Clusters[:1]
		b.Spec.Failover = &policyv1alpha1.FailoverBehavior{Application: &policyv1alpha1.ApplicationFailoverBehavior{
			DecisionConditions: policyv1alpha1.DecisionConditions{TolerationSeconds: ptr.To[int32](60)}, PurgeMode: policyv1alpha1.PurgeModeDirectly,
		}}
		b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Health: workv1alpha2.ResourceUnhealthy}}
	}))
	s.look(t)
	s.after(time.Minute)
	if b, _ := s.look(t); len(b.Spec.Clusters) != 0 {
		t.Fatalf("after a minute: %+v", b.Spec)
	}
	b, _ := s.look(t)
	b.Spec.Clusters, b.Spec.GracefulEvictionTasks = []workv1alpha2.TargetCluster{{Name: "m1"}}, nil
	if err := s.hub.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	b.Status.AggregatedStatus = nil
	if err := s.hub.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if b, next := s.look(t); len(b.Spec.Clusters) != 1 || next != 0 {
		t.Errorf("back again, nothing told: %+v, next look in %s", b.Spec, next)
	}
	if err := s.hub.Get(t.Context(), key, b); err != nil {
		t.Fatal(err)
	}
	b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Health: workv1alpha2.ResourceUnhealthy}}
	if err := s.hub.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if b, next := s.look(t); len(b.Spec.Clusters) != 1 || next != time.Minute {
		t.Errorf("unhealthy again: %+v, next look in %s", b.Spec, next)
	}
}

// The new copy is told what the old one's status said, of the gate's kinds of
// failover alone.
func TestStateIsPreserved(t *testing.T) {
	t.Parallel()
	rules := &policyv1alpha1.StatePreservation{Rules: []policyv1alpha1.StatePreservationRule{
		{AliasLabelName: "ready", JSONPath: "{.readyReplicas}"}, {AliasLabelName: "phase", JSONPath: ".job.state"}}}
	b := binding(func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Failover = &policyv1alpha1.FailoverBehavior{Cluster: &policyv1alpha1.ClusterFailoverBehavior{PurgeMode: policyv1alpha1.PurgeModeDirectly, StatePreservation: rules}}
		b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Status: &runtime.RawExtension{Raw: []byte(`{"readyReplicas":2,"job":{"state":"RUNNING"}}`)}}}
	})
	fire := corev1.Taint{Key: "fire", Effect: corev1.TaintEffectNoExecute}
	for _, on := range []bool{true, false} {
		s := newStage(true, cluster("m1", fire), cluster("m2"), b.DeepCopy())
		s.gates(func(g *policy.Gates) { g.StatefulFailoverInjection = on })
		moved, _ := s.look(t)
		if len(moved.Spec.GracefulEvictionTasks) != 1 {
			t.Fatalf("gate %t: %+v", on, moved.Spec)
		}
		want := map[string]string{"ready": "2", "phase": "RUNNING"}
		if !on {
			want = nil
		}
		if got := moved.Spec.GracefulEvictionTasks[0].PreservedLabelState; !maps.Equal(got, want) {
			t.Errorf("gate %t: %v", on, got)
		}
	}
	// A copy that has not told anything yet is waited for, a minute.
	silent := b.DeepCopy()
	silent.Status.AggregatedStatus = nil
	s := newStage(true, cluster("m1", fire), cluster("m2"), silent)
	s.gates(func(g *policy.Gates) { g.StatefulFailoverInjection = true })
	if waits, next := s.look(t); len(waits.Spec.GracefulEvictionTasks) != 0 || next <= 0 {
		t.Errorf("moved without its state: %+v, next look in %s", waits.Spec, next)
	}
	s.after(time.Minute)
	if moved, _ := s.look(t); len(moved.Spec.GracefulEvictionTasks) != 1 || moved.Spec.GracefulEvictionTasks[0].PreservedLabelState != nil {
		t.Errorf("after a minute: %+v", moved.Spec)
	}
	if _, err := eviction.Preserve(b, "m2", workv1alpha2.EvictionReasonTaintUntolerated); err == nil {
		t.Error("a status that says nothing is no error")
	}
	if state, err := eviction.Preserve(b, "m1", workv1alpha2.EvictionReasonApplicationFailure); state != nil || err != nil {
		t.Errorf("of an application: %v %v", state, err)
	}
}
