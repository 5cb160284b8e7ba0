package token_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/token"
)

func TestManifest(t *testing.T) {
	hub := fakeHub()
	secret := token.Spec{TTL: time.Hour, ClusterName: "edge-7"}.Secret("abcdef", "0123456789abcdef", time.Now())
	if err := hub.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	templates := fstest.MapFS{agentapi.ManifestTemplate: &fstest.MapFile{Data: []byte("hub: {{ quote .Hub }}\ntoken: {{ quote .Token }}\nname: {{ quote .ClusterName }}\nregion: {{ quote .Region }}\nzones: {{ len .Zones }}\n")}}
	served, err := token.NewManifest(token.ManifestOptions{Secrets: hub, Hub: token.Hub{Address: "hub.example:6443", CA: []byte("ca")}, Image: "agent", Templates: templates})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, method, user, query string
		status                    int
		contains                  string
	}{
		{"good", "GET", "system:bootstrap:abcdef", "?name=edge-7&region=%22%0aevil&zones=a,b", 200, "token: \"abcdef.0123456789abcdef\"\nname: \"edge-7\"\nregion: \"\\\"\\nevil\"\nzones: 2"},
		{"another cluster", "GET", "system:bootstrap:abcdef", "?name=other", 403, token.CodeBound},
		{"placeholder", "GET", "system:bootstrap:abcdef", "?name=CLUSTER", 400, "cannot name"},
		{"no name", "GET", "system:bootstrap:abcdef", "", 400, "cannot name"},
		{"revoked", "GET", "system:bootstrap:zzzzzz", "?name=edge-7", 401, token.CodeUnknown},
		{"an agent", "GET", "system:karmada:agent:edge-7", "?name=edge-7", 403, "join token"},
		{"nobody", "GET", "", "?name=edge-7", 403, "join token"},
		{"a write", "POST", "system:bootstrap:abcdef", "?name=edge-7", 400, "GET"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(test.method, token.ManifestPath+test.query, http.NoBody)
			if test.user != "" {
				r = r.WithContext(request.WithUser(context.Background(), &user.DefaultInfo{Name: test.user}))
			}
			response := httptest.NewRecorder()
			served.ServeHTTP(response, r)
			if response.Code != test.status || !strings.Contains(response.Body.String(), test.contains) {
				t.Errorf("answered %d %q, want %d with %q", response.Code, response.Body, test.status, test.contains)
			}
			if test.status != 200 && strings.Contains(response.Body.String(), "0123456789abcdef") {
				t.Error("a refusal holds the secret half")
			}
		})
	}
	if _, err := token.NewManifest(token.ManifestOptions{Templates: fstest.MapFS{}}); err == nil {
		t.Error("a missing template is no error")
	}
}
