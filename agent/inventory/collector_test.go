package inventory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/inventory"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// member is an API server as far as a collector needs one.
type member struct {
	mu     sync.Mutex
	ready  int                        // HTTP status of /readyz
	nodes  []corev1.Node              // what a list returns
	events map[string]chan watchEvent // by resource, read by one watch
}

type watchEvent struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

func newMember() *member {
	return &member{ready: 200, events: map[string]chan watchEvent{"nodes": make(chan watchEvent, 10), "pods": make(chan watchEvent, 10),
		"customresourcedefinitions": make(chan watchEvent, 10), "apiservices": make(chan watchEvent, 10)}}
}

func (m *member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	ready, nodes := m.ready, m.nodes
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	write := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case r.URL.Path == "/readyz":
		w.WriteHeader(ready)
	case r.URL.Path == "/version":
		write(map[string]string{"gitVersion": "v1.36.3"})
	case r.URL.Path == "/api":
		write(metav1.APIVersions{Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		write(metav1.APIGroupList{})
	case r.URL.Path == "/api/v1":
		write(metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod"}, {Name: "pods/log", Kind: "Pod"}}})
	case r.URL.Query().Get("sendInitialEvents") != "":
		w.WriteHeader(http.StatusUnprocessableEntity)
		write(metav1.Status{Status: "Failure", Code: 422, Reason: metav1.StatusReasonInvalid})
	case r.URL.Query().Get("watch") != "":
		m.watch(w, r, m.events[resource])
	case resource == "nodes":
		write(corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: nodes})
	case resource == "pods":
		write(corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
	case m.events[resource] != nil:
		write(metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (m *member) watch(w http.ResponseWriter, r *http.Request, events chan watchEvent) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-events:
			_ = json.NewEncoder(w).Encode(e)
			w.(http.Flusher).Flush()
		}
	}
}

// collect starts a collector and returns a function that waits until a report
// satisfies a condition, and the time the collector's Start took to return.
func collect(t *testing.T, m *member, o inventory.Options) func(what string, ok func(clusterv1alpha1.ClusterStatus) bool) clusterv1alpha1.ClusterStatus {
	t.Helper()
	server := httptest.NewServer(m)
	reports := make(chan clusterv1alpha1.ClusterStatus, 100)
	o.OnChange = func(s clusterv1alpha1.ClusterStatus) { reports <- s }
	c, err := inventory.New(&rest.Config{Host: server.URL}, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		server.CloseClientConnections()
		if err := <-done; err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return func(what string, ok func(clusterv1alpha1.ClusterStatus) bool) clusterv1alpha1.ClusterStatus {
		t.Helper()
		deadline := time.After(time.Minute)
		for {
			select {
			case s := <-reports:
				if ok(s) {
					return s
				}
			case <-deadline:
				t.Fatalf("no report: %s", what)
			}
		}
	}
}

func TestCollectorReportsAndFollows(t *testing.T) {
	m := newMember()
	m.nodes = []corev1.Node{*node("n", "True", list("cpu", "4", "memory", "16Gi", "pods", "110"))}
	m.nodes[0].ResourceVersion = "1"
	wait := collect(t, m, inventory.Options{Models: models()})

	first := wait("first", func(clusterv1alpha1.ClusterStatus) bool { return true })
	if first.KubernetesVersion != "v1.36.3" || len(first.APIEnablements) != 1 || first.NodeSummary == nil || first.NodeSummary.ReadyNum != 1 {
		t.Errorf("the first report is not complete: %+v", first)
	}
	if first.Conditions[0].Type != "CompleteAPIEnablements" || first.Conditions[1].Type != "Ready" ||
		!meta.IsStatusConditionTrue(first.Conditions, "Ready") || !meta.IsStatusConditionTrue(first.Conditions, "CompleteAPIEnablements") {
		t.Errorf("conditions %+v", first.Conditions)
	}

	p := pod("n", "Running", list("cpu", "3"))
	p.Namespace, p.Name, p.UID, p.ResourceVersion = "a", "p", "u", "2"
	p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	m.events["pods"] <- watchEvent{"ADDED", p}
	wait("a pod more", func(s clusterv1alpha1.ClusterStatus) bool {
		pods := s.ResourceSummary.Allocated["pods"]
		return pods.Value() == 1 && s.ResourceSummary.AllocatableModelings[1].Count == 1
	})
}

func TestCollectorOfUnreachableMember(t *testing.T) {
	m := newMember()
	m.ready = 500
	last := clusterv1alpha1.ClusterStatus{KubernetesVersion: "v1.35.0", NodeSummary: &clusterv1alpha1.NodeSummary{TotalNum: 9},
		Conditions: []metav1.Condition{{Type: "Ready", Status: "Unknown", Reason: "ClusterStatusUnknown"}}}
	wait := collect(t, m, inventory.Options{Last: last, Damping: time.Millisecond})
	down := wait("not ready", func(s clusterv1alpha1.ClusterStatus) bool { return meta.IsStatusConditionFalse(s.Conditions, "Ready") })
	if down.KubernetesVersion != "v1.35.0" || down.NodeSummary.TotalNum != 9 {
		t.Errorf("the inventory of a member that is not ready changed: %+v", down)
	}
}

// TestCollectorCoalesces: a storm of pods causes few reports.
func TestCollectorCoalesces(t *testing.T) {
	m := newMember()
	m.events["pods"] = make(chan watchEvent, 500)
	reports := 0
	wait := collect(t, m, inventory.Options{})
	wait("first", func(clusterv1alpha1.ClusterStatus) bool { return true })
	began := time.Now()
	for i := range 500 {
		p := pod("n", "Running")
		p.Namespace, p.Name, p.UID, p.ResourceVersion = "a", fmt.Sprint("p", i), "u", fmt.Sprint(i+2)
		p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		m.events["pods"] <- watchEvent{"ADDED", p}
	}
	wait("all pods", func(s clusterv1alpha1.ClusterStatus) bool {
		reports++
		pods := s.ResourceSummary.Allocated["pods"]
		return pods.Value() == 500
	})
	// One a second, however long a slow machine takes for the storm.
	if took := time.Since(began); reports > 2+int(took/time.Second) {
		t.Errorf("%d reports for one storm of %s", reports, took)
	}
}
