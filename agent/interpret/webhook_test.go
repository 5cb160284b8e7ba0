package interpret_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"muster.dev/muster/agent/interpret"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// server answers reviews with what answer returns.
func server(t *testing.T, answer func(*configv1alpha1.ResourceInterpreterRequest) *configv1alpha1.ResourceInterpreterResponse) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := &configv1alpha1.ResourceInterpreterContext{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil ||
			review.APIVersion != "config.karmada.io/v1alpha1" || review.Kind != "ResourceInterpreterContext" || r.Method != http.MethodPost {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		response := answer(review.Request)
		if response == nil {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		if response.UID == "" {
			response.UID = review.Request.UID
		}
		_ = json.NewEncoder(w).Encode(&configv1alpha1.ResourceInterpreterContext{TypeMeta: review.TypeMeta, Response: response})
	}))
	t.Cleanup(s.Close)
	return s
}

func authority(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func hook(s *httptest.Server, operations ...interpret.Operation) configv1alpha1.ResourceInterpreterWebhookConfiguration {
	return configv1alpha1.ResourceInterpreterWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}, Webhooks: []configv1alpha1.ResourceInterpreterWebhook{{
		Name: "things.example.com", InterpreterContextVersions: []string{"v1", "v1alpha1"}, TimeoutSeconds: ptr.To[int32](30),
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To(s.URL + "/interpret"), CABundle: authority(s)},
		Rules: []configv1alpha1.RuleWithOperations{{Operations: operations,
			Rule: configv1alpha1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"v1"}, Kinds: []string{"Thing"}}}},
	}}}
}

func hooked(t *testing.T, list ...configv1alpha1.ResourceInterpreterWebhookConfiguration) *interpret.Interpreter {
	t.Helper()
	i := interpreter(t, interpret.Options{})
	i.SetWebhooks(list)
	return i
}

func TestWebhook(t *testing.T) {
	s := server(t, func(q *configv1alpha1.ResourceInterpreterRequest) *configv1alpha1.ResourceInterpreterResponse {
		r := &configv1alpha1.ResourceInterpreterResponse{Successful: true}
		patch := func(p string) {
			r.Patch, r.PatchType = []byte(p), ptr.To(configv1alpha1.PatchTypeJSONPatch)
		}
		if q.Name != "a" || q.Namespace != "shop" || q.Kind != (metav1.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}) {
			return nil
		}
		switch q.Operation {
		case configv1alpha1.InterpreterOperationInterpretReplica:
			r.Replicas, r.ReplicaRequirements = ptr.To[int32](4), &workv1alpha2.ReplicaRequirements{PriorityClassName: "high"}
		case configv1alpha1.InterpreterOperationInterpretComponent:
			r.Components = []workv1alpha2.Component{{Name: "main", Replicas: 4}}
		case configv1alpha1.InterpreterOperationReviseReplica:
			if *q.DesiredReplicas != 9 {
				return nil
			}
			patch(`[{"op":"replace","path":"/spec/size","value":9}]`)
		case configv1alpha1.InterpreterOperationRetain:
			if !strings.Contains(string(q.ObservedObject.Raw), `"size":7`) {
				return nil
			}
			patch(`[{"op":"replace","path":"/spec/size","value":7}]`)
		case configv1alpha1.InterpreterOperationAggregateStatus:
			if len(q.AggregatedStatus) != 1 || q.AggregatedStatus[0].ClusterName != "m" {
				return nil
			}
			patch(`[{"op":"replace","path":"/status/ready","value":1}]`)
		case configv1alpha1.InterpreterOperationInterpretStatus:
			r.RawStatus = &runtime.RawExtension{Raw: []byte(`{"short":true}`)}
		case configv1alpha1.InterpreterOperationInterpretHealth:
			r.Healthy = ptr.To(false)
		case configv1alpha1.InterpreterOperationInterpretDependency:
			r.Dependencies = []configv1alpha1.DependentObjectReference{{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "s"}}
		}
		return r
	})
	i := hooked(t, hook(s, "*"))
	want := map[string]string{
		"replicas": `[4,{"namespace":"shop","priorityClassName":"high"},true]`, "components": `[[{"name":"main","replicas":4}],true]`, "revised": `9`,
		"status": `{"short":true}`, "health": `"Unhealthy"`, "dependencies": `[{"apiVersion":"v1","kind":"Secret","namespace":"shop","name":"s"}]`,
	}
	o := object(t, thing)
	if diff := cmp.Diff(want, results(t, i, o)); diff != "" {
		t.Error(diff)
	}
	observed := o.DeepCopy()
	_ = unstructured.SetNestedField(observed.Object, int64(7), "spec", "size")
	retained, err := i.Retain(t.Context(), o, observed)
	if err != nil {
		t.Fatal(err)
	}
	if size, _, _ := unstructured.NestedInt64(retained.Object, "spec", "size"); size != 7 {
		t.Errorf("retained %v", retained.Object)
	}
	changed, aggregates, err := i.Aggregate(t.Context(), o, []workv1alpha2.AggregatedStatusItem{{ClusterName: "m"}})
	if err != nil || !aggregates {
		t.Fatalf("aggregate: %v, %v", aggregates, err)
	}
	if ready, _, _ := unstructured.NestedInt64(changed.Object, "status", "ready"); ready != 1 {
		t.Errorf("aggregated %v", changed.Object)
	}
}

// TestPrecedence: customization before webhook before native, operation by
// operation; other versions are not meant.
func TestPrecedence(t *testing.T) {
	s := server(t, func(q *configv1alpha1.ResourceInterpreterRequest) *configv1alpha1.ResourceInterpreterResponse {
		return &configv1alpha1.ResourceInterpreterResponse{Successful: true, Healthy: ptr.To(false), RawStatus: &runtime.RawExtension{Raw: []byte(`{"from":"webhook"}`)}}
	})
	i := hooked(t, hook(s, "InterpretHealth", "InterpretStatus"))
	i.SetCustomizations([]configv1alpha1.ResourceInterpreterCustomization{customization("c", "example.com/v1", "Thing", map[interpret.Operation]string{
		configv1alpha1.InterpreterOperationInterpretHealth: "function InterpretHealth(o) return true end"})})
	got := results(t, i, object(t, thing))
	if got["health"] != `"Healthy"` || got["status"] != `{"from":"webhook"}` || got["revised"] != "4" {
		t.Errorf("got %v", got)
	}
	got = results(t, i, object(t, strings.Replace(thing, "example.com/v1", "example.com/v2", 1)))
	if got["health"] != `"Healthy"` || got["status"] != `{"ready":2}` {
		t.Errorf("another version: got %v", got)
	}
}

func TestBadWebhooks(t *testing.T) {
	response := func(r *configv1alpha1.ResourceInterpreterResponse) func(*configv1alpha1.ResourceInterpreterRequest) *configv1alpha1.ResourceInterpreterResponse {
		return func(*configv1alpha1.ResourceInterpreterRequest) *configv1alpha1.ResourceInterpreterResponse { return r }
	}
	good := &configv1alpha1.ResourceInterpreterResponse{Successful: true, Healthy: ptr.To(true)}
	for name, c := range map[string]struct {
		answer func(*configv1alpha1.ResourceInterpreterRequest) *configv1alpha1.ResourceInterpreterResponse
		change func(*configv1alpha1.ResourceInterpreterWebhook)
		says   string
	}{
		"error":          {response(nil), nil, "HTTP status 500"},
		"unsuccessful":   {response(&configv1alpha1.ResourceInterpreterResponse{Status: &configv1alpha1.RequestStatus{Message: "no idea", Code: 404}}), nil, "it says: no idea (404)"},
		"of another":     {response(&configv1alpha1.ResourceInterpreterResponse{UID: "x", Successful: true, Healthy: ptr.To(true)}), nil, "the uid differs"},
		"empty":          {response(&configv1alpha1.ResourceInterpreterResponse{Successful: true}), nil, "has no healthy"},
		"other versions": {response(good), func(w *configv1alpha1.ResourceInterpreterWebhook) { w.InterpreterContextVersions = []string{"v2"} }, "it understands v2 only"},
		"not trusted":    {response(good), func(w *configv1alpha1.ResourceInterpreterWebhook) { w.ClientConfig.CABundle = nil }, "certificate is not trusted"},
		"no certificate": {response(good), func(w *configv1alpha1.ResourceInterpreterWebhook) { w.ClientConfig.CABundle = []byte("x") }, "caBundle holds no certificate"},
		"no address":     {response(good), func(w *configv1alpha1.ResourceInterpreterWebhook) { w.ClientConfig.URL = nil }, "neither url nor service"},
		"without TLS":    {response(good), func(w *configv1alpha1.ResourceInterpreterWebhook) { w.ClientConfig.URL = ptr.To("http://127.0.0.1/x") }, "https://HOST:PORT/PATH"},
		"with credentials": {response(good), func(w *configv1alpha1.ResourceInterpreterWebhook) {
			w.ClientConfig.URL = ptr.To("https://a:b@127.0.0.1/x")
		}, "https://HOST:PORT/PATH"},
		"nobody there": {response(good), func(w *configv1alpha1.ResourceInterpreterWebhook) {
			w.ClientConfig.URL = ptr.To("https://127.0.0.1:1/x")
		}, "it cannot be reached: connect: connection refused; see whether it runs at https://127.0.0.1:1/x"},
		"unknown service": {response(good), func(w *configv1alpha1.ResourceInterpreterWebhook) {
			w.ClientConfig = admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "none", Path: ptr.To("/x")}}
		}, "none.shop.svc"},
	} {
		t.Run(name, func(t *testing.T) {
			h := hook(server(t, c.answer), "InterpretHealth")
			if c.change != nil {
				c.change(&h.Webhooks[0])
			}
			health, err := hooked(t, h).Health(t.Context(), object(t, thing))
			if err == nil || health != workv1alpha1.ResourceUnknown || !strings.Contains(err.Error(), c.says) ||
				!strings.HasPrefix(err.Error(), "webhook hooks/things.example.com, InterpretHealth of example.com/v1 Thing shop/a: ") {
				t.Errorf("got %s, %v", health, err)
			}
		})
	}
}

// TestHangingWebhook: one that hangs costs its timeout, and is then spared.
func TestHangingWebhook(t *testing.T) {
	var asked atomic.Int32
	release := make(chan struct{})
	s := server(t, func(*configv1alpha1.ResourceInterpreterRequest) *configv1alpha1.ResourceInterpreterResponse {
		asked.Add(1)
		<-release
		return nil
	})
	t.Cleanup(func() { close(release) })
	hanging := hook(s, "InterpretHealth")
	hanging.Webhooks[0].TimeoutSeconds = ptr.To[int32](1)
	i := hooked(t, hanging)
	for range 50 {
		if _, err := i.Health(t.Context(), object(t, thing)); err == nil || !strings.Contains(err.Error(), "it did not answer within 1s") {
			t.Fatalf("got %v", err)
		}
	}
	if n := asked.Load(); n > 5 {
		t.Errorf("asked %d times", n)
	}
}

func TestBadPatch(t *testing.T) {
	for name, c := range map[string]struct{ patch, kind, says string }{
		"no JSON":        {`nonsense`, "JSONPatch", "no JSON patch"},
		"another type":   {`{}`, "MergePatch", "not of type JSONPatch"},
		"does not fit":   {`[{"op":"replace","path":"/spec/none/none","value":1}]`, "JSONPatch", "does not fit"},
		"another object": {`[{"op":"replace","path":"/metadata/name","value":"b"}]`, "JSONPatch", "another object"},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t, func(*configv1alpha1.ResourceInterpreterRequest) *configv1alpha1.ResourceInterpreterResponse {
				return &configv1alpha1.ResourceInterpreterResponse{Successful: true, Patch: []byte(c.patch), PatchType: ptr.To(configv1alpha1.PatchType(c.kind))}
			})
			if _, err := hooked(t, hook(s, "ReviseReplica")).Revise(t.Context(), object(t, thing), 1); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}
