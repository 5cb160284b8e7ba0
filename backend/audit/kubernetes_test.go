package audit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	kubeaudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/apis"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
)

// newChain is the part of the API server's handler chain around the audit. The
// header User says who asks, comma-separated groups after a slash; Status is
// how the server answers; As is an impersonated user.
func newChain(t *testing.T, service *audit.Service, reached func(*http.Request)) *httptest.Server {
	t.Helper()
	backend, policy := audit.NewBackend(service), audit.Policy{}
	t.Cleanup(backend.Shutdown)
	authenticate := authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		name, groups, _ := strings.Cut(r.Header.Get("User"), "/")
		if name == "" {
			return nil, false, nil
		}
		return &authenticator.Response{User: &user.DefaultInfo{Name: name, Groups: strings.Split(groups, ",")}}, true, nil
	})
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached(r)
		if name := r.Header.Get("Made"); name != "" { // as admission does with generateName
			kubeaudit.AddAuditAnnotation(r.Context(), apis.AuditNameAnnotation, name)
		}
		if as := r.Header.Get("As"); as != "" {
			kubeaudit.LogImpersonatedUser(r.Context(), &user.DefaultInfo{Name: as}, "")
		}
		status := http.StatusOK
		if _, err := fmt.Sscan(r.Header.Get("Status"), &status); err == nil && status == http.StatusTeapot {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
	})
	refused := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	handler := filters.WithAudit(inner, backend, policy, func(*http.Request, *request.RequestInfo) bool { return false })
	handler = filters.WithAuthentication(handler, authenticate, filters.WithFailedAuthenticationAudit(refused, backend, policy), nil, nil)
	handler = filters.WithRequestInfo(handler, &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")})
	handler = filters.WithRequestReceivedTimestamp(handler)
	handler = filters.WithAuditInit(handler)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

type call struct {
	method, path string
	header       map[string]string
}

func (c call) send(t *testing.T, server *httptest.Server) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User-Agent", "kubectl/v1.36.3 (linux/amd64)")
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0 // the server broke off
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}

const clusters = "/apis/cluster.karmada.io/v1alpha1/clusters"

func TestHubAPI(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		service := audit.NewService(db, &feed{})
		server := newChain(t, service, func(*http.Request) {})
		agent := "system:karmada:agent:edge-7/system:karmada:agents"
		for _, one := range []call{
			// Nothing of these is recorded.
			{"GET", clusters, map[string]string{"User": "ann"}},
			{"POST", clusters, map[string]string{"User": "system:apiserver/system:masters"}},
			{"PUT", "/apis/coordination.k8s.io/v1/namespaces/x/leases/l", map[string]string{"User": agent}},
			{"POST", "/api/v1/namespaces/x/events", map[string]string{"User": agent}},
			{"PUT", clusters + "/edge-7/status", map[string]string{"User": agent}},
			{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", map[string]string{"User": "ann"}},
			{"GET", clusters, nil},
			{"GET", clusters + "/edge-7/proxy/api/v1/pods", map[string]string{"User": "ann"}},
			// Each of these is.
			{"DELETE", clusters + "/edge-7?dryRun=All", map[string]string{"User": "ann"}},
			{"PATCH", "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-edge-7/works/w", map[string]string{"User": "ann", "Status": "409"}},
			{"DELETE", "/api/v1/namespaces/kube-system/secrets/s", map[string]string{"User": "ann", "Status": "403"}},
			{"PUT", clusters + "/edge-8/status", map[string]string{"User": agent, "Status": "403"}},
			{"POST", clusters + "/edge-7/proxy/api/v1/namespaces/default/pods?x=hunter2", map[string]string{"User": "ann"}},
			{"GET", clusters + "/edge-7/proxy/api/v1/namespaces/d/pods/p/exec?command=hunter2", map[string]string{"User": "ann"}},
			{"DELETE", clusters + "/edge-7", map[string]string{"User": "root", "As": "muster:user:bob"}},
			{"POST", clusters, nil},
			{"POST", "/unknown", map[string]string{"User": "ann", "Status": "404"}},
			{"PUT", clusters + "/edge-7", map[string]string{"User": "ann", "Status": "504"}},
			{"PUT", clusters + "/edge-7", map[string]string{"User": "ann", "Status": "418"}},
			{"PUT", clusters + "/edge-7", map[string]string{"User": "system:apiserver/system:authenticated"}},
			{"POST", clusters, map[string]string{"User": "ann", "Made": "edge-x7z"}},
		} {
			one.send(t, server)
		}
		if err := service.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		entry := func(verb, kind, name, actor string, outcome audit.Outcome, code string, detail map[string]string) audit.Entry {
			detail["client"] = "kubectl/v1.36.3"
			return audit.Entry{Verb: verb, Kind: kind, Name: name, Actor: actor, Outcome: outcome, Code: code, Detail: detail, Via: access.ViaHubAPI, Source: "127.0.0.1"}
		}
		type d = map[string]string
		want := []audit.Entry{
			entry("create", "Cluster", "edge-x7z", "ann", audit.OK, "", d{}),
			entry("update", "Cluster", "edge-7", "system:apiserver", audit.OK, "", d{}),
			entry("update", "Cluster", "edge-7", "ann", audit.Unknown, "panic", d{}),
			entry("update", "Cluster", "edge-7", "ann", audit.Unknown, "504", d{}),
			entry("post", "path", "/unknown", "ann", audit.Failed, "404", d{}),
			entry("create", "Cluster", "", "unknown", audit.Denied, "401", d{}),
			entry("delete", "Cluster", "edge-7", "bob", audit.OK, "", d{"impersonator": "root"}),
			entry("get", "Cluster", "edge-7", "ann", audit.OK, "", d{"subresource": "proxy", "path": clusters + "/edge-7/proxy/api/v1/namespaces/d/pods/p/exec"}),
			entry("create", "Cluster", "edge-7", "ann", audit.OK, "", d{"subresource": "proxy", "path": clusters + "/edge-7/proxy/api/v1/namespaces/default/pods"}),
			entry("update", "Cluster", "edge-8", "system:karmada:agent:edge-7", audit.Denied, "403", d{"subresource": "status"}),
			entry("delete", "Secret", "s", "ann", audit.Denied, "403", d{}),
			entry("patch", "Work", "w", "ann", audit.Failed, "409", d{}),
			entry("delete", "Cluster", "edge-7", "ann", audit.OK, "", d{"dryRun": "All"}),
		}
		want[10].Namespace, want[11].Namespace = "kube-system", "karmada-es-edge-7"
		got := list(t, service, audit.Filter{})
		for i := range got {
			got[i].RequestID = ""
		}
		if diff := cmp.Diff(want, got, uncertain); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})
}

// TestIntentIsStoredFirst looks at the record while a change runs, and takes
// the database away.
func TestIntentIsStoredFirst(t *testing.T) {
	db := databasetest.Open(t)
	service := audit.NewService(db, &feed{})
	reached := 0
	server := newChain(t, service, func(*http.Request) {
		reached++
		if open := list(t, service, audit.Filter{Outcome: audit.Pending}); len(open) != 1 || open[0].Name != "edge-7" {
			t.Errorf("while it runs the record shows %+v", open)
		}
	})
	remove := call{"DELETE", clusters + "/edge-7", map[string]string{"User": "ann"}}
	if status := remove.send(t, server); status != http.StatusOK || reached != 1 {
		t.Fatalf("status %d, reached %d times", status, reached)
	}
	if err := db.For(t.Context()).Exec("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'disk full'); END").Error; err != nil {
		t.Fatal(err)
	}
	if status := remove.send(t, server); status != http.StatusInternalServerError || reached != 1 {
		t.Errorf("without a record: status %d, reached %d times; want 500 and once", status, reached)
	}
	if err := db.For(t.Context()).Exec("DROP TRIGGER full").Error; err != nil {
		t.Fatal(err)
	}
}

// TestAuditIDOfClients sends many changes under one Audit-ID at the same time.
func TestAuditIDOfClients(t *testing.T) {
	const changes = 40
	service := audit.NewService(databasetest.Open(t), &feed{})
	together := make(chan struct{})
	var arrived sync.WaitGroup
	arrived.Add(changes)
	go func() {
		arrived.Wait() // all are under way before the first one ends
		close(together)
	}()
	server := newChain(t, service, func(r *http.Request) {
		arrived.Done()
		select {
		case <-together:
		case <-r.Context().Done():
		}
	})
	var group sync.WaitGroup
	for i := range changes {
		group.Go(func() {
			status := "200"
			if i%2 == 1 {
				status = "409"
			}
			call{"DELETE", fmt.Sprintf("%s/edge-%d", clusters, i), map[string]string{"User": fmt.Sprint("user-", i), "Audit-ID": "same", "Status": status}}.send(t, server)
		})
	}
	group.Wait()
	if err := service.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, entry := range list(t, service, audit.Filter{}) {
		var actor, cluster int
		if _, err := fmt.Sscanf(entry.Actor+" "+entry.Name, "user-%d edge-%d", &actor, &cluster); err != nil || actor != cluster {
			t.Errorf("mixed up: %+v", entry)
		}
		want := audit.OK
		if cluster%2 == 1 {
			want = audit.Failed
		}
		if entry.Outcome != want || entry.RequestID != "same" {
			t.Errorf("%s: %s, request %s; want %s, same", entry.Name, entry.Outcome, entry.RequestID, want)
		}
		seen[entry.Name] = true
	}
	if len(seen) != changes {
		t.Errorf("%d of %d changes are recorded", len(seen), changes)
	}
}

// TestStrangersCannotFill floods from callers who need no rights to be refused.
func TestStrangersCannotFill(t *testing.T) {
	db := databasetest.Open(t)
	service := audit.NewService(db, &feed{})
	server := newChain(t, service, func(*http.Request) {})
	began := time.Now()
	for range 150 {
		call{"POST", clusters, nil}.send(t, server)
		call{"POST", clusters, map[string]string{"User": "system:anonymous", "Status": "403"}}.send(t, server)
	}
	if err := service.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	most := 200 + 11 + int(10*time.Since(began).Seconds()) // at once, and ten more a second
	_, total, err := service.List(as(t.Context(), "ann", access.RoleViewer), audit.Filter{}, "", 1)
	if err != nil || total < 200 || total > most {
		t.Errorf("300 attempts left %d entries, %v; want 200 to %d", total, err, most)
	}
	if status := (call{"POST", clusters, map[string]string{"User": "ann"}}).send(t, server); status != http.StatusOK {
		t.Errorf("meanwhile ann got %d", status)
	}
}

// BenchmarkService measures changes a second that are recorded, intent stored
// before and outcome after, at 1, 8 and 64 at a time.
func BenchmarkService(b *testing.B) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			service := audit.NewService(databasetest.Open(b), &feed{})
			ctx := as(b.Context(), "ann", access.RoleAdmin)
			b.ResetTimer()
			var group sync.WaitGroup
			for w := range writers {
				group.Go(func() {
					for i := w; i < b.N; i += writers {
						if err := service.Do(ctx, audit.Action{Verb: "create", Kind: "Cluster", Name: "edge-7"}, func(context.Context) error { return nil }); err != nil {
							b.Error(err)
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
		})
	}
}

// BenchmarkMarkOpenUnknown measures a start on a long record.
func BenchmarkMarkOpenUnknown(b *testing.B) {
	db := databasetest.Open(b)
	service := audit.NewService(db, &feed{})
	const entries = 200_000
	for _, phase := range []string{"intent", "outcome"} {
		err := db.For(b.Context()).Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO audit SELECT printf('%014x%012d', i, i), ?, i, 'ann', 'rest', '', 'create', 'Cluster', '', 'edge-' || i, 'ok', '', '', 1, '' FROM n`, entries, phase).Error
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := service.MarkOpenUnknown(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for name, filter := range map[string]audit.Filter{"all": {}, "object": {Kind: "Cluster", Name: "edge-77"}, "nobody": {Actor: "nobody"}, "part": {NameContains: "edge-77"}} {
		begin := time.Now()
		if _, _, err := service.List(as(b.Context(), "ann", access.RoleViewer), filter, "", 50); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(begin).Microseconds())/1000, "ms/"+name)
	}
}
