package access_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gin-gonic/gin"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/httpapi/apitest"
)

const origin = "https://hub.test"

// serve returns the real engine with the routes of access, and one more that
// shows who acts.
func (f *fixture) serve(t *testing.T) http.Handler {
	t.Helper()
	handler := access.NewHandler(f.service, func() []string { return []string{origin} })
	engine, err := httpapi.NewEngine(httpapi.Options{
		SPA:          fstest.MapFS{"index.html": {Data: []byte("page")}},
		Public:       handler.Public,
		Authenticate: handler.Authenticate(),
		Private: func(r *gin.RouterGroup) {
			handler.Routes(r)
			r.POST("/whoami", func(c *gin.Context) {
				actor, _ := access.ActorFrom(c.Request.Context())
				c.JSON(http.StatusOK, actor)
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// ours are the headers of a request of the dashboard.
func ours(csrf string) map[string]string {
	return map[string]string{"Content-Type": "application/json", "Origin": origin, "X-CSRF-Token": csrf}
}

// without returns headers with one replaced; "" removes it.
func without(headers map[string]string, name, value string) map[string]string {
	out := map[string]string{}
	for key, old := range headers {
		out[key] = old
	}
	if out[name] = value; value == "" {
		delete(out, name)
	}
	return out
}

// open signs in through HTTP and returns the cookie and the CSRF token.
func open(t *testing.T, handler http.Handler, name, password string) (*http.Cookie, string) {
	t.Helper()
	body, err := json.Marshal(access.Credentials{Username: name, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	var cookie *http.Cookie
	var info access.SessionInfo
	apitest.Run(t, handler, []apitest.Scenario{{
		Name: "sign in as " + name, Method: "POST", Path: "/api/v1/session", Header: ours(""), Body: string(body), Status: 201,
		Check: func(t *testing.T, response *httptest.ResponseRecorder) {
			cookie = response.Result().Cookies()[0]
			if err := json.Unmarshal(response.Body.Bytes(), &info); err != nil {
				t.Fatal(err)
			}
		},
	}})
	if cookie == nil {
		t.FailNow()
	}
	return cookie, info.CSRF
}

func TestHTTPSession(t *testing.T) {
	t.Parallel()
	f := start(t)
	handler := f.serve(t)
	cookie, csrf := open(t, handler, "admin", f.admin)
	if cookie.Name != "__Host-muster" || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" {
		t.Errorf("the cookie is %s", cookie)
	}
	if strings.Contains(csrf, cookie.Value) || csrf == "" {
		t.Error("the CSRF token shows the cookie")
	}
	signedIn := []*http.Cookie{cookie}
	next := `{"current":"` + f.admin + `","next":"` + goodPassword + `"}`
	apitest.Run(t, handler, []apitest.Scenario{
		{Name: "nobody", Method: "GET", Path: "/api/v1/session", Status: 401, Code: "unauthenticated"},
		{Name: "a made-up cookie", Method: "GET", Path: "/api/v1/session", Cookies: []*http.Cookie{{Name: "__Host-muster", Value: "x"}}, Status: 401},
		{Name: "wrong password", Method: "POST", Path: "/api/v1/session", Header: ours(""), Body: `{"username":"admin","password":"x"}`, Status: 401, Code: "bad-credentials"},
		{Name: "unknown field", Method: "POST", Path: "/api/v1/session", Header: ours(""), Body: `{"user":"admin"}`, Status: 400},
		{Name: "login from another site", Method: "POST", Path: "/api/v1/session", Header: without(ours(""), "Origin", "https://evil.test"), Body: `{}`, Status: 403, Code: "cross-site"},
		{Name: "login by a form", Method: "POST", Path: "/api/v1/session", Header: without(ours(""), "Content-Type", "text/plain"), Body: `{}`, Status: 403, Code: "cross-site"},
		{Name: "who am I", Method: "GET", Path: "/api/v1/session", Cookies: signedIn, Status: 200, Contains: []string{`"name":"admin"`, `"mustChangePassword":true`, csrf}},
		{Name: "nothing else before the password is changed", Method: "GET", Path: "/api/v1/users", Cookies: signedIn, Status: 403, Code: "must-change-password"},
		{Name: "nor a change", Method: "POST", Path: "/api/v1/whoami", Cookies: signedIn, Header: ours(csrf), Status: 403, Code: "must-change-password"},
		{Name: "change it", Method: "POST", Path: "/api/v1/session/password", Cookies: signedIn, Header: ours(csrf), Body: next, Status: 200,
			Check: func(t *testing.T, response *httptest.ResponseRecorder) {
				signedIn = response.Result().Cookies()
				var info access.SessionInfo
				if err := json.Unmarshal(response.Body.Bytes(), &info); err != nil || info.CSRF == csrf {
					t.Errorf("the session did not change: %v", err)
				}
				csrf = info.CSRF
			}},
		{Name: "the old cookie", Method: "GET", Path: "/api/v1/session", Cookies: []*http.Cookie{cookie}, Status: 401},
	})
	apitest.Run(t, handler, []apitest.Scenario{
		{Name: "who acts", Method: "POST", Path: "/api/v1/whoami", Cookies: signedIn, Header: ours(csrf), Status: 200, Contains: []string{`"Name":"admin"`, `"Role":"admin"`, `"Via":"rest"`, `"Source":"192.0.2.1"`}},
		{Name: "sessions", Method: "GET", Path: "/api/v1/sessions", Cookies: signedIn, Status: 200, Contains: []string{`"total":1`, `"current":true`}},
		{Name: "sign out", Method: "DELETE", Path: "/api/v1/session", Cookies: signedIn, Header: ours(csrf), Body: "{}", Status: 204},
		{Name: "signed out", Method: "GET", Path: "/api/v1/session", Cookies: signedIn, Status: 401},
	})
}

func TestHTTPCrossSite(t *testing.T) {
	t.Parallel()
	f := start(t)
	handler := f.serve(t)
	f.create(t, "ann", access.RoleAdmin)
	cookie, csrf := f.openChanged(t, handler, "ann")
	signedIn := []*http.Cookie{cookie}
	good := ours(csrf)
	for name, test := range map[string]struct {
		header map[string]string
		body   string
		status int
	}{
		"ours":                        {good, "{}", 200},
		"ours without a body":         {good, "", 200},
		"no body of no type":          {without(good, "Content-Type", ""), "", 403},
		"ours, says the browser":      {without(good, "Sec-Fetch-Site", "same-origin"), "{}", 200},
		"not ours, says the browser":  {without(good, "Sec-Fetch-Site", "cross-site"), "{}", 403},
		"another origin, disputed":    {without(without(good, "Origin", "https://evil.test"), "Sec-Fetch-Site", "same-origin"), "{}", 403},
		"same origin by the browser":  {without(without(good, "Origin", ""), "Sec-Fetch-Site", "same-origin"), "{}", 200},
		"charset":                     {without(good, "Content-Type", "application/json; charset=utf-8"), "{}", 200},
		"token missing":               {without(good, "X-CSRF-Token", ""), "{}", 403},
		"token of another session":    {without(good, "X-CSRF-Token", strings.Repeat("a", len(csrf))), "{}", 403},
		"no origin":                   {without(good, "Origin", ""), "{}", 403},
		"another origin":              {without(good, "Origin", "https://evil.test"), "{}", 403},
		"a subdomain":                 {without(good, "Origin", "https://sub.hub.test"), "{}", 403},
		"another port":                {without(good, "Origin", origin+":444"), "{}", 403},
		"null origin":                 {without(good, "Origin", "null"), "{}", 403},
		"same site is not the origin": {without(without(good, "Origin", ""), "Sec-Fetch-Site", "same-site"), "{}", 403},
		"text body":                   {without(good, "Content-Type", "text/plain"), "{}", 403},
		"form body":                   {without(good, "Content-Type", "application/x-www-form-urlencoded"), "a=b", 403},
		"body of no type":             {without(good, "Content-Type", ""), "{}", 403},
	} {
		apitest.Run(t, handler, []apitest.Scenario{{Name: name, Method: "POST", Path: "/api/v1/whoami", Cookies: signedIn, Header: test.header, Body: test.body, Status: test.status}})
	}
	apitest.Run(t, handler, []apitest.Scenario{
		{Name: "no cookie", Method: "POST", Path: "/api/v1/whoami", Header: good, Body: "{}", Status: 401},
		{Name: "reading needs none of it", Method: "GET", Path: "/api/v1/session", Cookies: signedIn, Status: 200},
	})
}

// openChanged signs in as a user made by create, with a password of its own.
func (f *fixture) openChanged(t *testing.T, handler http.Handler, name string) (*http.Cookie, string) {
	t.Helper()
	_, ctx := f.signIn(t, name, goodPassword)
	if _, err := f.service.ChangePassword(ctx, goodPassword, goodPassword+" of "+name, access.Client{}); err != nil {
		t.Fatal(err)
	}
	return open(t, handler, name, goodPassword+" of "+name)
}

func TestHTTPUsers(t *testing.T) {
	t.Parallel()
	f := start(t)
	handler := f.serve(t)
	f.create(t, "ann", access.RoleAdmin)
	f.create(t, "vera", access.RoleViewer)
	cookie, csrf := f.openChanged(t, handler, "ann")
	vera, veraCSRF := f.openChanged(t, handler, "vera")
	ann, viewer := []*http.Cookie{cookie}, []*http.Cookie{vera}
	var cursor string
	apitest.Run(t, handler, []apitest.Scenario{
		{Name: "list", Method: "GET", Path: "/api/v1/users?limit=2", Cookies: ann, Status: 200, Contains: []string{`"name":"admin"`, `"total":3`, `"epoch":"`},
			Check: func(t *testing.T, response *httptest.ResponseRecorder) {
				var page httpapi.Page[access.User]
				if err := json.Unmarshal(response.Body.Bytes(), &page); err != nil || len(page.Items) != 2 {
					t.Fatalf("%d rows, %v", len(page.Items), err)
				}
				cursor = page.Next
			}},
		{Name: "bad limit", Method: "GET", Path: "/api/v1/users?limit=0", Cookies: ann, Status: 400},
		{Name: "bad cursor", Method: "GET", Path: "/api/v1/users?cursor=%21", Cookies: ann, Status: 400},
		{Name: "create", Method: "POST", Path: "/api/v1/users", Cookies: ann, Header: ours(csrf), Body: `{"name":"bob","role":"operator"}`, Status: 201, Contains: []string{`"password":"`, `"mustChangePassword":true`}},
		{Name: "twice", Method: "POST", Path: "/api/v1/users", Cookies: ann, Header: ours(csrf), Body: `{"name":"bob","role":"operator"}`, Status: 409, Code: "taken"},
		{Name: "no role", Method: "POST", Path: "/api/v1/users", Cookies: ann, Header: ours(csrf), Body: `{"name":"eve"}`, Status: 400, Contains: []string{`"field":"role"`}},
		{Name: "change", Method: "PATCH", Path: "/api/v1/users/bob", Cookies: ann, Header: ours(csrf), Body: `{"disabled":true}`, Status: 200, Contains: []string{`"disabled":true`}},
		{Name: "reset", Method: "PATCH", Path: "/api/v1/users/bob", Cookies: ann, Header: ours(csrf), Body: `{"resetPassword":true}`, Status: 200, Contains: []string{`"password":"`}},
		{Name: "delete", Method: "DELETE", Path: "/api/v1/users/bob", Cookies: ann, Header: ours(csrf), Body: "{}", Status: 204},
		{Name: "gone", Method: "DELETE", Path: "/api/v1/users/bob", Cookies: ann, Header: ours(csrf), Body: "{}", Status: 404},
		{Name: "a viewer may not look", Method: "GET", Path: "/api/v1/users", Cookies: viewer, Status: 403, Code: "forbidden"},
		{Name: "a viewer may not create", Method: "POST", Path: "/api/v1/users", Cookies: viewer, Header: ours(veraCSRF), Body: `{"name":"eve","role":"admin"}`, Status: 403, Contains: []string{"administrator"}},
		{Name: "a viewer may not rise", Method: "PATCH", Path: "/api/v1/users/vera", Cookies: viewer, Header: ours(veraCSRF), Body: `{"role":"admin"}`, Status: 403},
		{Name: "a token of another's session", Method: "PATCH", Path: "/api/v1/users/vera", Cookies: viewer, Header: ours(csrf), Body: `{"role":"admin"}`, Status: 403, Code: "cross-site"},
	})
	apitest.Run(t, handler, []apitest.Scenario{
		{Name: "next page", Method: "GET", Path: "/api/v1/users?limit=2&cursor=" + cursor, Cookies: ann, Status: 200, Contains: []string{`"name":"vera"`}},
	})
}
