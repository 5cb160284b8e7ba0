package cluster_test

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

// fakeAPI is the little of a Kubernetes API that joining needs, over TLS: it
// keeps objects, watches, honours preconditions, and fills token Secrets as the
// token controller does. Tests set hooks to make it misbehave.
type fakeAPI struct {
	t      *testing.T
	server *httptest.Server
	uid    string

	mu       sync.Mutex
	version  int
	objects  map[string]map[string]any // by path
	history  map[string]map[string]any // by path@version
	watchers map[chan event]string     // to the collection's path
	tokens   map[string]string         // token → account path; "" for the operator
	requests []string

	// intercept may answer a request itself; it then returns true.
	intercept func(w http.ResponseWriter, r *http.Request) bool
	// fillTokens is false where no token controller runs.
	fillTokens bool
	// deleted is told each deleted object's path.
	deleted func(path string)
	// caOfTokens, if set, is the ca.crt in token Secrets.
	caOfTokens       []byte
	gitVersion, date string
}

type event struct {
	Type   string         `json:"type"`
	Object map[string]any `json:"object"`
	path   string
}

const operatorToken = "operator-token"

func newFakeAPI(t *testing.T, uid string) *fakeAPI {
	t.Helper()
	f := &fakeAPI{
		t: t, uid: uid, objects: map[string]map[string]any{}, history: map[string]map[string]any{}, watchers: map[chan event]string{},
		tokens: map[string]string{operatorToken: ""}, fillTokens: true, gitVersion: "v1.36.3",
	}
	f.server = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	f.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.server.StartTLS()
	t.Cleanup(f.server.Close)
	f.put("/api/v1/namespaces/kube-system", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system", "uid": uid}})
	return f
}

func (f *fakeAPI) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw})
}

func (f *fakeAPI) config() *rest.Config {
	return &rest.Config{
		Host: f.server.URL, BearerToken: operatorToken, TLSClientConfig: rest.TLSClientConfig{CAData: f.ca()},
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}
}

// client is a controller-runtime client with a mapper that asks nothing.
func (f *fakeAPI) client() client.WithWatch {
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
	made, err := client.NewWithWatch(f.config(), client.Options{Scheme: kube.Scheme(), Mapper: mapper})
	if err != nil {
		f.t.Fatal(err)
	}
	return made
}

// put stores an object as given, with a uid and a version.
func (f *fakeAPI) put(path string, object map[string]any) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.store(path, object, "ADDED")
}

func (f *fakeAPI) store(path string, object map[string]any, kind string) map[string]any {
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
	f.objects[path] = object
	data, _ := json.Marshal(object)
	old := map[string]any{}
	_ = json.Unmarshal(data, &old)
	f.history[fmt.Sprintf("%s@%d", path, f.version)] = old
	f.tell(event{Type: kind, Object: object, path: path})
	return object
}

func (f *fakeAPI) tell(e event) {
	for watcher, collection := range f.watchers {
		if within(e.path, collection) {
			watcher <- e
		}
	}
}

func parent(path string) string { return path[:strings.LastIndex(path, "/")] }

// within says whether an object is in a collection, which may be that of one
// namespace or of all.
func within(path, collection string) bool {
	parts := strings.Split(parent(path), "/")
	if at := slices.Index(parts, "namespaces"); at >= 0 && at < len(parts)-1 && parent(path) != collection {
		parts = slices.Delete(parts, at, at+2)
	}
	return strings.Join(parts, "/") == collection
}

// names lists the stored objects below a path prefix.
func (f *fakeAPI) names(prefix string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := []string{}
	for path := range f.objects {
		if strings.HasPrefix(path, prefix) {
			names = append(names, strings.TrimPrefix(path, prefix))
		}
	}
	slices.Sort(names)
	return names
}

// all lists every object but kube-system itself.
func (f *fakeAPI) all() []string {
	return slices.DeleteFunc(f.names("/"), func(path string) bool { return path == "api/v1/namespaces/kube-system" })
}

func (f *fakeAPI) object(path string) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.objects[path]
}

func (f *fakeAPI) serve(w http.ResponseWriter, r *http.Request) {
	if f.date != "" {
		w.Header().Set("Date", f.date)
	}
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	f.mu.Unlock()
	if f.intercept != nil && f.intercept(w, r) {
		return
	}
	if r.URL.Path == "/version" {
		answer(w, http.StatusOK, map[string]any{"major": "1", "minor": "36", "gitVersion": f.gitVersion})
		return
	}
	if !f.authenticated(r) {
		refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return
	}
	switch {
	case f.discovery(w, r):
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		answer(w, http.StatusCreated, map[string]any{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
			"status": map[string]any{"userInfo": map[string]any{"username": "kubernetes-admin", "groups": []string{"system:masters"}}}})
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		answer(w, http.StatusCreated, map[string]any{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": map[string]any{"allowed": true}})
	case r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1":
		f.watch(w, r)
	default:
		f.crud(w, r)
	}
}

func (f *fakeAPI) authenticated(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	account, known := f.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !known {
		return false
	}
	return account == "" || f.objects[account] != nil
}

// discovery serves a handful of kinds.
func (f *fakeAPI) discovery(w http.ResponseWriter, r *http.Request) bool {
	resource := func(name, kind string) map[string]any {
		return map[string]any{"name": name, "kind": kind, "namespaced": true, "verbs": []string{"get", "list", "create", "delete", "watch"}}
	}
	switch r.URL.Path {
	case "/api":
		answer(w, http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
	case "/apis":
		answer(w, http.StatusOK, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}})
	case "/api/v1":
		answer(w, http.StatusOK, map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{
			resource("configmaps", "ConfigMap"), resource("secrets", "Secret"), resource("serviceaccounts", "ServiceAccount"), resource("pods", "Pod"),
		}})
	default:
		return false
	}
	return true
}

func (f *fakeAPI) crud(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := r.URL.Path
	body, _ := io.ReadAll(r.Body)
	switch r.Method {
	case http.MethodPost:
		object := map[string]any{}
		if err := json.Unmarshal(body, &object); err != nil {
			refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
			return
		}
		path += "/" + object["metadata"].(map[string]any)["name"].(string)
		if f.objects[path] != nil {
			refuse(w, http.StatusConflict, "AlreadyExists", path+" already exists")
			return
		}
		answer(w, http.StatusCreated, f.store(path, object, "ADDED"))
		f.fill(path)
	case http.MethodGet:
		if isCollection(path) {
			f.list(w, r)
			return
		}
		if f.objects[path] == nil {
			refuse(w, http.StatusNotFound, "NotFound", path+" not found")
			return
		}
		answer(w, http.StatusOK, f.objects[path])
	case http.MethodPut, http.MethodPatch:
		f.change(w, r, path, body)
	case http.MethodDelete:
		f.remove(w, path, body)
	}
}

func (f *fakeAPI) change(w http.ResponseWriter, r *http.Request, path string, body []byte) {
	current := f.objects[path]
	if current == nil {
		refuse(w, http.StatusNotFound, "NotFound", path+" not found")
		return
	}
	if r.Method == http.MethodPatch {
		old, _ := json.Marshal(current)
		body, _ = jsonpatch.MergePatch(old, body)
	}
	object := map[string]any{}
	if err := json.Unmarshal(body, &object); err != nil {
		refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	was, is := current["metadata"].(map[string]any), object["metadata"].(map[string]any)
	if is["uid"] != was["uid"] || is["resourceVersion"] != nil && is["resourceVersion"] != "" && is["resourceVersion"] != was["resourceVersion"] {
		refuse(w, http.StatusConflict, "Conflict", path+" has changed")
		return
	}
	if finalizers, _ := is["finalizers"].([]any); len(finalizers) == 0 && is["deletionTimestamp"] != nil {
		f.drop(path)
		answer(w, http.StatusOK, object)
		return
	}
	answer(w, http.StatusOK, f.store(path, object, "MODIFIED"))
}

func (f *fakeAPI) remove(w http.ResponseWriter, path string, body []byte) {
	current := f.objects[path]
	if current == nil {
		refuse(w, http.StatusNotFound, "NotFound", path+" not found")
		return
	}
	var options struct {
		Preconditions struct{ UID string }
	}
	_ = json.Unmarshal(body, &options)
	metadata := current["metadata"].(map[string]any)
	if want := options.Preconditions.UID; want != "" && want != metadata["uid"] {
		refuse(w, http.StatusConflict, "Conflict", "the uid is another one")
		return
	}
	if finalizers, _ := metadata["finalizers"].([]any); len(finalizers) > 0 {
		metadata["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		answer(w, http.StatusOK, f.store(path, current, "MODIFIED"))
		return
	}
	f.drop(path)
	answer(w, http.StatusOK, current)
}

// drop forgets an object and, like the garbage collector and the namespace
// controller, all that is in it or owned by it.
func (f *fakeAPI) drop(path string) {
	object := f.objects[path]
	delete(f.objects, path)
	f.tell(event{Type: "DELETED", Object: object, path: path})
	if f.deleted != nil {
		f.deleted(path)
	}
	uid := object["metadata"].(map[string]any)["uid"]
	for other, candidate := range f.objects {
		owners, _ := candidate["metadata"].(map[string]any)["ownerReferences"].([]any)
		owned := slices.ContainsFunc(owners, func(owner any) bool { return owner.(map[string]any)["uid"] == uid })
		if owned || strings.HasPrefix(other, path+"/") {
			f.drop(other)
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

func (f *fakeAPI) list(w http.ResponseWriter, r *http.Request) {
	items := []any{}
	only, _ := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	paths := []string{}
	for path := range f.objects {
		if within(path, r.URL.Path) && (only == "" || strings.HasSuffix(path, "/"+only)) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		if r.URL.Query().Get("resourceVersionMatch") != "Exact" {
			items = append(items, f.objects[path])
		} else if old := f.history[path+"@"+r.URL.Query().Get("resourceVersion")]; old != nil {
			items = append(items, old)
		}
	}
	answer(w, http.StatusOK, map[string]any{"kind": kinds[last(r.URL.Path)] + "List", "apiVersion": groupVersion(r.URL.Path), "metadata": map[string]any{"resourceVersion": fmt.Sprint(f.version)}, "items": items})
}

func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		refuse(w, http.StatusUnprocessableEntity, "Invalid", "no streaming lists here") // clients fall back to a list
		return
	}
	events := make(chan event, 100)
	f.mu.Lock()
	f.watchers[events] = r.URL.Path
	// What changed since the version asked for, as a watch cache would say.
	var since int
	_, _ = fmt.Sscan(r.URL.Query().Get("resourceVersion"), &since)
	for path, object := range f.objects {
		var version int
		_, _ = fmt.Sscan(object["metadata"].(map[string]any)["resourceVersion"].(string), &version)
		if within(path, r.URL.Path) && version > since {
			events <- event{Type: "MODIFIED", Object: object, path: path}
		}
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.watchers, events)
		f.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	only, _ := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-events:
			if only != "" && !strings.HasSuffix(e.path, "/"+only) {
				continue
			}
			f.mu.Lock()
			data, _ := json.Marshal(e)
			f.mu.Unlock()
			if _, err := w.Write(append(data, '\n')); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}
}

// fill puts a token into a fresh token Secret, a moment later.
func (f *fakeAPI) fill(path string) {
	object := f.objects[path]
	if object["type"] != string(corev1.SecretTypeServiceAccountToken) || !f.fillTokens {
		return
	}
	go func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.objects[path] == nil {
			return
		}
		name := last(path)
		account := strings.Replace(path, "/secrets/", "/serviceaccounts/", 1)
		text := "token-of-" + name + "-" + f.objects[path]["metadata"].(map[string]any)["uid"].(string)
		f.tokens[text] = account
		filled := map[string]any{}
		data, _ := json.Marshal(f.objects[path])
		_ = json.Unmarshal(data, &filled)
		ca := f.ca()
		if f.caOfTokens != nil {
			ca = f.caOfTokens
		}
		filled["data"] = map[string]any{"token": []byte(text), "ca.crt": ca}
		if owner := f.objects[account]; owner != nil {
			filled["metadata"].(map[string]any)["annotations"].(map[string]any)[corev1.ServiceAccountUIDKey] = owner["metadata"].(map[string]any)["uid"]
		}
		// Through JSON once more, so that all values are as if received.
		data, _ = json.Marshal(filled)
		clean := map[string]any{}
		_ = json.Unmarshal(data, &clean)
		f.store(path, clean, "MODIFIED")
	}()
}

func answer(w http.ResponseWriter, code int, body any) {
	data, _ := json.Marshal(body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(data)
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	answer(w, code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code})
}
