package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/cluster"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/enrolment"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/httpapi/apitest"
	"muster.dev/muster/backend/joining/joiningtest"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
	"muster.dev/muster/migrations"
)

// fixture is the domain over a fake hub API and a real SQLite database.
type fixture struct {
	hub           *joiningtest.API
	api           http.Handler
	db            *database.DB
	registrations *registration.Records
	service       *cluster.Service
	enrolment     *enrolment.Service
	published     *published
	audited       *auditor
	stop          func()
}

// published keeps the newest live row of each key.
type published struct {
	*live.Hub
	mu   sync.Mutex
	rows map[string]live.Event
}

func (p *published) Publish(topic string, event live.Event) {
	p.mu.Lock()
	p.rows[topic+" "+event.Key] = event
	p.mu.Unlock()
	p.Hub.Publish(topic, event)
}

// auditor keeps what was recorded and honours roles, as the audit does.
type auditor struct {
	mu      sync.Mutex
	actions []audit.Action
	errors  []error
	refuse  error // an intent that cannot be kept
}

func (a *auditor) Do(ctx context.Context, action audit.Action, fn func(context.Context) error) error {
	a.mu.Lock()
	refused := a.refuse
	a.actions = append(a.actions, action)
	a.mu.Unlock()
	if refused != nil {
		return refused
	}
	err := access.Require(ctx, action.Needs)
	if err == nil {
		err = fn(ctx)
	}
	a.mu.Lock()
	a.errors = append(a.errors, err)
	a.mu.Unlock()
	return err
}

func (a *auditor) text(t *testing.T) string {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	data, err := json.Marshal(a.actions)
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + fmt.Sprint(a.errors)
}

// tokens makes tokens without a hub.
type tokens struct {
	mu    sync.Mutex
	known map[string]token.Token
}

// ExpiredAt knows of no token that expired: these do not.
func (m *tokens) ExpiredAt(string, string) (time.Time, bool) { return time.Time{}, false }

func (m *tokens) Create(_ context.Context, spec token.Spec, _ token.Placement) (token.Created, error) {
	id, secret := token.Generate()
	made, err := token.FromSecret(spec.Secret(id, secret, time.Now()), time.Now())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[id] = made
	return token.Created{Token: made, Secret: id + "." + secret}, err
}

func (m *tokens) Delete(ctx context.Context, id string) error {
	if _, err := m.Get(ctx, id); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, id)
	return nil
}

func (m *tokens) Get(_ context.Context, id string) (token.Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.known[id]; ok {
		return known, nil
	}
	return token.Token{}, fault.NotFound("there is no token %s", id)
}

type noHistory struct{}

func (noHistory) Page(*gin.Context, audit.Filter) (httpapi.Page[audit.Entry], error) {
	return httpapi.Page[audit.Entry]{Items: []audit.Entry{}}, nil
}

func newFixture(t *testing.T, hub *joiningtest.API) *fixture {
	t.Helper()
	return newFixtureOn(t, hub, databasetest.Open(t))
}

func newFixtureOn(t *testing.T, hub *joiningtest.API, db *database.DB) *fixture {
	t.Helper()
	f := &fixture{hub: hub, db: db, published: &published{Hub: live.NewHub(), rows: map[string]live.Event{}}, audited: &auditor{}}
	made := &tokens{known: map[string]token.Token{}}
	f.registrations = registration.NewRecords(registration.Options{DB: db, Live: f.published, Tokens: made})
	mapper := hub.Client().RESTMapper()
	shared, err := cache.New(hub.Config(), cache.Options{Scheme: kube.Scheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	f.service = cluster.NewService(cluster.ServiceOptions{
		Cache: shared, Hub: hub.Client(), Clients: func(access.Actor) (client.Client, error) { return hub.Client(), nil },
		Audit: f.audited, Live: f.published, ForceAfter: 50 * time.Millisecond, Registrations: f.registrations,
	})
	f.enrolment = enrolment.NewService(enrolment.ServiceOptions{
		Cache: shared, Hub: hub.Client(), Clients: func(access.Actor) (client.Client, error) { return hub.Client(), nil },
		Audit: f.audited, Live: f.published, Tokens: made, Registrations: f.registrations,
		Policy: reach.AddressPolicy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	handler := cluster.NewHandler(f.service, noHistory{}, cluster.About{Version: "v1", HubAddress: "hub.example:6443"})
	actor := func(c *gin.Context) {
		if role := access.Role(c.GetHeader("X-Role")); role != "" {
			c.Request = c.Request.WithContext(access.WithActor(c.Request.Context(), access.Actor{Name: "ada", Role: role}))
		}
	}
	f.api, err = httpapi.NewEngine(httpapi.Options{
		SPA:          fstest.MapFS{"index.html": &fstest.MapFile{Data: []byte("<html></html>")}},
		Public:       func(r *gin.RouterGroup) { handler.Public(r.Group("", actor)) },
		Authenticate: actor,
		Private: func(r *gin.RouterGroup) {
			handler.Routes(r)
			enrolment.NewHandler(f.enrolment).Routes(r)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	for _, start := range []func(context.Context) error{shared.Start, f.registrations.Start, f.service.Start, f.enrolment.Start} {
		parts.Go(func() {
			if err := start(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	f.stop = sync.OnceFunc(func() { cancel(); parts.Wait() })
	t.Cleanup(f.stop)
	eventually(t, "the hub serves", func() bool {
		return f.service.Ready() == nil && f.enrolment.Ready() == nil && f.get(t, "/clusters", nil) == http.StatusOK
	})
	return f
}

// eventually waits for a condition that events bring about.
func eventually(t *testing.T, what string, met func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 90*time.Second, true, func(context.Context) (bool, error) { return met(), nil })
	if err != nil {
		t.Fatalf("%s: did not happen", what)
	}
}

func (f *fixture) get(t *testing.T, path string, into any) int {
	t.Helper()
	return f.send(t, "GET", path, nil, into)
}

// send asks as an administrator.
func (f *fixture) send(t *testing.T, method, path string, body, into any) int {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(method, "https://hub.test/api/v1"+path, strings.NewReader(string(data)))
	request.Header.Set("X-Role", "admin")
	response := httptest.NewRecorder()
	f.api.ServeHTTP(response, request)
	if into != nil && response.Code < 300 {
		if err := json.Unmarshal(response.Body.Bytes(), into); err != nil {
			t.Fatalf("%s: %v", response.Body, err)
		}
	}
	if response.Code >= 300 && into != nil {
		t.Fatalf("%s %s answered %d: %s", method, path, response.Code, response.Body)
	}
	return response.Code
}

func (f *fixture) registration(t *testing.T, id string) registration.Registration {
	t.Helper()
	var found registration.Registration
	f.get(t, "/registrations/"+id, &found)
	return found
}

// stageLine is a registration in one line.
func stageLine(r registration.Registration) string {
	parts := []string{string(r.State)}
	for _, stage := range r.Stages {
		parts = append(parts, stage.Name+":"+string(stage.State))
	}
	return strings.Join(parts, " ")
}

func (f *fixture) awaitState(t *testing.T, id string, state registration.State) registration.Registration {
	t.Helper()
	var found registration.Registration
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 90*time.Second, true, func(context.Context) (bool, error) {
		found = f.registration(t, id)
		return found.State == state, nil
	})
	if err != nil {
		t.Fatalf("registration is %s, want %s: %+v", stageLine(found), state, found.Log)
	}
	return found
}

// setReady stands for the status controller.
func setReady(f *joiningtest.API, name string) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	data, _ := json.Marshal(f.Objects[joiningtest.ClusterPath+name])
	object := map[string]any{}
	_ = json.Unmarshal(data, &object)
	object["status"] = map[string]any{"kubernetesVersion": "v1.36.3", "conditions": []any{
		map[string]any{"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "", "lastTransitionTime": "2026-11-21T12:00:00Z"},
	}}
	f.Store(joiningtest.ClusterPath+name, object, "MODIFIED")
}

func TestPushRegistration(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	f := newFixture(t, hub)
	var started enrolment.Started
	f.send(t, "POST", "/registrations", map[string]any{
		"flavour": "push", "clusterName": "member1", "kubeconfig": joiningtest.KubeconfigFor(member), "region": "eu", "labels": map[string]string{"tier": "edge"},
	}, &started)
	id := started.Registration.ID
	eventually(t, "the cluster exists", func() bool { return hub.Object(joiningtest.ClusterPath+"member1") != nil })
	eventually(t, "the cluster stage is done", func() bool { return strings.Contains(stageLine(f.registration(t, id)), "cluster:done") })
	setReady(hub, "member1")
	ready := f.awaitState(t, id, registration.StateReady)
	if len(ready.Log) < 10 {
		t.Errorf("the log has %d lines: %v", len(ready.Log), ready.Log)
	}
	metadata := hub.Object(joiningtest.ClusterPath + "member1")["metadata"].(map[string]any)
	if metadata["labels"].(map[string]any)["tier"] != "edge" || metadata["annotations"].(map[string]any)["muster.dev/registration"] != id {
		t.Errorf("the cluster is marked %v", metadata)
	}
	eventually(t, "the row is published", func() bool {
		f.published.mu.Lock()
		defer f.published.mu.Unlock()
		row, ok := f.published.rows["clusters member1"].Row.(cluster.Cluster)
		return ok && row.State == cluster.StateReady
	})
	f.published.mu.Lock()
	rows, err := json.Marshal(f.published.rows)
	f.published.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"audit": f.audited.text(t), "live rows": string(rows), "log": fmt.Sprint(ready.Log)} {
		if strings.Contains(text, joiningtest.OperatorToken) || strings.Contains(text, "token-of-") {
			t.Errorf("the %s holds a credential", what)
		}
	}
}

func TestPushRegistrationFailsWithCauseAndLeavesNothing(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	f := newFixture(t, hub)
	tests := map[string]struct {
		spoil func()
		stage string
		code  string
	}{
		"credential refused": {func() { delete(member.Tokens, joiningtest.OperatorToken) }, "preflight", "MU-207"},
		"no token controller": {func() {
			member.Tokens[joiningtest.OperatorToken] = ""
			hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/secrets") {
					return false
				}
				joiningtest.Refuse(w, http.StatusForbidden, "Forbidden", "not in this test")
				return true
			}
		}, "cluster", ""},
	}
	for _, name := range []string{"credential refused", "no token controller"} {
		test := tests[name]
		t.Run(name, func(t *testing.T) {
			member.Mu.Lock()
			test.spoil()
			member.Mu.Unlock()
			var started enrolment.Started
			f.send(t, "POST", "/registrations", map[string]any{"flavour": "push", "clusterName": "member1", "kubeconfig": joiningtest.KubeconfigFor(member)}, &started)
			failed := f.awaitState(t, started.Registration.ID, registration.StateFailed)
			at := slices.IndexFunc(failed.Stages, func(s registration.Stage) bool { return s.State == registration.StageFailed })
			if stage := failed.Stages[at]; stage.Name != test.stage || stage.Code != test.code || stage.Cause == "" || stage.Fix == "" {
				t.Errorf("failed stage is %+v, want %s with %s", stage, test.stage, test.code)
			}
			if got := member.All(); len(got) > 0 {
				t.Errorf("left in the member: %v", got)
			}
			if diff := cmp.Diff([]string{"api/v1/namespaces/karmada-cluster"}, hub.All()); diff != "" {
				t.Errorf("left on the hub (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPushRegistrationCancelled(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	member.FillTokens = false // so that the join waits
	f := newFixture(t, hub)
	var started enrolment.Started
	f.send(t, "POST", "/registrations", map[string]any{"flavour": "push", "clusterName": "member1", "kubeconfig": joiningtest.KubeconfigFor(member)}, &started)
	eventually(t, "the join waits for tokens", func() bool { return len(member.Names("/api/v1/namespaces/karmada-cluster/secrets/")) == 2 })
	if code := f.send(t, "POST", "/registrations", map[string]any{"flavour": "push", "clusterName": "member1", "kubeconfig": joiningtest.KubeconfigFor(member)}, nil); code != http.StatusConflict {
		t.Errorf("a second join of the name answered %d", code)
	}
	var ended registration.Registration
	f.send(t, "DELETE", "/registrations/"+started.Registration.ID, nil, &ended)
	if ended.State != registration.StateCancelled {
		t.Errorf("state is %s", ended.State)
	}
	if got := member.All(); len(got) > 0 {
		t.Errorf("left in the member: %v", got)
	}
	if code := f.send(t, "DELETE", "/registrations/"+started.Registration.ID, nil, nil); code != http.StatusConflict {
		t.Errorf("cancelling twice answered %d", code)
	}
}

func TestPushRegistrationIsRefusedWithoutAudit(t *testing.T) {
	hub, member := joiningtest.Pair(t)
	f := newFixture(t, hub)
	f.audited.refuse = fault.Unavailable("no audit")
	code := f.send(t, "POST", "/registrations", map[string]any{"flavour": "push", "clusterName": "member1", "kubeconfig": joiningtest.KubeconfigFor(member)}, nil)
	if code != http.StatusServiceUnavailable {
		t.Errorf("answered %d", code)
	}
	if len(member.Requests) > 0 {
		t.Errorf("the member was asked: %v", member.Requests)
	}
}

// openFile opens the same database file again, as a restart does.
func openFile(t *testing.T, path string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context(), migrations.FS); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestPushRegistrationAfterACrash(t *testing.T) {
	// The hub's API stops answering at some request, which is as good as a crash
	// there: nothing after it happens, the rollback on the hub included.
	tests := map[string]struct {
		stopAt string
		want   registration.State
		line   string
	}{
		"before the cluster":   {"POST /apis/cluster.karmada.io/v1alpha1/clusters", registration.StateFailed, "cluster:failed"},
		"before the ownership": {"PATCH /api/v1/namespaces/karmada-cluster/secrets/member1-impersonator", registration.StateRunning, "cluster:done"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hub, member := joiningtest.Pair(t)
			file := filepath.Join(t.TempDir(), "muster.db")
			crashed := make(chan struct{})
			var once sync.Once
			var dead sync.Mutex
			isDead := false
			hub.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
				dead.Lock()
				defer dead.Unlock()
				if r.Method+" "+r.URL.Path == test.stopAt {
					isDead = true
					once.Do(func() { close(crashed) })
				}
				if isDead {
					panic(http.ErrAbortHandler)
				}
				return false
			}
			member.Intercept = func(_ http.ResponseWriter, r *http.Request) bool {
				dead.Lock()
				defer dead.Unlock()
				if isDead && r.Method == http.MethodDelete {
					panic(http.ErrAbortHandler)
				}
				return false
			}
			f := newFixtureOn(t, hub, openFile(t, file))
			var started enrolment.Started
			f.send(t, "POST", "/registrations", map[string]any{"flavour": "push", "clusterName": "member1", "kubeconfig": joiningtest.KubeconfigFor(member)}, &started)
			<-crashed
			f.awaitState(t, started.Registration.ID, registration.StateFailed) // this process still knew
			f.stop()
			setStored(t, file, started.Registration.ID, "running") // a crash would not have

			dead.Lock()
			isDead, hub.Intercept, member.Intercept = false, nil, nil
			dead.Unlock()
			again := newFixtureOn(t, hub, openFile(t, file))
			found := again.awaitState(t, started.Registration.ID, test.want)
			eventually(t, "recovered: "+stageLine(found), func() bool {
				return strings.Contains(stageLine(again.registration(t, started.Registration.ID)), test.line)
			})
			if test.want == registration.StateFailed {
				if got := member.All(); len(got) > 0 {
					t.Errorf("left in the member: %v", got)
				}
				if diff := cmp.Diff([]string{"api/v1/namespaces/karmada-cluster"}, hub.All()); diff != "" {
					t.Errorf("left on the hub (-want +got):\n%s", diff)
				}
				return
			}
			for _, secret := range []string{"member1", "member1-impersonator"} {
				if owners := hub.Object("/api/v1/namespaces/karmada-cluster/secrets/" + secret)["metadata"].(map[string]any)["ownerReferences"]; owners == nil {
					t.Errorf("secret %s has no owner", secret)
				}
			}
		})
	}
}

// setStored puts a registration back to what a crash would have left.
func setStored(t *testing.T, file, id, state string) {
	t.Helper()
	db := openFile(t, file)
	for _, change := range []string{
		"UPDATE registrations SET state = '" + state + "' WHERE id = '" + id + "'",
		"UPDATE registration_stages SET state = 'running', code = '', cause = '', fix = '' WHERE state = 'failed' AND registration_id = '" + id + "'",
	} {
		if err := db.For(t.Context()).Exec(change).Error; err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPullRegistration(t *testing.T) {
	hub, _ := joiningtest.Pair(t)
	f := newFixture(t, hub)
	var started enrolment.Started
	f.send(t, "POST", "/registrations", map[string]any{"flavour": "pull", "clusterName": "edge-7", "labels": map[string]string{"tier": "edge"}}, &started)
	id, tokenID := started.Registration.ID, started.Registration.TokenID
	if started.Secret == "" || started.ExpiresAt == nil || started.Registration.State != registration.StateWaiting {
		t.Fatalf("started %+v", started)
	}
	ctx, from := t.Context(), registration.StageEvent{Source: "203.0.113.9"}
	f.registrations.Advance(ctx, registration.Match{TokenID: tokenID}, "contact", from)
	f.registrations.Fail(ctx, registration.Match{TokenID: tokenID}, "token", registration.Failure{Code: "MU-102", Source: "203.0.113.9"})
	failed := f.awaitState(t, id, registration.StateFailed)
	if stage := failed.Stages[2]; stage.Code != "MU-102" || stage.Fix == "" || stage.Source != "203.0.113.9" {
		t.Errorf("failed stage: %+v", stage)
	}
	f.registrations.Advance(ctx, registration.Match{TokenID: tokenID}, "token", from)
	f.registrations.Advance(ctx, registration.Match{TokenID: tokenID, Cluster: "edge-7"}, "approved", from)
	f.registrations.Advance(ctx, registration.Match{Cluster: "edge-7"}, "identity", from)
	f.registrations.Advance(ctx, registration.Match{Cluster: "edge-7"}, "link", from)
	hub.Put(joiningtest.ClusterPath+"edge-7", map[string]any{"kind": "Cluster", "apiVersion": "cluster.karmada.io/v1alpha1",
		"metadata": map[string]any{"name": "edge-7", "annotations": map[string]any{"muster.dev/agent": "muster"}}, "spec": map[string]any{"syncMode": "Pull"}})
	setReady(hub, "edge-7")
	f.awaitState(t, id, registration.StateReady)
	eventually(t, "the labels are on the cluster", func() bool {
		labels, _ := hub.Object(joiningtest.ClusterPath + "edge-7")["metadata"].(map[string]any)["labels"].(map[string]any)
		return labels["tier"] == "edge"
	})
	var page httpapi.Page[registration.Registration]
	f.get(t, "/registrations", &page)
	if page.Total != 1 {
		t.Errorf("%d registrations, want 1: %+v", page.Total, page.Items)
	}
}

func TestPullRegistrationOfALivingClusterWaitsForItsAgent(t *testing.T) {
	hub, _ := joiningtest.Pair(t)
	f := newFixture(t, hub)
	var started enrolment.Started
	f.send(t, "POST", "/registrations", map[string]any{"flavour": "pull"}, &started)
	id, match := started.Registration.ID, registration.Match{TokenID: started.Registration.TokenID, Cluster: "edge-7"}
	f.registrations.Advance(t.Context(), match, "identity", registration.StageEvent{})
	hub.Put(joiningtest.ClusterPath+"edge-7", map[string]any{"kind": "Cluster", "apiVersion": "cluster.karmada.io/v1alpha1",
		"metadata": map[string]any{"name": "edge-7", "annotations": map[string]any{"muster.dev/agent": "muster"}}, "spec": map[string]any{"syncMode": "Pull"}})
	setReady(hub, "edge-7") // by an earlier registration
	eventually(t, "the row is there", func() bool { return f.get(t, "/clusters/edge-7", nil) == http.StatusOK })
	f.registrations.Advance(t.Context(), match, "identity", registration.StageEvent{}) // the queue has order: what came before is done
	if got := f.awaitState(t, id, registration.StateRunning); got.ClusterName != "edge-7" || !strings.Contains(stageLine(got), "link:running") {
		t.Errorf("registration is %s of %q", stageLine(got), got.ClusterName)
	}
}

func TestRegistrationsThatBeginByThemselves(t *testing.T) {
	hub, _ := joiningtest.Pair(t)
	f := newFixture(t, hub)
	made, err := (&tokens{known: map[string]token.Token{}}).Create(t.Context(), token.Spec{}, token.Placement{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	f.registrations.Advance(ctx, registration.Match{TokenID: made.Token.ID}, "contact", registration.StageEvent{}) // not a token of this hub
	f.registrations.Advance(ctx, registration.Match{Cluster: "stranger"}, "link", registration.StageEvent{})
	hub.Put(joiningtest.ClusterPath+"cli", map[string]any{"kind": "Cluster", "apiVersion": "cluster.karmada.io/v1alpha1", "metadata": map[string]any{"name": "cli"}, "spec": map[string]any{"syncMode": "Push"}})
	var page httpapi.Page[registration.Registration]
	eventually(t, "the cluster of the command line has a record", func() bool {
		f.get(t, "/registrations", &page)
		return len(page.Items) > 0
	})
	setReady(hub, "cli")
	f.awaitState(t, page.Items[0].ID, registration.StateReady)
	setReady(hub, "cli") // and its life goes on
	hub.Put(joiningtest.ClusterPath+"marker", map[string]any{"kind": "Cluster", "apiVersion": "cluster.karmada.io/v1alpha1", "metadata": map[string]any{"name": "marker"}, "spec": map[string]any{"syncMode": "Pull"}})
	eventually(t, "the later cluster has a record", func() bool {
		page = httpapi.Page[registration.Registration]{}
		f.get(t, "/registrations", &page)
		return len(page.Items) == 2 && page.Items[0].ClusterName == "marker"
	})
	if page.Total != 2 || page.Items[0].Flavour != registration.FlavourKarmadaAgent || page.Items[1].Flavour != registration.FlavourPush {
		t.Errorf("%d registrations: %+v", page.Total, page.Items)
	}
}

func TestClustersOverREST(t *testing.T) {
	hub, member := joiningtest.Joined(t)
	f := newFixture(t, hub)
	eventually(t, "the row is there", func() bool { return f.get(t, "/clusters/member1", nil) == http.StatusOK })
	var seen cluster.Cluster
	f.get(t, "/clusters/member1", &seen)
	hub.Put("/apis/work.karmada.io/v1alpha2/clusterresourcebindings/reader-clusterrole", map[string]any{
		"apiVersion": "work.karmada.io/v1alpha2", "kind": "ClusterResourceBinding",
		"metadata": map[string]any{"name": "reader-clusterrole"}, "spec": map[string]any{"clusters": []any{map[string]any{"name": "member1"}}},
	})
	viewer, operator := map[string]string{"X-Role": "viewer"}, map[string]string{"X-Role": "operator"}
	bad := joiningtest.KubeconfigOf("server: https://a.example", "exec: {command: canary}")
	body := func(value any) string { data, _ := json.Marshal(value); return string(data) }
	apitest.Run(t, f.api, []apitest.Scenario{
		{Name: "info for strangers", Method: "GET", Path: "/api/v1/info", Status: 200, Check: func(t *testing.T, r *httptest.ResponseRecorder) {
			if strings.Contains(r.Body.String(), "hub.example") {
				t.Error("a stranger sees the hub's address")
			}
		}},
		{Name: "info", Method: "GET", Path: "/api/v1/info", Header: viewer, Status: 200, Contains: []string{"hub.example:6443"}},
		{Name: "list", Method: "GET", Path: "/api/v1/clusters?state=joining,ready&sort=-age&limit=1", Header: viewer, Status: 200, Contains: []string{`"total":1`, `"joining":1`}},
		{Name: "bad state", Method: "GET", Path: "/api/v1/clusters?state=fine", Header: viewer, Status: 400},
		{Name: "bad cursor", Method: "GET", Path: "/api/v1/clusters?cursor=xx", Header: viewer, Status: 400},
		{Name: "no session", Method: "GET", Path: "/api/v1/clusters", Status: 401},
		{Name: "get", Method: "GET", Path: "/api/v1/clusters/member1", Header: viewer, Status: 200, Contains: []string{`"apiEnablements":[]`, `"works":{"total":1`}},
		{Name: "get nothing", Method: "GET", Path: "/api/v1/clusters/nosuch", Header: viewer, Status: 404, Code: "not-found"},
		{Name: "works", Method: "GET", Path: "/api/v1/clusters/member1/works", Header: viewer, Status: 200, Contains: []string{`"name":"web"`}},
		{Name: "history", Method: "GET", Path: "/api/v1/clusters/member1/history", Header: viewer, Status: 200},
		{Name: "viewer may not change", Method: "PATCH", Path: "/api/v1/clusters/member1", Header: viewer, Body: `{"cordoned":true}`, Status: 403},
		{Name: "cordon", Method: "PATCH", Path: "/api/v1/clusters/member1", Header: operator, Body: `{"cordoned":true}`, Status: 200, Contains: []string{`"cordoned":true`}},
		{Name: "labels and taints", Method: "PATCH", Path: "/api/v1/clusters/member1", Header: operator,
			Body: `{"labels":{"a":"b"},"taints":[{"key":"x","value":"y","effect":"NoExecute"}]}`, Status: 200, Contains: []string{`"a":"b"`, `"key":"x"`, `"cordoned":false`}},
		{Name: "bad label", Method: "PATCH", Path: "/api/v1/clusters/member1", Header: operator, Body: `{"labels":{"a b":"c"}}`, Status: 400},
		{Name: "same fields since", Method: "PATCH", Path: "/api/v1/clusters/member1", Header: operator, Body: `{"resourceVersion":"` + seen.ResourceVersion + `","labels":{}}`, Status: 409, Code: "changed-meanwhile"},
		{Name: "other fields since", Method: "PATCH", Path: "/api/v1/clusters/member1", Header: operator, Body: `{"resourceVersion":"` + seen.ResourceVersion + `","region":"us"}`, Status: 200, Contains: []string{`"region":"us"`, `"a":"b"`}},
		{Name: "old version", Method: "PATCH", Path: "/api/v1/clusters/member1", Header: operator, Body: `{"resourceVersion":"1","labels":{}}`, Status: 409, Code: "changed-meanwhile"},
		{Name: "removal plan", Method: "GET", Path: "/api/v1/clusters/member1/removal", Header: operator, Status: 200, Contains: []string{`"works":1`, "karmada-controller-manager:karmada-member1", `{"what":"take the cluster out of","where":"hub","kind":"Binding","name":"reader-clusterrole"}`, `"blockers":[]`}},
		{Name: "removal unconfirmed", Method: "DELETE", Path: "/api/v1/clusters/member1", Header: operator, Body: `{"confirm":"other"}`, Status: 400},
		{Name: "viewer may not remove", Method: "DELETE", Path: "/api/v1/clusters/member1", Header: viewer, Body: `{"confirm":"member1"}`, Status: 403},
		{Name: "operator may not force", Method: "DELETE", Path: "/api/v1/clusters/member1", Header: operator, Body: `{"confirm":"member1","force":true}`, Status: 403},
		{Name: "viewer may not preflight", Method: "POST", Path: "/api/v1/preflight", Header: viewer, Body: body(map[string]string{"kubeconfig": joiningtest.KubeconfigFor(member)}), Status: 403},
		{Name: "exec is refused", Method: "POST", Path: "/api/v1/preflight", Header: operator, Body: body(map[string]string{"kubeconfig": bad}), Status: 400, Code: "MU-202", Contains: []string{"exec"}},
		{Name: "preflight of what is here", Method: "POST", Path: "/api/v1/preflight", Header: operator, Body: body(map[string]string{"kubeconfig": joiningtest.KubeconfigFor(member), "name": "other"}),
			Status: 200, Contains: []string{`"ok":false`, "MU-211", "member1"}},
		{Name: "push without a name", Method: "POST", Path: "/api/v1/registrations", Header: operator, Body: `{"flavour":"push"}`, Status: 400},
		{Name: "pull of a taken name", Method: "POST", Path: "/api/v1/registrations", Header: operator, Body: `{"flavour":"pull","clusterName":"member1"}`, Status: 409, Code: "MU-105"},
		{Name: "pull with a kubeconfig", Method: "POST", Path: "/api/v1/registrations", Header: operator, Body: `{"flavour":"pull","kubeconfig":"x"}`, Status: 400},
		{Name: "unknown flavour", Method: "POST", Path: "/api/v1/registrations", Header: operator, Body: `{"flavour":"karmada-agent"}`, Status: 400},
		{Name: "no registration", Method: "GET", Path: "/api/v1/registrations/nosuch", Header: operator, Status: 404},
		{Name: "bad registration state", Method: "GET", Path: "/api/v1/registrations?state=fine", Header: operator, Status: 400},
	})
}

func TestRemoveCleansTheMember(t *testing.T) {
	hub, member := joiningtest.Joined(t)
	joiningtest.LetGo(hub)
	f := newFixture(t, hub)
	eventually(t, "the row is there", func() bool { return f.get(t, "/clusters/member1", nil) == http.StatusOK })
	var row cluster.Cluster
	f.send(t, "DELETE", "/clusters/member1", map[string]any{"confirm": "member1"}, &row)
	eventually(t, "the cluster is gone", func() bool { return hub.Object(joiningtest.ClusterPath+"member1") == nil })
	eventually(t, "the member is clean", func() bool { return len(member.All()) == 0 })
	eventually(t, "its row is gone", func() bool { return f.get(t, "/clusters/member1", nil) == http.StatusNotFound })
}

func TestRemovalGoesOnAfterARestart(t *testing.T) {
	hub, member := joiningtest.Joined(t)
	f := newFixture(t, hub)
	eventually(t, "the row is there", func() bool { return f.get(t, "/clusters/member1", nil) == http.StatusOK })
	var row cluster.Cluster
	f.send(t, "DELETE", "/clusters/member1", map[string]any{"confirm": "member1"}, &row)
	if row.State != cluster.StateRemoving || row.Removal == nil {
		t.Errorf("row is %+v", row)
	}
	f.stop()
	hub.Mu.Lock()
	hub.Requests = nil
	hub.Mu.Unlock()
	newFixture(t, hub)
	eventually(t, "the hub has the credential", func() bool {
		hub.Mu.Lock()
		defer hub.Mu.Unlock()
		return slices.Contains(hub.Requests, "GET /api/v1/namespaces/karmada-cluster/secrets/member1")
	})
	joiningtest.LetGo(hub)
	eventually(t, "the member is clean", func() bool { return len(member.All()) == 0 })
}

func TestForcedRemoval(t *testing.T) {
	hub, _ := joiningtest.Joined(t)
	f := newFixture(t, hub)
	eventually(t, "the row is there", func() bool { return f.get(t, "/clusters/member1", nil) == http.StatusOK })
	var row cluster.Cluster
	f.send(t, "DELETE", "/clusters/member1", map[string]any{"confirm": "member1", "force": true}, &row)
	eventually(t, "the cluster is gone", func() bool { return hub.Object(joiningtest.ClusterPath+"member1") == nil })
}
