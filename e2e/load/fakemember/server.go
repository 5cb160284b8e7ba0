package main

import (
	"net/http"
	"net/url"
	"strings"

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

	latency  load.Latency
	counters load.Counters
}

func newServer(token, kubernetes string, members map[string]*store) *server {
	s := &server{
		token: token, documents: newDocuments(kubernetes), kinds: map[schema.GroupVersionResource]kind{}, members: members,
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
		s.counters.Add("refused without the token")
		refuse(w, apierrors.NewUnauthorized("the token is another one"))
		return
	}
	path = "/" + path
	if s.documents.serve(w, r, path) {
		s.counters.Add("get " + path)
		return
	}
	inner := *r
	inner.URL = &url.URL{Path: path, RawQuery: r.URL.RawQuery}
	info, err := s.resolver.NewRequestInfo(&inner)
	if err != nil || !info.IsResourceRequest {
		s.counters.Add("unknown " + path)
		refuse(w, apierrors.NewNotFound(schema.GroupResource{}, path))
		return
	}
	k, ok := s.kinds[schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}]
	if !ok {
		s.counters.Add("unknown " + info.Resource)
		refuse(w, apierrors.NewNotFound(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name))
		return
	}
	s.counters.Add(info.Verb + " " + strings.TrimSuffix(info.Resource+"/"+info.Subresource, "/"))
	c := call{server: s, store: member, kind: k, info: info, w: w, r: r}
	if err := c.serve(); err != nil {
		refuse(w, err)
	}
}

// report is what the program prints. Requests are counted by verb and resource,
// such as "create configmaps", and by path where there is none.
func (s *server) report() load.Report {
	r := load.Report{Counts: s.counters.Counts(), Latency: s.latency.Take()}
	r.Counts["members"] = uint64(len(s.members))
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
