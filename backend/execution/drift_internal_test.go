package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// oneWork is a hub with one push cluster and one Work, as the reconciler sees it.
type oneWork struct {
	client.Client
	cluster clusterv1alpha1.Cluster

	mu   sync.Mutex
	work workv1alpha1.Work
	// cached is what the cache shows as long as it is behind; nil: the Work.
	cached *workv1alpha1.Work
}

func (h *oneWork) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch o := object.(type) {
	case *clusterv1alpha1.Cluster:
		h.cluster.DeepCopyInto(o)
	case *workv1alpha1.Work:
		cmp.Or(h.cached, &h.work).DeepCopyInto(o)
	}
	return nil
}

func (h *oneWork) Status() client.SubResourceWriter { return oneStatus{hub: h} }

type oneStatus struct {
	client.SubResourceWriter
	hub *oneWork
}

func (s oneStatus) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if o, ok := object.(*workv1alpha1.Work); ok {
		o.Status.DeepCopyInto(&s.hub.work.Status)
	}
	return nil
}

// Config implements members.
func (m oneMember) Config(context.Context, *clusterv1alpha1.Cluster) (*rest.Config, error) {
	return m.config, nil
}

type oneMember struct{ config *rest.Config }

// TestDriftIsRepairedOnTheWatchsWord: an object that was changed or deleted in a
// push member is as it should be when nothing but a word of the member's watch has
// come; no timer lies between, and without that word nobody repairs anything. Time
// passes only while everybody waits for it.
func TestDriftIsRepairedOnTheWatchsWord(t *testing.T) {
	for name, drift := range map[string]func(*membertest.Server){
		"changed": func(m *membertest.Server) {
			o := m.Get("ConfigMap", "default", "settings")
			_ = unstructured.SetNestedField(o.Object, "pink", "data", "color")
			m.Put(o)
		},
		"deleted": func(m *membertest.Server) { m.Remove("ConfigMap", "default", "settings") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testDrift(t, drift) })
		})
	}
}

func testDrift(t *testing.T, drift func(*membertest.Server)) {
	member, hub := membertest.NewInBubble(t), &oneWork{}
	startReconciler(t, hub, member)
	color := func() (color string) {
		synctest.Wait()
		if o := member.Get("ConfigMap", "default", "settings"); o != nil {
			color, _, _ = unstructured.NestedString(o.Object, "data", "color")
		}
		return color
	}
	if got := color(); got != "blue" {
		t.Fatalf("the member has %q at first", got)
	}
	for round := range 20 { // none waits for longer than the one before
		before := time.Now()
		drift(member)
		if got, took := color(), time.Since(before); got != "blue" || took != 0 {
			t.Fatalf("round %d: the member has %q after %s", round, got, took)
		}
	}
	if hub.drifted() == nil {
		t.Error("the Work does not tell of the drift")
	}
	release := member.HoldWatches()
	member.Writes()
	drift(member)
	<-time.After(time.Hour) // of the bubble's time
	if got := color(); got == "blue" {
		t.Errorf("repaired without a word of the watch: %v", member.Writes())
	}
	before := time.Now()
	release()
	if got, took := color(), time.Since(before); got != "blue" || took != 0 {
		t.Errorf("the member has %q %s after the watch's word", got, took)
	}
}

// TestDriftIsToldWhileTheCacheIsBehind: what was told of drift stays while the hub's cache does not show it yet, and the member's watch
// brings the Work back for the very write that set the object back.
func TestDriftIsToldWhileTheCacheIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		member, hub := membertest.NewInBubble(t), &oneWork{}
		startReconciler(t, hub, member)
		synctest.Wait()
		hub.mu.Lock()
		hub.cached = hub.work.DeepCopy()
		hub.mu.Unlock()
		o := member.Get("ConfigMap", "default", "settings")
		_ = unstructured.SetNestedField(o.Object, "pink", "data", "color")
		member.Put(o)
		synctest.Wait()
		if color, _, _ := unstructured.NestedString(member.Get("ConfigMap", "default", "settings").Object, "data", "color"); color != "blue" {
			t.Errorf("the member has %q", color)
		}
		if hub.drifted() == nil {
			t.Error("the Work does not tell of the drift any more")
		}
	})
}

// startReconciler gives a hub one push cluster with one Work, and executes it.
func startReconciler(t *testing.T, hub *oneWork, member *membertest.Server) {
	t.Helper()
	hub.cluster.Name, hub.cluster.Spec.SyncMode = "m1", clusterv1alpha1.Push
	meta.SetStatusCondition(&hub.cluster.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionTrue, Reason: "Test"})
	manifest, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "settings"},
		"data": map[string]any{"color": "blue"}})
	if err != nil {
		t.Fatal(err)
	}
	hub.work = workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: apis.ExecutionSpace("m1"), Name: "settings", UID: "w", Generation: 1, ResourceVersion: "1",
		Finalizers: []string{workv1alpha1.ExecutionControllerFinalizer}}}
	hub.work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: manifest}}}

	r := &WorkReconciler{hub: hub, metrics: shared, written: newOwnWrites()}
	r.lanes = newLanes(r.execute)
	r.executors = newExecutors(oneMember{member.Config()}, interpret.Native(), func(namespace, name string) {
		r.lanes.add(types.NamespacedName{Namespace: namespace, Name: name})
	})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.lanes.Start(ctx) })     // never fails
	running.Go(func() { _ = r.executors.Start(ctx) }) // nor does it
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	r.lanes.add(client.ObjectKeyFromObject(&hub.work))
}

func (h *oneWork) drifted() *metav1.Condition {
	h.mu.Lock()
	defer h.mu.Unlock()
	return meta.FindStatusCondition(h.work.Status.Conditions, workv1alpha1.WorkDrifted)
}
