package controlplane

import (
	"encoding/json"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// warmingRetry is after how many seconds a client is told to ask again.
const warmingRetry = "1"

// whileWarming has the API server refuse everybody but the hub itself until ready
// returns nil. An API server answers before it has read its roles and tokens, and
// says then that nobody may do anything: a client that asks again after 503 takes
// 401 and 403 for the last word (contract ocm.md section 2.3).
func whileWarming(next http.Handler, ready func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ready() == nil || isLoopback(r) || isHealth(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		refusal := apierrors.NewServiceUnavailable("the hub is starting").ErrStatus
		refusal.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", warmingRetry)
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(refusal) // whoever does not read it has the code
	})
}

// isLoopback tells a request of the hub's own client. Whoever pretends to be it
// still has to sign in.
func isLoopback(r *http.Request) bool {
	return r.TLS != nil && r.TLS.ServerName == genericapiserver.LoopbackClientServerNameOverride
}

func isHealth(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first == "livez" || first == "readyz" || first == "healthz"
}
