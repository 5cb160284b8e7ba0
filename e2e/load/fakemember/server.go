package main

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"muster.dev/muster/e2e/load"
)

// prefix is the path below which each member has its API: prefix + name.
const prefix = "/members/"

// server serves all members on one address.
type server struct {
	token     string
	documents documents
	kinds     map[schema.GroupVersionResource]kind
	resolver  *apirequest.RequestInfoFactory
	members   map[string]*store

	latency load.Latency
	mu      sync.Mutex
	counts  map[string]uint64 // requests by "verb resource"
	refused uint64            // requests without the token
}

func newServer(token, kubernetes string, members map[string]*store) *server {
	s := &server{
		token: token, documents: newDocuments(kubernetes), kinds: map[schema.GroupVersionResource]kind{}, members: members, counts: map[string]uint64{},
		resolver: &apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
	}
	for _, k := range kinds {
		s.kinds[k.WithResource(k.resource)] = k
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, prefix), "/")
	member := s.members[name]
	if member == nil || !strings.HasPrefix(r.URL.Path, prefix) {
		http.NotFound(w, r)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+s.token {
		s.mu.Lock()
		s.refused++
		s.mu.Unlock()
		refuse(w, apierrors.NewUnauthorized("the token is another one"))
		return
	}
	path = "/" + path
	if s.documents.serve(w, r, path) {
		s.note("get", path)
		return
	}
	inner := *r
	inner.URL = &url.URL{Path: path, RawQuery: r.URL.RawQuery}
	info, err := s.resolver.NewRequestInfo(&inner)
	if err != nil || !info.IsResourceRequest {
		s.note("unknown", path)
		refuse(w, apierrors.NewNotFound(schema.GroupResource{}, path))
		return
	}
	k, ok := s.kinds[schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}]
	if !ok {
		s.note("unknown", info.Resource)
		refuse(w, apierrors.NewNotFound(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name))
		return
	}
	s.note(info.Verb, strings.TrimSuffix(info.Resource+"/"+info.Subresource, "/"))
	c := call{server: s, store: member, kind: k, info: info, w: w, r: r}
	if err := c.serve(); err != nil {
		refuse(w, err)
	}
}

func (s *server) note(verb, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[verb+" "+what]++
}

// report is what the program prints.
type report struct {
	Members int `json:"members"`
	// Server, Token and CA are how to reach the members: the path of one is its name.
	Server string `json:"server"`
	// Requests are counted by verb, and Calls by verb and resource.
	Requests map[string]uint64 `json:"requests"`
	Calls    map[string]uint64 `json:"calls"`
	Refused  uint64            `json:"refused"`
	// Latency is the time from an object's stamp to its coming into a member.
	Latency load.Quantiles `json:"latency"`
}

func (s *server) report(address string) report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := report{Members: len(s.members), Server: address + prefix, Requests: map[string]uint64{}, Calls: maps.Clone(s.counts), Refused: s.refused, Latency: s.latency.Take()}
	for call, n := range s.counts {
		verb, _, _ := strings.Cut(call, " ")
		r.Requests[verb] += n
	}
	return r
}

// refuse answers with a Status object.
func refuse(w http.ResponseWriter, err error) {
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		status = apierrors.NewInternalError(err)
	}
	body := status.Status()
	body.Kind, body.APIVersion = "Status", "v1"
	answer(w, int(body.Code), jsonType, encode(body))
}
