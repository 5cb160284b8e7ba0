package apitest_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/enrolment"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/httpapi/apitest"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/managedcluster"
	"muster.dev/muster/backend/manifestwork"
	"muster.dev/muster/backend/operator"
	"muster.dev/muster/backend/placement"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/token"
	"muster.dev/muster/backend/waiting"
	"muster.dev/muster/backend/workload"
)

const origin = "https://hub.test"

// public are the routes that need no session. Whoever adds one says why.
var public = []string{
	"POST /api/v1/session", // to get one
	"GET /api/v1/live",     // guarded by a ticket, which needs one
	"GET /api/v1/info",     // version and first run, for the login page
}

// newEngine registers the routes of every domain as app does. The services of
// clusters and tokens are not there: no request of these tests may reach them.
func newEngine(t *testing.T) (*gin.Engine, *access.Service) {
	t.Helper()
	db, hub := databasetest.Open(t), live.NewHub()
	records := audit.NewService(db, hub)
	users := access.NewService(access.Options{DB: db, Audit: records, Live: hub})
	origins := func() []string { return []string{origin} }
	guard := access.NewHandler(users, origins)
	clusters := cluster.NewHandler(nil, records, cluster.About{Version: "test"})
	changes := live.NewHandler(hub, func(*gin.Context) live.Peer { return nil }, origins)
	engine, err := httpapi.NewEngine(httpapi.Options{
		SPA:          fstest.MapFS{"index.html": {Data: []byte("page")}},
		Authenticate: guard.Authenticate(),
		Public: func(r *gin.RouterGroup) {
			guard.Public(r)
			changes.Public(r)
			clusters.Public(r.Group("", guard.Identify))
		},
		Private: func(r *gin.RouterGroup) {
			guard.Routes(r)
			token.NewHandler(nil, hub).Routes(r)
			clusters.Routes(r)
			enrolment.NewHandler(nil).Routes(r)
			policy.NewHandler(nil).Routes(r)
			workload.NewHandler(nil).Routes(r)
			waiting.NewHandler(nil, nil).Routes(r)
			managedcluster.NewHandler(nil, records).Routes(r)
			manifestwork.NewHandler(nil).Routes(r)
			placement.NewHandler(nil).Routes(r)
			operator.NewHandler(nil).Routes(r)
			audit.NewHandler(records).Routes(r)
			changes.Routes(r)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine, users
}

// signIn returns a session of the first administrator, password changed.
func signIn(t *testing.T, users *access.Service) apitest.Session {
	t.Helper()
	password, _, err := users.EnsureFirstAdmin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, err := users.Login(t.Context(), access.FirstAdmin, password, access.Client{})
	if err != nil {
		t.Fatal(err)
	}
	current, err := users.Authenticate(t.Context(), first.Token)
	if err != nil {
		t.Fatal(err)
	}
	own, err := users.ChangePassword(access.WithSession(t.Context(), current), password, "correct horse battery", access.Client{})
	if err != nil {
		t.Fatal(err)
	}
	return apitest.Session{Cookie: &http.Cookie{Name: "__Host-muster", Value: own.Token}, CSRF: own.Info.CSRF, Origin: origin}
}

func TestEveryRouteNeedsASession(t *testing.T) {
	engine, _ := newEngine(t)
	apitest.Guarded(t, engine, public...)
}

func TestNoRouteTakesForgedRequests(t *testing.T) {
	engine, users := newEngine(t)
	session := signIn(t, users)
	apitest.Run(t, engine, []apitest.Scenario{{
		Name: "the session is good", Method: "GET", Path: "/api/v1/session", Cookies: []*http.Cookie{session.Cookie}, Status: 200,
	}})
	apitest.Forged(t, engine, session, public...)
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	engine, users := newEngine(t)
	cookies := []*http.Cookie{signIn(t, users).Cookie}
	for _, path := range []string{"/api", "/api/", "/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v1/users/a/b", "/api/v1/clusters/", "/api/v2/users", "/api/v1/../v1/nothing", "/api/v1//users"} {
		apitest.Run(t, engine, []apitest.Scenario{
			{Name: path + " to nobody", Method: "GET", Path: path, Status: 404, Code: "not-found"},
			{Name: path + " to an administrator", Method: "GET", Path: path, Cookies: cookies, Status: 404, Code: "not-found"},
		})
	}
}

// TestDescriptionIsComplete compares the routes with the OpenAPI description.
func TestDescriptionIsComplete(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "api-docs", "swagger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var description struct {
		BasePath string                                `json:"basePath"`
		Paths    map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(data, &description); err != nil {
		t.Fatal(err)
	}
	var described, served []string
	for path, methods := range description.Paths {
		for method := range methods {
			described = append(described, strings.ToUpper(method)+" "+description.BasePath+path)
		}
	}
	engine, _ := newEngine(t)
	parameter := regexp.MustCompile(`:([^/]+)`)
	for _, route := range engine.Routes() {
		if strings.HasPrefix(route.Path, "/api/v1/") {
			served = append(served, route.Method+" "+parameter.ReplaceAllString(route.Path, "{$1}"))
		}
	}
	slices.Sort(described)
	slices.Sort(served)
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("run make generate: routes differ from api-docs/swagger.json (-served +described):\n%s", diff)
	}
}
