package propagation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"muster.dev/muster/agent/interpret"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/propagation/work"
	"muster.dev/muster/backend/template"
)

// toldOf are the Events since the last look.
func toldOf(recorder *events.FakeRecorder) (all []string) {
	for {
		select {
		case event := <-recorder.Events:
			all = append(all, event)
		default:
			slices.Sort(all)
			return all
		}
	}
}

func expectTold(t *testing.T, when string, recorder *events.FakeRecorder, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, toldOf(recorder)); diff != "" {
		t.Errorf("%s (-want +told):\n%s", when, diff)
	}
}

var errBroken = errors.New("out of order")

// A Work that cannot be deleted is told of once, and again after it could be.
func TestCleanupFailureIsTold(t *testing.T) {
	stuck := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-m1", Name: "nginx"}}
	broken := true
	hub := fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(stuck).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			if broken {
				return errBroken
			}
			return c.Delete(ctx, o, options...)
		},
	}).Build()
	recorder := events.NewFakeRecorder(9)
	name, at := types.NamespacedName{Namespace: "default", Name: "nginx-deployment"}, client.ObjectKeyFromObject(stuck)
	b := &round{
		BindingReconciler: &BindingReconciler{hub: hub, events: kube.NewAnnouncer(recorder), troubles: newTroubles(), unseen: newUnseen()},
		name:              name, binding: work.NewBinding(name), works: map[types.NamespacedName]bool{at: false},
	}
	drop := func() error { return b.delete(t.Context(), func(types.NamespacedName) bool { return true }) }
	const want = "Warning CleanupWorkFailed delete work karmada-es-m1/nginx: out of order"
	for _, round := range []struct {
		when   string
		broken bool
		told   []string
	}{{"at first", true, []string{want}}, {"the same again", true, nil}, {"deleted", false, nil}, {"later", true, []string{want}}} {
		broken = round.broken
		if err := drop(); (err != nil) != broken {
			t.Errorf("%s: error %v", round.when, err)
		}
		expectTold(t, round.when, recorder, round.told...)
	}
}

// A template that asks for a conflict resolution that there is none of is told so,
// once for each such word, however often its binding is looked at; its Works are made
// as the policy wants them.
func TestOddConflictResolutionIsTold(t *testing.T) {
	hub := fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}).Build()
	recorder := events.NewFakeRecorder(9)
	r := newBindingReconciler(hub, hub, Deps{Interpreter: interpret.Native()}, recorder)
	name := types.NamespacedName{Namespace: "default", Name: "x-configmap"}
	binding := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, Labels: map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: "id"}},
		Spec:       workv1alpha2.ResourceBindingSpec{Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}}, ConflictResolution: policyv1alpha1.ConflictOverwrite},
	}
	odd := func(word string) string {
		return `Warning UnknownConflictResolution annotation work.karmada.io/conflict-resolution is "` + word + `", which means nothing: ` +
			`where a member has the object already, its policy decides (overwrite); write "overwrite" to take that over or "abort" to leave it alone, or take the annotation away`
	}
	for _, row := range []struct {
		when, asks, made string
		told             []string
	}{
		{"at first", "Abort", "overwrite", []string{odd("Abort")}},
		{"the same again", "Abort", "overwrite", nil},
		{"another word", "maybe", "overwrite", []string{odd("maybe")}},
		{"a known word", "abort", "abort", nil},
		{"the odd one again", "maybe", "overwrite", []string{odd("maybe")}},
		{"none", "", "overwrite", nil},
	} {
		o := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: x}}")
		if row.asks != "" {
			o.SetAnnotations(map[string]string{workv1alpha1.ConflictResolutionAnnotation: row.asks})
		}
		look := &round{BindingReconciler: r, name: name, binding: binding, works: map[types.NamespacedName]bool{}, template: o}
		if _, err := look.send(t.Context()); err != nil {
			t.Fatalf("%s: %v", row.when, err)
		}
		warnings := slices.DeleteFunc(toldOf(recorder), func(event string) bool { return !strings.HasPrefix(event, "Warning ") })
		if diff := cmp.Diff(row.told, warnings, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +told):\n%s", row.when, diff)
		}
		var made workv1alpha1.WorkList
		if err := hub.List(t.Context(), &made); err != nil || len(made.Items) != 1 || made.Items[0].Annotations[workv1alpha1.ConflictResolutionAnnotation] != row.made {
			t.Errorf("%s: %v, made %+v", row.when, err, made.Items)
		}
	}
}

// shelved is the one template there is.
type shelved struct{ *unstructured.Unstructured }

func (s shelved) Get(template.Ref) (*unstructured.Unstructured, bool) { return s.Unstructured, true }
func (s shelved) Subscribe(func(template.Ref, *unstructured.Unstructured, *unstructured.Unstructured)) {
}

// summing fails to sum while it is broken.
type summing struct {
	Interpreter
	broken error
}

func (s *summing) Aggregate(context.Context, *unstructured.Unstructured, []workv1alpha2.AggregatedStatusItem) (*unstructured.Unstructured, bool, error) {
	return nil, true, s.broken
}

// A status that cannot be summed up is told on binding and template, and once it can.
func TestAggregationFailureIsTold(t *testing.T) {
	recorder, interpreter := events.NewFakeRecorder(9), &summing{broken: errBroken}
	r := &StatusReconciler{templates: shelved{object(t, "{apiVersion: example.com/v1, kind: Thing, metadata: {namespace: default, name: x}}")},
		interpreter: interpreter, events: kube.NewAnnouncer(recorder), troubles: newTroubles()}
	name := types.NamespacedName{Namespace: "default", Name: "x-thing"}
	sum := func() error {
		_, err := r.aggregate(t.Context(), name, work.NewBinding(name), nil)
		return err
	}
	const failed, well = "Warning AggregateStatusFailed out of order", "Normal AggregateStatusSucceed works again"
	for _, round := range []struct {
		when   string
		broken error
		told   []string
	}{{"at first", errBroken, []string{failed, failed}}, {"the same again", errBroken, nil}, {"mended", nil, []string{well, well}}, {"as before", nil, nil}} {
		interpreter.broken = round.broken
		if err := sum(); !errors.Is(err, round.broken) {
			t.Errorf("%s: error %v", round.when, err)
		}
		expectTold(t, round.when, recorder, round.told...)
	}
}

// What a cluster uses and cannot be read is told on the quota, and once it can.
func TestUnreadableUseIsTold(t *testing.T) {
	cpu := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	quota := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "limit"}, Spec: policyv1alpha1.FederatedResourceQuotaSpec{
		Overall: cpu, StaticAssignments: []policyv1alpha1.StaticClusterAssignment{{ClusterName: "m1", Hard: cpu}},
	}}
	hub := fake.NewClientBuilder().WithScheme(kube.Scheme()).WithObjects(quota).WithStatusSubresource(quota).Build()
	recorder := events.NewFakeRecorder(9)
	r := &QuotaReconciler{hub: hub, events: kube.NewAnnouncer(recorder), troubles: newTroubles()}
	report := func(used string) {
		t.Helper()
		reported := workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-m1"}}
		reported.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Status: &runtime.RawExtension{Raw: []byte(used)}}}
		if err := hub.Get(t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
			t.Fatal(err)
		}
		if _, err := r.tell(t.Context(), quota, []workv1alpha1.Work{reported}); err != nil {
			t.Fatal(err)
		}
	}
	report(`{"used":{"cpu":"300m"}}`)
	expectTold(t, "at first", recorder, "Normal AggregateStatusSucceed what the clusters report is summed up", "Normal CollectOverallStatusSucceed what is used of the whole is known")
	report(`{"used":"much"}`)
	failed := slices.DeleteFunc(toldOf(recorder), func(event string) bool { return !strings.HasPrefix(event, "Warning ") })
	if len(failed) != 1 || !strings.HasPrefix(failed[0], "Warning CollectOverallStatusFailed read what cluster m1 uses") {
		t.Errorf("unreadable: told %q", failed)
	}
	report(`{"used":{"cpu":"300m"}}`)
	if now := toldOf(recorder); !slices.Contains(now, "Normal CollectOverallStatusSucceed works again") {
		t.Errorf("readable again: told %q", now)
	}
}
