package httpapi_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/httpapi/apitest"
)

const document = `{"info":{"title":"Test API"},"basePath":"/api/v1","paths":{"/things":{"get":{"tags":["thing"],"summary":"List things","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/Thing"}}}}}},"definitions":{"Thing":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}}}`

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

func TestServer(t *testing.T) {
	silent := func(t *testing.T, response *httptest.ResponseRecorder) {
		if strings.Contains(response.Body.String(), "hunter2") {
			t.Errorf("an inner text got out: %s", response.Body)
		}
	}
	apitest.Run(t, newEngine(t), []apitest.Scenario{
		{Name: "unknown API path", Method: "GET", Path: "/api/v1/nothing", Status: 404, Code: "not-found"},
		{Name: "unknown API version", Method: "GET", Path: "/api/v2/clusters", Status: 404, Code: "not-found"},
		{Name: "known path without session", Method: "GET", Path: "/api/v1/private", Status: 401, Code: "unauthenticated"},
		{Name: "wrong method", Method: "DELETE", Path: "/api/v1/echo", Status: 405, Code: "method-not-allowed"},
		{Name: "good body", Method: "POST", Path: "/api/v1/echo", Body: `{"name":"a"}`, Status: 200, Contains: []string{`"a"`}},
		{Name: "unknown field is named", Method: "POST", Path: "/api/v1/echo", Body: `{"nmae":"a"}`, Status: 400, Code: "invalid", Contains: []string{"nmae"}},
		{Name: "wrong type is named", Method: "POST", Path: "/api/v1/echo", Body: `{"name":1}`, Status: 400, Code: "invalid", Contains: []string{"name must be"}},
		{Name: "trailing data", Method: "POST", Path: "/api/v1/echo", Body: `{"name":"a"}{}`, Status: 400, Code: "invalid"},
		{Name: "empty body", Method: "POST", Path: "/api/v1/echo", Status: 400, Code: "invalid"},
		{Name: "oversize body", Method: "POST", Path: "/api/v1/echo", Body: `{"name":"` + strings.Repeat("a", httpapi.BodyLimit) + `"}`, Status: 413, Code: "too-large"},
		{Name: "fault keeps its code and hides its cause", Method: "GET", Path: "/api/v1/conflict", Status: 409, Code: "MU-105", Contains: []string{"choose another"}, Check: silent},
		{Name: "other errors are silent", Method: "GET", Path: "/api/v1/secret", Status: 500, Code: "internal", Check: silent},
		{Name: "panics are silent", Method: "GET", Path: "/api/v1/panic", Status: 500, Code: "internal", Check: silent},
		{Name: "reference", Method: "GET", Path: "/api/docs", Status: 200, Contains: []string{"List things", "schema-Thing"}},
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
		{Name: "plain variant is immutable", Method: "GET", Path: "/assets/app-1.js", Status: 200, Contains: []string{"plain"}, Check: header("Cache-Control", "immutable")},
		{Name: "asset of another build", Method: "GET", Path: "/assets/app-0.js", Status: 404},
		{Name: "no way out of the files", Method: "GET", Path: "/../../etc/passwd", Status: 200, Contains: []string{"csp-nonce"}},
		{Name: "frames are refused", Method: "GET", Path: "/", Status: 200, Check: header("Content-Security-Policy", "frame-ancestors 'none'")},
	})
}
