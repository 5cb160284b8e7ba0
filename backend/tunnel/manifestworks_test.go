package tunnel_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent/apply/membertest"
	"muster.dev/muster/backend/agentapi"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

// startOCMHub is a hub with the kinds of Open Cluster Management, and edge-7 as a
// ManagedCluster: the mirror of a member that was registered here, or one of its own
// making.
func startOCMHub(t *testing.T, mirror bool) *hub {
	h := startHub(t)
	h.stopLink()
	h.store.Serve(membertest.Resource{GroupVersion: "work.open-cluster-management.io/v1", Plural: "manifestworks", Kind: "ManifestWork", Namespaced: true, Status: true})
	h.store.Serve(membertest.Resource{GroupVersion: "cluster.open-cluster-management.io/v1", Plural: "managedclusters", Kind: "ManagedCluster", Status: true})
	annotations := map[string]any{}
	if mirror {
		annotations["muster.dev/origin"] = "Cluster"
	}
	h.store.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
		"metadata": map[string]any{"name": "edge-7", "annotations": annotations}}})
	for _, name := range []string{"edge-7", "other"} {
		h.store.Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}})
		w := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "of-" + name}}
		if err := h.client.Create(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	h.manifestWorks = true
	h.startLink()
	return h
}

// speak opens a link with a protocol number.
func (h *hub) speak(protocol int) *agent {
	h.Helper()
	a := h.open("edge-7")
	hello := h.hello("a", nil, "")
	hello.Protocol = protocol
	a.send(hello)
	a.welcome = next[*agentapi.Welcome](a)
	return a
}

func (a *agent) manifest(op agentapi.ManifestOp) *agentapi.ManifestWork {
	a.Helper()
	for {
		if f, ok := take(a).(*agentapi.ManifestWork); ok && f.Op == op {
			return f
		}
	}
}

func (a *agent) answer() *agentapi.ManifestAnswer {
	a.Helper()
	for {
		if f, ok := take(a).(*agentapi.ManifestAnswer); ok {
			return f
		}
	}
}

func TestManifestWorksOfAMemberRegisteredHere(t *testing.T) {
	h := startOCMHub(t, true)
	a := h.speak(agentapi.ProtocolManifestWorks)
	told := a.manifest(agentapi.ManifestIs)
	a.manifest(agentapi.ManifestAll)
	work := &ocmworkv1.ManifestWork{}
	if err := json.Unmarshal(told.Object, work); err != nil || told.Name != "of-edge-7" || work.Namespace != "edge-7" || work.Kind != "ManifestWork" {
		t.Fatalf("told of %s: %s, %v", told.Name, told.Object, err)
	}
	patch := func(id uint64, name, text string, status bool) {
		a.send(&agentapi.ManifestPatch{ID: id, Name: name, Status: status, Patch: json.RawMessage(text)})
	}
	version := fmt.Sprintf(`"uid": %q, "resourceVersion": %q`, work.UID, work.ResourceVersion)
	patch(1, "of-edge-7", `{"metadata": {`+version+`, "finalizers": ["f"]}}`, false)
	if f := a.answer(); f.ID != 1 || f.Code != http.StatusOK || json.Unmarshal(f.Object, work) != nil {
		t.Fatalf("answer %+v", f)
	}
	if !cmp.Equal(work.Finalizers, []string{"f"}) {
		t.Errorf("finalizers %v", work.Finalizers)
	}
	version = fmt.Sprintf(`"uid": %q, "resourceVersion": %q`, work.UID, work.ResourceVersion)
	patch(2, "of-edge-7", `{"metadata": {`+version+`}, "status": {"conditions": [{"type": "Applied", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`, true)
	if f := a.answer(); f.Code != http.StatusOK {
		t.Errorf("answer %+v", f)
	}
	patch(3, "of-edge-7", `{"metadata": {`+version+`, "finalizers": []}}`, false)
	if f := a.answer(); f.Code != http.StatusConflict {
		t.Errorf("a patch of an old version: %d %s", f.Code, f.Message)
	}
	patch(4, "of-other", "", false) // in another cluster's namespace: not to be found
	if f := a.answer(); f.Code != http.StatusNotFound || len(f.Object) > 0 {
		t.Errorf("another cluster's work: %+v", f)
	}
	stored := &ocmworkv1.ManifestWork{}
	if err := h.client.Get(t.Context(), client.ObjectKey{Namespace: "edge-7", Name: "of-edge-7"}, stored); err != nil || len(stored.Status.Conditions) != 1 {
		t.Errorf("stored %+v, %v", stored, err)
	}
	stored.Finalizers, stored.Labels = nil, map[string]string{"new": "yes"}
	if err := h.client.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	for now := (&ocmworkv1.ManifestWork{}); now.Labels["new"] != "yes"; {
		if err := json.Unmarshal(a.manifest(agentapi.ManifestIs).Object, now); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.client.Delete(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if gone := a.manifest(agentapi.ManifestGone); gone.Name != "of-edge-7" {
		t.Errorf("gone %s", gone.Name)
	}
}

// Whoever registered by the other dialect has an agent of that dialect; older
// agents do not know the frames.
func TestManifestWorksOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		mirror   bool
		protocol int
	}{"of its own making": {false, agentapi.ProtocolManifestWorks}, "an older agent": {true, agentapi.ProtocolManifestWorks - 1}} {
		t.Run(name, func(t *testing.T) {
			h := startOCMHub(t, c.mirror)
			a := h.speak(c.protocol)
			a.send(&agentapi.ManifestPatch{ID: 1, Name: "of-edge-7"})
			for {
				f := take(a)
				if told, ok := f.(*agentapi.ManifestWork); ok {
					t.Fatalf("told of %+v", told)
				}
				if answer, ok := f.(*agentapi.ManifestAnswer); ok {
					if answer.Code != http.StatusForbidden {
						t.Errorf("answer %+v", answer)
					}
					return
				}
			}
		})
	}
}
