package main

import (
	"encoding/json"
	"net/http"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// documents are the answers that are the same for every member, encoded once.
type documents struct {
	plain      map[string][]byte // by path
	aggregated map[string][]byte // by path, for clients that ask for it
}

const (
	jsonType       = "application/json"
	aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

func newDocuments(kubernetes string) documents {
	d := documents{plain: map[string][]byte{}, aggregated: map[string][]byte{}}
	for _, path := range []string{"/readyz", "/livez", "/healthz"} {
		d.plain[path] = []byte("ok")
	}
	d.plain["/version"] = encode(version.Info{Major: "1", Minor: strings.Split(kubernetes, ".")[1], GitVersion: kubernetes, Platform: "linux/amd64"})
	d.plain["/openapi/v2"] = []byte(`{"swagger":"2.0","info":{"title":"fakemember","version":"1"},"paths":{}}`)
	d.plain["/openapi/v3"] = []byte(`{"paths":{}}`)
	d.plain["/api"] = encode(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	groups := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	core, named := discoveryList(), discoveryList()
	for _, gv := range groupVersions() {
		d.plain[root(gv)] = encode(legacyResources(gv))
		list := named
		if gv.Group == "" {
			list = core
		} else {
			served := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
			groups.Groups = append(groups.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served})
		}
		list.Items = append(list.Items, apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: gv.Group},
			Versions: []apidiscovery.APIVersionDiscovery{{Version: gv.Version, Resources: resources(gv), Freshness: apidiscovery.DiscoveryFreshnessCurrent}}})
	}
	d.plain["/apis"] = encode(groups)
	d.aggregated["/api"], d.aggregated["/apis"] = encode(core), encode(named)
	return d
}

func discoveryList() *apidiscovery.APIGroupDiscoveryList {
	return &apidiscovery.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscovery.SchemeGroupVersion.String()}}
}

func root(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

func resources(gv schema.GroupVersion) []apidiscovery.APIResourceDiscovery {
	var list []apidiscovery.APIResourceDiscovery
	for _, k := range kinds {
		if k.GroupVersion != gv {
			continue
		}
		scope := apidiscovery.ScopeCluster
		if k.namespaced {
			scope = apidiscovery.ScopeNamespace
		}
		response := &metav1.GroupVersionKind{Group: gv.Group, Version: gv.Version, Kind: k.name}
		r := apidiscovery.APIResourceDiscovery{Resource: k.resource, SingularResource: strings.ToLower(k.name), ResponseKind: response, Scope: scope, Verbs: everything}
		for _, s := range k.subresources {
			r.Subresources = append(r.Subresources, apidiscovery.APISubresourceDiscovery{Subresource: s, ResponseKind: response, Verbs: updates})
		}
		list = append(list, r)
	}
	return list
}

// serve answers if the path is one of a document.
func (d documents) serve(w http.ResponseWriter, r *http.Request, path string) bool {
	if body, ok := d.aggregated[path]; ok && strings.Contains(r.Header.Get("Accept"), "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList") {
		answer(w, http.StatusOK, aggregatedType, body)
		return true
	}
	body, ok := d.plain[path]
	if ok {
		answer(w, http.StatusOK, jsonType, body)
	}
	return ok
}

func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // the values are constants, or objects that were decoded from JSON
	}
	return data
}

func answer(w http.ResponseWriter, code int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that has gone needs no answer
}
