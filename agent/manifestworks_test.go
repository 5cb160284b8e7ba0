package agent_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent/apply/membertest"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

func (h *hubSide) manifestWork(name string) *ocmworkv1.ManifestWork {
	w := &ocmworkv1.ManifestWork{}
	if h.client.Get(h.Context(), client.ObjectKey{Namespace: "edge-7", Name: name}, w) != nil {
		return nil
	}
	return w
}

// TestManifestWorksOverTheLink: a member that was registered here carries out
// ManifestWorks, too, and goes on after the link broke.
func TestManifestWorksOverTheLink(t *testing.T) {
	h := startHub(t)
	h.store.Put(namespace("edge-7"))
	h.store.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
		"metadata": map[string]any{"name": "edge-7", "annotations": map[string]any{"muster.dev/origin": "Cluster"}}}})
	m := h.newMember(time.Hour)
	m.Serve(membertest.Resource{GroupVersion: "work.open-cluster-management.io/v1", Plural: "appliedmanifestworks", Kind: "AppliedManifestWork", Status: true})
	h.run(m)
	create := func(name, manifest string) {
		t.Helper()
		w := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "edge-7", Name: name}}
		w.Spec.Workload.Manifests = []ocmworkv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}
		if err := h.client.Create(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	available := func(name string) bool {
		w := h.manifestWork(name)
		return w != nil && meta.IsStatusConditionTrue(w.Status.Conditions, "Applied") && meta.IsStatusConditionTrue(w.Status.Conditions, "Available") &&
			len(w.Finalizers) == 1
	}
	create("shop", shop)
	create("settings", settings("1"))
	h.eventually("both are applied and reported", func() bool { return available("shop") && available("settings") })
	if o := m.Get("ConfigMap", "shop", "settings"); o == nil || len(o.GetOwnerReferences()) != 1 {
		t.Errorf("object %+v", o)
	}
	m.Remove("ConfigMap", "shop", "settings")
	h.eventually("drift was mended", func() bool { return m.Get("ConfigMap", "shop", "settings") != nil })

	h.cable.cut()
	w := h.manifestWork("settings")
	w.Spec.Workload.Manifests[0].Raw = []byte(settings("2"))
	if err := h.client.Update(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	h.eventually("the change came over the next link", func() bool {
		value, _, _ := unstructured.NestedString(m.Get("ConfigMap", "shop", "settings").Object, "data", "k")
		return value == "2"
	})
	if err := h.client.Delete(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	h.eventually("the object and the work are gone", func() bool {
		return m.Get("ConfigMap", "shop", "settings") == nil && h.manifestWork("settings") == nil
	})
}
