package tunnel_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/tunnel"
)

// fleet is some members, by name. One without a server has no way to it.
type fleet map[string]*httptest.Server

func (f fleet) Endpoint(_ context.Context, cluster *clusterv1alpha1.Cluster) (kube.Endpoint, error) {
	server := f[cluster.Name]
	if server == nil {
		return kube.Endpoint{}, fmt.Errorf("reach cluster %s: it names no impersonatorSecretRef", cluster.Name)
	}
	target, err := url.Parse(server.URL)
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return kube.Endpoint{URL: target, ImpersonatorToken: "secret-of-" + cluster.Name, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}, err
}

func (f fleet) SecretChanged(types.NamespacedName) {}

// pods is a member that has pods of these names in the namespace shop, and a log
// of each.
func pods(t *testing.T, cluster string, names ...string) *httptest.Server {
	t.Helper()
	const collection = "/api/v1/namespaces/shop/pods"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Impersonate-User") != "jo" || r.Header.Get("Authorization") != "Bearer secret-of-"+cluster {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		if r.URL.Query().Has("limit") || r.URL.Query().Has("continue") || strings.Contains(r.Header.Get("Accept"), "protobuf") {
			http.Error(w, "a page of a list, or one that cannot be merged", http.StatusBadRequest)
			return
		}
		name, isOne := strings.CutPrefix(r.URL.Path, collection+"/")
		name, log := strings.CutSuffix(name, "/log")
		switch {
		case r.URL.Path == collection && strings.Contains(r.Header.Get("Accept"), "as=Table"):
			table := map[string]any{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": []any{map[string]any{"name": "Name"}}}
			for _, one := range names {
				rows, _ := table["rows"].([]any)
				table["rows"] = append(rows, map[string]any{"cells": []any{one}, "object": map[string]any{"metadata": map[string]any{"name": one}}})
			}
			_ = json.NewEncoder(w).Encode(table)
		case r.URL.Path == collection:
			items := []any{}
			for _, one := range names {
				items = append(items, map[string]any{"metadata": map[string]any{"name": one, "annotations": map[string]any{"mine": "kept"}}})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PodList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "7", "continue": "x"}, "items": items})
		case isOne && slices.Contains(names, name) && log:
			_, _ = io.WriteString(w, "log of "+name+" in "+cluster)
		case isOne && slices.Contains(names, name):
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Pod", "apiVersion": "v1", "metadata": map[string]any{"name": name, "uid": cluster}})
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","code":404,"reason":"NotFound"}`)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func (f fleet) ask(t *testing.T, method, target, accept string) *httptest.ResponseRecorder {
	t.Helper()
	var clusters []clusterv1alpha1.Cluster
	for name := range f {
		clusters = append(clusters, clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: clusterv1alpha1.ClusterSpec{ImpersonatorSecretRef: &clusterv1alpha1.LocalSecretReference{Namespace: "n", Name: name}}})
	}
	r := httptest.NewRequest(method, target, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	handler, err := tunnel.NewProxy(f).Everywhere(t.Context(), clusters, r.URL.Path, &user.DefaultInfo{Name: "jo", Groups: []string{"team"}})
	if err != nil {
		t.Fatal(err)
	}
	handler.ServeHTTP(w, r)
	return w
}

// TestEverywhereOne reads single objects of all members: contract section 12.1.
func TestEverywhereOne(t *testing.T) {
	members := fleet{"a": pods(t, "a", "both", "only-a"), "b": pods(t, "b", "both"), "c": nil}
	for _, c := range []struct {
		name, method, target string
		code                 int
		want                 string
	}{
		{"the only owner answers", "GET", "/api/v1/namespaces/shop/pods/only-a", 200, `"uid":"a"`},
		{"so does its log", "GET", "/api/v1/namespaces/shop/pods/only-a/log?follow=true", 200, "log of only-a in a"},
		{"several owners", "GET", "/api/v1/namespaces/shop/pods/both", 409, "clusters a, b all have it"},
		{"no owner is not sure while one cannot be asked", "GET", "/api/v1/namespaces/shop/pods/none", 500, "cluster c cannot be asked"},
		{"nobody is deleted", "DELETE", "/api/v1/namespaces/shop/pods/only-a", 405, "delete in all clusters at once"},
		{"nothing is made", "POST", "/api/v1/namespaces/shop/pods", 405, "post in all clusters at once"},
		{"watches are of one member", "GET", "/api/v1/namespaces/shop/pods?watch=true", 405, "watch in all clusters"},
		{"so is what is no object", "GET", "/version", 400, "ask one cluster for /version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := members.ask(t, c.method, c.target, "application/json")
			if answer.Code != c.code || !strings.Contains(answer.Body.String(), c.want) {
				t.Errorf("%s %s: got %d %s, want %d with %q", c.method, c.target, answer.Code, answer.Body, c.code, c.want)
			}
			if c.code == 200 && !strings.Contains(answer.Header().Get("Warning"), "cluster c cannot be asked") {
				t.Errorf("warning %q does not name the member that was not asked", answer.Header().Get("Warning"))
			}
			if strings.Contains(answer.Body.String()+answer.Header().Get("Warning"), "secret-of-") {
				t.Error("the answer holds a token")
			}
		})
	}
	delete(members, "c")
	if answer := members.ask(t, "GET", "/api/v1/namespaces/shop/pods/none", ""); answer.Code != 404 {
		t.Errorf("no member has it: got %d %s, want 404", answer.Code, answer.Body)
	}
}

// TestEverywhereList merges lists and tables of all members.
func TestEverywhereList(t *testing.T) {
	members := fleet{"b": pods(t, "b", "x"), "a": pods(t, "a", "x", "y"), "c": nil, "d": pods(t, "d")}
	where := func(objects []any, key string) []string {
		var found []string
		for _, object := range objects {
			fields := object.(map[string]any)
			if key != "" {
				fields = fields[key].(map[string]any)
			}
			meta := fields["metadata"].(map[string]any)
			found = append(found, fmt.Sprint(meta["annotations"].(map[string]any)["resource.karmada.io/cached-from-cluster"], "/", meta["name"]))
		}
		return found
	}
	for _, c := range []struct{ name, accept, list, object string }{
		{"a list", "application/vnd.kubernetes.protobuf,application/json", "items", ""},
		{"protobuf alone", "application/vnd.kubernetes.protobuf", "items", ""},
		{"a table", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "rows", "object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := members.ask(t, "GET", "/api/v1/namespaces/shop/pods?limit=1&continue=x&resourceVersion=9", c.accept)
			var merged map[string]any
			if err := json.Unmarshal(answer.Body.Bytes(), &merged); err != nil || answer.Code != 200 {
				t.Fatalf("got %d %s: %v", answer.Code, answer.Body, err)
			}
			list, _ := merged[c.list].([]any)
			if diff := cmp.Diff([]string{"a/x", "a/y", "b/x"}, where(list, c.object)); diff != "" {
				t.Errorf("merged list (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]any{"resourceVersion": ""}, merged["metadata"]); diff != "" {
				t.Errorf("metadata of the list (-want +got):\n%s", diff)
			}
			if warned := answer.Header().Values("Warning"); len(warned) != 1 || !strings.Contains(warned[0], "cluster c") {
				t.Errorf("warnings %q, want one that names c", warned)
			}
		})
	}
}
