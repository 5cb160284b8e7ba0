package joiningtest

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
)

// API is the little of a Kubernetes API that joining needs, over TLS: it
// keeps objects, watches, honours preconditions, and fills token Secrets as the
// token controller does. Tests set hooks to make it misbehave.
type API struct {
	t      *testing.T
	Server *httptest.Server
	uid    string

	Mu       sync.Mutex
	version  int
	Objects  map[string]map[string]any // by path
	history  map[string]map[string]any // by path@version
	log      []Event                   // all that ever happened, oldest first
	more     chan struct{}             // closed when the log grows
	Watchers int                       // how many watch
	Tokens   map[string]string         // token → account path; "" for the operator
	Requests []string

	// Intercept may answer a request itself; it then returns true.
	Intercept func(w http.ResponseWriter, r *http.Request) bool
	// FillTokens is false where no token controller runs.
	FillTokens bool
	// deleted is told each deleted object's path.
	deleted func(path string)
	// CAOfTokens, if set, is the ca.crt in token Secrets.
	CAOfTokens       []byte
	GitVersion, Date string
}

// OperatorToken is the bearer token that may do everything.
const OperatorToken = "operator-token"

// NewAPI serves an API whose kube-system has this UID, until the test ends.
func NewAPI(t *testing.T, uid string) *API {
	t.Helper()
	f := &API{
		t: t, uid: uid, Objects: map[string]map[string]any{}, history: map[string]map[string]any{}, more: make(chan struct{}),
		Tokens: map[string]string{OperatorToken: ""}, FillTokens: true, GitVersion: "v1.36.3",
	}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	f.Server.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.Server.StartTLS()
	t.Cleanup(f.Server.Close)
	f.Put("/api/v1/namespaces/kube-system", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system", "uid": uid}})
	return f
}

// CA is the certificate that verifies the server, as PEM.
func (f *API) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Server.Certificate().Raw})
}

// Config reaches the API as the operator.
func (f *API) Config() *rest.Config {
	return &rest.Config{
		Host: f.Server.URL, BearerToken: OperatorToken, TLSClientConfig: rest.TLSClientConfig{CAData: f.CA()},
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}
}

// Client is a controller-runtime client with a mapper that asks nothing.
func (f *API) Client() client.WithWatch {
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind, scope := range map[schema.GroupVersionKind]meta.RESTScope{
		corev1.SchemeGroupVersion.WithKind("Namespace"):              meta.RESTScopeRoot,
		corev1.SchemeGroupVersion.WithKind("Secret"):                 meta.RESTScopeNamespace,
		clusterv1alpha1.GroupVersion.WithKind("Cluster"):             meta.RESTScopeRoot,
		workv1alpha1.GroupVersion.WithKind("Work"):                   meta.RESTScopeNamespace,
		workv1alpha2.GroupVersion.WithKind("ResourceBinding"):        meta.RESTScopeNamespace,
		workv1alpha2.GroupVersion.WithKind("ClusterResourceBinding"): meta.RESTScopeRoot,
	} {
		mapper.Add(kind, scope)
	}
	made, err := client.NewWithWatch(f.Config(), client.Options{Scheme: kube.Scheme(), Mapper: mapper})
	if err != nil {
		f.t.Fatal(err)
	}
	return made
}

// Put stores an object as given, with a uid and a version.
func (f *API) Put(path string, object map[string]any) map[string]any {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Store(path, object, "ADDED")
}

// Store keeps an object and tells those who watch; Mu is held.
func (f *API) Store(path string, object map[string]any, kind string) map[string]any {
	f.version++
	metadata := object["metadata"].(map[string]any)
	if metadata["uid"] == nil {
		metadata["uid"] = fmt.Sprintf("uid-%d", f.version)
		metadata["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	metadata["resourceVersion"] = fmt.Sprint(f.version)
	if parts := strings.Split(path, "/"); slices.Contains(parts, "namespaces") && parts[len(parts)-2] != "namespaces" {
		metadata["namespace"] = parts[slices.Index(parts, "namespaces")+1]
	}
	f.Objects[path] = object
	data, _ := json.Marshal(object)
	old := map[string]any{}
	_ = json.Unmarshal(data, &old)
	f.history[fmt.Sprintf("%s@%d", path, f.version)] = old
	f.tell(Event{Type: kind, Object: data, Path: path})
	return object
}

// Names lists the stored objects below a path prefix.
func (f *API) Names(prefix string) []string {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	names := []string{}
	for path := range f.Objects {
		if strings.HasPrefix(path, prefix) {
			names = append(names, strings.TrimPrefix(path, prefix))
		}
	}
	slices.Sort(names)
	return names
}

// All lists every object but kube-system itself.
func (f *API) All() []string {
	return slices.DeleteFunc(f.Names("/"), func(path string) bool { return path == "api/v1/namespaces/kube-system" })
}

// Object is the object at a path, nil if there is none.
func (f *API) Object(path string) map[string]any {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Objects[path]
}

func (f *API) serve(w http.ResponseWriter, r *http.Request) {
	if f.Date != "" {
		w.Header().Set("Date", f.Date)
	}
	f.Mu.Lock()
	f.Requests = append(f.Requests, r.Method+" "+r.URL.Path)
	f.Mu.Unlock()
	if f.Intercept != nil && f.Intercept(w, r) {
		return
	}
	if r.URL.Path == "/version" {
		Answer(w, http.StatusOK, map[string]any{"major": "1", "minor": "36", "gitVersion": f.GitVersion})
		return
	}
	if !f.authenticated(r) {
		Refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return
	}
	switch {
	case f.discovery(w, r):
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		Answer(w, http.StatusCreated, map[string]any{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
			"status": map[string]any{"userInfo": map[string]any{"username": "kubernetes-admin", "groups": []string{"system:masters"}}}})
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		Answer(w, http.StatusCreated, map[string]any{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": map[string]any{"allowed": true}})
	case r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1":
		f.watch(w, r)
	default:
		f.crud(w, r)
	}
}

func (f *API) authenticated(r *http.Request) bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	account, known := f.Tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !known {
		return false
	}
	return account == "" || f.Objects[account] != nil
}

// discovery serves a handful of kinds.
func (f *API) discovery(w http.ResponseWriter, r *http.Request) bool {
	resource := func(name, kind string) map[string]any {
		return map[string]any{"name": name, "kind": kind, "namespaced": true, "verbs": []string{"get", "list", "create", "delete", "watch"}}
	}
	switch r.URL.Path {
	case "/api":
		Answer(w, http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
	case "/apis":
		Answer(w, http.StatusOK, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}})
	case "/api/v1":
		Answer(w, http.StatusOK, map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{
			resource("configmaps", "ConfigMap"), resource("secrets", "Secret"), resource("serviceaccounts", "ServiceAccount"), resource("pods", "Pod"),
		}})
	default:
		return false
	}
	return true
}

func (f *API) crud(w http.ResponseWriter, r *http.Request) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	path := r.URL.Path
	body, _ := io.ReadAll(r.Body)
	switch r.Method {
	case http.MethodPost:
		object := map[string]any{}
		if err := json.Unmarshal(body, &object); err != nil {
			Refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
			return
		}
		path += "/" + object["metadata"].(map[string]any)["name"].(string)
		if f.Objects[path] != nil {
			Refuse(w, http.StatusConflict, "AlreadyExists", path+" already exists")
			return
		}
		Answer(w, http.StatusCreated, f.Store(path, object, "ADDED"))
		f.fill(path)
	case http.MethodGet:
		if isCollection(path) {
			f.list(w, r)
			return
		}
		if f.Objects[path] == nil {
			Refuse(w, http.StatusNotFound, "NotFound", path+" not found")
			return
		}
		Answer(w, http.StatusOK, f.Objects[path])
	case http.MethodPut, http.MethodPatch:
		f.change(w, r, path, body)
	case http.MethodDelete:
		f.remove(w, path, body)
	}
}

func (f *API) change(w http.ResponseWriter, r *http.Request, path string, body []byte) {
	current := f.Objects[path]
	if current == nil {
		Refuse(w, http.StatusNotFound, "NotFound", path+" not found")
		return
	}
	if r.Method == http.MethodPatch {
		old, _ := json.Marshal(current)
		body, _ = jsonpatch.MergePatch(old, body)
	}
	object := map[string]any{}
	if err := json.Unmarshal(body, &object); err != nil {
		Refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	was, is := current["metadata"].(map[string]any), object["metadata"].(map[string]any)
	if is["uid"] != was["uid"] || is["resourceVersion"] != nil && is["resourceVersion"] != "" && is["resourceVersion"] != was["resourceVersion"] {
		Refuse(w, http.StatusConflict, "Conflict", path+" has changed")
		return
	}
	if finalizers, _ := is["finalizers"].([]any); len(finalizers) == 0 && is["deletionTimestamp"] != nil {
		f.Drop(path)
		Answer(w, http.StatusOK, object)
		return
	}
	Answer(w, http.StatusOK, f.Store(path, object, "MODIFIED"))
}

func (f *API) remove(w http.ResponseWriter, path string, body []byte) {
	current := f.Objects[path]
	if current == nil {
		Refuse(w, http.StatusNotFound, "NotFound", path+" not found")
		return
	}
	var options struct {
		Preconditions struct{ UID string }
	}
	_ = json.Unmarshal(body, &options)
	metadata := current["metadata"].(map[string]any)
	if want := options.Preconditions.UID; want != "" && want != metadata["uid"] {
		Refuse(w, http.StatusConflict, "Conflict", "the uid is another one")
		return
	}
	if finalizers, _ := metadata["finalizers"].([]any); len(finalizers) > 0 {
		metadata["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		Answer(w, http.StatusOK, f.Store(path, current, "MODIFIED"))
		return
	}
	f.Drop(path)
	Answer(w, http.StatusOK, current)
}

// Drop forgets an object and, like the garbage collector and the namespace
// controller, all that is in it or owned by it.
func (f *API) Drop(path string) {
	object := f.Objects[path]
	delete(f.Objects, path)
	f.version++
	object["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(f.version)
	data, _ := json.Marshal(object)
	f.tell(Event{Type: "DELETED", Object: data, Path: path})
	if f.deleted != nil {
		f.deleted(path)
	}
	uid := object["metadata"].(map[string]any)["uid"]
	for other, candidate := range f.Objects {
		owners, _ := candidate["metadata"].(map[string]any)["ownerReferences"].([]any)
		owned := slices.ContainsFunc(owners, func(owner any) bool { return owner.(map[string]any)["uid"] == uid })
		if owned || strings.HasPrefix(other, path+"/") {
			f.Drop(other)
		}
	}
}

// kinds of lists, by the last word of their paths.
var kinds = map[string]string{
	"namespaces": "Namespace", "secrets": "Secret", "serviceaccounts": "ServiceAccount", "configmaps": "ConfigMap", "pods": "Pod",
	"clusters": "Cluster", "works": "Work", "resourcebindings": "ResourceBinding", "clusterresourcebindings": "ClusterResourceBinding",
}

func last(path string) string { return path[strings.LastIndex(path, "/")+1:] }

func isCollection(path string) bool { return kinds[last(path)] != "" }

// groupVersion is the apiVersion of what lies at a path.
func groupVersion(path string) string {
	parts := strings.Split(path, "/")
	if parts[1] == "api" {
		return parts[2]
	}
	return parts[2] + "/" + parts[3]
}

func (f *API) list(w http.ResponseWriter, r *http.Request) {
	items := []any{}
	only, _ := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	paths := []string{}
	for path := range f.Objects {
		if within(path, r.URL.Path) && (only == "" || strings.HasSuffix(path, "/"+only)) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		if r.URL.Query().Get("resourceVersionMatch") != "Exact" {
			items = append(items, f.Objects[path])
		} else if old := f.history[path+"@"+r.URL.Query().Get("resourceVersion")]; old != nil {
			items = append(items, old)
		}
	}
	Answer(w, http.StatusOK, map[string]any{"kind": kinds[last(r.URL.Path)] + "List", "apiVersion": groupVersion(r.URL.Path), "metadata": map[string]any{"resourceVersion": fmt.Sprint(f.version)}, "items": items})
}

// fill puts a token into a fresh token Secret, a moment later.
func (f *API) fill(path string) {
	object := f.Objects[path]
	if object["type"] != string(corev1.SecretTypeServiceAccountToken) || !f.FillTokens {
		return
	}
	go func() {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		if f.Objects[path] == nil {
			return
		}
		name := last(path)
		account := strings.Replace(path, "/secrets/", "/serviceaccounts/", 1)
		text := "token-of-" + name + "-" + f.Objects[path]["metadata"].(map[string]any)["uid"].(string)
		f.Tokens[text] = account
		filled := map[string]any{}
		data, _ := json.Marshal(f.Objects[path])
		_ = json.Unmarshal(data, &filled)
		ca := f.CA()
		if f.CAOfTokens != nil {
			ca = f.CAOfTokens
		}
		filled["data"] = map[string]any{"token": []byte(text), "ca.crt": ca}
		if owner := f.Objects[account]; owner != nil {
			filled["metadata"].(map[string]any)["annotations"].(map[string]any)[corev1.ServiceAccountUIDKey] = owner["metadata"].(map[string]any)["uid"]
		}
		// Through JSON once more, so that all values are as if received.
		data, _ = json.Marshal(filled)
		clean := map[string]any{}
		_ = json.Unmarshal(data, &clean)
		f.Store(path, clean, "MODIFIED")
	}()
}

// Answer writes an answer.
func Answer(w http.ResponseWriter, code int, body any) {
	data, _ := json.Marshal(body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(data)
}

// Refuse answers with a Status that says why not.
func Refuse(w http.ResponseWriter, code int, reason, message string) {
	Answer(w, code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code})
}
