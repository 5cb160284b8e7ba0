package placement_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/httpapi/apitest"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/placement"
)

var (
	viewer   = map[string]string{"X-Role": "viewer"}
	operator = map[string]string{"X-Role": "operator"}
)

// serve serves sets and placements over the hub, with what it tells browsers.
func (f *fixture) serve(t *testing.T) (http.Handler, *live.Hub) {
	t.Helper()
	manager, err := kube.NewManager(f.Config(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	changes := live.NewHub()
	service := placement.NewService(placement.ServiceOptions{
		Cache: manager.GetCache(), Clients: func(access.Actor) (client.Client, error) { return f.Client, nil }, Audit: audit.NewService(databasetest.Open(t), changes), Live: changes,
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
		Private: placement.NewHandler(service).Routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Run(t, manager)
	return api, changes
}

// read asks as a viewer; ok is false unless the answer is 200.
func read[T any](api http.Handler, path string) (into T, ok bool) {
	recorder := httptest.NewRecorder()
	ask := httptest.NewRequest("GET", "https://hub.test/api/v1"+path, nil)
	ask.Header.Set("X-Role", "viewer")
	api.ServeHTTP(recorder, ask)
	return into, recorder.Code == 200 && json.Unmarshal(recorder.Body.Bytes(), &into) == nil
}

// TestService uses one API server for all that follows.
func TestService(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	for name, set := range map[string]string{"edge-1": "edge", "edge-2": "edge", "other": "default"} {
		c := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{ocmv1.ClusterSetLabel: set}}}
		if name == "edge-2" {
			c.Spec.Taints = []ocmv1.Taint{{Key: "gpu", Effect: ocmv1.TaintEffectNoSelect, TimeAdded: metav1.Now()}}
		}
		f.Create(t, c)
	}
	api, changes := f.serve(t)
	t.Run("sets", func(t *testing.T) { f.testSetsByREST(t, api) })
	t.Run("placements", func(t *testing.T) { f.testPlacementsByREST(t, api) })
	t.Run("live decisions", func(t *testing.T) { f.testLiveDecisions(t, changes) })
}

func (f *fixture) testSetsByREST(t *testing.T, api http.Handler) {
	const sets = "/api/v1/cluster-sets"
	ask := func(name, method, path, body string, status int, code string) apitest.Scenario {
		return apitest.Scenario{Name: name, Method: method, Path: path, Header: operator, Body: body, Status: status, Code: code}
	}
	asViewer := ask("a viewer", "POST", sets, `{"name":"blue"}`, 403, "forbidden")
	asViewer.Header = viewer
	apitest.Run(t, api, []apitest.Scenario{
		asViewer,
		ask("no name", "POST", sets, `{"name":"Blue!"}`, 400, "invalid"),
		ask("no selector", "POST", sets, `{"name":"blue","selector":"a in"}`, 400, "invalid"),
		ask("a set", "POST", sets, `{"name":"edge","namespaces":["shop"]}`, 201, ""),
		ask("taken", "POST", sets, `{"name":"edge"}`, 409, "taken"),
		ask("by label", "POST", sets, `{"name":"labelled","selector":"tier=edge"}`, 201, ""),
		ask("bound again", "PUT", sets+"/edge/bindings/shop", "", 204, ""),
		ask("bound nowhere", "PUT", sets+"/edge/bindings/nowhere", "", 404, "not-found"),
		ask("no set to bind", "PUT", sets+"/none/bindings/shop", "", 404, "not-found"),
		ask("a standing set", "DELETE", sets+"/default", `{"confirm":"default"}`, 409, "conflict"),
		ask("unconfirmed", "DELETE", sets+"/labelled", `{"confirm":"x"}`, 400, "invalid"),
		ask("deleted", "DELETE", sets+"/labelled", `{"confirm":"labelled"}`, 204, ""),
		ask("gone", "DELETE", sets+"/labelled", `{"confirm":"labelled"}`, 404, "not-found"),
	})
	f.Await(t, "the sets to be listed as they are", func(context.Context) bool {
		page, ok := read[httpapi.Page[placement.SetRow]](api, "/cluster-sets")
		at := slices.IndexFunc(page.Items, func(row placement.SetRow) bool { return row.Name == "edge" })
		return ok && at >= 0 && page.Items[at].Clusters == 2 && slices.Equal(page.Items[at].Namespaces, []string{"shop"}) && page.Total == 3
	})
}

func (f *fixture) testPlacementsByREST(t *testing.T, api http.Handler) {
	f.Create(t, &ocmv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: ocmv1beta1.PlacementSpec{NumberOfClusters: ptr.To[int32](3)}})
	var detail placement.PlacementDetail
	f.Await(t, "the placement to be decided", func(context.Context) bool {
		found, ok := read[placement.PlacementDetail](api, "/placements/shop/web")
		detail = found
		return ok && len(found.Chosen) == 1 && found.State == "partly"
	})
	if diff := cmp.Diff([]placement.ChosenCluster{{Cluster: "edge-1", Score: detail.Chosen[0].Score, Group: "0"}}, detail.Chosen); diff != "" {
		t.Errorf("chosen (-want +got):\n%s", diff)
	}
	reasons := map[string]string{}
	for _, left := range detail.Left {
		reasons[left.Cluster] = left.Reason
	}
	if diff := cmp.Diff(map[string]string{"edge-2": placement.LeftTainted, "other": placement.LeftNotInSet}, reasons); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if detail.Spec != "numberOfClusters: 3\nprioritizerPolicy:\n  mode: Additive\nscoreRateLimit: 1m\nsortBy: ClusterName\n" {
		t.Errorf("the spec is\n%s", detail.Spec)
	}
	apitest.Run(t, api, []apitest.Scenario{
		{Name: "list", Method: "GET", Path: "/api/v1/placements?q=shop/w&state=partly", Header: viewer, Status: 200, Contains: []string{`"name":"web"`, `"wanted":3`}},
		{Name: "none of that state", Method: "GET", Path: "/api/v1/placements?state=satisfied", Header: viewer, Status: 200, Contains: []string{`"items":[]`}},
		{Name: "no such placement", Method: "GET", Path: "/api/v1/placements/shop/none", Header: viewer, Status: 404, Code: "not-found"},
	})
}

// testLiveDecisions touches the decisions of a placement and nothing else: its
// topic tells of it, for other clusters may have been chosen.
func (f *fixture) testLiveDecisions(t *testing.T, changes *live.Hub) {
	var list ocmv1beta1.PlacementDecisionList
	if err := f.Client.List(t.Context(), &list, client.InNamespace("shop"), client.MatchingLabels{ocmv1beta1.PlacementLabel: "web"}); err != nil || len(list.Items) != 1 {
		t.Fatalf("%d decisions: %v", len(list.Items), err)
	}
	_, before := changes.Seq(placement.Topic)
	f.change(t, &list.Items[0], func() { list.Items[0].Annotations = map[string]string{"example.com/touched": "yes"} })
	f.Await(t, "the topic to tell of the decision", func(context.Context) bool {
		_, now := changes.Seq(placement.Topic)
		return now > before
	})
}
