package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// invented are the kinds of TestInterpreters, one for each of its parts: what
// interprets a kind is the whole hub's.
var invented = map[string]string{"gauges": "Gauge", "plates": "Plate", "reels": "Reel", "whirls": "Whirl", "spools": "Spool"}

// TestInterpreters holds what users teach the hub about kinds of their own (contract
// section 11.7) against a push and a pull member, and that a mistake in it is named,
// tried again and nobody else's trouble.
func TestInterpreters(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	for plural, kind := range invented {
		f.apply(t, fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s.print.example}, spec: {group: print.example, scope: Namespaced,
			names: {kind: %s, plural: %[1]s}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`, plural, kind))
	}
	f.apply(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: print}, spec: {resourceSelectors: [
		{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}]}}`)
	for plural := range invented {
		for cluster, m := range f.members() {
			client := clientFor(t, loadConfig(t, m.Kubeconfig))
			eventually(t, plural+" in "+cluster, func(ctx context.Context) bool {
				_, err := client.Resource(printed(plural)).List(ctx, metav1.ListOptions{})
				return err == nil
			})
		}
	}
	for name, test := range map[string]func(*testing.T, *space){
		"customization":   testCustomization,
		"broken-script":   testBrokenScript,
		"hanging-webhook": testHangingWebhook,
		"runaway-script":  testRunawayScript,
		"kept-by-script":  testKeptByScript,
		"bundled-kind":    testBundledKind,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, f.space(t, name))
		})
	}
}

func printed(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "print.example", Version: "v1", Resource: plural}
}

// teach applies a customization of a kind; scripts are by their field in the spec.
func (s *space) teach(t *testing.T, kind string, scripts map[string]string) {
	t.Helper()
	customizations := map[string]any{}
	for field, script := range scripts {
		customizations[field] = map[string]any{"luaScript": script}
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization", "metadata": map[string]any{"name": s.namespace},
		"spec": map[string]any{"target": map[string]any{"apiVersion": "print.example/v1", "kind": kind}, "customizations": customizations},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.apply(t, string(text))
}

// print makes an object of an invented kind that asks for four copies.
func (s *space) print(t *testing.T, kind string) {
	t.Helper()
	s.policy(t, "all", fmt.Sprintf(`{resourceSelectors: [{apiVersion: print.example/v1, kind: %s}], placement: {replicaScheduling: {replicaSchedulingType: Divided,
		replicaDivisionPreference: Weighted, weightPreference: {staticWeightList: [{targetCluster: {clusterNames: [cluster1]}, weight: 1}, {targetCluster: {clusterNames: [cluster2]}, weight: 3}]}}}}`, kind))
	object := fmt.Sprintf("{apiVersion: print.example/v1, kind: %s, metadata: {name: p, namespace: %s}, spec: {copies: 4}}", kind, s.namespace)
	eventually(t, "a "+kind+" on the hub, which tells of the kind a moment after it has it", func(context.Context) bool {
		return runWith(t, object, "kube", "kubectl", "--kubeconfig", s.Kubeconfig, "apply", "-f", "-").code == 0
	})
}

// awaitCopies waits until members have the object with so many copies.
func (s *space) awaitCopies(t *testing.T, plural string, want map[string]string) {
	t.Helper()
	for cluster, copies := range want {
		client := clientFor(t, loadConfig(t, s.members()[cluster].Kubeconfig)).Resource(printed(plural)).Namespace(s.namespace)
		eventually(t, plural+" in "+cluster+": "+copies+" copies", func(ctx context.Context) bool {
			object, err := client.Get(ctx, "p", metav1.GetOptions{})
			return err == nil && fmt.Sprint(field(object, "spec", "copies")) == copies
		})
	}
}

func field(o *unstructured.Unstructured, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return value
}

// awaitItems waits until the binding says of both clusters what is wanted.
func (s *space) awaitItems(t *testing.T, binding, what string, fits func(cluster string, item map[string]any) bool) {
	t.Helper()
	awaitObject(t, s.dynamic, s.namespace, binding, what, func(o *unstructured.Unstructured) bool {
		items, _, _ := unstructured.NestedSlice(o.Object, "status", "aggregatedStatus")
		for _, one := range items {
			item, ok := one.(map[string]any)
			if !ok || !fits(fmt.Sprint(item["clusterName"]), item) {
				return false
			}
		}
		return len(items) == len(s.members())
	})
}

const (
	countCopies  = "function GetReplicas(o)\n  return o.spec.copies, nil\nend"
	reviseCopies = "function ReviseReplica(o, n)\n  o.spec.copies = n\n  return o\nend"
)

// testCustomization: replicas, health and status of a kind are what scripts say, in
// either member, from the moment they are applied.
func testCustomization(t *testing.T, s *space) {
	s.print(t, "Gauge")
	s.awaitCopies(t, "gauges", map[string]string{pushName: "4", pullName: "4"}) // nobody knows that they are replicas
	s.awaitItems(t, "p-gauge", "healthy, for nobody knows better", func(_ string, item map[string]any) bool { return item["health"] != "Unhealthy" })
	s.teach(t, "Gauge", map[string]string{
		"replicaResource": countCopies, "replicaRevision": reviseCopies,
		"statusReflection":     "function ReflectStatus(o)\n  return {printed = (o.status or {}).printed or 0}\nend",
		"healthInterpretation": "function InterpretHealth(o)\n  return o.status ~= nil and o.status.printed == o.spec.copies\nend",
		"statusAggregation": "function AggregateStatus(o, items)\n  local n = 0\n  for _, item in ipairs(items) do n = n + ((item.status or {}).printed or 0) end\n" +
			"  o.status = o.status or {}\n  o.status.printed = n\n  return o\nend",
	})
	s.awaitCopies(t, "gauges", map[string]string{pushName: "1", pullName: "3"})
	s.awaitItems(t, "p-gauge", "not healthy by the script", func(_ string, item map[string]any) bool { return item["health"] == "Unhealthy" })
	for cluster, copies := range map[string]int64{pushName: 1, pullName: 3} {
		client := clientFor(t, loadConfig(t, s.members()[cluster].Kubeconfig)).Resource(printed("gauges")).Namespace(s.namespace)
		eventually(t, cluster+" prints", func(ctx context.Context) bool {
			_, err := client.Patch(ctx, "p", "application/merge-patch+json", fmt.Appendf(nil, `{"status":{"printed":%d,"ink":"low"}}`, copies), metav1.PatchOptions{}, "status")
			return err == nil
		})
	}
	want := map[string]string{pushName: "map[printed:1]", pullName: "map[printed:3]"} // without the ink, which the script leaves out
	s.awaitItems(t, "p-gauge", "healthy, with the status of the script", func(cluster string, item map[string]any) bool {
		return item["health"] == "Healthy" && fmt.Sprint(item["status"]) == want[cluster]
	})
	eventually(t, "the sum on the hub", func(context.Context) bool {
		return s.on(t, "get", "gauges.print.example", "p", "-o", "jsonpath={.status.printed}") == "4"
	})
}

// workload is what REST says of an object.
type workload struct {
	Row struct {
		State      string `json:"state"`
		ReasonCode string `json:"reasonCode"`
	} `json:"row"`
	Facts []struct {
		Level string `json:"level"`
		Code  string `json:"code"`
		Text  string `json:"text"`
	} `json:"facts"`
}

// awaitFact waits until REST fails an object of an invented kind by a fact that has
// all words.
func (s *space) awaitFact(t *testing.T, kind, code string, words ...string) {
	t.Helper()
	s.awaitFailed(t, "print.example/v1/"+kind, "p", code, words...)
}

// awaitFailed waits until REST fails an object, whose kind is group/version/Kind, by a
// fact that has all words.
func (s *space) awaitFailed(t *testing.T, kind, name, code string, words ...string) {
	t.Helper()
	var last string
	defer func() {
		if t.Failed() {
			t.Logf("REST says of %s %s: %s", kind, name, last)
		}
	}()
	rest := admin(t, s.hub)
	eventually(t, kind+" "+name+" failed by "+code, func(ctx context.Context) bool {
		answer, err := rest.Do(ctx, http.MethodGet, "/api/v1/workloads/"+kind+"/"+s.namespace+"/"+name, nil)
		if err != nil {
			return false
		}
		var said workload
		if last = string(answer.Body); answer.Status != http.StatusOK || answer.Into(&said) != nil || said.Row.State != "failed" || said.Row.ReasonCode != code {
			return false
		}
		for _, one := range said.Facts {
			if one.Code == code && one.Level == "error" && containsAll(one.Text, words...) {
				return true
			}
		}
		return false
	})
}

// awaitRow waits until REST finds nothing wrong with an object of an invented kind.
func (s *space) awaitRow(t *testing.T, kind string) {
	t.Helper()
	s.awaitNoTrouble(t, "print.example/v1/"+kind, "p")
}

// awaitNoTrouble waits until REST finds nothing wrong with an object.
func (s *space) awaitNoTrouble(t *testing.T, kind, name string) {
	t.Helper()
	rest := admin(t, s.hub)
	eventually(t, kind+" "+name+" without trouble", func(ctx context.Context) bool {
		answer, err := rest.Do(ctx, http.MethodGet, "/api/v1/workloads/"+kind+"/"+s.namespace+"/"+name, nil)
		var said workload
		return err == nil && answer.Status == http.StatusOK && answer.Into(&said) == nil && said.Row.State != "failed"
	})
}

func containsAll(text string, words ...string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// awaitEvent waits for an Event about an object of a kind that has all words.
func (s *space) awaitEvent(t *testing.T, kind, reason string, words ...string) {
	t.Helper()
	s.awaitEventAbout(t, kind, "", reason, words...)
}

// awaitEventAbout waits for an Event about an object, of which the empty name is any.
func (s *space) awaitEventAbout(t *testing.T, kind, name, reason string, words ...string) {
	t.Helper()
	eventually(t, "an Event "+reason+" about "+kind+" "+name+" that says "+strings.Join(words, ", "), func(ctx context.Context) bool {
		list, err := s.client.CoreV1().Events(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason + ",involvedObject.kind=" + kind})
		if err != nil {
			return false
		}
		for i := range list.Items {
			if e := &list.Items[i]; e.Type == "Warning" && containsAll(e.Message, words...) && (name == "" || e.InvolvedObject.Name == name) {
				return true
			}
		}
		return false
	})
}

// neighbour checks that an object of another kind is delivered meanwhile.
func (s *space) neighbour(t *testing.T, name string) {
	t.Helper()
	s.policy(t, name, fmt.Sprintf("{resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: %s}]}", name))
	s.configMap(t, name, "color=blue")
	s.awaitIn(t, name, pushName, pullName)
}

// testBrokenScript: of a script that fails before there is a binding, and of one that
// fails once there are Works.
func testBrokenScript(t *testing.T, s *space) {
	s.teach(t, "Plate", map[string]string{"replicaResource": "function GetReplicas(o)\n  return o.spec.nothing.more, nil\nend", "replicaRevision": reviseCopies})
	s.print(t, "Plate")
	named := []string{"customization broken-script", "Plate broken-script/p", "correct the script"}
	s.awaitEvent(t, "Plate", "GetReplicasFailed", named...)
	s.awaitFact(t, "Plate", "template.stuck", named...)
	s.neighbour(t, "meanwhile")
	s.teach(t, "Plate", map[string]string{"replicaResource": countCopies, "replicaRevision": reviseCopies})
	s.awaitCopies(t, "plates", map[string]string{pushName: "1", pullName: "3"})
	s.awaitRow(t, "Plate")

	s.teach(t, "Plate", map[string]string{"replicaResource": countCopies, "replicaRevision": "function ReviseReplica(o, n)\n  o.spec.nothing.more = n\n  return o\nend"})
	s.awaitEvent(t, "Plate", "SyncWorkFailed", named...)
	s.on(t, "patch", "plates.print.example", "p", "--type=merge", "-p", `{"spec":{"copies":8}}`)
	s.awaitFact(t, "Plate", "work.stuck", named...)
	awaitObject(t, s.dynamic, s.namespace, "p-plate", "not fully applied, because of the script", func(o *unstructured.Unstructured) bool {
		status, reason, message := condition(o, "FullyApplied")
		return status == "False" && reason == "FullyAppliedFailed" && containsAll(message, named[:2]...)
	})
	s.awaitCopies(t, "plates", map[string]string{pushName: "1", pullName: "3"})
	s.neighbour(t, "later")
	s.teach(t, "Plate", map[string]string{"replicaResource": countCopies, "replicaRevision": reviseCopies})
	s.awaitCopies(t, "plates", map[string]string{pushName: "2", pullName: "6"})
	s.awaitRow(t, "Plate")
	awaitObject(t, s.dynamic, s.namespace, "p-plate", "fully applied", func(o *unstructured.Unstructured) bool {
		status, _, _ := condition(o, "FullyApplied")
		return status == "True"
	})
}

// reviewer is an interpreter webhook that hangs until it is released.
type reviewer struct {
	*httptest.Server
	released chan struct{}

	mu    sync.Mutex
	asked []time.Time
}

func newReviewer(t *testing.T) *reviewer {
	t.Helper()
	r := &reviewer{released: make(chan struct{})}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(r.answer))
	t.Cleanup(r.Close)
	return r
}

func (r *reviewer) answer(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	r.asked = append(r.asked, time.Now())
	r.mu.Unlock()
	var review configv1alpha1.ResourceInterpreterContext
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	select {
	case <-r.released:
	case <-request.Context().Done(): // who asked has given up
		return
	}
	review.Response = &configv1alpha1.ResourceInterpreterResponse{UID: review.Request.UID, Successful: true, Replicas: ptr.To[int32](4)}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(&review)
}

func (r *reviewer) times() []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]time.Time(nil), r.asked...)
}

// testHangingWebhook: a webhook that accepts and never answers is asked again, less
// and less often.
func testHangingWebhook(t *testing.T, s *space) {
	r := newReviewer(t)
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}))
	s.apply(t, fmt.Sprintf(`{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterWebhookConfiguration, metadata: {name: slow}, webhooks: [{name: reels.print.example,
		interpreterContextVersions: [v1alpha1], timeoutSeconds: 1, clientConfig: {url: "%s/interpret", caBundle: %s},
		rules: [{operations: [InterpretReplica], apiGroups: [print.example], apiVersions: [v1], kinds: [Reel]}]}]}`, r.URL, authority))
	s.print(t, "Reel")
	named := []string{"webhook slow/reels.print.example", "Reel hanging-webhook/p", "see whether it runs at " + r.URL}
	s.awaitEvent(t, "Reel", "GetReplicasFailed", named...)
	s.awaitFact(t, "Reel", "template.stuck", named...)
	s.neighbour(t, "meanwhile")
	eventually(t, "the webhook is asked again and again", func(context.Context) bool { return len(r.times()) >= 3 })
	asked := r.times()
	for i, pause := range []time.Duration{2 * time.Second, 4 * time.Second} {
		if gap := asked[i+1].Sub(asked[i]); gap < pause {
			t.Errorf("question %d came %s after the one before, which hung; it is to wait %s at least", i+2, gap, pause)
		}
	}
	close(r.released)
	s.awaitCopies(t, "reels", map[string]string{pushName: "4", pullName: "4"}) // it has no word for how to revise them
	s.awaitRow(t, "Reel")
}
