package apitest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
)

// Session is what a signed-in dashboard sends.
type Session struct {
	Cookie *http.Cookie
	CSRF   string
	// Origin is an origin that the engine takes for its own.
	Origin string
}

var parameter = regexp.MustCompile(`[:*][^/]+`)

// routes returns the engine's routes below /api/v1.
func routes(t *testing.T, engine *gin.Engine) []gin.RouteInfo {
	t.Helper()
	var found []gin.RouteInfo
	for _, route := range engine.Routes() {
		if strings.HasPrefix(route.Path, "/api/v1/") {
			found = append(found, route)
		}
	}
	if len(found) == 0 {
		t.Fatal("the engine has no routes")
	}
	return found
}

func path(route gin.RouteInfo) string { return parameter.ReplaceAllString(route.Path, "x") }

// Guarded asks every route of a running engine without a session: all answer
// 401, except those in public ("POST /api/v1/session"). It fails as well when
// one of public is not there, so that the list cannot grow old.
func Guarded(t *testing.T, engine *gin.Engine, public ...string) {
	t.Helper()
	headers := map[string]string{"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
	for _, name := range public {
		if !slices.ContainsFunc(engine.Routes(), func(route gin.RouteInfo) bool { return route.Method+" "+route.Path == name }) {
			t.Errorf("there is no route %s", name)
		}
	}
	for _, route := range routes(t, engine) {
		name := route.Method + " " + route.Path
		if slices.Contains(public, name) {
			continue
		}
		Run(t, engine, []Scenario{{Name: name + " without a session", Method: route.Method, Path: path(route), Header: headers, Body: "{}", Status: http.StatusUnauthorized, Code: "unauthenticated"}})
	}
}

// Forged sends every changing route of a running engine what another site could
// make the browser of a signed-in user send: all answer 403, except those in
// public. Nothing of it may reach a handler.
func Forged(t *testing.T, engine *gin.Engine, session Session, public ...string) {
	t.Helper()
	genuine := map[string]string{"Content-Type": "application/json", "Origin": session.Origin, "X-CSRF-Token": session.CSRF}
	for _, route := range routes(t, engine) {
		name := route.Method + " " + route.Path
		if route.Method == http.MethodGet || route.Method == http.MethodHead || slices.Contains(public, name) {
			continue
		}
		for forgery, change := range forgeries {
			header := map[string]string{}
			for key, value := range genuine {
				header[key] = value
			}
			for key, value := range change {
				header[key] = value
			}
			for key, value := range header {
				if value == "" {
					delete(header, key)
				}
			}
			Run(t, engine, []Scenario{{
				Name: name + ": " + forgery, Method: route.Method, Path: path(route), Header: header, Cookies: []*http.Cookie{session.Cookie}, Body: "{}",
				Status: http.StatusForbidden, Code: "cross-site",
			}})
		}
	}
}

// forgeries are changes to a genuine request's headers; "" removes one.
var forgeries = map[string]map[string]string{
	"no token":                 {"X-CSRF-Token": ""},
	"a wrong token":            {"X-CSRF-Token": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
	"a form":                   {"Content-Type": "application/x-www-form-urlencoded"},
	"a text":                   {"Content-Type": "text/plain"},
	"no content type":          {"Content-Type": ""},
	"a misleading type":        {"Content-Type": "text/plain; application/json"},
	"no origin":                {"Origin": ""},
	"a null origin":            {"Origin": "null"},
	"another origin":           {"Origin": "https://evil.test"},
	"another scheme":           {"Origin": "http://hub.test"},
	"a subdomain":              {"Origin": "https://evil.hub.test"},
	"a longer name":            {"Origin": "https://hub.test.evil.test"},
	"another port":             {"Origin": "https://hub.test:4444"},
	"the same site":            {"Origin": "", "Sec-Fetch-Site": "same-site"},
	"another site":             {"Origin": "", "Sec-Fetch-Site": "cross-site"},
	"another origin, disputed": {"Origin": "https://evil.test", "Sec-Fetch-Site": "same-origin"},
}
