package httpapi_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/httpapi/apitest"
)

const document = `{"info":{"title":"Test API"},"basePath":"/api/v1","paths":{"/things":{"get":{"tags":["thing"],"summary":"List things","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/Thing"}}}}}},"definitions":{"Thing":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"state":{"type":"string","enum":["on","off"]},"parts":{"type":"array","items":{"$ref":"#/definitions/test.Part"}}}},"test.Part":{"type":"object"}}}`

func newEngine(t *testing.T) http.Handler {
	t.Helper()
	engine, err := httpapi.NewEngine(httpapi.Options{
		SPA: fstest.MapFS{
			"index.html":         {Data: []byte(`<meta name="csp-nonce" content="__CSP_NONCE__">`)},
			"assets/app-1.js":    {Data: []byte("plain")},
			"assets/app-1.js.br": {Data: []byte("brotli")},
		},
		Swagger: []byte(document),
		Public: func(r *gin.RouterGroup) {
			r.POST("/echo", httpapi.Wrap(func(c *gin.Context) error {
				var body struct {
					Name string `json:"name"`
				}
				if err := httpapi.Bind(c, &body); err != nil {
					return err
				}
				c.JSON(http.StatusOK, body)
				return nil
			}))
			r.GET("/limited", httpapi.RateLimit(2, func(*gin.Context) string { return "everybody" }), func(c *gin.Context) { c.Status(http.StatusNoContent) })
			r.GET("/secret", httpapi.Wrap(func(*gin.Context) error { return errors.New("password is hunter2") }))
			r.GET("/panic", func(*gin.Context) { panic("hunter2") })
			r.GET("/conflict", httpapi.Wrap(func(*gin.Context) error {
				return fault.Conflict("taken").WithCode("MU-105").WithFix("choose another").Wrap(errors.New("hunter2"))
			}))
		},
		Authenticate: func(c *gin.Context) { httpapi.Abort(c, fault.Unauthenticated("sign in")) },
		Private:      func(r *gin.RouterGroup) { r.GET("/private", func(c *gin.Context) { c.Status(http.StatusOK) }) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// silent fails when an answer shows what only the log may.
func silent(t *testing.T, response *httptest.ResponseRecorder) {
	if strings.Contains(response.Body.String(), "hunter2") {
		t.Errorf("an inner text got out: %s", response.Body)
	}
}

func TestServer(t *testing.T) {
	apitest.Run(t, newEngine(t), []apitest.Scenario{
		{Name: "unknown API path", Method: "GET", Path: "/api/v1/nothing", Status: 404, Code: "not-found"},
		{Name: "unknown API version", Method: "GET", Path: "/api/v2/clusters", Status: 404, Code: "not-found"},
		{Name: "known path without session", Method: "GET", Path: "/api/v1/private", Status: 401, Code: "unauthenticated"},
		{Name: "a slash more is another path", Method: "GET", Path: "/api/v1/private/", Status: 404, Code: "not-found"},
		{Name: "the API's root", Method: "GET", Path: "/api", Status: 404, Code: "not-found"},
		{Name: "method override is not believed", Method: "POST", Path: "/api/v1/private", Header: map[string]string{"X-HTTP-Method-Override": "GET"}, Status: 405},
		{Name: "wrong method", Method: "DELETE", Path: "/api/v1/echo", Status: 405, Code: "method-not-allowed"},
		{Name: "good body", Method: "POST", Path: "/api/v1/echo", Body: `{"name":"a"}`, Status: 200, Contains: []string{`"a"`}},
		{Name: "unknown field is named", Method: "POST", Path: "/api/v1/echo", Body: `{"nmae":"a"}`, Status: 400, Code: "invalid", Contains: []string{"nmae"}},
		{Name: "wrong type is named", Method: "POST", Path: "/api/v1/echo", Body: `{"name":1}`, Status: 400, Code: "invalid", Contains: []string{"name must be"}},
		{Name: "trailing data", Method: "POST", Path: "/api/v1/echo", Body: `{"name":"a"}{}`, Status: 400, Code: "invalid"},
		{Name: "empty body", Method: "POST", Path: "/api/v1/echo", Status: 400, Code: "invalid"},
		{Name: "deep nesting", Method: "POST", Path: "/api/v1/echo", Body: `{"name":` + strings.Repeat("[", 100_000), Status: 400, Code: "invalid"},
		{Name: "oversize body", Method: "POST", Path: "/api/v1/echo", Body: `{"name":"` + strings.Repeat("a", httpapi.BodyLimit) + `"}`, Status: 413, Code: "too-large"},
		{Name: "fault keeps its code and hides its cause", Method: "GET", Path: "/api/v1/conflict", Status: 409, Code: "MU-105", Contains: []string{"choose another"}, Check: silent},
		{Name: "other errors are silent", Method: "GET", Path: "/api/v1/secret", Status: 500, Code: "internal", Check: silent},
		{Name: "panics are silent", Method: "GET", Path: "/api/v1/panic", Status: 500, Code: "internal", Check: silent},
		{Name: "reference", Method: "GET", Path: "/api/docs", Status: 200, Contains: []string{"List things", `id="schema-Thing"`, `<a href="#schema-test.Part">test.Part[]</a>`, "on, off"}},
		{Name: "reference as a document", Method: "GET", Path: "/api/docs/swagger.json", Status: 200, Contains: []string{"Test API"}},
		{Name: "first within the limit", Method: "GET", Path: "/api/v1/limited", Status: 204},
		{Name: "second within the limit", Method: "GET", Path: "/api/v1/limited", Status: 204},
		{Name: "over the limit", Method: "GET", Path: "/api/v1/limited", Status: 429, Code: "too-many"},
	})
}

func TestDashboardFiles(t *testing.T) {
	header := func(name, want string) func(*testing.T, *httptest.ResponseRecorder) {
		return func(t *testing.T, response *httptest.ResponseRecorder) {
			if got := response.Header().Get(name); !strings.Contains(got, want) {
				t.Errorf("%s is %q, want %q in it", name, got, want)
			}
		}
	}
	apitest.Run(t, newEngine(t), []apitest.Scenario{
		{Name: "index for a client route", Method: "GET", Path: "/clusters/edge-7", Status: 200, Check: func(t *testing.T, response *httptest.ResponseRecorder) {
			body := response.Body.String()
			nonce, _, _ := strings.Cut(strings.TrimPrefix(body, `<meta name="csp-nonce" content="`), `"`)
			if nonce == "" || nonce == "__CSP_NONCE__" || !strings.Contains(response.Header().Get("Content-Security-Policy"), "'nonce-"+nonce+"'") {
				t.Errorf("nonce of page and policy differ: %s", body)
			}
		}},
		{Name: "brotli variant", Method: "GET", Path: "/assets/app-1.js", Header: map[string]string{"Accept-Encoding": "gzip, br"}, Status: 200, Contains: []string{"brotli"}, Check: header("Content-Encoding", "br")},
		{Name: "brotli refused", Method: "GET", Path: "/assets/app-1.js", Header: map[string]string{"Accept-Encoding": "gzip, br;q=0"}, Status: 200, Contains: []string{"plain"}},
		{Name: "plain variant is immutable", Method: "GET", Path: "/assets/app-1.js", Status: 200, Contains: []string{"plain"}, Check: header("Cache-Control", "immutable")},
		{Name: "asset of another build", Method: "GET", Path: "/assets/app-0.js", Status: 404},
		{Name: "no way out of the files", Method: "GET", Path: "/../../etc/passwd", Status: 200, Contains: []string{"csp-nonce"}},
		{Name: "no inline scripts", Method: "GET", Path: "/", Status: 200, Check: func(t *testing.T, response *httptest.ResponseRecorder) {
			if policy := response.Header().Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
				t.Errorf("policy is %s", policy)
			}
		}},
		{Name: "nothing is sniffed", Method: "GET", Path: "/api/v1/nothing", Status: 404, Check: header("X-Content-Type-Options", "nosniff")},
		{Name: "windows apart", Method: "GET", Path: "/", Status: 200, Check: header("Cross-Origin-Opener-Policy", "same-origin")},
		{Name: "answers are not kept", Method: "GET", Path: "/api/v1/private", Status: 401, Check: header("Cache-Control", "no-store")},
		{Name: "frames are refused", Method: "GET", Path: "/", Status: 200, Check: header("Content-Security-Policy", "frame-ancestors 'none'")},
	})
}

func TestLimits(t *testing.T) {
	options := func(limits map[string]int) httpapi.Options {
		return httpapi.Options{
			SPA:          fstest.MapFS{},
			Authenticate: func(*gin.Context) {},
			Limits:       limits,
			User:         func(context.Context) string { return "ann" },
			Private: func(r *gin.RouterGroup) {
				r.POST("/tokens", func(c *gin.Context) { c.Status(http.StatusCreated) })
				r.GET("/tokens", func(c *gin.Context) { c.Status(http.StatusOK) })
			},
		}
	}
	engine, err := httpapi.NewEngine(options(map[string]int{"POST /api/v1/tokens": 2}))
	if err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, engine, []apitest.Scenario{
		{Name: "first", Method: "POST", Path: "/api/v1/tokens", Status: 201},
		{Name: "second", Method: "POST", Path: "/api/v1/tokens", Status: 201},
		{Name: "third", Method: "POST", Path: "/api/v1/tokens", Status: 429, Code: "too-many", Check: func(t *testing.T, response *httptest.ResponseRecorder) {
			if seconds, err := strconv.Atoi(response.Header().Get("Retry-After")); err != nil || seconds < 1 || seconds > 60 {
				t.Errorf("Retry-After is %q", response.Header().Get("Retry-After"))
			}
		}},
		{Name: "another route", Method: "GET", Path: "/api/v1/tokens", Status: 200},
	})
	if _, err := httpapi.NewEngine(options(map[string]int{"POST /api/v1/token": 2})); err == nil {
		t.Error("a limit of a route that is not there was accepted")
	}
}

func TestLimiterForgets(t *testing.T) {
	limiter := httpapi.NewLimiter(1)
	for i := range 20_000 {
		if limiter.Wait(strconv.Itoa(i)) != 0 {
			t.Fatalf("key %d was held up by others", i)
		}
	}
	if limiter.Wait("19999") == 0 {
		t.Error("the latest key was forgotten at once")
	}
}

func TestWithoutDashboard(t *testing.T) {
	engine, err := httpapi.NewEngine(httpapi.Options{SPA: fstest.MapFS{".gitkeep": {}}})
	if err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, engine, []apitest.Scenario{
		{Name: "page", Method: "GET", Path: "/", Status: 503, Contains: []string{"make build"}},
		{Name: "no writing", Method: "POST", Path: "/", Status: 405, Code: "method-not-allowed"},
		{Name: "health", Method: "GET", Path: "/healthz", Status: 200},
	})
}

func TestReadiness(t *testing.T) {
	var state error
	engine, err := httpapi.NewEngine(httpapi.Options{SPA: fstest.MapFS{}, Ready: func() error { return state }})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name string, err error, status int, want string) {
		state = err
		apitest.Run(t, engine, []apitest.Scenario{{Name: name, Method: "GET", Path: "/readyz", Status: status, Contains: []string{want}, Check: silent}})
	}
	ask("starting", fault.Unavailable("the control plane is starting").Wrap(errors.New("hunter2")), 503, "control plane is starting")
	ask("broken", errors.New("dial hunter2"), 503, "not ready")
	ask("ready", nil, 200, "ok")
}

// TestServe runs the real server over TLS: a slow or large request must not
// hold it, and it stops when told.
func TestServe(t *testing.T) {
	pair := httptest.NewTLSServer(http.NotFoundHandler())
	certificate := pair.TLS.Certificates[0]
	client := pair.Client()
	pair.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := httpapi.New(httpapi.Options{
		Listener: listener, SPA: fstest.MapFS{"index.html": {Data: []byte("page")}},
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Start(ctx) }()
	base := "https://" + listener.Addr().String()
	client.Transport.(*http.Transport).TLSClientConfig.ServerName = "example.com"
	response, err := client.Get(base + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("healthz answered %d", response.StatusCode)
	}
	request, err := http.NewRequest(http.MethodGet, base+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Large", strings.Repeat("a", 64<<10))
	if response, err = client.Do(request); err == nil {
		response.Body.Close()
		if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("64 KiB of headers were answered with %d", response.StatusCode)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("stopped with %v", err)
	}
}
