package apply

import (
	"context"
	"encoding/json"
	"errors"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// object reads YAML as an API server would give it.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return o
}

func same(t *testing.T, want, got *unstructured.Unstructured) {
	t.Helper()
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDecide(t *testing.T) {
	retain := func(desired, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return interpret.Native().Retain(t.Context(), desired, observed)
	}
	base := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {karmada.io/managed: "true"}}, data: {k: v}}`
	for name, c := range map[string]struct {
		desired, observed string
		want              action
	}{
		"absent":            {base, "", create},
		"equal":             {base, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: "3", labels: {karmada.io/managed: "true"}}, data: {k: v}}`, nothing},
		"more marks":        {base, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {karmada.io/managed: "true", local: x}}, data: {k: v}}`, nothing},
		"drifted":           {base, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {karmada.io/managed: "true"}}, data: {k: w}}`, update},
		"field too much":    {base, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {karmada.io/managed: "true"}}, data: {k: v, l: x}}`, update},
		"not ours":          {base, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}`, conflict},
		"ours by word only": {base, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {karmada.io/managed: "yes"}}, data: {k: v}}`, conflict},
		"abort": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {work.karmada.io/conflict-resolution: abort}}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, conflict},
		"overwrite": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {work.karmada.io/conflict-resolution: overwrite}}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {work.karmada.io/conflict-resolution: overwrite}}}`, update},
		"being deleted": {base, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: "2026-01-01T00:00:00Z", labels: {karmada.io/managed: "true"}}}`, wait},
	} {
		var observed *unstructured.Unstructured
		if c.observed != "" {
			observed = object(t, c.observed)
		}
		if got, _, _ := decide(object(t, c.desired), observed, false, retain); got != c.want {
			t.Errorf("%s: got action %d, want %d", name, got, c.want)
		}
	}
	desired, defaulted := object(t, base), object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {karmada.io/managed: "true"}}, data: {k: v}, immutable: false}`)
	if got, _, _ := decide(desired, defaulted, false, retain); got != update {
		t.Errorf("defaulted, nothing remembered: got %d", got)
	}
	if got, _, _ := decide(desired, defaulted, true, retain); got != nothing {
		t.Errorf("defaulted, remembered: got %d", got)
	}
	unmarked := object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}, immutable: false}`)
	if got, _, _ := decide(desired, unmarked, true, retain); got != conflict {
		t.Errorf("no longer ours, remembered: got %d", got)
	}
}

func TestMemo(t *testing.T) {
	const text = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: "3"}, data: {k: v}}`
	last := remember([]byte("manifest"), object(t, text), memo{})
	for name, c := range map[string]struct {
		manifest, observed string
		want               bool
	}{
		"the same":                  {"manifest", text, true},
		"another manifest":          {"other", text, false},
		"another version":           {"manifest", strings.Replace(text, `"3"`, `"4"`, 1), true},
		"another content":           {"manifest", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: "4"}, data: {k: w}}`, false},
		"no version, the same":      {"manifest", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u}, data: {k: v}}`, true},
		"no version, other content": {"manifest", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u}, data: {k: w}}`, false},
	} {
		if got := remember([]byte(c.manifest), object(t, c.observed), last).same(last); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if remember([]byte("manifest"), object(t, text), memo{}).same(memo{}) {
		t.Error("something is the same as nothing")
	}
}

func TestUnmark(t *testing.T) {
	o := object(t, `
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  uid: u
  labels: {karmada.io/managed: "true", work.karmada.io/permanent-id: p, resourcetemplate.karmada.io/retain-replicas: "true", team: x, notwork.karmada.io/a: b}
  annotations: {work.karmada.io/name: w, resourcetemplate.karmada.io/managed-labels: a, clusterpropagationpolicy.karmada.io/name: cpp, note: why}`)
	patch, err := unmark(o)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(patch, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"metadata": map[string]any{"uid": "u",
		"labels":      map[string]any{"karmada.io/managed": nil, "work.karmada.io/permanent-id": nil},
		"annotations": map[string]any{"work.karmada.io/name": nil, "resourcetemplate.karmada.io/managed-labels": nil, "clusterpropagationpolicy.karmada.io/name": nil}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if patch, err := unmark(object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: x, labels: {team: x}}}`)); err != nil || patch != nil {
		t.Errorf("no marks: %s, %v", patch, err)
	}
}

func TestWanted(t *testing.T) {
	work := &workv1alpha1.Work{}
	work.Namespace, work.Name = "karmada-es-edge-7", "w"
	for _, raw := range []string{`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u","resourceVersion":"5"},"data":{"key":"1"}}`,
		`[]`, `{"kind":"ConfigMap"}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}`, `{"apiVersion":"v1","kind":"List","metadata":{"name":"l"},"items":[]}`, `nonsense`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"l":true}}}`} {
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}})
	}
	got, err := wanted(work, 0)
	if err != nil {
		t.Fatal(err)
	}
	same(t, object(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {karmada.io/managed: "true"}, annotations: {work.karmada.io/namespace: karmada-es-edge-7, work.karmada.io/name: w}}
data: {key: "1"}`), got)
	for i := 1; i < len(work.Spec.Workload.Manifests); i++ {
		if o, err := wanted(work, i); err == nil {
			t.Errorf("manifest %d passed: %v", i, o)
		}
	}
}

// Who is about to end may need the lock once more.
func TestWatchEndsWithoutHoldingOthersUp(t *testing.T) {
	t.Parallel()
	a := newApplier(nil, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	a.running.Go(func() {
		<-ctx.Done()
		for began := time.Now(); time.Since(began) < 100*time.Millisecond; goruntime.Gosched() {
			if !a.mu.TryLock() {
				break // the end has begun
			}
			a.mu.Unlock()
		}
		a.mu.Lock()
		defer a.mu.Unlock()
	})
	go func() { ended <- a.Watch(ctx, func(string, string) {}) }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the watch does not end")
	}
}

// TestWayOut: a refusal says what may be done about it, and stays what it was; what
// passes by itself is left alone.
func TestWayOut(t *testing.T) {
	maps := schema.GroupResource{Resource: "configmaps"}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no right":      {apierrors.NewForbidden(maps, "a", errors.New(`User "hub" cannot create resource "configmaps" in API group ""`)), "grant this right there"},
		"quota":         {apierrors.NewForbidden(maps, "a", errors.New("exceeded quota: small")), "change the object, override it"},
		"a rule":        {apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", nil), "change the object, override it"},
		"not its shape": {apierrors.NewBadRequest("unknown field"), "change the object, override it"},
		"busy":          {apierrors.NewTooManyRequests("later", 1), ""},
	} {
		got := wayOut(c.err)
		if !strings.Contains(got.Error(), c.want) || !strings.HasPrefix(got.Error(), c.err.Error()) || c.want == "" && got != c.err {
			t.Errorf("%s: %v", name, got)
		}
		if apierrors.ReasonForError(got) != apierrors.ReasonForError(c.err) {
			t.Errorf("%s: its reason is lost", name)
		}
	}
	if wayOut(nil) != nil {
		t.Error("a way out of nothing")
	}
}
