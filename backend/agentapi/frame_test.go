package agentapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/backend/agentapi"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

func clusterStatus() clusterv1alpha1.ClusterStatus {
	return clusterv1alpha1.ClusterStatus{
		KubernetesVersion: "v1.36.3",
		APIEnablements: []clusterv1alpha1.APIEnablement{{GroupVersion: "apps/v1",
			Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}}},
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "ClusterReady",
			Message: "The API server answers.", LastTransitionTime: metav1.Unix(1700000000, 0).Rfc3339Copy()}},
		NodeSummary: &clusterv1alpha1.NodeSummary{TotalNum: 3, ReadyNum: 2},
		ResourceSummary: &clusterv1alpha1.ResourceSummary{
			Allocatable:          corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi")},
			Allocated:            corev1.ResourceList{"pods": resource.MustParse("1")},
			AllocatableModelings: []clusterv1alpha1.AllocatableModeling{{Grade: 2, Count: 1}},
		},
	}
}

func work() *workv1alpha1.Work {
	w := &workv1alpha1.Work{}
	w.Name, w.Namespace, w.UID, w.Generation = "nginx-687f7fb96f", "karmada-es-edge-7", "9ce409c6", 3
	w.Finalizers = []string{workv1alpha1.ExecutionControllerFinalizer}
	w.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "someone"}}
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}`)}}}
	return w
}

// lessons are one customization and one webhook.
func lessons() ([]configv1alpha1.ResourceInterpreterCustomization, []configv1alpha1.ResourceInterpreterWebhookConfiguration) {
	c := configv1alpha1.ResourceInterpreterCustomization{ObjectMeta: metav1.ObjectMeta{Name: "things", UID: "u", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "someone"}}}}
	c.Spec.Target = configv1alpha1.CustomizationTarget{APIVersion: "example.com/v1", Kind: "Thing"}
	c.Spec.Customizations.HealthInterpretation = &configv1alpha1.HealthInterpretation{LuaScript: "function InterpretHealth(o) return true end"}
	w := configv1alpha1.ResourceInterpreterWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}, Webhooks: []configv1alpha1.ResourceInterpreterWebhook{{
		Name: "things.example.com", InterpreterContextVersions: []string{"v1alpha1"},
		Rules: []configv1alpha1.RuleWithOperations{{Operations: []configv1alpha1.InterpreterOperation{"InterpretHealth"},
			Rule: configv1alpha1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"v1"}, Kinds: []string{"Thing"}}}}}}}
	return []configv1alpha1.ResourceInterpreterCustomization{c}, []configv1alpha1.ResourceInterpreterWebhookConfiguration{w}
}

// frames holds one complete example of each type.
func frames(t *testing.T) map[string]agentapi.Frame {
	t.Helper()
	delivery, err := agentapi.NewWork(work(), 42)
	if err != nil {
		t.Fatal(err)
	}
	next := clusterStatus()
	next.NodeSummary = &clusterv1alpha1.NodeSummary{TotalNum: 3, ReadyNum: 3}
	delta, changed := agentapi.StatusDelta(clusterStatus(), next)
	if !changed {
		t.Fatal("no delta")
	}
	interpreters, err := agentapi.NewInterpreters(lessons())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]agentapi.Frame{
		"hello": &agentapi.Hello{Protocol: 1, MinProtocol: 1, AgentVersion: "v0.1.0", Instance: "b7f1", ClusterID: "fb14c335",
			ClusterUID: "bfb1b4ea", Provider: "acme", Region: "eu", Zones: []string{"a", "b"}, APIEndpoint: "https://10.0.0.1:6443",
			Resume: &agentapi.Resume{Epoch: "e1", Revision: 41}},
		"beat":            &agentapi.Beat{Sequence: 7},
		"status-complete": agentapi.CompleteStatus(clusterStatus()),
		"status-delta":    delta,
		"ack": &agentapi.Ack{Sequence: 9, Name: "nginx-687f7fb96f", UID: "9ce409c6", Revision: 42,
			Conditions: []metav1.Condition{{Type: "Applied", Status: metav1.ConditionTrue, Reason: "AppliedSuccessful", ObservedGeneration: 3,
				LastTransitionTime: metav1.Unix(1700000000, 0).Rfc3339Copy()}},
			ManifestStatuses: []workv1alpha1.ManifestStatus{{
				Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Namespace: "b", Name: "a"},
				Status:     &runtime.RawExtension{Raw: []byte(`{"replicas":1}`)}, Health: workv1alpha1.ResourceHealthy}}},
		"ack-removed": &agentapi.Ack{Sequence: 10, Name: "nginx-687f7fb96f", UID: "9ce409c6", Revision: 43, Removed: true},
		"log":         &agentapi.Log{Level: agentapi.LevelWarn, Message: "certificate not rotated: the hub denied the request"},
		"welcome": &agentapi.Welcome{Protocol: 1, HubVersion: "v0.1.0", Cluster: "edge-7", ClusterUID: "bfb1b4ea", Session: 12, Epoch: "e1",
			Resumed: true, HeartbeatSeconds: 5, DeadlineSeconds: 15,
			ResourceModels: []clusterv1alpha1.ResourceModel{{Grade: 0, Ranges: []clusterv1alpha1.ResourceModelRange{{
				Name: "cpu", Min: resource.MustParse("0"), Max: resource.MustParse("1")}}}}},
		"config":       &agentapi.Config{ResourceModels: []clusterv1alpha1.ResourceModel{}},
		"interpreters": interpreters[0],
		"work-apply":   delivery,
		"work-forget":  &agentapi.Work{Op: agentapi.OpForget, Name: "a", UID: "u", Revision: 44},
		"synced-first": &agentapi.Synced{Revision: 42, Digest: agentapi.Digest([]types.UID{"9ce409c6"})},
		"confirmed":    &agentapi.Confirmed{Sequence: 9},
		"refused":      &agentapi.Refused{Code: "MU-106", Message: "this cluster is already registered as edge-6", Fix: "unregister edge-6 first", RetrySeconds: 30},
		"removed":      &agentapi.Removed{Message: "edge-7 was removed"},

		"manifestwork-is":   &agentapi.ManifestWork{Op: agentapi.ManifestIs, Name: "web", Object: json.RawMessage(`{"metadata":{"name":"web"}}`)},
		"manifestwork-gone": &agentapi.ManifestWork{Op: agentapi.ManifestGone, Name: "web"},
		"manifestwork-all":  &agentapi.ManifestWork{Op: agentapi.ManifestAll},
		"manifestpatch": &agentapi.ManifestPatch{ID: 3, Name: "web",
			Patch: json.RawMessage(`{"metadata":{"finalizers":["f"],"resourceVersion":"7","uid":"u"}}`)},
		"manifestpatch-status": &agentapi.ManifestPatch{ID: 4, Name: "web", Status: true,
			Patch: json.RawMessage(`{"metadata":{"resourceVersion":"7","uid":"u"},"status":{"conditions":[]}}`)},
		"manifestanswer": &agentapi.ManifestAnswer{ID: 4, Code: 200, Object: json.RawMessage(`{"metadata":{"name":"web"}}`)},
	}
}

func decoder(f agentapi.Frame) func([]byte) (agentapi.Frame, error) {
	switch f.(type) {
	case *agentapi.Hello, *agentapi.Beat, *agentapi.Status, *agentapi.Ack, *agentapi.Log, *agentapi.ManifestPatch:
		return agentapi.DecodeFromAgent
	}
	return agentapi.DecodeFromHub
}

// TestGolden pins the wire format: what older and newer releases send each other.
func TestGolden(t *testing.T) {
	for name, f := range frames(t) {
		t.Run(name, func(t *testing.T) {
			message, err := agentapi.Encode(f)
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, message, "", "  "); err != nil {
				t.Fatal(err)
			}
			pretty.WriteByte('\n')
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(golden), pretty.String()); diff != "" {
				t.Errorf("encoding differs from %s:\n%s", file, diff)
			}
			back, err := decoder(f)(golden)
			if err != nil {
				t.Fatal(err)
			}
			if w, ok := back.(*agentapi.Work); ok && len(w.Work) > 0 { // white space is kept in raw parts
				var compact bytes.Buffer
				if err := json.Compact(&compact, w.Work); err != nil {
					t.Fatal(err)
				}
				w.Work = compact.Bytes()
			}
			if l, ok := back.(*agentapi.Interpreters); ok {
				for _, raw := range [][]json.RawMessage{l.Customizations, l.Webhooks} {
					var compact bytes.Buffer
					if err := json.Compact(&compact, raw[0]); err != nil {
						t.Fatal(err)
					}
					raw[0] = compact.Bytes()
				}
			}
			for _, raw := range raws(back) {
				var compact bytes.Buffer
				if err := json.Compact(&compact, *raw); err != nil {
					t.Fatal(err)
				}
				*raw = compact.Bytes()
			}
			if a, ok := back.(*agentapi.Ack); ok && len(a.ManifestStatuses) > 0 {
				a.ManifestStatuses[0].Status.Raw = []byte(`{"replicas":1}`)
			}
			if !equality.Semantic.DeepEqual(f, back) {
				t.Errorf("decoded frame differs:\n%s", cmp.Diff(f, back))
			}
		})
	}
}

// raws are parts of a frame about ManifestWorks that keep their white space.
func raws(f agentapi.Frame) []*json.RawMessage {
	switch f := f.(type) {
	case *agentapi.ManifestWork:
		if f.Object != nil {
			return []*json.RawMessage{&f.Object}
		}
	case *agentapi.ManifestPatch:
		return []*json.RawMessage{&f.Patch}
	case *agentapi.ManifestAnswer:
		return []*json.RawMessage{&f.Object}
	}
	return nil
}

func TestDecodeRefuses(t *testing.T) {
	hello := `"protocol":1,"minProtocol":1,"agentVersion":"","instance":"i","clusterID":"c"`
	for name, message := range map[string]string{
		"nothing":               ``,
		"not JSON":              `beat`,
		"array":                 `[]`,
		"no type":               `{"body":{}}`,
		"unknown type":          `{"type":"reboot","body":{}}`,
		"a frame of the hub":    `{"type":"removed","body":{"message":""}}`,
		"no body":               `{"type":"beat"}`,
		"body of another kind":  `{"type":"beat","body":[]}`,
		"unknown envelope key":  `{"type":"beat","body":{"sequence":1},"cluster":"other"}`,
		"duplicate key":         `{"type":"beat","type":"log","body":{"sequence":1}}`,
		"unknown field":         `{"type":"beat","body":{"sequence":1,"cluster":"other"}}`,
		"other case":            `{"type":"beat","body":{"Sequence":1}}`,
		"negative sequence":     `{"type":"beat","body":{"sequence":-1}}`,
		"trailing data":         `{"type":"beat","body":{"sequence":1}}{}`,
		"large beat":            `{"type":"beat","body":{"sequence":1` + strings.Repeat(" ", 300) + `}}`,
		"deep":                  `{"type":"status","body":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
		"no cluster id":         `{"type":"hello","body":{"protocol":1,"minProtocol":1,"instance":"i"}}`,
		"empty protocol range":  `{"type":"hello","body":{"protocol":1,"minProtocol":2,"instance":"i","clusterID":"c"}}`,
		"resume without epoch":  `{"type":"hello","body":{` + hello + `,"resume":{"revision":1}}}`,
		"incomplete status":     `{"type":"status","body":{"complete":true}}`,
		"negative nodes":        `{"type":"status","body":{"nodeSummary":{"totalNum":-1}}}`,
		"more ready than there": `{"type":"status","body":{"nodeSummary":{"totalNum":1,"readyNum":2}}}`,
		"huge exponent":         `{"type":"status","body":{"resourceSummary":{"allocatable":{"cpu":"1e999999999"}}}}`,
		"huge small exponent":   `{"type":"status","body":{"resourceSummary":{"allocatable":{"cpu":"1E-999999999"}}}}`,
		"negative quantity":     `{"type":"status","body":{"resourceSummary":{"allocatable":{"cpu":"-1"}}}}`,
		"long quantity":         `{"type":"status","body":{"resourceSummary":{"allocatable":{"cpu":"` + strings.Repeat("9", 100) + `"}}}}`,
		"bad condition status":  `{"type":"status","body":{"conditions":[{"type":"Ready","status":"Yes","reason":"R","message":"","lastTransitionTime":null}]}}`,
		"ack without uid":       `{"type":"ack","body":{"sequence":1,"name":"a","uid":"","revision":1}}`,
		"ack number 0":          `{"type":"ack","body":{"sequence":0,"name":"a","uid":"u","revision":1}}`,
		"removed with status":   `{"type":"ack","body":{"sequence":1,"name":"a","uid":"u","revision":1,"removed":true,"conditions":[{"type":"Applied","status":"True","reason":"R","message":"","lastTransitionTime":null}]}}`,
		"unknown health":        `{"type":"ack","body":{"sequence":1,"name":"a","uid":"u","revision":1,"manifestStatuses":[{"identifier":{"ordinal":0,"version":"v1","kind":"K","resource":"","name":"n"},"health":"Fine"}]}}`,
		"large ack":             `{"type":"ack","body":{"sequence":1,"name":"` + strings.Repeat("a", agentapi.MaxAck) + `","uid":"u","revision":1}}`,
		"log of no level":       `{"type":"log","body":{"level":"panic","message":"m"}}`,
		"patch without id":      `{"type":"manifestpatch","body":{"id":0,"name":"w"}}`,
		"patch of the spec":     `{"type":"manifestpatch","body":{"id":1,"name":"w","patch":{"metadata":{"uid":"u","resourceVersion":"1"},"spec":{}}}}`,
		"patch of labels":       `{"type":"manifestpatch","body":{"id":1,"name":"w","patch":{"metadata":{"uid":"u","resourceVersion":"1","labels":{}}}}}`,
		"patch of any version":  `{"type":"manifestpatch","body":{"id":1,"name":"w","patch":{"metadata":{"uid":"u"}}}}`,
		"patch of both":         `{"type":"manifestpatch","body":{"id":1,"name":"w","patch":{"metadata":{"uid":"u","resourceVersion":"1"},"status":{}}}}`,
		"patch of no status":    `{"type":"manifestpatch","body":{"id":1,"name":"w","status":true,"patch":{"metadata":{"uid":"u","resourceVersion":"1"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			f, err := agentapi.DecodeFromAgent([]byte(message))
			var malformed *agentapi.MalformedError
			if !errors.As(err, &malformed) {
				t.Fatalf("got %#v, %v; want a MalformedError", f, err)
			}
			if len(err.Error()) > 300 {
				t.Errorf("the error echoes %d bytes", len(err.Error()))
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// TestHelloOfNewerAgent: an older hub must understand enough to refuse politely.
func TestHelloOfNewerAgent(t *testing.T) {
	f, err := agentapi.DecodeFromAgent([]byte(`{"type":"hello","body":{"protocol":9,"minProtocol":8,"agentVersion":"v9","instance":"i","clusterID":"c","mood":"good"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if h := f.(*agentapi.Hello); h.Protocol != 9 || h.MinProtocol != 8 {
		t.Errorf("got %+v", h)
	}
}

func TestEncodeRefusesWhatPeersWould(t *testing.T) {
	for name, f := range map[string]agentapi.Frame{
		"invalid": &agentapi.Ack{},
		"large":   &agentapi.Log{Level: agentapi.LevelInfo, Message: strings.Repeat("\x01", 4000)},
	} {
		if _, err := agentapi.Encode(f); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
}

func TestStatusDeltaAndMerge(t *testing.T) {
	last, next := clusterStatus(), clusterStatus()
	if _, changed := agentapi.StatusDelta(last, next); changed {
		t.Error("equal statuses have a delta")
	}
	next.KubernetesVersion = "v1.37.0"
	next.APIEnablements = nil
	next.ResourceSummary.Allocated["pods"] = resource.MustParse("5")
	delta, changed := agentapi.StatusDelta(last, next)
	if !changed || delta.Conditions != nil || delta.NodeSummary != nil {
		t.Fatalf("delta %+v, changed %t", delta, changed)
	}
	message, err := agentapi.Encode(delta)
	if err != nil {
		t.Fatal(err)
	}
	f, err := agentapi.DecodeFromAgent(message)
	if err != nil {
		t.Fatal(err)
	}
	merged := f.(*agentapi.Status).Merge(last)
	if !equality.Semantic.DeepEqual(merged, next) {
		t.Errorf("merged differs:\n%s", cmp.Diff(next, merged))
	}
	if last.KubernetesVersion != "v1.36.3" || len(last.APIEnablements) != 1 {
		t.Error("Merge changed its argument")
	}
	whole := agentapi.CompleteStatus(next).Merge(clusterv1alpha1.ClusterStatus{KubernetesVersion: "old", RemedyActions: []string{"x"}})
	if !equality.Semantic.DeepEqual(whole, next) {
		t.Errorf("complete status keeps old parts:\n%s", cmp.Diff(next, whole))
	}
}

func TestWorkDelivery(t *testing.T) {
	w := work()
	f, err := agentapi.NewWork(w, 42)
	if err != nil {
		t.Fatal(err)
	}
	back, err := f.Object()
	if err != nil {
		t.Fatal(err)
	}
	if len(back.ManagedFields) != 0 || back.Generation != 3 || f.Op != agentapi.OpApply {
		t.Errorf("op %s, object %+v", f.Op, back.ObjectMeta)
	}
	if len(w.ManagedFields) != 1 {
		t.Error("NewWork changed its argument")
	}
	now := metav1.Now()
	w.DeletionTimestamp = &now
	if f, err = agentapi.NewWork(w, 43); err != nil || f.Op != agentapi.OpRemove {
		t.Errorf("op %s, error %v; want remove", f.Op, err)
	}
	f.UID = "another"
	if _, err := f.Object(); err == nil {
		t.Error("an object with another uid passed")
	}
}

func TestInterpreters(t *testing.T) {
	customizations, webhooks := lessons()
	script := customizations[0].Spec.Customizations.HealthInterpretation
	script.LuaScript = strings.Repeat("-", 1<<20)
	for len(customizations) < 7 {
		customizations = append(customizations, customizations[0])
	}
	frames, err := agentapi.NewInterpreters(customizations, webhooks)
	if err != nil {
		t.Fatal(err)
	}
	gotCustomizations, gotWebhooks := 0, 0
	for i, f := range frames {
		message, err := agentapi.Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		back, err := agentapi.DecodeFromHub(message)
		if err != nil {
			t.Fatal(err)
		}
		c, w, err := back.(*agentapi.Interpreters).Objects()
		if err != nil {
			t.Fatal(err)
		}
		gotCustomizations, gotWebhooks = gotCustomizations+len(c), gotWebhooks+len(w)
		if f.More != (i < len(frames)-1) {
			t.Errorf("frame %d of %d: more is %v", i, len(frames), f.More)
		}
	}
	if len(frames) < 4 || gotCustomizations != 7 || gotWebhooks != 1 {
		t.Errorf("%d frames, %d customizations, %d webhooks", len(frames), gotCustomizations, gotWebhooks)
	}
	script.LuaScript = strings.Repeat("-", 3<<20)
	if _, err := agentapi.NewInterpreters(customizations[:1], nil); err == nil {
		t.Error("an object of 3 MiB passed")
	}
	if _, _, err := (&agentapi.Interpreters{Webhooks: []json.RawMessage{[]byte(`{"webhooks":3}`)}}).Objects(); err == nil {
		t.Error("an object of another shape passed")
	}
}

func TestDigest(t *testing.T) {
	a, b := agentapi.Digest([]types.UID{"1", "2", "3"}), agentapi.Digest([]types.UID{"3", "1", "2"})
	if a != b {
		t.Error("order changes the digest")
	}
	if a == agentapi.Digest([]types.UID{"1", "2", "4"}) || agentapi.Digest(nil) == agentapi.Digest([]types.UID{"1", "1"}) {
		t.Error("different sets have one digest")
	}
}

func TestIdentities(t *testing.T) {
	for user, want := range map[string]string{
		"system:karmada:agent:edge-7":                     "edge-7",
		"system:karmada:agent:rbac-generator":             "",
		"system:karmada:agent:":                           "",
		"system:karmada:agent:Edge":                       "",
		"system:karmada:agent:a/b":                        "",
		"system:karmada:agent:-a":                         "",
		"system:karmada:agent:" + strings.Repeat("a", 49): "",
		"system:node:edge-7":                              "",
		"xsystem:karmada:agent:edge-7":                    "",
		"system:karmada:agent:" + strings.Repeat("a", 48): strings.Repeat("a", 48),
	} {
		if got, ok := agentapi.ClusterOfUser(user); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %t; want %q", user, got, ok, want)
		}
	}
}

func TestLinkURL(t *testing.T) {
	for server, want := range map[string]string{
		"https://hub:6443":         "wss://hub:6443/muster/agent/v1/link",
		"https://hub:6443/":        "wss://hub:6443/muster/agent/v1/link",
		"https://hub/prefix":       "wss://hub/prefix/muster/agent/v1/link",
		"https://[fd00::1]:6443":   "wss://[fd00::1]:6443/muster/agent/v1/link",
		"https://u:p@hub:6443?a=b": "wss://hub:6443/muster/agent/v1/link",
		"http://hub:6443":          "",
		"hub:6443":                 "",
	} {
		if got, err := agentapi.LinkURL(server); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", server, got, err, want)
		}
	}
}

func FuzzDecodeFromAgent(f *testing.F) { fuzz(f, agentapi.DecodeFromAgent) }

func FuzzDecodeFromHub(f *testing.F) { fuzz(f, agentapi.DecodeFromHub) }

// fuzz checks that nothing panics and that what decodes can be encoded again.
func fuzz(f *testing.F, decode func([]byte) (agentapi.Frame, error)) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no golden files", err)
	}
	for _, file := range files {
		seed, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		frame, err := decode(message)
		if err != nil {
			return
		}
		if s, ok := frame.(*agentapi.Status); ok {
			s.Merge(clusterStatus())
		}
		again, err := agentapi.Encode(frame)
		if err != nil {
			t.Fatalf("decoded but not encodable: %v", err)
		}
		if _, err := decode(again); err != nil {
			t.Fatalf("encoded again but not decodable: %v", err)
		}
	})
}
