package registry

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

func workCodec() opaqueCodec { return opaqueCodec{Codecs.LegacyCodec(workv1alpha1.GroupVersion)} }

func manifest(raw string) workv1alpha1.Manifest {
	return workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}
}

func exampleWork(manifests ...workv1alpha1.Manifest) *workv1alpha1.Work {
	return &workv1alpha1.Work{
		ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-m1", Name: "web", Labels: map[string]string{"a": "b"}, Finalizers: []string{workv1alpha1.ExecutionControllerFinalizer}},
		Spec:       workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{Manifests: manifests}},
		Status: workv1alpha1.WorkStatus{ManifestStatuses: []workv1alpha1.ManifestStatus{{
			Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Name: "web"}, Status: &runtime.RawExtension{Raw: []byte(`{"x":1}`)},
		}}},
	}
}

func TestOpaqueCodecKeepsManifestBytes(t *testing.T) {
	for name, manifests := range map[string][]workv1alpha1.Manifest{
		"none":      nil,
		"one":       {manifest(`{"kind":"ConfigMap","apiVersion":"v1"}`)},
		"any bytes": {manifest("{ \"kind\" :\n\"Secret\" }"), manifest(`{"kind":"Namespace"}`)},
		"empty":     {manifest(`{}`), {}, manifest(`{"kind":"Namespace"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			want := exampleWork(manifests...)
			var stored bytes.Buffer
			if err := workCodec().Encode(want, &stored); err != nil {
				t.Fatal(err)
			}
			if want.APIVersion != "" {
				t.Error("encoding changed the object")
			}
			got := &workv1alpha1.Work{}
			_, kind, err := workCodec().Decode(stored.Bytes(), nil, got)
			if err != nil {
				t.Fatal(err)
			}
			if kind.Kind != "Work" {
				t.Errorf("kind is %v", kind)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("round trip (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpaqueCodecEncodesObjects(t *testing.T) {
	inner := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}}
	var stored bytes.Buffer
	if err := workCodec().Encode(exampleWork(workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Object: inner}}), &stored); err != nil {
		t.Fatal(err)
	}
	got := &workv1alpha1.Work{}
	if _, _, err := workCodec().Decode(stored.Bytes(), nil, got); err != nil {
		t.Fatal(err)
	}
	if raw := string(got.Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, `"kind":"ConfigMap"`) {
		t.Errorf("manifest is %s", raw)
	}
}

func TestOpaqueCodecReadsJSON(t *testing.T) {
	got := &workv1alpha1.Work{}
	stored := `{"apiVersion":"work.karmada.io/v1alpha1","kind":"Work","metadata":{"name":"web"},"spec":{"workload":{"manifests":[{"kind":"ConfigMap"}]}}}`
	if _, _, err := workCodec().Decode([]byte(stored), nil, got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "web" || string(got.Spec.Workload.Manifests[0].Raw) != `{"kind":"ConfigMap"}` {
		t.Errorf("got %+v", got)
	}
}

func TestOpaqueCodecStoresOtherKindsAsJSON(t *testing.T) {
	codec := opaqueCodec{Codecs.LegacyCodec(clusterv1alpha1.GroupVersion)}
	var stored bytes.Buffer
	if err := codec.Encode(&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}, &stored); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stored.String(), `{"kind":"Cluster","apiVersion":"cluster.karmada.io/v1alpha1"`) {
		t.Errorf("stored as %s", stored.String())
	}
}

// Whatever prefix of a value survives, reading it must fail rather than return a Work that misses manifests; cuts between two parts are
// the exception, which etcd's own checksums exclude.
func TestOpaqueCodecRefusesCutValues(t *testing.T) {
	var stored bytes.Buffer
	if err := workCodec().Encode(exampleWork(manifest(`{"kind":"ConfigMap"}`)), &stored); err != nil {
		t.Fatal(err)
	}
	whole := stored.Bytes()
	boundary := len(whole) - partHeader - len(`{"kind":"ConfigMap"}`)
	for cut := len(opaqueMagic); cut < len(whole); cut++ {
		if cut == boundary {
			continue
		}
		if _, _, err := workCodec().Decode(whole[:cut], nil, &workv1alpha1.Work{}); err == nil {
			t.Fatalf("a value cut at byte %d of %d was accepted", cut, len(whole))
		}
	}
}
