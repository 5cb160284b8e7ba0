package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/httpapi/apitest"
)

func newEngine(t *testing.T, service *audit.Service) *gin.Engine {
	t.Helper()
	engine, err := httpapi.NewEngine(httpapi.Options{
		SPA: fstest.MapFS{"index.html": {Data: []byte("x")}},
		Authenticate: func(c *gin.Context) { // the test's header says who asks
			if role := c.GetHeader("Role"); role != "" {
				c.Request = c.Request.WithContext(as(c.Request.Context(), "ann", access.Role(role)))
			}
		},
		Private: audit.NewHandler(service).Routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// fill makes 30 actions: users ann, bob and eve take turns, every fifth fails.
func fill(t *testing.T, service *audit.Service) {
	t.Helper()
	users, kinds := []string{"ann", "bob", "eve"}, []string{"Cluster", "Token"}
	for i := range 30 {
		action := audit.Action{Verb: "create", Kind: kinds[i%2], Namespace: "ns", Name: fmt.Sprintf("Edge_%d", i)}
		_ = service.Do(as(t.Context(), users[i%3], access.RoleAdmin), action, func(context.Context) error {
			switch {
			case i%5 == 0:
				return errors.New("broken")
			case i%7 == 0:
				return fault.Forbidden("no")
			}
			return nil
		})
	}
}

func page(t *testing.T, engine *gin.Engine, query url.Values) httpapi.Page[audit.Entry] {
	t.Helper()
	var got httpapi.Page[audit.Entry]
	apitest.Run(t, engine, []apitest.Scenario{{
		Name: query.Encode(), Method: "GET", Path: "/api/v1/audit?" + query.Encode(), Header: map[string]string{"Role": "viewer"}, Status: 200,
		Check: func(t *testing.T, response *httptest.ResponseRecorder) {
			if err := json.Unmarshal(response.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
		},
	}})
	return got
}

func TestListOverHTTP(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		service := audit.NewService(db, &feed{})
		engine := newEngine(t, service)
		begun := time.Now()
		fill(t, service)

		for query, want := range map[string]int{
			"": 30, "actor=bob": 10, "kind=Token": 15, "outcome=failed": 6, "outcome=denied": 4, "outcome=ok": 20, "outcome=pending": 0,
			"actor=bob&kind=Cluster&outcome=ok": 3, "name=edge_2": 11, "name=%25": 0, "name=Edge_29": 1, "namespace=ns": 30, "namespace=x": 0,
			"via=rest": 30, "via=hub-api": 0, "verb=create": 30, "verb=delete": 0,
			"since=" + url.QueryEscape(begun.Add(-time.Second).Format(time.RFC3339)):       30,
			"since=" + url.QueryEscape(begun.Add(time.Hour).Format(time.RFC3339)):          0,
			"until=" + url.QueryEscape(begun.Add(-time.Second).UTC().Format(time.RFC3339)): 0,
			"until=" + url.QueryEscape(begun.Add(time.Hour).Format(time.RFC3339)):          30,
		} {
			values, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			if got := page(t, engine, values); got.Total != want || got.Epoch != "epoch" || got.Seq != 7 {
				t.Errorf("%s: total %d, epoch %s, seq %d; want %d, epoch, 7", query, got.Total, got.Epoch, got.Seq, want)
			}
		}

		var names []string
		query := url.Values{"limit": {"7"}, "kind": {"Cluster"}}
		for {
			got := page(t, engine, query)
			for _, entry := range got.Items {
				names = append(names, entry.Name)
			}
			if got.Total != 15 || got.Next == "" {
				break
			}
			query.Set("cursor", got.Next)
		}
		var want []string
		for i := 28; i >= 0; i -= 2 {
			want = append(want, fmt.Sprintf("Edge_%d", i))
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
	})
}

func TestListRefuses(t *testing.T) {
	viewer := map[string]string{"Role": "viewer"}
	apitest.Run(t, newEngine(t, audit.NewService(databasetest.Open(t), &feed{})), []apitest.Scenario{
		{Name: "nobody", Method: "GET", Path: "/api/v1/audit", Status: 401, Code: "unauthenticated"},
		{Name: "no role", Method: "GET", Path: "/api/v1/audit", Header: map[string]string{"Role": "guest"}, Status: 403, Code: "forbidden"},
		{Name: "nothing yet", Method: "GET", Path: "/api/v1/audit", Header: viewer, Status: 200, Contains: []string{`"items":[]`}},
		{Name: "time", Method: "GET", Path: "/api/v1/audit?since=yesterday", Header: viewer, Status: 400, Code: "invalid", Contains: []string{"since"}},
		{Name: "outcome", Method: "GET", Path: "/api/v1/audit?outcome=good", Header: viewer, Status: 400, Code: "invalid", Contains: []string{"outcome"}},
		{Name: "cursor", Method: "GET", Path: "/api/v1/audit?cursor=%2e%2e", Header: viewer, Status: 400, Code: "invalid", Contains: []string{"cursor"}},
		{Name: "limit", Method: "GET", Path: "/api/v1/audit?limit=501", Header: viewer, Status: 400, Code: "invalid", Contains: []string{"limit"}},
		{Name: "entries cannot be removed", Method: "DELETE", Path: "/api/v1/audit", Header: viewer, Status: 405},
	})
}
