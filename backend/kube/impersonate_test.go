package kube_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/kube"
)

type person struct {
	name   string
	groups []string
}

func (p person) User() string     { return p.name }
func (p person) Groups() []string { return p.groups }

func TestImpersonatorActsAsTheUser(t *testing.T) {
	var last http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api":
			_ = json.NewEncoder(w).Encode(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		case "/apis":
			_ = json.NewEncoder(w).Encode(metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
		case "/api/v1":
			_ = json.NewEncoder(w).Encode(metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: "v1",
				APIResources: []metav1.APIResource{{Name: "namespaces", Kind: "Namespace", Verbs: metav1.Verbs{"get"}}},
			})
		case "/api/v1/namespaces/shop":
			last = r.Header.Clone()
			_ = json.NewEncoder(w).Encode(corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	type auditKey struct{}
	impersonator := kube.NewImpersonator(&rest.Config{Host: server.URL, BearerToken: "hub"}, kube.ImpersonatorOptions{
		AuditID: func(ctx context.Context) string { id, _ := ctx.Value(auditKey{}).(string); return id },
	})
	ann := person{name: "muster:user:ann", groups: []string{"muster:viewers", "muster:admins"}}
	acting, err := impersonator.As(ann)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithValue(t.Context(), auditKey{}, "request-7")
	var namespace corev1.Namespace
	if err := acting.Get(ctx, client.ObjectKey{Name: "shop"}, &namespace); err != nil {
		t.Fatal(err)
	}
	if got := last.Get("Impersonate-User"); got != "muster:user:ann" {
		t.Errorf("Impersonate-User: %q", got)
	}
	if got := last.Values("Impersonate-Group"); !slices.Equal(got, []string{"muster:admins", "muster:viewers"}) {
		t.Errorf("Impersonate-Group: %q", got)
	}
	if got := last.Get("Authorization"); got != "Bearer hub" {
		t.Errorf("Authorization: %q", got)
	}
	if got := last.Get("Audit-ID"); got != "request-7" {
		t.Errorf("Audit-ID: %q", got)
	}
	again, err := impersonator.As(person{name: ann.name, groups: []string{"muster:admins", "muster:viewers"}})
	if err != nil || again != acting {
		t.Errorf("the same identity has another client (%v)", err)
	}
	other, err := impersonator.As(person{name: "muster:user:bob", groups: []string{"muster:viewers"}})
	if err != nil || other == acting {
		t.Fatalf("another identity has the same client (%v)", err)
	}
	if err := other.Get(t.Context(), client.ObjectKey{Name: "shop"}, &namespace); err != nil {
		t.Fatal(err)
	}
	if got := last.Get("Impersonate-User"); got != "muster:user:bob" {
		t.Errorf("Impersonate-User: %q", got)
	}
}

func TestImpersonatorNeverActsAsItself(t *testing.T) {
	impersonator := kube.NewImpersonator(&rest.Config{Host: "https://127.0.0.1:1"}, kube.ImpersonatorOptions{})
	for _, nobody := range []person{{}, {name: "muster:user:ann"}, {groups: []string{"muster:admins"}}} {
		if _, err := impersonator.As(nobody); err == nil {
			t.Errorf("%+v got a client", nobody)
		}
	}
}
