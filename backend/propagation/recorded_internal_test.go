package propagation

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/override"
	"muster.dev/muster/backend/propagation/work"
)

// recording is what a recorded hub held at one moment.
type recording struct {
	templates  map[string]*unstructured.Unstructured // by kind namespace/name
	bindings   []*workv1alpha2.ResourceBinding
	works      []*workv1alpha1.Work
	namespaces []*corev1.Namespace
	overrides  override.Policies
}

func readRecording(t *testing.T, file string) recording {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	r := recording{templates: map[string]*unstructured.Unstructured{}}
	decode := func(document []byte, into any) {
		if err := yaml.Unmarshal(document, into); err != nil {
			t.Fatal(err)
		}
	}
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		encoded, err := yaml.YAMLToJSON(document)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.UnmarshalJSON(encoded); err != nil {
			t.Fatal(err)
		}
		switch o.GetKind() {
		case "ResourceBinding":
			r.bindings = append(r.bindings, &workv1alpha2.ResourceBinding{})
			decode(document, r.bindings[len(r.bindings)-1])
		case "Work":
			r.works = append(r.works, &workv1alpha1.Work{})
			decode(document, r.works[len(r.works)-1])
		case "Namespace":
			r.namespaces = append(r.namespaces, &corev1.Namespace{})
			decode(document, r.namespaces[len(r.namespaces)-1])
		case "OverridePolicy":
			r.overrides.Namespaced = append(r.overrides.Namespaced, &policyv1alpha1.OverridePolicy{})
			decode(document, r.overrides.Namespaced[len(r.overrides.Namespaced)-1])
		default:
			r.templates[title(o)] = o
		}
	}
	return r
}

// compareWork compares what we would write with what was recorded, except what
// the API adds. The Work gets the recorded id.
func compareWork(t *testing.T, wanted *work.Task, recorded *workv1alpha1.Work) {
	t.Helper()
	made := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: wanted.Key().Namespace, Name: wanted.Key().Name}}
	if err := wanted.Complete(made, recorded.Labels[workv1alpha1.WorkPermanentIDLabel]); err != nil {
		t.Fatal(err)
	}
	plain := func(w *workv1alpha1.Work) map[string]any {
		var fields map[string]any
		encoded, err := json.Marshal(map[string]any{"namespace": w.Namespace, "name": w.Name, "labels": w.Labels, "annotations": w.Annotations,
			"finalizers": w.Finalizers, "owners": w.OwnerReferences, "spec": w.Spec})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	if diff := cmp.Diff(plain(recorded), plain(made)); diff != "" {
		t.Errorf("work %s/%s (-recorded +made):\n%s", recorded.Namespace, recorded.Name, diff)
	}
	if again, err := wanted.Changed(recorded); err != nil || again != nil {
		t.Errorf("work %s/%s would be written again: %v", recorded.Namespace, recorded.Name, err)
	}
}

func (r *recording) work(t *testing.T, key types.NamespacedName) *workv1alpha1.Work {
	t.Helper()
	for _, w := range r.works {
		if w.Namespace == key.Namespace && w.Name == key.Name {
			return w
		}
	}
	t.Fatalf("work %s was not recorded", key)
	return nil
}

func (r *recording) compareBinding(t *testing.T, b *workv1alpha2.ResourceBinding, o *unstructured.Unstructured) (compared int) {
	t.Helper()
	renderer := NewRenderer(Source{Template: o, Binding: b, Overrides: r.overrides}, interpret.Native())
	for _, target := range Targets(&b.Spec) {
		rendered, err := renderer.Render(t.Context(), target, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: target.Cluster}})
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := renderer.task(target, rendered)
		if err != nil {
			t.Fatal(err)
		}
		compareWork(t, wanted, r.work(t, wanted.Key()))
		compared++
	}
	return compared
}

func TestWorksAreThoseOfTheRecordedHub(t *testing.T) {
	r := readRecording(t, "placed.yaml")
	compared := 0
	for _, b := range r.bindings {
		o := r.templates[refOf(&b.Spec.Resource).String()]
		if o == nil {
			t.Fatalf("no template for binding %s", b.Name)
		}
		compared += r.compareBinding(t, b, o)
	}
	for _, namespace := range r.namespaces {
		for _, cluster := range []string{"member1", "member2", "member3"} {
			wanted, err := namespaceTask(namespace, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}, override.Policies{})
			if err != nil {
				t.Fatal(err)
			}
			compareWork(t, wanted, r.work(t, wanted.Key()))
			compared++
		}
	}
	if compared != len(r.works) {
		t.Errorf("%d of %d works were compared", compared, len(r.works))
	}
}

// The template of this recording is what the cluster without overrides got.
func TestOverriddenWorkIsThatOfTheRecordedHub(t *testing.T) {
	r := readRecording(t, "overridden.yaml")
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(r.work(t, types.NamespacedName{Namespace: "karmada-es-member2", Name: "nginx-687f7fb96f"}).Spec.Workload.Manifests[0].Raw); err != nil {
		t.Fatal(err)
	}
	o.SetUID(types.UID(o.GetAnnotations()["resourcetemplate.karmada.io/uid"]))
	o.SetGeneration(2)
	labels, annotations := map[string]string{}, map[string]string{}
	for key, value := range o.GetLabels() {
		if key == "app" || strings.HasPrefix(key, "propagationpolicy.") {
			labels[key] = value
		}
	}
	for key, value := range o.GetAnnotations() {
		if strings.HasPrefix(key, "propagationpolicy.") {
			annotations[key] = value
		}
	}
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
	if n := r.compareBinding(t, r.bindings[0], o); n != 2 {
		t.Errorf("%d works were compared", n)
	}
}

func TestStatusIsThatOfTheRecordedHub(t *testing.T) {
	for _, file := range []string{"placed.yaml", "overridden.yaml"} {
		r := readRecording(t, file)
		for _, b := range r.bindings {
			var mine []workv1alpha1.Work
			for _, w := range r.works {
				if work.BindingID(w.Labels) == work.BindingID(b.Labels) {
					mine = append(mine, *w)
				}
			}
			told := summarize(b, mine, nil, func(string) bool { return false })
			if !told.complete || told.applied == nil || told.applied.Status != metav1.ConditionTrue || told.applied.Reason != "FullyAppliedSuccess" {
				t.Errorf("%s: %+v", b.Name, told)
			}
			if diff := cmp.Diff(b.Status.AggregatedStatus, told.items, cmp.Comparer(sameRaw)); diff != "" {
				t.Errorf("binding %s (-recorded +made):\n%s", b.Name, diff)
			}
		}
	}
}
