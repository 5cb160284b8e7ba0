package controlplane

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhileWarming(t *testing.T) {
	for name, c := range map[string]struct {
		path, server string
		ready        error
		want         int
	}{
		"a client waits":        {"/api/v1/namespaces", "hub.example", errStarting, http.StatusServiceUnavailable},
		"without TLS":           {"/api/v1/namespaces", "", errStarting, http.StatusServiceUnavailable},
		"the hub itself":        {"/api/v1/namespaces", "apiserver-loopback-client", errStarting, http.StatusOK},
		"health":                {"/readyz", "hub.example", errStarting, http.StatusOK},
		"a part of health":      {"/livez/ping", "hub.example", errStarting, http.StatusOK},
		"what looks like it":    {"/readyzzz", "hub.example", errStarting, http.StatusServiceUnavailable},
		"everybody, once ready": {"/api/v1/namespaces", "hub.example", nil, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			handler := whileWarming(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), func() error { return c.ready })
			request := httptest.NewRequest(http.MethodGet, c.path, nil)
			if c.server != "" {
				request.TLS = &tls.ConnectionState{ServerName: c.server}
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != c.want {
				t.Fatalf("code %d, want %d", answer.Code, c.want)
			}
			if c.want == http.StatusOK {
				return
			}
			var status metav1.Status
			if err := json.Unmarshal(answer.Body.Bytes(), &status); err != nil || status.Kind != "Status" || status.Reason != metav1.StatusReasonServiceUnavailable {
				t.Errorf("status %+v, %v", status, err)
			}
			if answer.Header().Get("Retry-After") == "" {
				t.Error("a client is not told to ask again")
			}
		})
	}
}
