package apply_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/apply"
	"muster.dev/muster/agent/apply/membertest"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return o
}

func work(t *testing.T, name string, manifests ...string) *workv1alpha1.Work {
	t.Helper()
	w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-edge-7", Name: name, UID: types.UID("uid-of-" + name), Generation: 1}}
	for _, m := range manifests {
		raw, err := object(t, m).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
	}
	return w
}

const (
	shop     = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
	settings = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {k: v}}`
	web      = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default, annotations: {resourcetemplate.karmada.io/generation: "2"}}, spec: {replicas: 2}}`
)

// start returns a member and an applier of it; with notify, the applier watches.
func start(t *testing.T, notify func(namespace, name string)) (*membertest.Server, *apply.Applier) {
	t.Helper()
	return startOn(t, membertest.New(t), notify)
}

func startOn(t *testing.T, m *membertest.Server, notify func(namespace, name string)) (*membertest.Server, *apply.Applier) {
	t.Helper()
	a, err := apply.New(m.Config())
	if err != nil {
		t.Fatal(err)
	}
	if notify != nil {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- a.Watch(ctx, notify) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	return m, a
}

func mustApply(t *testing.T, a *apply.Applier, w *workv1alpha1.Work) workv1alpha1.WorkStatus {
	t.Helper()
	status, err := a.Apply(t.Context(), w)
	if err != nil {
		t.Fatalf("apply %s: %v", w.Name, err)
	}
	if !meta.IsStatusConditionTrue(status.Conditions, "Applied") || !meta.IsStatusConditionTrue(status.Conditions, "Dispatching") {
		t.Fatalf("apply %s: conditions %+v", w.Name, status.Conditions)
	}
	return status
}

func expectWrites(t *testing.T, m *membertest.Server, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, m.Writes()); diff != "" {
		t.Errorf("writes (-want +got)\n%s", diff)
	}
}

func TestApplyCreatesUpdatesAndSkips(t *testing.T) {
	m, a := start(t, nil)
	m.Default = func(o *unstructured.Unstructured) { // a server that fills in a default
		if o.GetKind() == "Deployment" {
			_ = unstructured.SetNestedField(o.Object, "RollingUpdate", "spec", "strategy", "type")
		}
	}
	w := work(t, "web", web)
	status := mustApply(t, a, w)
	expectWrites(t, m, "POST /apis/apps/v1/namespaces/default/deployments")
	if got := status.ManifestStatuses; len(got) != 1 || got[0].Health != workv1alpha1.ResourceUnhealthy ||
		string(got[0].Status.Raw) != `{"generation":1,"resourceTemplateGeneration":2}` ||
		got[0].Identifier != (workv1alpha1.ResourceIdentifier{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "default", Name: "web"}) {
		t.Errorf("manifest statuses %+v", got)
	}
	if c := meta.FindStatusCondition(status.Conditions, "Applied"); c.ObservedGeneration != 1 || c.Reason != "AppliedSuccessful" {
		t.Errorf("condition %+v", c)
	}

	mustApply(t, a, w)
	expectWrites(t, m)

	w.Generation = 2
	w.Spec.Workload.Manifests[0].Raw = []byte(strings.Replace(string(w.Spec.Workload.Manifests[0].Raw), `"replicas":2`, `"replicas":5`, 1))
	mustApply(t, a, w)
	expectWrites(t, m, "PUT /apis/apps/v1/namespaces/default/deployments/web")

	drifted := m.Get("Deployment", "default", "web")
	_ = unstructured.SetNestedField(drifted.Object, int64(1), "spec", "replicas")
	m.Put(drifted)
	w.Status = mustApply(t, a, w)
	expectWrites(t, m, "PUT /apis/apps/v1/namespaces/default/deployments/web")
	told := meta.FindStatusCondition(w.Status.Conditions, "Drifted")
	if told == nil || told.Status != metav1.ConditionFalse || told.Reason != "DriftRepaired" || told.ObservedGeneration != 2 ||
		!strings.Contains(told.Message, "Deployment default/web was changed") || told.LastTransitionTime.IsZero() {
		t.Errorf("drift is told as %+v", told)
	}
	m.Put(drifted) // a fight is told once a minute
	if status := mustApply(t, a, w); !cmp.Equal(meta.FindStatusCondition(status.Conditions, "Drifted"), told) {
		t.Errorf("drift is told again: %+v", status.Conditions)
	}
	expectWrites(t, m, "PUT /apis/apps/v1/namespaces/default/deployments/web")
	past := metav1.NewTime(told.LastTransitionTime.Add(-time.Hour))
	told.LastTransitionTime = past
	m.Put(drifted)
	if again := meta.FindStatusCondition(mustApply(t, a, w).Conditions, "Drifted"); again == nil || again.LastTransitionTime.Equal(&past) {
		t.Errorf("later drift is not told: %+v", again)
	}
	expectWrites(t, m, "PUT /apis/apps/v1/namespaces/default/deployments/web")
	w.Generation = 3
	if status := mustApply(t, a, w); meta.FindStatusCondition(status.Conditions, "Drifted") != nil {
		t.Errorf("drift outlives the Work's change: %+v", status.Conditions)
	}
	if n, _, _ := unstructured.NestedInt64(m.Get("Deployment", "default", "web").Object, "spec", "replicas"); n != 5 {
		t.Errorf("%d replicas after the drift was mended", n)
	}
}

func TestApplyConflictAndOverwrite(t *testing.T) {
	m, a := start(t, nil)
	m.Put(object(t, shop))
	m.Put(object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, labels: {local: kept}}, data: {mine: x}}`))
	w := work(t, "settings", settings)
	status, err := a.Apply(t.Context(), w)
	if err == nil || !strings.Contains(err.Error(), "ConfigMap shop/settings") || !strings.Contains(err.Error(), "work.karmada.io/conflict-resolution=overwrite") {
		t.Errorf("error %v", err)
	}
	if c := meta.FindStatusCondition(status.Conditions, "Applied"); c == nil || c.Status != "False" || c.Reason != "AppliedFailed" || len(status.ManifestStatuses) != 0 {
		t.Errorf("status %+v", status)
	}
	expectWrites(t, m)

	w = work(t, "settings", strings.Replace(settings, "namespace: shop", "namespace: shop, annotations: {work.karmada.io/conflict-resolution: overwrite}", 1))
	mustApply(t, a, w)
	got := m.Get("ConfigMap", "shop", "settings")
	if got.GetLabels()["local"] != "kept" || got.GetLabels()["karmada.io/managed"] != "true" {
		t.Errorf("labels %v", got.GetLabels())
	}
	if data, _, _ := unstructured.NestedStringMap(got.Object, "data"); !cmp.Equal(data, map[string]string{"k": "v"}) {
		t.Errorf("data %v", data)
	}
}

func TestApplyFailures(t *testing.T) {
	for name, c := range map[string]struct {
		work *workv1alpha1.Work
		want string
	}{
		"no such namespace": {work(t, "a", settings), "ConfigMap shop/settings"},
		"unknown kind":      {work(t, "b", `{apiVersion: example.com/v1, kind: Thing, metadata: {name: x}}`), "does not know the kind: Thing of example.com/v1"},
		"one of two":        {work(t, "c", shop, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: x}}`), "Thing x"},
	} {
		m, a := start(t, nil)
		status, err := a.Apply(t.Context(), c.work)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", name, err)
		}
		if !meta.IsStatusConditionFalse(status.Conditions, "Applied") {
			t.Errorf("%s: conditions %+v", name, status.Conditions)
		}
		if (m.Get("Namespace", "", "shop") != nil) != (name == "one of two") {
			t.Errorf("%s: the good half of a Work, and only that, is to be applied", name)
		}
	}
}

func TestApplyWaitsForWhatIsBeingDeleted(t *testing.T) {
	m, a := start(t, nil)
	m.Put(object(t, shop))
	w := work(t, "settings", settings)
	mustApply(t, a, w)
	dying := m.Get("ConfigMap", "shop", "settings")
	now := metav1.NewTime(time.Unix(1_700_000_000, 0))
	dying.SetDeletionTimestamp(&now)
	m.Put(dying)
	m.Writes()
	if _, err := a.Apply(t.Context(), w); err == nil || !strings.Contains(err.Error(), "being deleted") {
		t.Errorf("error %v", err)
	}
	expectWrites(t, m)
	m.Remove("ConfigMap", "shop", "settings")
	mustApply(t, a, w)
}

func TestSuspendedIsOnlyLookedAt(t *testing.T) {
	m, a := start(t, nil)
	w := work(t, "web", web)
	mustApply(t, a, w)
	drifted := m.Get("Deployment", "default", "web")
	_ = unstructured.SetNestedField(drifted.Object, int64(1), "spec", "replicas")
	_ = unstructured.SetNestedField(drifted.Object, int64(1), "status", "replicas")
	m.Put(drifted)
	m.Writes()
	w.Spec.SuspendDispatching = ptr.To(true)
	status, err := a.Apply(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	expectWrites(t, m)
	if c := meta.FindStatusCondition(status.Conditions, "Dispatching"); c.Status != "False" || c.Reason != "SuspendDispatching" {
		t.Errorf("condition %+v", c)
	}
	if len(status.ManifestStatuses) != 1 || !strings.Contains(string(status.ManifestStatuses[0].Status.Raw), `"replicas":1`) {
		t.Errorf("the status is not collected: %+v", status.ManifestStatuses)
	}
}

// TestConditionTimes: an unchanged condition keeps its time.
func TestConditionTimes(t *testing.T) {
	_, a := start(t, nil)
	w := work(t, "web", web)
	old := metav1.Unix(1_600_000_000, 0).Rfc3339Copy()
	w.Status.Conditions = []metav1.Condition{{Type: "Dispatching", Status: "True", Reason: "Dispatching", LastTransitionTime: old},
		{Type: "Applied", Status: "False", Reason: "AppliedFailed", LastTransitionTime: old}}
	status := mustApply(t, a, w)
	if c := meta.FindStatusCondition(status.Conditions, "Dispatching"); !c.LastTransitionTime.Equal(&old) {
		t.Errorf("Dispatching turned: %v", c.LastTransitionTime)
	}
	if c := meta.FindStatusCondition(status.Conditions, "Applied"); c.LastTransitionTime.Equal(&old) {
		t.Error("Applied did not turn")
	}
	if w.Status.Conditions[1].Status != "False" {
		t.Error("Apply changed its argument")
	}
}

func TestRemove(t *testing.T) {
	m, a := start(t, nil)
	w := work(t, "both", shop, settings)
	mustApply(t, a, w)
	m.Writes()
	pending, err := a.Remove(t.Context(), w)
	if err != nil || pending {
		t.Errorf("pending %t, %v", pending, err)
	}
	expectWrites(t, m, "DELETE /api/v1/namespaces/shop/configmaps/settings", "DELETE /api/v1/namespaces/shop")
	if _, err := a.Remove(t.Context(), w); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if _, err := a.Remove(t.Context(), work(t, "x", `{apiVersion: example.com/v1, kind: Thing, metadata: {name: x}}`)); err != nil {
		t.Errorf("unknown kind: %v", err)
	}
}

func TestRemoveLeavesWhatIsNotOurs(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*workv1alpha1.Work)
		there  string // what somebody else puts in place before the removal
	}{
		"label taken off": {nil, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}}`},
		"of another work": {nil, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, labels: {karmada.io/managed: "true"}, annotations: {work.karmada.io/namespace: karmada-es-edge-7, work.karmada.io/name: other}}}`},
		"of another hub":  {nil, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, labels: {karmada.io/managed: "true"}, annotations: {work.karmada.io/namespace: karmada-es-other, work.karmada.io/name: settings}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			m, a := start(t, nil)
			m.Put(object(t, shop))
			m.Put(object(t, c.there))
			if _, err := a.Remove(t.Context(), work(t, "settings", settings)); err != nil {
				t.Fatal(err)
			}
			expectWrites(t, m)
		})
	}
}

func TestRemovePreserves(t *testing.T) {
	m, a := start(t, nil)
	w := work(t, "web", strings.Replace(web, "annotations: {", "labels: {app: web, work.karmada.io/permanent-id: p}, annotations: {note: kept, ", 1))
	w.Spec.PreserveResourcesOnDeletion = ptr.To(true)
	mustApply(t, a, w)
	if _, err := a.Remove(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	got := m.Get("Deployment", "default", "web")
	if got == nil {
		t.Fatal("it was deleted")
	}
	if diff := cmp.Diff(map[string]string{"app": "web"}, got.GetLabels()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"note": "kept"}, got.GetAnnotations()); diff != "" {
		t.Error(diff)
	}
}

func TestRemoveKeepsNamespacesOfOthers(t *testing.T) {
	ours := `labels: {karmada.io/managed: "true"}`
	for name, c := range map[string]struct {
		inside []string
		refuse string // path prefix that answers 403
		kept   bool
	}{
		"empty": {},
		"what every namespace has": {inside: []string{
			`{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: shop}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt, namespace: shop}}`,
			`{apiVersion: v1, kind: Secret, metadata: {name: default-token-x, namespace: shop, annotations: {kubernetes.io/service-account.name: default}}}`,
			`{apiVersion: v1, kind: Event, metadata: {name: e, namespace: shop}}`}},
		"ours, and what belongs to ours": {inside: []string{
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, ` + ours + `}}`,
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u}]}}`,
			`{apiVersion: v1, kind: Pod, metadata: {name: web-1-a, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u}]}}`}},
		"a config map of somebody":     {inside: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: shop}}`}, kept: true},
		"another namespace's business": {inside: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: default}}`}},
		"a mirror pod of a node":       {inside: []string{`{apiVersion: v1, kind: Pod, metadata: {name: static, namespace: shop, ownerReferences: [{apiVersion: v1, kind: Node, name: node, uid: u}]}}`}, kept: true},
		"already going":                {inside: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: shop, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [x]}}`}},
		"what may not be listed":       {refuse: "/api/v1/namespaces/shop/secrets", kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			m, a := start(t, nil)
			w := work(t, "shop", shop)
			mustApply(t, a, w)
			for _, text := range c.inside {
				m.Put(object(t, text))
			}
			m.Refuse(func(r *http.Request) int {
				if c.refuse != "" && strings.HasPrefix(r.URL.Path, c.refuse) {
					return http.StatusForbidden
				}
				return 0
			})
			if _, err := a.Remove(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			got := m.Get("Namespace", "", "shop")
			if (got != nil) != c.kept {
				t.Fatalf("kept: %t, want %t", got != nil, c.kept)
			}
			if got != nil && (len(got.GetLabels()) > 0 || len(got.GetAnnotations()) > 0) {
				t.Errorf("marks left: %v %v", got.GetLabels(), got.GetAnnotations())
			}
		})
	}
}

func TestRemoveErrorIsNotSuccess(t *testing.T) {
	m, a := start(t, nil)
	w := work(t, "shop", shop)
	mustApply(t, a, w)
	m.Refuse(func(r *http.Request) int {
		if strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/shop/secrets") {
			return http.StatusInternalServerError
		}
		return 0
	})
	if _, err := a.Remove(t.Context(), w); err == nil {
		t.Error("a namespace that could not be looked into counts as removed")
	}
	if m.Get("Namespace", "", "shop") == nil {
		t.Error("it was deleted all the same")
	}
}

func TestRemoveKeepsCRDsOfOthers(t *testing.T) {
	crd := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, names: {plural: things}, versions: [{name: v1, served: true}]}}`
	for name, c := range map[string]struct {
		thing string
		kept  bool
	}{
		"none":    {"", false},
		"ours":    {`{apiVersion: example.com/v1, kind: Thing, metadata: {name: x, namespace: a, labels: {karmada.io/managed: "true"}}}`, false},
		"foreign": {`{apiVersion: example.com/v1, kind: Thing, metadata: {name: x, namespace: a}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, a := start(t, nil)
			w := work(t, "crd", crd)
			mustApply(t, a, w)
			m.Serve(membertest.Resource{GroupVersion: "example.com/v1", Plural: "things", Kind: "Thing", Namespaced: true})
			if c.thing != "" {
				m.Put(object(t, c.thing))
			}
			if _, err := a.Remove(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			if got := m.Get("CustomResourceDefinition", "", "things.example.com"); (got != nil) != c.kept {
				t.Errorf("kept: %t", got != nil)
			}
		})
	}
}

func TestRemoveReservedNamespace(t *testing.T) {
	m, a := start(t, nil)
	w := work(t, "default", `{apiVersion: v1, kind: Namespace, metadata: {name: kube-system, annotations: {work.karmada.io/conflict-resolution: overwrite}}}`)
	m.Put(object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}`))
	mustApply(t, a, w)
	if _, err := a.Remove(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if m.Get("Namespace", "", "kube-system") == nil {
		t.Error("kube-system was deleted")
	}
}

func TestRemovePending(t *testing.T) {
	m, a := start(t, nil)
	m.Put(object(t, shop))
	w := work(t, "settings", settings)
	mustApply(t, a, w)
	held := m.Get("ConfigMap", "shop", "settings")
	held.SetFinalizers([]string{"example.com/hold"})
	m.Put(held)
	for range 2 {
		if pending, err := a.Remove(t.Context(), w); err != nil || !pending {
			t.Errorf("pending %t, %v", pending, err)
		}
	}
}

// TestWatch: changes of our objects are told, and the watch's memory serves reads.
func TestWatch(t *testing.T) { synctest.Test(t, testWatch) }

func testWatch(t *testing.T) {
	told := make(chan string, 100)
	m, a := startOn(t, membertest.NewInBubble(t), func(namespace, name string) { told <- namespace + "/" + name })
	wait := func() { // until everything is told, some of it twice
		t.Helper()
		synctest.Wait()
		if len(told) == 0 {
			t.Fatal("not told")
		}
		for len(told) > 0 {
			if got := <-told; got != "karmada-es-edge-7/web" {
				t.Errorf("told of %s", got)
			}
		}
	}
	w := work(t, "web", web)
	mustApply(t, a, w) // begins the watch
	wait()

	o := m.Get("Deployment", "default", "web")
	_ = unstructured.SetNestedField(o.Object, int64(2), "status", "replicas")
	m.Put(o)
	wait()
	m.Writes()
	status := mustApply(t, a, w)
	if !strings.Contains(string(status.ManifestStatuses[0].Status.Raw), `"replicas":2`) {
		t.Errorf("status %s", status.ManifestStatuses[0].Status.Raw)
	}
	expectWrites(t, m)

	m.Remove("Deployment", "default", "web")
	wait()
	mustApply(t, a, w)
	expectWrites(t, m, "POST /apis/apps/v1/namespaces/default/deployments")
	wait()

	// Somebody takes our label off: to the watch the object is gone.
	o = m.Get("Deployment", "default", "web")
	o.SetLabels(nil)
	m.Put(o)
	wait()
	if _, err := a.Apply(t.Context(), w); err == nil || !strings.Contains(err.Error(), "not managed") || strings.Count(err.Error(), "Deployment") != 1 {
		t.Errorf("error %v", err)
	}
}
