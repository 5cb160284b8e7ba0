package workload_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gin-gonic/gin"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/workload"
	"muster.dev/muster/backend/workload/workloadtest"
)

// published keeps what was published, and says which topics are read.
type published struct {
	*live.Hub
	mu      sync.Mutex
	events  map[string][]live.Event // by topic
	watched map[string]bool
}

func (p *published) Publish(topic string, event live.Event) {
	p.mu.Lock()
	p.events[topic] = append(p.events[topic], event)
	p.mu.Unlock()
	p.Hub.Publish(topic, event)
}

func (p *published) Watched(topic string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watched[topic]
}

func (p *published) watch(topic string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watched[topic] = true
}

func (p *published) of(topic string) []live.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]live.Event(nil), p.events[topic]...)
}

// unreachable are members that the hub has no way to.
type unreachable struct{}

// Config implements pods.Members.
func (unreachable) Config(context.Context, *clusterv1alpha1.Cluster) (*rest.Config, error) {
	return nil, errors.New("it names no secretRef")
}

// fixture is the domain over a hub in memory.
type fixture struct {
	*workloadtest.World
	api       http.Handler
	service   *workload.Service
	published *published
}

// newFixture starts the domain once prepare has filled the world.
func newFixture(t *testing.T, prepare func(*workloadtest.World)) *fixture {
	t.Helper()
	f := &fixture{World: workloadtest.New(t), published: &published{Hub: live.NewHub(), events: map[string][]live.Event{}, watched: map[string]bool{}}}
	prepare(f.World)
	f.service = workload.NewService(workload.ServiceOptions{
		Cache: f.World, Templates: f.World.Templates(), Troubles: f.World.Troubles(), Unserved: f.World.Unserved(), Scheduler: f.World, Interpreter: interpret.Native(), Clients: f.World.Clients,
		Live: f.published, Members: unreachable{}, CRDs: os.DirFS("../../deploy/crds"), Gates: policy.DefaultGates(),
	})
	var err error
	f.api, err = httpapi.NewEngine(httpapi.Options{
		SPA:    fstest.MapFS{"index.html": &fstest.MapFile{Data: []byte("<html></html>")}},
		Public: func(*gin.RouterGroup) {},
		Authenticate: func(c *gin.Context) {
			if role := access.Role(c.GetHeader("X-Role")); role != "" {
				c.Request = c.Request.WithContext(access.WithActor(c.Request.Context(), access.Actor{Name: "ada-" + string(role), Role: role}))
			}
		},
		Private: workload.NewHandler(f.service).Routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := f.service.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); parts.Wait() })
	eventually(t, "the domain is ready", func() bool { return f.service.Ready() == nil })
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

// ask sends a request as a viewer and reads the answer.
func ask[T any](t *testing.T, f *fixture, method, path string, body any) T {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(method, "https://hub.test/api/v1"+path, strings.NewReader(string(data)))
	request.Header.Set("X-Role", "viewer")
	response := httptest.NewRecorder()
	f.api.ServeHTTP(response, request)
	if response.Code != http.StatusOK {
		t.Fatalf("%s %s answered %d: %s", method, path, response.Code, response.Body)
	}
	var into T
	if err := json.Unmarshal(response.Body.Bytes(), &into); err != nil {
		t.Fatalf("%s: %v", response.Body, err)
	}
	return into
}

func get[T any](t *testing.T, f *fixture, path string) T {
	t.Helper()
	return ask[T](t, f, http.MethodGet, path, nil)
}

const nginx = "/workloads/apps/v1/Deployment/default/nginx"

// recorded fills a world with nginx as a Karmada hub had it.
func recorded(w *workloadtest.World) { w.Load("testdata/nginx.yaml") }
