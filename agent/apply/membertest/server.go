// Package membertest is an API server in memory, for tests of what acts on a
// member cluster: resource versions and conflicts, UIDs, generations, label
// selected watches, merge patches, delete preconditions and discovery are real
// enough for the agent; there is no admission, validation or controller.
package membertest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Resource is a kind that the server serves.
type Resource struct {
	GroupVersion, Plural, Kind string
	Namespaced                 bool
}

// Resources are what New serves: enough kinds for most tests.
var Resources = []Resource{
	{"v1", "namespaces", "Namespace", false},
	{"v1", "configmaps", "ConfigMap", true},
	{"v1", "secrets", "Secret", true},
	{"v1", "services", "Service", true},
	{"v1", "serviceaccounts", "ServiceAccount", true},
	{"v1", "pods", "Pod", true},
	{"v1", "nodes", "Node", false},
	{"v1", "events", "Event", true},
	{"apps/v1", "deployments", "Deployment", true},
	{"apps/v1", "replicasets", "ReplicaSet", true},
	{"rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", false},
	{"rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding", false},
	{"apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", false},
}

// Server is the API server.
type Server struct {
	// Default changes an object before it is stored, as defaulting and
	// controllers do. It is called with every write, under the server's lock.
	Default func(o *unstructured.Unstructured)
	// Refuse, if not nil, may answer a request instead of the server: it returns
	// an HTTP status other than 0.
	Refuse func(r *http.Request) int

	http *httptest.Server

	mu        sync.Mutex
	resources []Resource
	objects   map[string]*unstructured.Unstructured // by path
	revision  int64
	uids      int
	watchers  map[*watcher]struct{}
	history   []event // since the start
	requests  []string
}

type watcher struct {
	collection string // path prefix of its objects
	resource   Resource
	selector   labels.Selector
	events     chan event
}

type event struct {
	revision      int64
	path, kind    string
	before, after *unstructured.Unstructured
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := &Server{resources: slices.Clone(Resources), objects: map[string]*unstructured.Unstructured{}, watchers: map[*watcher]struct{}{}, revision: 100}
	s.http = httptest.NewServer(s)
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// Config returns how to reach the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.http.URL} }

// Serve adds a kind.
func (s *Server) Serve(r Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources = append(s.resources, r)
}

// Path returns where an object is stored.
func Path(r Resource, namespace, name string) string {
	root := "/apis/" + r.GroupVersion
	if !strings.Contains(r.GroupVersion, "/") {
		root = "/api/" + r.GroupVersion
	}
	if r.Namespaced && namespace != "" {
		root += "/namespaces/" + namespace
	}
	if name == "" {
		return root + "/" + r.Plural
	}
	return root + "/" + r.Plural + "/" + name
}

func (s *Server) resource(kind string) Resource {
	for _, r := range s.resources {
		if r.Kind == kind {
			return r
		}
	}
	panic("membertest: unknown kind " + kind)
}

// Put stores an object as somebody else's write would. A second Put updates.
func (s *Server) Put(o *unstructured.Unstructured) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := Path(s.resource(o.GetKind()), o.GetNamespace(), o.GetName())
	return s.store(path, o.DeepCopy()).DeepCopy()
}

// Get returns an object, nil if there is none.
func (s *Server) Get(kind, namespace, name string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[Path(s.resource(kind), namespace, name)]; o != nil {
		return o.DeepCopy()
	}
	return nil
}

// Remove deletes an object as somebody else would.
func (s *Server) Remove(kind, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(Path(s.resource(kind), namespace, name))
}

// Writes returns the requests that changed something, as "PUT /api/v1/…", since
// the last call.
func (s *Server) Writes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests
	s.requests = nil
	return r
}

// store must be called with the lock held.
func (s *Server) store(path string, o *unstructured.Unstructured) *unstructured.Unstructured {
	before := s.objects[path]
	if s.Default != nil {
		s.Default(o)
	}
	if before == nil {
		s.uids++
		o.SetUID(types.UID("uid-" + strconv.Itoa(s.uids)))
		o.SetCreationTimestamp(metav1.Unix(1_700_000_000, 0))
		o.SetGeneration(1)
	} else {
		o.SetUID(before.GetUID())
		o.SetCreationTimestamp(before.GetCreationTimestamp())
		o.SetGeneration(before.GetGeneration())
		if !equality.Semantic.DeepEqual(before.Object["spec"], o.Object["spec"]) {
			o.SetGeneration(before.GetGeneration() + 1)
		}
		o.SetResourceVersion(before.GetResourceVersion())
		if equality.Semantic.DeepEqual(before.Object, o.Object) {
			return o // nothing changed: as real servers, no new version
		}
	}
	s.revision++
	o.SetResourceVersion(strconv.FormatInt(s.revision, 10))
	s.objects[path] = o
	kind := "MODIFIED"
	if before == nil {
		kind = "ADDED"
	}
	s.tell(event{s.revision, path, kind, before, o})
	return o
}

func (s *Server) drop(path string) {
	if o := s.objects[path]; o != nil {
		delete(s.objects, path)
		s.revision++
		last := o.DeepCopy()
		last.SetResourceVersion(strconv.FormatInt(s.revision, 10))
		s.tell(event{s.revision, path, "DELETED", o, last})
	}
}

func (s *Server) tell(e event) {
	s.history = append(s.history, e)
	for w := range s.watchers {
		if w.holds(e.path) {
			w.events <- e
		}
	}
}

// holds says whether a path lies in the watched collection, of one namespace or
// all.
func (w *watcher) holds(path string) bool {
	collection := path[:strings.LastIndex(path, "/")]
	return collection == w.collection || w.resource.Namespaced && w.collection == Path(w.resource, "", "") &&
		strings.HasSuffix(collection, "/"+w.resource.Plural) && strings.HasPrefix(collection, strings.TrimSuffix(w.collection, w.resource.Plural)+"namespaces/")
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if s.Refuse != nil {
		if code := s.Refuse(r); code != 0 {
			fail(w, code, "refused by the test")
			return
		}
	}
	if s.discover(w, r.URL.Path) {
		return
	}
	resource, name, ok := s.match(r.URL.Path)
	if !ok {
		fail(w, http.StatusNotFound, "unknown path")
		return
	}
	if name == "" && r.Method == http.MethodGet {
		s.collection(w, r, resource)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet {
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	}
	s.object(w, r, resource)
}

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

// object answers a request for one object. The lock is held.
func (s *Server) object(w http.ResponseWriter, r *http.Request, resource Resource) {
	path := r.URL.Path
	current := s.objects[path]
	if r.Method != http.MethodPost && current == nil {
		fail(w, http.StatusNotFound, "not found")
		return
	}
	switch r.Method {
	case http.MethodGet:
		write(w, current.Object)
	case http.MethodDelete:
		var options metav1.DeleteOptions
		_ = json.NewDecoder(r.Body).Decode(&options)
		if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != current.GetUID() {
			fail(w, http.StatusConflict, "another uid")
			return
		}
		if len(current.GetFinalizers()) > 0 {
			dying := current.DeepCopy()
			now := metav1.NewTime(time.Now())
			dying.SetDeletionTimestamp(&now)
			s.store(path, dying)
			write(w, metav1.Status{Status: "Success"})
			return
		}
		s.drop(path)
		write(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"})
	default:
		o, code := s.body(r, current)
		if code != 0 {
			fail(w, code, "cannot be written")
			return
		}
		if r.Method == http.MethodPost {
			path = Path(resource, o.GetNamespace(), o.GetName())
			if s.objects[path] != nil {
				fail(w, http.StatusConflict, "already exists")
				return
			}
			if resource.Namespaced && s.objects["/api/v1/namespaces/"+o.GetNamespace()] == nil && o.GetNamespace() != "default" {
				fail(w, http.StatusNotFound, "namespace not found")
				return
			}
		}
		write(w, s.store(path, o).Object)
	}
}

// body reads the object of a POST, PUT or merge PATCH.
func (s *Server) body(r *http.Request, current *unstructured.Unstructured) (*unstructured.Unstructured, int) {
	var fields map[string]any
	decoder := json.NewDecoder(r.Body)
	if err := decoder.Decode(&fields); err != nil {
		return nil, http.StatusBadRequest
	}
	if r.Method == http.MethodPatch {
		merged := current.DeepCopy().Object
		if uid, _, _ := unstructured.NestedString(fields, "metadata", "uid"); uid != "" && uid != string(current.GetUID()) {
			return nil, http.StatusConflict
		}
		merge(merged, fields)
		fields = merged
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, http.StatusBadRequest
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		return nil, http.StatusBadRequest
	}
	if version := o.GetResourceVersion(); r.Method == http.MethodPut && version != "" && version != current.GetResourceVersion() {
		return nil, http.StatusConflict
	}
	return o, 0
}

// merge is RFC 7386 on maps.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(into, key)
		case map[string]any:
			inner, ok := into[key].(map[string]any)
			if !ok {
				inner = map[string]any{}
			}
			merge(inner, value)
			into[key] = inner
		default:
			into[key] = value
		}
	}
}

func fail(w http.ResponseWriter, code int, message string) {
	reason := map[int]metav1.StatusReason{404: metav1.StatusReasonNotFound, 409: metav1.StatusReasonConflict,
		403: metav1.StatusReasonForbidden, 422: metav1.StatusReasonInvalid, 500: metav1.StatusReasonInternalError}[code]
	if message == "already exists" {
		reason = metav1.StatusReasonAlreadyExists
	}
	w.WriteHeader(code)
	write(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Reason: reason, Message: message})
}

func write(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v) // fails only when the client has gone
}
