package work_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis/work/manifest"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/propagation/work"
)

func TestName(t *testing.T) {
	for want, object := range map[string][3]string{
		"nginx-687f7fb96f":                {"default", "nginx", "Deployment"},
		"karmada-impersonator-7cbb6bd5c9": {"", "karmada-impersonator", "ClusterRole"},
		"karmada-impersonator-84f8c8f8c6": {"", "karmada-impersonator", "ClusterRoleBinding"},
		"shop-55c4c4674c":                 {"", "shop", "Namespace"},
		"web-7b7cc5b9ff":                  {"default", "web", "Deployment"},
	} {
		if got := work.Name(object[0], object[1], object[2]); got != want {
			t.Errorf("%v: %s, want %s", object, got, want)
		}
	}
	if one, other := work.Name("", "system:Node", "ClusterRole"), work.Name("", "system.node", "ClusterRole"); one != other {
		t.Errorf("the code is not that of the name as it is shown: %s, %s", one, other)
	}
	if got := work.Name("", "system:Node", "ClusterRole"); got[:len("system.node-")] != "system.node-" {
		t.Errorf("colons and capitals: %s", got)
	}
}

func task(t *testing.T, cluster, text string) *work.Task {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	form, err := work.NewForm(o, work.SystemMarks("uid"))
	if err != nil {
		t.Fatal(err)
	}
	return &work.Task{Cluster: cluster, Form: form}
}

// What we write is, byte for byte, what the hub's admission makes of it: else
// every Work would look changed.
func TestManifestIsWhatAdmissionWrites(t *testing.T) {
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"},"data":{"k":"<&>\u2028 \"ü"}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","labels":{"z":"1","a":"2"},"annotations":{"x/y":"v"}}}`,
		`{"alpha":[1,2.5,1e30,null,true],"apiVersion":"x.y/v1","kind":"Thing","metadata":{"name":"a"},"zeta":{"big":9007199254740993,"empty":{},"list":[]}}`,
	} {
		made, err := task(t, "m1", text).Made()
		if err != nil {
			t.Fatal(err)
		}
		raw := made.Spec.Workload.Manifests[0].Raw
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		manifest.Prune(o)
		manifest.Mark(o, made.Labels[workv1alpha1.WorkPermanentIDLabel])
		admitted, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(admitted), string(raw)); diff != "" {
			t.Errorf("(-admitted +made):\n%s", diff)
		}
	}
}

func TestChanged(t *testing.T) {
	const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"},"data":{"k":"v"}}`
	made := func(t *testing.T) *workv1alpha1.Work {
		stored, err := task(t, "m1", text).Made()
		if err != nil {
			t.Fatal(err)
		}
		stored.UID, stored.ResourceVersion = "u", "5"
		return stored
	}
	for name, test := range map[string]struct {
		stored func(*workv1alpha1.Work)
		wanted func(*work.Task)
		differ bool
	}{
		"nothing":              {},
		"status":               {stored: func(w *workv1alpha1.Work) { w.Status.Conditions = []metav1.Condition{{Type: "Applied"}} }},
		"labels of others":     {stored: func(w *workv1alpha1.Work) { w.Labels["theirs"] = "x" }},
		"finalizers of others": {stored: func(w *workv1alpha1.Work) { w.Finalizers = append(w.Finalizers, "theirs/hold") }},
		"owners of others":     {stored: func(w *workv1alpha1.Work) { w.OwnerReferences = []metav1.OwnerReference{{Name: "x"}} }},
		"the order of fields": {stored: func(w *workv1alpha1.Work) {
			w.Spec.Workload.Manifests[0].Raw = reordered(t, w.Spec.Workload.Manifests[0].Raw)
		}},
		"no finalizer":            {stored: func(w *workv1alpha1.Work) { w.Finalizers = nil }, differ: true},
		"no id":                   {stored: func(w *workv1alpha1.Work) { delete(w.Labels, workv1alpha1.WorkPermanentIDLabel) }, differ: true},
		"another object":          {stored: func(w *workv1alpha1.Work) { w.Spec.Workload.Manifests[0].Raw = []byte(`{}`) }, differ: true},
		"no object":               {stored: func(w *workv1alpha1.Work) { w.Spec.Workload.Manifests = nil }, differ: true},
		"suspension":              {wanted: func(t *work.Task) { t.Suspend = ptr.To(false) }, differ: true},
		"preservation":            {wanted: func(t *work.Task) { t.Preserve = ptr.To(true) }, differ: true},
		"an annotation":           {wanted: func(t *work.Task) { t.Annotations = map[string]string{"a": "b"} }, differ: true},
		"an owner":                {wanted: func(t *work.Task) { t.Owners = work.OwnedBy("v1", "Namespace", &metav1.ObjectMeta{Name: "b"}) }, differ: true},
		"a label that was there ": {stored: func(w *workv1alpha1.Work) { w.Labels["a"] = "b" }, wanted: func(t *work.Task) { t.Labels = map[string]string{"a": "b"} }},
	} {
		t.Run(name, func(t *testing.T) {
			stored, wanted := made(t), task(t, "m1", text)
			if test.stored != nil {
				test.stored(stored)
			}
			if test.wanted != nil {
				test.wanted(wanted)
			}
			before := stored.DeepCopy()
			changed, err := wanted.Changed(stored)
			if err != nil || (changed != nil) != test.differ {
				t.Fatalf("%+v, %v", changed, err)
			}
			if diff := cmp.Diff(before, stored); diff != "" {
				t.Errorf("the cache's Work was changed:\n%s", diff)
			}
			if changed == nil {
				return
			}
			if changed.UID != "u" || changed.ResourceVersion != "5" {
				t.Errorf("%+v", changed.ObjectMeta)
			}
			if again, err := wanted.Changed(changed); err != nil || again != nil {
				t.Errorf("the changed Work would be written again: %v", err)
			}
		})
	}
}

// reordered is the same object in other bytes.
// behind is a hub whose cache knows no Work yet.
type behind struct {
	client.Client
	created, updated int
}

func (h *behind) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(workv1alpha1.Resource("works"), "a")
}

func (h *behind) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	h.created++
	o.SetCreationTimestamp(metav1.Now())
	return nil
}

func (h *behind) Update(context.Context, client.Object, ...client.UpdateOption) error {
	h.updated++
	return nil
}

func TestSendKnowsWhatItWrote(t *testing.T) {
	const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"},"data":{"k":"v"}}`
	hub, first := &behind{}, task(t, "m1", text)
	writer := work.Writer{Hub: hub, Live: hub}
	if done, err := writer.Send(t.Context(), first); err != nil || done != work.Written || first.Known == nil {
		t.Fatalf("%v, %v", done, err)
	}
	again := task(t, "m1", text)
	again.Known = first.Known
	if done, err := writer.Send(t.Context(), again); err != nil || done != work.Same || hub.created != 1 {
		t.Errorf("the same once more: %v, %v, created %d times", done, err, hub.created)
	}
	again.Suspend = ptr.To(true)
	if done, err := writer.Send(t.Context(), again); err != nil || done != work.Written || hub.created != 1 || hub.updated != 1 {
		t.Errorf("another one: %v, %v, created %d times, updated %d times", done, err, hub.created, hub.updated)
	}
	again.Known.CreationTimestamp = metav1.NewTime(metav1.Now().Add(-time.Minute))
	if _, err := writer.Send(t.Context(), again); err != nil || hub.created != 2 {
		t.Errorf("one that should be known by now, and is gone: %v, created %d times", err, hub.created)
	}
}

func reordered(t *testing.T, raw []byte) []byte {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	return append(append([]byte(`{"metadata":`), fields["metadata"]...), []byte(` , "kind":"ConfigMap","data":{"k":"v"},"apiVersion":"v1"}`)...)
}

func TestBindingName(t *testing.T) {
	for want, annotations := range map[string]map[string]string{
		"default/b": {"resourcebinding.karmada.io/namespace": "default", "resourcebinding.karmada.io/name": "b"},
		"/c":        {"clusterresourcebinding.karmada.io/name": "c"},
		"":          {"other": "x"},
	} {
		name, ok := work.BindingName(annotations)
		if ok != (want != "") || ok && name.String() != want {
			t.Errorf("%v: %s, %v", annotations, name, ok)
		}
	}
}
