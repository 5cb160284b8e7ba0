package membertest

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func (s *Server) discover(w http.ResponseWriter, path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch path {
	case "/readyz":
		_, _ = w.Write([]byte("ok"))
	case "/version":
		write(w, map[string]string{"gitVersion": "v1.36.3", "major": "1", "minor": "36"})
	case "/api":
		write(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, r := range s.resources {
			group, version, ok := strings.Cut(r.GroupVersion, "/")
			if !ok || slices.ContainsFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == group }) {
				continue
			}
			gv := metav1.GroupVersionForDiscovery{GroupVersion: r.GroupVersion, Version: version}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv})
		}
		write(w, list)
	default:
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
		for _, r := range s.resources {
			if strings.TrimSuffix(Path(r, "", ""), "/"+r.Plural) == path {
				list.GroupVersion = r.GroupVersion
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: r.Plural, Kind: r.Kind, Namespaced: r.Namespaced,
					Verbs: metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}})
			}
		}
		if list.GroupVersion == "" {
			return false
		}
		write(w, list)
	}
	return true
}

func (s *Server) match(path string) (r Resource, name string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		root := strings.TrimSuffix(Path(r, "", ""), r.Plural)
		rest, ok := strings.CutPrefix(path, root)
		if !ok {
			continue
		}
		parts := strings.Split(rest, "/")
		if r.Namespaced && len(parts) >= 3 && parts[0] == "namespaces" {
			parts = parts[2:]
		}
		if parts[0] != r.Plural || len(parts) > 2 {
			continue
		}
		if len(parts) == 2 {
			name = parts[1]
		}
		return r, name, true
	}
	return Resource{}, "", false
}

func (s *Server) collection(w http.ResponseWriter, r *http.Request, resource Resource) {
	query := r.URL.Query()
	if query.Get("sendInitialEvents") != "" {
		fail(w, http.StatusUnprocessableEntity, "no streaming lists")
		return
	}
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	watch := &watcher{collection: r.URL.Path, resource: resource, selector: selector, events: make(chan event, 10000)}
	if query.Get("watch") != "" {
		s.watch(w, r, watch)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for path, o := range s.objects {
		if watch.holds(path) && selector.Matches(labels.Set(o.GetLabels())) {
			items = append(items, o.Object)
		}
	}
	kind, version := resource.Kind+"List", resource.GroupVersion
	if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	write(w, map[string]any{"kind": kind, "apiVersion": version, "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.FormatInt(s.revision, 10)}})
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, watch *watcher) {
	since, _ := strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	s.mu.Lock()
	for _, e := range s.history {
		if e.revision > since && watch.holds(e.path) {
			watch.events <- e
		}
	}
	s.watchers[watch] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, watch)
		s.mu.Unlock()
	}()
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-watch.events:
			if !s.free(r.Context()) {
				return
			}
			was := e.before != nil && watch.selector.Matches(labels.Set(e.before.GetLabels()))
			is := e.kind != "DELETED" && watch.selector.Matches(labels.Set(e.after.GetLabels()))
			kind := map[[2]bool]string{{false, true}: "ADDED", {true, true}: "MODIFIED", {true, false}: "DELETED"}[[2]bool{was, is}]
			if kind != "" {
				write(w, map[string]any{"type": kind, "object": e.after.Object})
				w.(http.Flusher).Flush()
			}
		}
	}
}

// free waits until watches may tell. It is false if the client went meanwhile.
func (s *Server) free(ctx context.Context) bool {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held == nil {
		return true
	}
	select {
	case <-held:
		return true
	case <-ctx.Done():
		return false
	}
}

// holds says whether a path lies in the watched collection, of one namespace or
// all.
func (w *watcher) holds(path string) bool {
	collection := path[:strings.LastIndex(path, "/")]
	return collection == w.collection || w.resource.Namespaced && w.collection == Path(w.resource, "", "") &&
		strings.HasSuffix(collection, "/"+w.resource.Plural) && strings.HasPrefix(collection, strings.TrimSuffix(w.collection, w.resource.Plural)+"namespaces/")
}
