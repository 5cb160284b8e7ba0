package token_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/httpapi/apitest"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/token"
)

// auditor keeps what was recorded and honours roles, as the audit does.
type auditor struct{ actions []audit.Action }

func (a *auditor) Do(ctx context.Context, action audit.Action, fn func(context.Context) error) error {
	a.actions = append(a.actions, action)
	if err := access.Require(ctx, action.Needs); err != nil {
		return err
	}
	return fn(ctx)
}

// engine serves tokens as whoever the header X-Role says.
func engine(t *testing.T, hub client.Client, recorded *auditor) http.Handler {
	t.Helper()
	ca, _ := newCA(t)
	service := token.NewService(token.Options{
		Clients: func(access.Actor) (client.Client, error) { return hub, nil },
		Audit:   recorded, Hub: token.Hub{Address: "hub.example:6443", CA: ca},
	})
	handler := token.NewHandler(service, live.NewHub())
	built, err := httpapi.NewEngine(httpapi.Options{
		SPA: fstest.MapFS{"index.html": &fstest.MapFile{Data: []byte("<html></html>")}},
		Authenticate: func(c *gin.Context) {
			actor := access.Actor{Name: "ada", Role: access.Role(c.GetHeader("X-Role")), Via: access.ViaREST}
			c.Request = c.Request.WithContext(access.WithActor(c.Request.Context(), actor))
		},
		Private: handler.Routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func fakeHub() client.Client {
	return crfake.NewClientBuilder().WithScheme(kube.Scheme()).
		WithIndex(&corev1.Secret{}, "type", func(object client.Object) []string {
			return []string{string(object.(*corev1.Secret).Type)}
		}).Build()
}

func TestTokensOverREST(t *testing.T) {
	hub, recorded := fakeHub(), &auditor{}
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-broken"}, Type: token.SecretType}
	if err := hub.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	served := engine(t, hub, recorded)
	var made token.Created
	operator, viewer, admin := map[string]string{"X-Role": "operator"}, map[string]string{"X-Role": "viewer"}, map[string]string{"X-Role": "admin"}
	apitest.Run(t, served, []apitest.Scenario{
		{Name: "viewer may not list", Method: "GET", Path: "/api/v1/tokens", Header: viewer, Status: 403, Code: "forbidden"},
		{Name: "viewer may not create", Method: "POST", Path: "/api/v1/tokens", Header: viewer, Body: `{}`, Status: 403, Code: "forbidden"},
		{Name: "unknown field", Method: "POST", Path: "/api/v1/tokens", Header: operator, Body: `{"secret":"x"}`, Status: 400},
		{Name: "bad name", Method: "POST", Path: "/api/v1/tokens", Header: operator, Body: `{"clusterName":"Bad_Name"}`, Status: 400, Contains: []string{"clusterName"}},
		{Name: "for ever as operator", Method: "POST", Path: "/api/v1/tokens", Header: operator, Body: `{"ttlSeconds":0}`, Status: 403},
		{Name: "too long as operator", Method: "POST", Path: "/api/v1/tokens", Header: operator, Body: `{"ttlSeconds":9223372036854775807}`, Status: 403},
		{Name: "for ever as admin", Method: "POST", Path: "/api/v1/tokens", Header: admin, Body: `{"ttlSeconds":0,"maxClusters":0}`, Status: 201},
		{
			Name: "create", Method: "POST", Path: "/api/v1/tokens", Header: operator, Body: `{"description":"for edge","clusterName":"edge-7"}`, Status: 201,
			Check: func(t *testing.T, response *httptest.ResponseRecorder) {
				if err := json.Unmarshal(response.Body.Bytes(), &made); err != nil {
					t.Fatal(err)
				}
				if made.Token.CreatedBy != "ada" || made.Token.MaxClusters != 1 || made.Token.ExpiresAt == nil || !strings.HasPrefix(made.Secret, made.Token.ID+".") {
					t.Errorf("made %+v", made.Token)
				}
				if !strings.Contains(made.Commands.Muster, made.Secret) || !strings.Contains(made.Commands.Muster, "--cluster-name edge-7") {
					t.Errorf("command: %s", made.Commands.Muster)
				}
			},
		},
		{
			Name: "list shows no secret", Method: "GET", Path: "/api/v1/tokens", Header: operator, Status: 200, Contains: []string{`"total":2`, "for edge"},
			Check: func(t *testing.T, response *httptest.ResponseRecorder) {
				_, secret, _ := token.Parse(made.Secret)
				if strings.Contains(response.Body.String(), secret) {
					t.Error("the list holds the secret half")
				}
			},
		},
		{Name: "revoke no token", Method: "DELETE", Path: "/api/v1/tokens/zzzzzz", Header: operator, Status: 404, Code: "not-found"},
		{Name: "revoke nonsense", Method: "DELETE", Path: "/api/v1/tokens/nonsense", Header: operator, Status: 400},
	})
	apitest.Run(t, served, []apitest.Scenario{
		{Name: "viewer may not revoke", Method: "DELETE", Path: "/api/v1/tokens/" + made.Token.ID, Header: viewer, Status: 403},
		{Name: "revoke", Method: "DELETE", Path: "/api/v1/tokens/" + made.Token.ID, Header: operator, Status: 204},
		{Name: "revoke again", Method: "DELETE", Path: "/api/v1/tokens/" + made.Token.ID, Header: operator, Status: 404},
	})
	_, secret, _ := token.Parse(made.Secret)
	data, err := json.Marshal(recorded.actions)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), secret) {
		t.Error("the audit holds the secret half")
	}
}

// publisher keeps what was published.
type publisher struct {
	events chan live.Event
}

func (p publisher) Publish(_ string, event live.Event) { p.events <- event }
func (publisher) Seq(string) (string, uint64)          { return "", 0 }

// watched is closed once somebody watches the Secrets of a fake API, which forgets
// what happens between an informer's list and its watch.
func watched(hub *fake.Clientset) <-chan struct{} {
	watching := make(chan struct{})
	var begun sync.Once
	hub.PrependWatchReactor("secrets", func(action k8stesting.Action) (bool, apiwatch.Interface, error) {
		events, err := hub.Tracker().Watch(action.GetResource(), action.GetNamespace())
		begun.Do(func() { close(watching) })
		return true, events, err
	})
	return watching
}

func TestWatchFollowsWhoeverChangesTokens(t *testing.T) {
	hub := fake.NewClientset(token.Spec{TTL: token.DefaultTTL}.Secret("abcdef", "0123456789abcdef", now))
	watching := watched(hub)
	published := publisher{events: make(chan live.Event, 16)}
	var once sync.Once
	revoked := make(chan string, 1)
	watch := token.NewWatch(hub, published, func(_ context.Context, id string) { once.Do(func() { revoked <- id }) })
	go func() { _ = watch.Start(t.Context()) }()

	first := <-published.events
	if first.Op != live.OpUpsert || first.Key != "abcdef" {
		t.Fatalf("published %+v", first)
	}
	known, err := watch.Get(t.Context(), "abcdef")
	if err != nil || known.ID != "abcdef" {
		t.Fatalf("got %+v, %v", known, err)
	}
	if _, err := watch.Get(t.Context(), "zzzzzz"); err == nil {
		t.Error("an unknown token was found")
	}
	<-watching
	if err := hub.CoreV1().Secrets("kube-system").Delete(t.Context(), "bootstrap-token-abcdef", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live.Event{Op: live.OpDelete, Key: "abcdef"}, <-published.events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := <-revoked; got != "abcdef" {
		t.Errorf("revoked %q", got)
	}
}

// TestExpiryIsToldToHoldersAlone: who shows an expired token whole learns when it
// ended, before and after the token cleaner took it; who knows its id does not.
func TestExpiryIsToldToHoldersAlone(t *testing.T) {
	const secret, wrong = "0123456789abcdef", "0000000000000000" // the cache holds zeros
	begun := time.Now().Add(-2 * time.Hour)
	hub := fake.NewClientset(token.Spec{TTL: time.Hour}.Secret("expire", secret, begun), token.Spec{TTL: token.DefaultTTL}.Secret("abcdef", secret, begun))
	watching := watched(hub)
	published := publisher{events: make(chan live.Event, 16)}
	watch := token.NewWatch(hub, published, nil)
	go func() { _ = watch.Start(t.Context()) }()
	judge := func(when string) {
		t.Helper()
		at, ok := watch.ExpiredAt("expire", secret)
		if want := begun.Add(time.Hour).Truncate(time.Second); !ok || !at.Equal(want) {
			t.Errorf("%s: expired at %s (%t), want %s", when, at, ok, want)
		}
		for _, other := range [][2]string{{"expire", wrong}, {"abcdef", secret}, {"abcdef", wrong}, {"zzzzzz", secret}} {
			if at, ok := watch.ExpiredAt(other[0], other[1]); ok {
				t.Errorf("%s: the token %s is said to have expired at %s", when, other[0], at)
			}
		}
	}
	<-published.events
	<-published.events
	judge("before it is cleaned away")
	<-watching
	for _, id := range []string{"expire", "abcdef"} {
		if err := hub.CoreV1().Secrets("kube-system").Delete(t.Context(), token.SecretName(id), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-published.events
	}
	judge("afterwards")
}
