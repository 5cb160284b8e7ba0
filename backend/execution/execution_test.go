package execution_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/execution"
	"muster.dev/muster/backend/joining"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
)

// fixture is a hub with this package's controllers and one push member, which
// has two Clusters. The test sets their readiness.
type fixture struct {
	*kubetest.Hub
	member *controlplanetest.Member
	// cached shows what the controllers see.
	cached client.Reader
}

func start(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Hub: kubetest.StartHub(t), member: controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "m1"})}
	manager, err := kube.NewManager(f.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	members := kube.NewMembers(manager.GetAPIReader(), clock.RealClock{})
	if err := execution.SetupWithManager(manager, execution.Deps{Members: members, Interpreter: interpret.Native()}); err != nil {
		t.Fatal(err)
	}
	f.cached = manager.GetClient()
	f.Run(t, manager)
	if _, err := joining.Join(t.Context(), joining.Request{Name: "m1", Hub: f.Client, Member: f.member.Config()}); err != nil {
		t.Fatal(err)
	}
	var first clusterv1alpha1.Cluster
	if err := f.Client.Get(t.Context(), client.ObjectKey{Name: "m1"}, &first); err != nil {
		t.Fatal(err)
	}
	f.Create(t, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: witness}, Spec: first.Spec})
	for _, name := range []string{"m1", witness} {
		f.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: apis.ExecutionSpace(name)}})
		f.setReady(t, name, metav1.ConditionTrue)
	}
	return f
}

// setReady waits until the controllers have heard of it.
func (f *fixture) setReady(t *testing.T, name string, status metav1.ConditionStatus) {
	t.Helper()
	var c clusterv1alpha1.Cluster
	f.Await(t, "readiness", func(ctx context.Context) bool {
		if f.Client.Get(ctx, client.ObjectKey{Name: name}, &c) != nil {
			return false
		}
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: "Ready", Status: status, Reason: "Test"})
		return f.Client.Status().Update(ctx, &c) == nil
	})
	f.Await(t, "word of the readiness", func(ctx context.Context) bool {
		return f.cached.Get(ctx, client.ObjectKey{Name: name}, &c) == nil && meta.IsStatusConditionPresentAndEqual(c.Status.Conditions, "Ready", status)
	})
}

// witness is a cluster that stays ready.
const witness = "witness"

// passed puts a Work for the witness, changes it and deletes it, and waits for the
// end of each. What the controllers were asked for before has had its turn by then.
func (f *fixture) passed(t *testing.T) {
	t.Helper()
	sent := func(value string) *workv1alpha1.Work {
		return configMapFor(witness, "told", value)
	}
	f.Create(t, sent("one"))
	f.Await(t, "the witness", func(ctx context.Context) bool { return f.value(ctx, "told") == "one" })
	key := client.ObjectKey{Namespace: apis.ExecutionSpace(witness), Name: "told"}
	var stored workv1alpha1.Work
	f.Await(t, "the change of the witness", func(ctx context.Context) bool {
		if f.Client.Get(ctx, key, &stored) != nil {
			return false
		}
		stored.Spec = sent("two").Spec
		return f.Client.Update(ctx, &stored) == nil
	})
	f.Await(t, "the changed witness", func(ctx context.Context) bool { return f.value(ctx, "told") == "two" })
	if err := f.Client.Delete(t.Context(), &stored); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "the end of the witness", func(ctx context.Context) bool { return f.Gone(ctx, key, &stored) })
}

func (f *fixture) work(ctx context.Context, name string) *workv1alpha1.Work {
	var work workv1alpha1.Work
	if err := f.Client.Get(ctx, client.ObjectKey{Namespace: "karmada-es-m1", Name: name}, &work); err != nil {
		return nil
	}
	return &work
}

// configMap is a Work of the first cluster.
func configMap(name, value string) *workv1alpha1.Work { return configMapFor("m1", name, value) }

// configMapFor is a Work with one ConfigMap, marked as the hub's admission marks it.
func configMapFor(cluster, name, value string) *workv1alpha1.Work {
	raw, err := json.Marshal(&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: map[string]string{apis.ManagedLabel: "true"},
			Annotations: map[string]string{workv1alpha1.WorkNamespaceAnnotation: apis.ExecutionSpace(cluster), workv1alpha1.WorkNameAnnotation: name},
		},
		Data: map[string]string{"key": value},
	})
	if err != nil {
		panic(err)
	}
	return &workv1alpha1.Work{
		ObjectMeta: metav1.ObjectMeta{Namespace: apis.ExecutionSpace(cluster), Name: name},
		Spec:       workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}}},
	}
}

func (f *fixture) value(ctx context.Context, name string) string {
	found, err := f.member.Client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return found.Data["key"]
}

func TestWorks(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	applied := func(name string) func(context.Context) bool {
		return func(ctx context.Context) bool {
			work := f.work(ctx, name)
			return work != nil && meta.IsStatusConditionTrue(work.Status.Conditions, workv1alpha1.WorkApplied) &&
				meta.IsStatusConditionTrue(work.Status.Conditions, workv1alpha1.WorkDispatching) && len(work.Status.ManifestStatuses) == 1
		}
	}
	f.Create(t, configMap("settings", "one"))
	t.Logf("applied in %s", f.Await(t, "the object in the member", func(ctx context.Context) bool { return f.value(ctx, "settings") == "one" }))
	f.Await(t, "the work's status", applied("settings"))
	if work := f.work(ctx, "settings"); !slices.Contains(work.Finalizers, workv1alpha1.ExecutionControllerFinalizer) {
		t.Error("the work is not held")
	}

	f.Await(t, "the change of the work", func(ctx context.Context) bool { // whose status may be written meanwhile
		changed := f.work(ctx, "settings")
		changed.Spec = configMap("settings", "two").Spec
		return f.Client.Update(ctx, changed) == nil
	})
	f.Await(t, "the change in the member", func(ctx context.Context) bool { return f.value(ctx, "settings") == "two" })

	maps := f.member.Client.CoreV1().ConfigMaps("default")
	if err := maps.Delete(ctx, "settings", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "the object's return", func(ctx context.Context) bool { return f.value(ctx, "settings") == "two" })

	// An object that somebody else made is left alone, and that is told.
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Data: map[string]string{"key": "theirs"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Create(t, configMap("theirs", "ours"))
	f.Await(t, "the conflict", func(ctx context.Context) bool {
		work := f.work(ctx, "theirs")
		condition := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied)
		return condition != nil && condition.Status == metav1.ConditionFalse && condition.Reason == workv1alpha1.ReasonAppliedFailed
	})
	if f.value(ctx, "theirs") != "theirs" {
		t.Error("an object of somebody else was changed")
	}

	f.testNotReady(t, applied)

	if err := f.Client.Delete(ctx, f.work(ctx, "settings")); err != nil {
		t.Fatal(err)
	}
	took := f.Await(t, "the end of the work", func(ctx context.Context) bool { return f.work(ctx, "settings") == nil })
	if _, err := maps.Get(ctx, "settings", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the work is gone, its object is not: %v", err)
	}
	t.Logf("removed in %s", took)
}

// testNotReady: nothing is applied, changed or removed while the member is not
// ready; all of it is once it is again.
func (f *fixture) testNotReady(t *testing.T, applied func(name string) func(context.Context) bool) {
	t.Helper()
	ctx := t.Context()
	for _, name := range []string{"removed", "changed"} {
		f.Create(t, configMap(name, "old"))
		f.Await(t, "the work "+name, applied(name))
	}
	f.setReady(t, "m1", metav1.ConditionFalse)
	f.Create(t, configMap("waiting", "new"))
	if err := f.Client.Delete(ctx, f.work(ctx, "removed")); err != nil {
		t.Fatal(err)
	}
	f.Await(t, "the change of the work", func(ctx context.Context) bool {
		changed := f.work(ctx, "changed")
		changed.Spec = configMap("changed", "new").Spec
		return f.Client.Update(ctx, changed) == nil
	})
	f.passed(t)
	for name, want := range map[string]string{"waiting": "", "removed": "old", "changed": "old"} {
		if got := f.value(ctx, name); got != want {
			t.Errorf("%s has %q in a member that is not ready, want %q", name, got, want)
		}
	}
	if f.work(ctx, "removed") == nil {
		t.Error("a work went without its object")
	}
	f.setReady(t, "m1", metav1.ConditionTrue)
	f.Await(t, "the work that waited", applied("waiting"))
	f.Await(t, "the change that waited", func(ctx context.Context) bool { return f.value(ctx, "changed") == "new" })
	f.Await(t, "the end that waited", func(ctx context.Context) bool { return f.work(ctx, "removed") == nil && f.value(ctx, "removed") == "" })
}
