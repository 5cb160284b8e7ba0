// Package membertest is an API server in memory, for tests of what acts on a
// member cluster: resource versions and conflicts, UIDs, generations, label
// selected watches, merge patches, delete preconditions and discovery are real
// enough for the agent; there is no admission, validation or controller.
package membertest

import (
	"encoding/json"
	"io"
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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Resource is a kind that the server serves.
type Resource struct {
	GroupVersion, Plural, Kind string
	Namespaced                 bool
	// Status says that the status is written through a subresource only.
	Status bool
}

// Resources are what New serves: enough kinds for most tests.
var Resources = []Resource{
	{"v1", "namespaces", "Namespace", false, false},
	{"v1", "configmaps", "ConfigMap", true, false},
	{"v1", "secrets", "Secret", true, false},
	{"v1", "services", "Service", true, false},
	{"v1", "serviceaccounts", "ServiceAccount", true, false},
	{"v1", "pods", "Pod", true, false},
	{"v1", "nodes", "Node", false, false},
	{"v1", "events", "Event", true, false},
	{"apps/v1", "deployments", "Deployment", true, false},
	{"apps/v1", "replicasets", "ReplicaSet", true, false},
	{"rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", false, false},
	{"rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding", false, false},
	{"apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", false, false},
}

// Server is the API server.
type Server struct {
	// Default changes an object before it is stored, as defaulting and
	// controllers do. It is called with every write, under the server's lock.
	Default func(o *unstructured.Unstructured)
	// Forbid makes every access review say no.
	Forbid bool

	config *rest.Config
	cut    func() // breaks the clients' connections

	mu        sync.Mutex
	held      chan struct{} // closed when watches may tell again; nil while they may
	resources []Resource
	objects   map[string]*unstructured.Unstructured // by path
	revision  int64
	uids      int
	watchers  map[*watcher]struct{}
	history   []event // since the start
	requests  []string
	refuse    func(r *http.Request) int
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
	s := newServer()
	server := httptest.NewServer(s)
	s.config, s.cut = &rest.Config{Host: server.URL}, server.CloseClientConnections
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

func newServer() *Server {
	return &Server{resources: slices.Clone(Resources), objects: map[string]*unstructured.Unstructured{}, watchers: map[*watcher]struct{}{}, revision: 100}
}

// Config returns how to reach the server.
func (s *Server) Config() *rest.Config { return rest.CopyConfig(s.config) }

// Cut breaks all connections of clients, watches included. New ones are accepted.
func (s *Server) Cut() { s.cut() }

// HoldWatches keeps back what watches have to tell from now on, until release is
// called. They stay open.
func (s *Server) HoldWatches() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.held = held
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = nil
		close(held)
	}
}

// Serve adds a kind.
func (s *Server) Serve(r Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources = append(s.resources, r)
}

// Refuse lets a function answer requests instead of the server: by an HTTP status
// other than 0.
func (s *Server) Refuse(with func(r *http.Request) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = with
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

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		if code := refuse(r); code != 0 {
			fail(w, code, "refused by the test")
			return
		}
	}
	if s.discover(w, r.URL.Path) {
		return
	}
	if strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
		w.WriteHeader(http.StatusCreated)
		write(w, map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "status": map[string]any{"allowed": !s.Forbid}})
		return
	}
	path, status := strings.CutSuffix(r.URL.Path, "/status")
	resource, name, ok := s.match(path)
	if !ok || status && (!resource.Status || name == "") {
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
	s.object(w, r, target{resource, path, status})
}

// target is what a request for one object is about.
type target struct {
	resource Resource
	path     string
	status   bool // only the status
}

// object answers a request for one object. The lock is held.
func (s *Server) object(w http.ResponseWriter, r *http.Request, to target) {
	path, resource := to.path, to.resource
	current := s.objects[path]
	upsert := r.Header.Get("Content-Type") == string(types.ApplyPatchType)
	if r.Method != http.MethodPost && current == nil && !upsert {
		fail(w, http.StatusNotFound, "not found")
		return
	}
	switch r.Method {
	case http.MethodGet:
		write(w, current.Object)
	case http.MethodDelete:
		options, _ := decode(r) // none is fine
		if uid, _, _ := unstructured.NestedString(options, "preconditions", "uid"); uid != "" && uid != string(current.GetUID()) {
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
		if resource.Status {
			o = split(o, current, to.status)
		}
		if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
			s.drop(path)
			write(w, o.Object)
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

// split returns what a write to an object, or to its status, makes of it.
func split(o, current *unstructured.Unstructured, status bool) *unstructured.Unstructured {
	if status {
		next := current.DeepCopy()
		next.Object["status"] = o.Object["status"]
		return next
	}
	delete(o.Object, "status")
	if current != nil && current.Object["status"] != nil {
		o.Object["status"] = current.DeepCopy().Object["status"]
	}
	return o
}

// body reads the object of a POST, PUT or merge PATCH.
func (s *Server) body(r *http.Request, current *unstructured.Unstructured) (*unstructured.Unstructured, int) {
	fields, err := decode(r)
	if err != nil {
		return nil, http.StatusBadRequest
	}
	if r.Method == http.MethodPatch && current != nil {
		merged := current.DeepCopy().Object
		if uid, _, _ := unstructured.NestedString(fields, "metadata", "uid"); uid != "" && uid != string(current.GetUID()) {
			return nil, http.StatusConflict
		}
		if version, _, _ := unstructured.NestedString(fields, "metadata", "resourceVersion"); version != "" && version != current.GetResourceVersion() {
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

// decode reads a body. Clients of built-in kinds send protobuf.
func decode(r *http.Request) (map[string]any, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), runtime.ContentTypeProtobuf) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil {
			return nil, err
		}
		return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	}
	var fields map[string]any
	return fields, json.Unmarshal(data, &fields)
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
