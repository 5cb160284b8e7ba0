package ocm_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kjson "sigs.k8s.io/json"

	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	ocmaddonv1beta1 "muster.dev/muster/backend/apis/ocm/addon/v1beta1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	ocmworkv1alpha1 "muster.dev/muster/backend/apis/ocm/work/v1alpha1"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		ocmv1.AddToScheme, ocmv1alpha1.AddToScheme, ocmv1beta1.AddToScheme, ocmv1beta2.AddToScheme, ocmworkv1.AddToScheme, ocmworkv1alpha1.AddToScheme,
		ocmaddonv1alpha1.AddToScheme, ocmaddonv1beta1.AddToScheme, ocmoperatorv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// TestRecordedObjectsFit decodes objects out of the recordings of unmodified clients, chosen so that every path that occurs in any
// recording occurs here. Nothing may be unknown to our types, and encoding must bring back all that had a value.
func TestRecordedObjectsFit(t *testing.T) {
	scheme := newScheme(t)
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	file, err := os.Open("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	kinds := map[schema.GroupVersionKind]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Source string          `json:"source"`
			Object json.RawMessage `json:"object"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		object, kind, err := decoder.Decode(line.Object, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", line.Source, err)
			continue
		}
		kinds[*kind] = true
		again, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(values(t, line.Object), keep(values(t, again), values(t, line.Object))); diff != "" {
			t.Errorf("%s: %s changes when it is decoded and encoded (-recorded +ours):\n%s", line.Source, kind.Kind, diff)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(kinds) < 14 {
		t.Errorf("the recordings hold %d kinds, want at least 14: %v", len(kinds), kinds)
	}
}

// values is the document without what says nothing: null, and empty lists and objects.
func values(t *testing.T, document []byte) any {
	t.Helper()
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(document, &value); err != nil {
		t.Fatal(err)
	}
	return prune(value)
}

func prune(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range value {
			if p := prune(v); p != nil {
				out[k] = p
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		if len(value) == 0 {
			return nil
		}
		out := make([]any, len(value))
		for i := range value {
			out[i] = prune(value[i])
		}
		return out
	}
	return value
}

// keep drops from ours what is a zero value that recorded does not have: fields that are always written.
func keep(ours, recorded any) any {
	switch o := ours.(type) {
	case map[string]any:
		r, _ := recorded.(map[string]any)
		for k, v := range o {
			if _, ok := r[k]; !ok && (v == "" || v == false || v == int64(0)) {
				delete(o, k)
			} else if o[k] = keep(v, r[k]); o[k] == nil {
				delete(o, k)
			}
		}
		if len(o) == 0 {
			return nil
		}
	case []any:
		r, _ := recorded.([]any)
		for i := range o {
			if i < len(r) {
				o[i] = keep(o[i], r[i])
			}
		}
	}
	return ours
}

// TestEveryKindIsRegistered names what the contract lists in section 1.0.
func TestEveryKindIsRegistered(t *testing.T) {
	scheme := newScheme(t)
	want := map[schema.GroupVersion][]string{
		ocmv1.GroupVersion:            {"ManagedCluster"},
		ocmv1alpha1.GroupVersion:      {"AddOnPlacementScore", "ClusterClaim"},
		ocmv1beta1.GroupVersion:       {"Placement", "PlacementDecision"},
		ocmv1beta2.GroupVersion:       {"ManagedClusterSet", "ManagedClusterSetBinding"},
		ocmworkv1.GroupVersion:        {"ManifestWork", "AppliedManifestWork"},
		ocmworkv1alpha1.GroupVersion:  {"ManifestWorkReplicaSet"},
		ocmaddonv1alpha1.GroupVersion: {"ManagedClusterAddOn", "ClusterManagementAddOn", "AddOnDeploymentConfig", "AddOnTemplate"},
		ocmaddonv1beta1.GroupVersion:  {"ManagedClusterAddOn", "ClusterManagementAddOn", "AddOnDeploymentConfig", "AddOnTemplate"},
		ocmoperatorv1.GroupVersion:    {"ClusterManager", "Klusterlet"},
	}
	for version, kinds := range want {
		for _, kind := range kinds {
			for _, name := range []string{kind, kind + "List"} {
				if !scheme.Recognizes(version.WithKind(name)) {
					t.Errorf("%s is not registered in %s", name, version)
				}
			}
		}
	}
}
