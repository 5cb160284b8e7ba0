package managedcluster_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/httpapi/apitest"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/managedcluster"
	"muster.dev/muster/backend/registration"
)

var (
	viewer   = map[string]string{"X-Role": "viewer"}
	operator = map[string]string{"X-Role": "operator"}
)

// startLive serves managed clusters over a hub, with a real audit, and what it tells browsers.
func startLive(t *testing.T, hub *kubetest.Hub) (http.Handler, *live.Hub) {
	t.Helper()
	manager, err := kube.NewManager(hub.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	changes := live.NewHub()
	records := audit.NewService(databasetest.Open(t), changes)
	service := managedcluster.NewService(managedcluster.ServiceOptions{
		Cache: manager.GetCache(), Clients: func(access.Actor) (client.Client, error) { return hub.Client, nil }, Audit: records, Live: changes,
	})
	if err := manager.Add(service); err != nil {
		t.Fatal(err)
	}
	api, err := httpapi.NewEngine(httpapi.Options{
		SPA: fstest.MapFS{"index.html": &fstest.MapFile{Data: []byte("<html></html>")}},
		Authenticate: func(c *gin.Context) {
			if role := access.Role(c.GetHeader("X-Role")); role != "" {
				c.Request = c.Request.WithContext(access.WithActor(c.Request.Context(), access.Actor{Name: "ada", Role: role}))
			}
		},
		Private: managedcluster.NewHandler(service, records).Routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	hub.Run(t, manager)
	return api, changes
}

func answer[T any](t *testing.T, response *httptest.ResponseRecorder) T {
	t.Helper()
	var into T
	if err := json.Unmarshal(response.Body.Bytes(), &into); err != nil {
		t.Fatalf("%v: %s", err, response.Body)
	}
	return into
}

func names(rows []managedcluster.Row) []string {
	list := []string{}
	for _, row := range rows {
		list = append(list, row.Name)
	}
	return list
}

// listed checks names and counts of a page.
func listed(want []string, counts map[managedcluster.State]int) func(*testing.T, *httptest.ResponseRecorder) {
	return func(t *testing.T, response *httptest.ResponseRecorder) {
		page := answer[managedcluster.RowPage](t, response)
		if diff := cmp.Diff(want, names(page.Items)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		for state, count := range counts {
			if page.Counts[state] != count {
				t.Errorf("%d %s, want %d", page.Counts[state], state, count)
			}
		}
	}
}

func makeFleet(t *testing.T, hub *kubetest.Hub) {
	t.Helper()
	for _, name := range []string{"edge-1", "edge-2", "newcomer", "member1", "refused"} {
		cluster := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"tier": "edge", ocmv1.ClusterSetLabel: "default"}}}
		cluster.Spec.HubAcceptsClient = name != "newcomer" && name != "refused"
		cluster.Spec.Taints = []ocmv1.Taint{{Key: ocmv1.UnreachableTaint, Effect: ocmv1.TaintEffectNoSelect, TimeAdded: metav1.Now()}}
		if name == "member1" {
			cluster.Annotations = map[string]string{registration.AnnotationOrigin: registration.OriginKarmada}
		}
		if name == "refused" {
			cluster.Annotations = map[string]string{consent.AnnotationDeniedAt: "2026-11-21T12:00:00Z", consent.AnnotationDeniedReason: "not ours"}
		}
		if name == "edge-1" {
			cluster.Finalizers = []string{ocmv1.ResourceCleanupFinalizer, "example.com/mine"}
		}
		hub.Create(t, cluster)
		hub.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for name, status := range map[string]metav1.ConditionStatus{"edge-1": metav1.ConditionTrue, "edge-2": metav1.ConditionUnknown} {
		report(t, hub, &ocmv1.ManagedCluster{}, name, func(m *ocmv1.ManagedCluster) {
			said(&m.Status.Conditions, ocmv1.ConditionAvailable, status)
			said(&m.Status.Conditions, ocmv1.ConditionJoined, metav1.ConditionTrue)
			m.Status.Version.Kubernetes = "v1.36.3\x1b[31m"
			m.Status.ClusterClaims = []ocmv1.ManagedClusterClaim{{Name: "id.k8s.io", Value: "x"}}
		})
	}
	report(t, hub, &ocmv1.ManagedCluster{}, "member1", func(m *ocmv1.ManagedCluster) {
		said(&m.Status.Conditions, ocmv1.ConditionHubAccepted, metav1.ConditionTrue)
	})
	work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "edge-1", Name: "web", Finalizers: []string{ocmworkv1.ManifestWorkFinalizer}}}
	work.Spec.Workload.Manifests = []ocmworkv1.Manifest{{}}
	work.Spec.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}`)
	hub.Create(t, work)
	work.Status.Conditions = nil
	said(&work.Status.Conditions, ocmworkv1.ConditionApplied, metav1.ConditionTrue)
	if err := hub.Client.Status().Update(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	renewed := metav1.NewMicroTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	hub.Create(t, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "edge-1", Name: ocmv1.LeaseName}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}})
}

// TestService uses one API server for all that follows.
func TestService(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	makeFleet(t, hub)
	api, changes := startLive(t, hub)
	hub.Await(t, "the fleet to be listed", func(context.Context) bool {
		recorder := httptest.NewRecorder()
		ask := httptest.NewRequest("GET", "https://hub.test/api/v1/managed-clusters/edge-1", nil)
		ask.Header.Set("X-Role", "viewer")
		api.ServeHTTP(recorder, ask)
		var detail managedcluster.Detail
		return recorder.Code == 200 && json.Unmarshal(recorder.Body.Bytes(), &detail) == nil && detail.Works.Applied == 1
	})
	t.Run("read", func(t *testing.T) { testRead(t, api) })
	t.Run("live detail", func(t *testing.T) { testLiveDetail(t, hub, changes) })
	t.Run("change", func(t *testing.T) { testChange(t, hub, api) })
	t.Run("remove", func(t *testing.T) { testRemove(t, hub, api) })
	apitest.Run(t, api, []apitest.Scenario{{
		Name: "history", Method: "GET", Path: "/api/v1/managed-clusters/edge-2/history", Header: viewer, Status: 200, Check: func(t *testing.T, response *httptest.ResponseRecorder) {
			page := answer[httpapi.Page[audit.Entry]](t, response)
			outcomes := map[audit.Outcome]int{}
			for _, entry := range page.Items {
				outcomes[entry.Outcome]++
			}
			if outcomes[audit.OK] != 3 || outcomes[audit.Denied] != 1 || outcomes[audit.Failed] != 2 {
				t.Errorf("outcomes are %v", outcomes)
			}
		},
	}})
}

// testLiveDetail changes, one by one, what only the page of a cluster tells: its
// topic says each time that something moved.
func testLiveDetail(t *testing.T, hub *kubetest.Hub, changes *live.Hub) {
	topic := managedcluster.DetailTopics + "edge-2"
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "edge-2", Name: ocmv1.LeaseName}}
	renewed := metav1.NewMicroTime(time.Now())
	lease.Spec.RenewTime = &renewed
	request := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "edge-2-live", Labels: map[string]string{ocmv1.ClusterNameLabel: "edge-2"}}}
	request.Spec = certificatesv1.CertificateSigningRequestSpec{
		Request: csrOf(t), SignerName: certificatesv1.KubeAPIServerClientSignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
	}
	work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "edge-2", Name: "held", Finalizers: []string{"example.com/mine"}}}
	release := func() error {
		work.Finalizers = nil
		return hub.Client.Update(t.Context(), work)
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"a lease", func() error { return hub.Client.Create(t.Context(), lease) }},
		{"a certificate request", func() error { return hub.Client.Create(t.Context(), request) }},
		{"a work", func() error { return hub.Client.Create(t.Context(), work) }},
		{"a finalizer that goes", release},
		{"a work that goes", func() error { return hub.Client.Delete(t.Context(), work) }},
	} {
		_, before := changes.Seq(topic)
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		hub.Await(t, "the topic to tell of "+step.what, func(context.Context) bool {
			_, now := changes.Seq(topic)
			return now > before
		})
	}
}

// csrOf is a certificate request as PEM.
func csrOf(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "edge-2"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func testRead(t *testing.T, api http.Handler) {
	get := func(name, path string, check func(*testing.T, *httptest.ResponseRecorder)) apitest.Scenario {
		return apitest.Scenario{Name: name, Method: "GET", Path: "/api/v1" + path, Header: viewer, Status: 200, Check: check}
	}
	counts := map[managedcluster.State]int{managedcluster.StateReady: 1, managedcluster.StateUnknown: 1, managedcluster.StateWaiting: 1, managedcluster.StateJoining: 1, managedcluster.StateDenied: 1}
	apitest.Run(t, api, []apitest.Scenario{
		{Name: "nobody", Method: "GET", Path: "/api/v1/managed-clusters", Status: 401},
		get("all by name", "/managed-clusters", listed([]string{"edge-1", "edge-2", "member1", "newcomer", "refused"}, counts)),
		get("a state counts all the same", "/managed-clusters?state=ready", listed([]string{"edge-1"}, counts)),
		{Name: "denied before it was accepted", Method: "GET", Path: "/api/v1/managed-clusters/refused", Header: viewer, Status: 200, Contains: []string{`"state":"denied"`, `in the waiting room: not ours"`, `"since":"2026-11-21T12:00:00Z"`}},
		{Name: "accepted and not heard", Method: "GET", Path: "/api/v1/managed-clusters/member1", Header: viewer, Status: 200, Contains: []string{`"state":"joining"`, `"reason":"NoStatusYet"`, `"since":"2`}},
		get("a dialect", "/managed-clusters?dialect=karmada", listed([]string{"member1"}, nil)),
		get("a text and an order", "/managed-clusters?q=EDGE&sort=-name", listed([]string{"edge-2", "edge-1"}, nil)),
		get("a set that has none", "/managed-clusters?set=other", listed([]string{}, nil)),
		get("a label", "/managed-clusters?label=!tier", listed([]string{}, nil)),
		{Name: "an unknown state", Method: "GET", Path: "/api/v1/managed-clusters?state=fine", Header: viewer, Status: 400, Code: "invalid"},
		{Name: "an unknown order", Method: "GET", Path: "/api/v1/managed-clusters?sort=colour", Header: viewer, Status: 400, Code: "invalid"},
		{Name: "no such cluster", Method: "GET", Path: "/api/v1/managed-clusters/none", Header: viewer, Status: 404, Code: "not-found"},
		get("one in detail", "/managed-clusters/edge-1", func(t *testing.T, response *httptest.ResponseRecorder) {
			detail := answer[managedcluster.Detail](t, response)
			if detail.State != managedcluster.StateReady || detail.KubernetesVersion != "v1.36.3" || detail.Works != (managedcluster.WorkCounts{Total: 1, Applied: 1}) || !detail.Taints[0].System {
				t.Errorf("the row is %+v", detail.Row)
			}
			if detail.Lease == nil || detail.Lease.ExpiresAt.Sub(detail.Lease.RenewedAt) != 5*time.Minute || len(detail.Claims) != 1 {
				t.Errorf("lease %+v, claims %+v", detail.Lease, detail.Claims)
			}
		}),
	})
}

func testChange(t *testing.T, hub *kubetest.Hub, api http.Handler) {
	patch := func(name, body string, status int, code string) apitest.Scenario {
		return apitest.Scenario{Name: name, Method: "PATCH", Path: "/api/v1/managed-clusters/edge-2", Header: operator, Body: body, Status: status, Code: code}
	}
	refused := patch("a viewer", `{"labels":{}}`, 403, "forbidden")
	refused.Header = viewer
	apitest.Run(t, api, []apitest.Scenario{
		refused,
		patch("labels", `{"labels":{"tier":"core"},"labelsSeen":{"tier":"edge"}}`, 200, ""),
		patch("labels that somebody changed since", `{"labels":{"tier":"lab"},"labelsSeen":{"tier":"edge"}}`, 409, "changed-meanwhile"),
		patch("no label", `{"labels":{"a b":"c"}}`, 400, "invalid"),
		patch("a taint", `{"taints":[{"key":"gpu","value":"no","effect":"NoSelect","system":false}],"taintsSeen":[]}`, 200, ""),
		patch("taints that somebody changed since", `{"taints":[],"taintsSeen":[]}`, 409, "changed-meanwhile"),
		patch("an unknown field", `{"spec":{}}`, 400, "invalid"),
		{Name: "the set", Method: "PUT", Path: "/api/v1/managed-clusters/edge-2/set", Header: operator, Body: `{"set":"blue"}`, Status: 200, Contains: []string{`"set":"blue"`}},
		{Name: "no such cluster", Method: "PUT", Path: "/api/v1/managed-clusters/none/set", Header: operator, Body: `{"set":"blue"}`, Status: 404, Code: "not-found"},
	})
	var stored ocmv1.ManagedCluster
	if err := hub.Client.Get(t.Context(), client.ObjectKey{Name: "edge-2"}, &stored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"tier": "core", ocmv1.ClusterSetLabel: "blue"}, stored.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(stored.Spec.Taints) != 2 || stored.Spec.Taints[0].Key != ocmv1.UnreachableTaint || stored.Spec.Taints[1].Key != "gpu" {
		t.Errorf("taints are %+v", stored.Spec.Taints)
	}
}

func testRemove(t *testing.T, hub *kubetest.Hub, api http.Handler) {
	remove := func(name, body string, header map[string]string, status int, code string) apitest.Scenario {
		return apitest.Scenario{Name: name, Method: "DELETE", Path: "/api/v1/managed-clusters/edge-1", Header: header, Body: body, Status: status, Code: code}
	}
	apitest.Run(t, api, []apitest.Scenario{
		{Name: "the plan", Method: "GET", Path: "/api/v1/managed-clusters/edge-1/removal", Header: operator, Status: 200, Check: func(t *testing.T, response *httptest.ResponseRecorder) {
			plan := answer[managedcluster.RemovalPlan](t, response)
			if len(plan.Works) != 1 || plan.Works[0].Policy != "Foreground" || len(plan.Blockers) != 1 ||
				plan.Blockers[0].Code != managedcluster.BlockerFinalizer || !slices.Equal(plan.Blockers[0].Names, []string{"example.com/mine"}) || plan.Blockers[0].What != "finalizer example.com/mine" {
				t.Errorf("the plan is %+v", plan)
			}
		}},
		remove("a name that is not repeated", `{"confirm":"edge"}`, operator, 400, "invalid"),
		remove("a viewer", `{"confirm":"edge-1"}`, viewer, 403, "forbidden"),
		remove("an operator", `{"confirm":"edge-1"}`, operator, 202, ""),
		{Name: "nothing there", Method: "DELETE", Path: "/api/v1/managed-clusters/none", Header: operator, Body: `{"confirm":"none"}`, Status: 404, Code: "not-found"},
	})
	hub.Await(t, "the row to tell what it waits for", func(context.Context) bool {
		recorder := httptest.NewRecorder()
		ask := httptest.NewRequest("GET", "https://hub.test/api/v1/managed-clusters?state=removing", nil)
		ask.Header.Set("X-Role", "viewer")
		api.ServeHTTP(recorder, ask)
		var page managedcluster.RowPage
		return json.Unmarshal(recorder.Body.Bytes(), &page) == nil && len(page.Items) == 1 && len(page.Items[0].Blocking) == 1 && page.Items[0].Blocking[0] == "ManifestWork web"
	})
}
