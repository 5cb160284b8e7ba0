// Package apitest runs tables of HTTP requests through a real engine.
package apitest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Scenario is one request and what must come of it.
type Scenario struct {
	Name    string
	Method  string
	Path    string
	Header  map[string]string
	Cookies []*http.Cookie
	Body    string
	// Status is the wanted status.
	Status int
	// Code is the wanted code of a Problem; empty: not looked at.
	Code string
	// Contains are texts the body must hold.
	Contains []string
	// Check looks at the rest; may be nil.
	Check func(t *testing.T, response *httptest.ResponseRecorder)
}

// Run sends each scenario to handler, in order.
func Run(t *testing.T, handler http.Handler, scenarios []Scenario) {
	t.Helper()
	for _, scenario := range scenarios {
		t.Run(scenario.Name, func(t *testing.T) { scenario.run(t, handler) })
	}
}

func (s Scenario) run(t *testing.T, handler http.Handler) {
	request := httptest.NewRequest(s.Method, "https://hub.test"+s.Path, strings.NewReader(s.Body))
	for name, value := range s.Header {
		request.Header.Set(name, value)
	}
	for _, cookie := range s.Cookies {
		request.AddCookie(cookie)
	}
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	if response.Code != s.Status {
		t.Fatalf("%s %s answered %d, want %d: %s", s.Method, s.Path, response.Code, s.Status, response.Body)
	}
	if s.Code != "" {
		var problem struct {
			Code      string `json:"code"`
			Status    int    `json:"status"`
			RequestID string `json:"requestId"`
		}
		if err := json.Unmarshal(response.Body.Bytes(), &problem); err != nil {
			t.Fatalf("the answer is no problem: %v: %s", err, response.Body)
		}
		if diff := cmp.Diff(s.Code, problem.Code); diff != "" {
			t.Errorf("code (-want +got):\n%s", diff)
		}
		if problem.Status != s.Status || problem.RequestID == "" {
			t.Errorf("problem lacks its status or request id: %s", response.Body)
		}
	}
	for _, text := range s.Contains {
		if !strings.Contains(response.Body.String(), text) {
			t.Errorf("the body lacks %q: %s", text, response.Body)
		}
	}
	if s.Check != nil {
		s.Check(t, response)
	}
}
