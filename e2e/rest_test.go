package e2e_test

import (
	"net/http"
	"testing"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// page is what REST lists look like.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
	Total int    `json:"total"`
}

// admin is the first administrator's session.
func admin(t testing.TB, h *hub) *controlplanetest.REST {
	t.Helper()
	if h.root == nil {
		var err error
		if h.root, err = h.SignIn(t.Context(), "admin", h.Password); err != nil {
			t.Fatal(err)
		}
	}
	return h.root
}

// must sends a request that has to succeed and decodes the answer into out
// unless that is nil.
func must(t testing.TB, r *controlplanetest.REST, method, path string, body, out any) {
	t.Helper()
	answer, err := r.Do(t.Context(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Status >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s", method, path, answer.Status, answer.Body)
	}
	if out != nil {
		if err := answer.Into(out); err != nil {
			t.Fatal(err)
		}
	}
}

// wants sends a request that has to be answered with a status.
func wants(t testing.TB, r *controlplanetest.REST, status int, method, path string, body any) {
	t.Helper()
	answer, err := r.Do(t.Context(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Status != status {
		t.Errorf("%s %s: %d, want %d: %s", method, path, answer.Status, status, answer.Body)
	}
}

type restUser struct {
	Name, Role string
}

// createUser makes a user of a role and signs in as it.
func createUser(t testing.TB, h *hub, name, role string) *controlplanetest.REST {
	t.Helper()
	var created struct {
		User     restUser `json:"user"`
		Password string   `json:"password"`
	}
	must(t, admin(t, h), "POST", "/api/v1/users", map[string]any{"name": name, "role": role}, &created)
	r, err := h.SignIn(t.Context(), name, created.Password)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
