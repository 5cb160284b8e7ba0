package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/httpapi/apitest"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/policy"
)

// published keeps the newest live row of each key.
type published struct {
	*live.Hub
	mu   sync.Mutex
	rows map[string]live.Event
}

func (p *published) Publish(topic string, event live.Event) {
	p.mu.Lock()
	p.rows[topic+" "+event.Key] = event
	p.mu.Unlock()
	p.Hub.Publish(topic, event)
}

func (p *published) last(key string) (live.Event, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	event, ok := p.rows[key]
	return event, ok
}

// fixture is the domain over a real API server and a real audit.
type fixture struct {
	*kubetest.Hub
	api       http.Handler
	audit     *audit.Service
	published *published
	misses    *policy.Misses
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Hub: kubetest.StartHub(t), published: &published{Hub: live.NewHub(), rows: map[string]live.Event{}}, misses: policy.NewMisses()}
	for _, kind := range policy.Kinds {
		data, err := os.ReadFile("../../deploy/crds/policy.karmada.io_" + kind.Resource + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, definition); err != nil {
			t.Fatal(err)
		}
		f.Create(t, definition)
	}
	f.Await(t, "policies are served", func(ctx context.Context) bool {
		for _, list := range []client.ObjectList{
			&policyv1alpha1.PropagationPolicyList{}, &policyv1alpha1.ClusterPropagationPolicyList{},
			&policyv1alpha1.OverridePolicyList{}, &policyv1alpha1.ClusterOverridePolicyList{},
		} {
			if f.Client.List(ctx, list) != nil {
				return false
			}
		}
		return true
	})
	manager, err := kube.NewManager(f.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	f.audit = audit.NewService(databasetest.Open(t), f.published)
	service, err := policy.NewService(policy.ServiceOptions{
		Cache: manager.GetCache(), Clients: func(access.Actor) (client.Client, error) { return f.Client, nil },
		Audit: f.audit, Live: f.published, CRDs: os.DirFS("../../deploy/crds"), Misses: f.misses,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.Add(service); err != nil {
		t.Fatal(err)
	}
	f.api, err = httpapi.NewEngine(httpapi.Options{
		SPA: fstest.MapFS{"index.html": &fstest.MapFile{Data: []byte("<html></html>")}},
		Authenticate: func(c *gin.Context) {
			if role := access.Role(c.GetHeader("X-Role")); role != "" {
				c.Request = c.Request.WithContext(access.WithActor(c.Request.Context(), access.Actor{Name: "ada", Role: role}))
			}
		},
		Private: policy.NewHandler(service).Routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Run(t, manager)
	return f
}

var (
	viewer   = map[string]string{"X-Role": "viewer"}
	operator = map[string]string{"X-Role": "operator"}
)

func body(t *testing.T, write policy.Write) string {
	t.Helper()
	data, err := json.Marshal(write)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func answer[T any](t *testing.T, response *httptest.ResponseRecorder) T {
	t.Helper()
	var into T
	if err := json.Unmarshal(response.Body.Bytes(), &into); err != nil {
		t.Fatalf("%v: %s", err, response.Body)
	}
	return into
}

// fieldsAre checks which fields a problem names.
func fieldsAre(want ...string) func(*testing.T, *httptest.ResponseRecorder) {
	return func(t *testing.T, response *httptest.ResponseRecorder) {
		var fields []string
		for _, field := range answer[httpapi.Problem](t, response).Fields {
			fields = append(fields, field.Field)
			if field.Message == "" {
				t.Errorf("%s has no message", field.Field)
			}
		}
		slices.Sort(fields)
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
	}
}

// named is a policy called web with a spec.
func named(spec string) string {
	return "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: web, namespace: default, labels: {team: shop}}\nspec: {" + spec + "}\n"
}

const (
	path     = "/api/v1/policies/propagationpolicies/default/web"
	selector = "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]"
)

// TestService uses one API server for all that follows.
func TestService(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	t.Run("apply", f.testApply)
	t.Run("cluster-scoped", f.testClusterScoped)
	t.Run("list", f.testList)
	t.Run("misses", f.testMisses)
	t.Run("missing clusters", f.testMissingClusters)
}

// testApply goes through the life of one policy that the dashboard and kubectl
// both write.
func (f *fixture) testApply(t *testing.T) {
	var first policy.Detail
	put := func(name, spec string, write policy.Write, status int, code string, check func(*testing.T, *httptest.ResponseRecorder)) apitest.Scenario {
		write.YAML = named(spec)
		return apitest.Scenario{Name: name, Method: "PUT", Path: path, Header: operator, Body: body(t, write), Status: status, Code: code, Check: check}
	}
	dry := func(s apitest.Scenario) apitest.Scenario { s.Path += "?dryRun=true"; return s }
	as := func(header map[string]string, s apitest.Scenario) apitest.Scenario { s.Header = header; return s }
	specOf := func(want string) func(*testing.T, *httptest.ResponseRecorder) {
		return func(t *testing.T, response *httptest.ResponseRecorder) {
			got, expected := answer[policy.Detail](t, response).Manifest["spec"], map[string]any{}
			if err := yaml.Unmarshal([]byte("{"+want+"}"), &expected); err != nil {
				t.Fatal(err)
			}
			maps.Copy(expected, map[string]any{"conflictResolution": "Abort", "preemption": "Never", "schedulerName": "default-scheduler"})
			if _, ok := expected["priority"]; !ok {
				expected["priority"] = float64(0)
			}
			if diff := cmp.Diff(any(expected), got); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		}
	}
	const stored = "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web, namespace: default}]"
	apitest.Run(t, f.api, []apitest.Scenario{
		{Name: "stranger", Method: "GET", Path: "/api/v1/policies", Status: 401},
		{Name: "nothing yet", Method: "GET", Path: "/api/v1/policies", Header: viewer, Status: 200, Contains: []string{`"items":[]`, `"total":0`}},
		as(viewer, put("viewer", selector, policy.Write{}, 403, "forbidden", nil)),
		as(viewer, dry(put("viewer, dry", selector, policy.Write{}, 403, "forbidden", nil))),
		dry(put("dry run of a new one", selector, policy.Write{}, 200, "", specOf(stored))),
		{Name: "the dry run stored nothing", Method: "GET", Path: path, Header: viewer, Status: 404, Code: "not-found"},
		put("gone", selector, policy.Write{ResourceVersion: "17"}, 409, "stale", nil),
		put("create", selector+", priority: 1, placement: {clusterAffinity: {clusterNames: [m1]}}", policy.Write{}, 200, "", func(t *testing.T, response *httptest.ResponseRecorder) {
			specOf(stored+", priority: 1, placement: {clusterAffinity: {clusterNames: [m1]}}")(t, response)
			first = answer[policy.Detail](t, response)
			if first.Row.Clusters[0] != "m1" || *first.Row.Priority != 1 || first.Row.Replicas != "duplicated" || first.Managers[0].Manager != policy.FieldManager || first.Managers[0].Operation != "Apply" {
				t.Errorf("got %+v", first)
			}
			for _, foreign := range []string{"managedFields", "uid", "resourceVersion", "status"} {
				if strings.Contains(first.YAML, foreign) {
					t.Errorf("the YAML holds %s:\n%s", foreign, first.YAML)
				}
			}
		}),
		{Name: "read", Method: "GET", Path: path, Header: viewer, Status: 200, Contains: []string{`"team":"shop"`}},
		put("several wrong fields", `resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, namespace: other}], preemption: Always, placement: {spreadConstraints: [{spreadByField: region}]}`,
			policy.Write{}, 422, "invalid-policy", fieldsAre("spec.placement.spreadConstraints", "spec.resourceSelectors[0].name", "spec.resourceSelectors[0].namespace")),
		dry(put("wrong shape", `resourceSelectors: [], priority: high, preemption: Perhaps, placement: {clusterAffinty: {}}`,
			policy.Write{}, 422, "invalid-policy", fieldsAre("spec.placement.clusterAffinty", "spec.preemption", "spec.priority", "spec.resourceSelectors"))),
		put("half written", selector+", placement: ", policy.Write{}, 200, "", specOf(stored+", priority: 0")),
	})
	apitest.Run(t, f.api, []apitest.Scenario{
		put("stale", selector, policy.Write{ResourceVersion: first.Row.ResourceVersion}, 409, "stale", nil),
		put("own fields left out", selector+", priority: 2, suspension: {dispatching: true}", policy.Write{}, 200, "", specOf(stored+", priority: 2, suspension: {dispatching: true}")),
		put("left out again", selector, policy.Write{}, 200, "", specOf(stored)),
		{Name: "no YAML", Method: "PUT", Path: path, Header: operator, Body: `{"yaml":"a: ["}`, Status: 400, Code: "invalid-policy", Check: fieldsAre("")},
		{Name: "key twice", Method: "PUT", Path: path, Header: operator, Body: `{"yaml":"kind: A\nkind: B"}`, Status: 400, Code: "invalid-policy", Check: fieldsAre("")},
		{Name: "no object", Method: "PUT", Path: path, Header: operator, Body: `{"yaml":"null"}`, Status: 400, Code: "invalid-policy", Check: fieldsAre("")},
		{Name: "another policy", Method: "PUT", Path: path + "2", Header: operator, Body: body(t, policy.Write{YAML: named(selector)}), Status: 422, Code: "invalid-policy", Check: fieldsAre("metadata.name")},
		{Name: "another kind", Method: "PUT", Path: "/api/v1/policies/overridepolicies/default/web", Header: operator, Body: body(t, policy.Write{YAML: named("")}), Status: 422, Code: "invalid-policy", Check: fieldsAre("kind")},
		{Name: "no kind", Method: "GET", Path: "/api/v1/policies/pods/default/web", Header: viewer, Status: 404, Code: "not-found"},
		{Name: "no namespace", Method: "GET", Path: "/api/v1/policies/overridepolicies/-/web", Header: viewer, Status: 400, Code: "invalid"},
		{Name: "namespace too many", Method: "GET", Path: "/api/v1/policies/clusteroverridepolicies/default/web", Header: viewer, Status: 400, Code: "invalid"},
		{Name: "dry or not", Method: "PUT", Path: path + "?dryRun=maybe", Header: operator, Body: `{"yaml":""}`, Status: 400, Code: "invalid"},
	})
	f.write(t, "kubectl-client-side-apply", func(p *policyv1alpha1.PropagationPolicy) {
		p.Spec.Priority, p.Spec.PropagateDeps, p.Spec.ConflictResolution = new(int32), true, policyv1alpha1.ConflictOverwrite
		*p.Spec.Priority = 7
		p.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}
		metav1.SetMetaDataLabel(&p.ObjectMeta, "kept.by/kubectl", "yes")
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, "kubectl.kubernetes.io/last-applied-configuration", "{}")
	})
	const groups = selector + ", placement: {clusterAffinities: [{affinityName: a, clusterNames: [m2]}]}"
	apitest.Run(t, f.api, []apitest.Scenario{
		put("kubectl's fields", selector+", priority: 3, propagateDeps: true", policy.Write{}, 409, "owned",
			fieldsAre("metadata.labels[kept.by/kubectl]", "spec.conflictResolution", "spec.placement", "spec.priority")),
		dry(put("kubectl's fields, dry", groups+", priority: 7", policy.Write{}, 409, "owned",
			fieldsAre("metadata.labels[kept.by/kubectl]", "spec.conflictResolution", "spec.placement.clusterAffinity", "spec.propagateDeps"))),
		dry(put("taken over, dry", groups, policy.Write{Force: true}, 200, "", specOf(stored+", placement: {clusterAffinities: [{affinityName: a, clusterNames: [m2]}]}"))),
		put("taken over", groups, policy.Write{Force: true}, 200, "", specOf(stored+", placement: {clusterAffinities: [{affinityName: a, clusterNames: [m2]}]}")),
		put("own by now", groups+", priority: 4", policy.Write{}, 200, "", specOf(stored+", priority: 4, placement: {clusterAffinities: [{affinityName: a, clusterNames: [m2]}]}")),
		put("own and left out", selector, policy.Write{}, 200, "", specOf(stored)),
		{Name: "wrong confirmation", Method: "DELETE", Path: path, Header: operator, Body: `{"confirm":"wb"}`, Status: 400, Code: "invalid", Check: fieldsAre("confirm")},
		{Name: "viewer deletes", Method: "DELETE", Path: path, Header: viewer, Body: `{"confirm":"web"}`, Status: 403, Code: "forbidden"},
		{Name: "delete", Method: "DELETE", Path: path, Header: operator, Body: `{"confirm":"web"}`, Status: 204},
		{Name: "gone", Method: "GET", Path: path, Header: viewer, Status: 404, Code: "not-found"},
		{Name: "delete what is gone", Method: "DELETE", Path: path, Header: operator, Body: `{"confirm":"web"}`, Status: 404, Code: "not-found"},
	})
	f.checkAudit(t)
	f.Await(t, "the live row is gone", func(context.Context) bool {
		event, ok := f.published.last("policies propagationpolicies/default/web")
		return ok && event.Op == live.OpDelete
	})
}

// write changes the policy as another client does.
func (f *fixture) write(t *testing.T, manager string, change func(*policyv1alpha1.PropagationPolicy)) {
	t.Helper()
	var p policyv1alpha1.PropagationPolicy
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, &p); err != nil {
		t.Fatal(err)
	}
	change(&p)
	if err := f.Client.Update(t.Context(), &p, client.FieldOwner(manager)); err != nil {
		t.Fatal(err)
	}
}

// checkAudit holds what was recorded: no dry runs, and what a write changed.
func (f *fixture) checkAudit(t *testing.T) {
	t.Helper()
	ctx := access.WithActor(t.Context(), access.Actor{Name: "ada", Role: access.RoleViewer})
	entries, _, err := f.audit.List(ctx, audit.Filter{Kind: "PropagationPolicy"}, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(entries)
	var told []string
	for _, e := range entries {
		line := fmt.Sprintf("%s %s/%s %s", e.Verb, e.Namespace, e.Name, e.Outcome)
		for _, path := range slices.Sorted(maps.Keys(e.Detail)) {
			line += "; " + path + ": " + e.Detail[path]
		}
		told = append(told, line)
	}
	for _, want := range []string{
		"apply default/web denied",
		"apply default/web ok; metadata.labels.team: none → shop; spec.conflictResolution: none → Abort; spec.placement.clusterAffinity.clusterNames: none → [\"m1\"]; spec.preemption: none → Never; spec.priority: none → 1; " +
			"spec.resourceSelectors[0].apiVersion: none → apps/v1; spec.resourceSelectors[0].kind: none → Deployment; spec.resourceSelectors[0].name: none → web; spec.resourceSelectors[0].namespace: none → default; spec.schedulerName: none → default-scheduler",
		"apply default/web failed",
		"apply default/web ok; spec.priority: 0 → 2; spec.suspension.dispatching: none → true",
		"apply default/web ok; spec.priority: 0 → 4",
		"delete default/web denied",
	} {
		if !slices.Contains(told, want) {
			t.Errorf("not recorded: %s\n%s", want, strings.Join(told, "\n"))
		}
	}
	if slices.ContainsFunc(told, func(line string) bool { return strings.Contains(line, "last-applied") }) {
		t.Error("kubectl's copy of the object is recorded")
	}
}

// testClusterScoped holds an override policy without a namespace, and that the
// audit does not tell what it may put into Secrets.
func (f *fixture) testClusterScoped(t *testing.T) {
	const cluster = "/api/v1/policies/clusteroverridepolicies/-/all"
	write := func(spec string) string {
		return body(t, policy.Write{YAML: "metadata: {name: all}\nspec: {" + spec + "}"})
	}
	apitest.Run(t, f.api, []apitest.Scenario{
		{Name: "create", Method: "PUT", Path: cluster, Header: operator, Status: 200,
			Body:     write(`overrideRules: [{targetCluster: {clusterNames: [m1]}, overriders: {plaintext: [{path: /stringData/pin, operator: replace, value: hunter2}]}}]`),
			Contains: []string{`"rules":1`, `"clusters":["m1"]`, `"replicas":""`}},
		{Name: "field of a field", Method: "PUT", Path: cluster, Header: operator, Status: 422, Code: "invalid-policy",
			Body:  write(`overrideRules: [{overriders: {plaintext: [{path: /a, operator: move}], fieldOverrider: [{fieldPath: x, json: [{subPath: /a, operator: add}]}]}}]`),
			Check: fieldsAre("spec.overrideRules[0].overriders.plaintext[0].operator")},
		{Name: "rule of the kind", Method: "PUT", Path: cluster, Header: operator, Status: 422, Code: "invalid-policy",
			Body:  write(`targetCluster: {}, overrideRules: [{overriders: {fieldOverrider: [{fieldPath: x, json: [{subPath: /a, operator: add}]}]}}]`),
			Check: fieldsAre("spec.overrideRules[0].overriders.fieldOverrider[0].fieldPath", "spec.overrideRules[0].overriders.fieldOverrider[0].json[0].value", "spec.targetCluster")},
		{Name: "delete", Method: "DELETE", Path: cluster, Header: operator, Body: `{"confirm":"all"}`, Status: 204},
	})
	entries, _, err := f.audit.List(access.WithActor(t.Context(), access.Actor{Name: "ada", Role: access.RoleViewer}), audit.Filter{Kind: "ClusterOverridePolicy"}, "", 100)
	if err != nil || len(entries) != 4 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if text := fmt.Sprint(entries); strings.Contains(text, "hunter2") || !strings.Contains(text, "plaintext[0].path") {
		t.Errorf("recorded: %s", text)
	}
	f.Await(t, "the live row is gone", func(context.Context) bool {
		event, ok := f.published.last("policies clusteroverridepolicies/-/all")
		return ok && event.Op == live.OpDelete
	})
}

// testList holds filters, orders, pages and live rows of all four kinds.
func (f *fixture) testList(t *testing.T) {
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	deployments := []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	ten := int32(10)
	f.Create(t, &policyv1alpha1.PropagationPolicy{ObjectMeta: meta("default", "b"), Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: deployments, Priority: &ten}})
	f.Create(t, &policyv1alpha1.PropagationPolicy{ObjectMeta: meta("kube-public", "a"), Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: deployments}})
	f.Create(t, &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: meta("", "c"), Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: deployments,
		Placement: policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"Edge-7"}}}}})
	f.Create(t, &policyv1alpha1.OverridePolicy{ObjectMeta: meta("default", "b"), Spec: policyv1alpha1.OverrideSpec{ResourceSelectors: deployments}})
	f.Create(t, &policyv1alpha1.ClusterOverridePolicy{ObjectMeta: meta("", "d")})
	f.Await(t, "all rows", func(context.Context) bool {
		_, ok := f.published.last("policies clusteroverridepolicies/-/d")
		response := f.get(t, "")
		return ok && answer[httpapi.Page[policy.Row]](t, response).Total == 5
	})
	for query, want := range map[string]string{
		"":                      "kube-public/a overridepolicies default/b propagationpolicies default/b c d",
		"sort=-name":            "d c propagationpolicies default/b overridepolicies default/b kube-public/a",
		"sort=namespace":        "c d overridepolicies default/b propagationpolicies default/b kube-public/a",
		"sort=-priority":        "propagationpolicies default/b c kube-public/a d overridepolicies default/b",
		"kind=overridepolicies": "overridepolicies default/b",
		"kind=overridepolicies,clusteroverridepolicies": "overridepolicies default/b d",
		"namespace=default":                             "overridepolicies default/b propagationpolicies default/b",
		"namespace=-":                                   "c d",
		"namespace=-&namespace=default&q=B":             "overridepolicies default/b propagationpolicies default/b",
		"q=edge-7":                                      "c",
		"q=deployment":                                  "kube-public/a overridepolicies default/b propagationpolicies default/b c",
		"q=nothing":                                     "",
	} {
		if got := f.names(t, query); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
		// The same by pages of two.
		var paged []string
		for cursor, pages := "", 0; pages < 4; pages++ {
			page := answer[httpapi.Page[policy.Row]](t, f.get(t, query+"&limit=2&cursor="+cursor))
			paged = append(paged, rowNames(page.Items)...)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if got := strings.Join(paged, " "); got != want {
			t.Errorf("%q by pages: got %q, want %q", query, got, want)
		}
	}
	event, _ := f.published.last("policies propagationpolicies/default/b")
	if row, ok := event.Row.(policy.Row); !ok || row.Selectors[0].LabelSelector != "app=web" || *row.Priority != 10 || event.Op != live.OpUpsert {
		t.Errorf("live row: %+v", event)
	}
	apitest.Run(t, f.api, []apitest.Scenario{
		{Name: "kind", Method: "GET", Path: "/api/v1/policies?kind=pods", Header: viewer, Status: 400, Check: fieldsAre("kind")},
		{Name: "sort", Method: "GET", Path: "/api/v1/policies?sort=size", Header: viewer, Status: 400, Check: fieldsAre("sort")},
		{Name: "limit", Method: "GET", Path: "/api/v1/policies?limit=0", Header: viewer, Status: 400, Check: fieldsAre("limit")},
		{Name: "cursor", Method: "GET", Path: "/api/v1/policies?cursor=x", Header: viewer, Status: 400, Check: fieldsAre("cursor")},
		{Name: "cursor of another order", Method: "GET", Path: "/api/v1/policies?sort=age&cursor=" + httpapi.EncodeCursor(httpapi.Position{Sort: "name", Key: "a"}), Header: viewer, Status: 400, Check: fieldsAre("cursor")},
		{Name: "schema", Method: "GET", Path: "/api/v1/policies/schema/overridepolicies", Header: viewer, Status: 200, Contains: []string{`"title":"OverridePolicy"`, `"const":"OverridePolicy"`}},
		{Name: "no schema", Method: "GET", Path: "/api/v1/policies/schema/pods", Header: viewer, Status: 404, Code: "not-found"},
		{Name: "schema for strangers", Method: "GET", Path: "/api/v1/policies/schema/overridepolicies", Status: 401},
	})
}

// testMisses has a policy of testList select nothing, then something.
func (f *fixture) testMisses(t *testing.T) {
	target := policy.Target{Resource: "propagationpolicies", Namespace: "default", Name: "b"}
	miss := policy.Miss{Selector: policy.Selector{APIVersion: "apps/v1", Kind: "Deployment", LabelSelector: "app=web"}, Cause: policy.CauseNoLabels}
	for _, misses := range [][]policy.Miss{{miss}, nil} {
		f.misses.Set(target, misses)
		event, _ := f.published.last("policies propagationpolicies/default/b")
		row, _ := event.Row.(policy.Row)
		listed := answer[httpapi.Page[policy.Row]](t, f.get(t, "kind=propagationpolicies&namespace=default")).Items[0]
		for where, got := range map[string][]policy.Miss{"live": row.Misses, "list": listed.Misses} {
			if diff := cmp.Diff(misses, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", where, diff)
			}
		}
		apitest.Run(t, f.api, []apitest.Scenario{{
			Name: "get", Method: "GET", Path: "/api/v1/policies/propagationpolicies/default/b", Header: viewer, Status: 200,
			Check: func(t *testing.T, response *httptest.ResponseRecorder) {
				if diff := cmp.Diff(misses, answer[policy.Detail](t, response).Row.Misses); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			},
		}})
	}
	f.misses.Set(policy.Target{Resource: "propagationpolicies", Namespace: "default", Name: "gone"}, []policy.Miss{miss})
	if event, ok := f.published.last("policies propagationpolicies/default/gone"); ok {
		t.Errorf("a live row of a policy that is gone: %+v", event)
	}
}

// testMissingClusters has the cluster that a policy of testList names come and go.
func (f *fixture) testMissingClusters(t *testing.T) {
	f.update(t, "c", "edge-7")
	check := func(want ...string) {
		t.Helper()
		f.Await(t, fmt.Sprintf("missing clusters %v", want), func(context.Context) bool {
			event, _ := f.published.last("policies clusterpropagationpolicies/-/c")
			row, _ := event.Row.(policy.Row)
			listed := answer[httpapi.Page[policy.Row]](t, f.get(t, "kind=clusterpropagationpolicies")).Items[0]
			return slices.Equal(row.Clusters, []string{"edge-7"}) && slices.Equal(row.MissingClusters, want) && slices.Equal(listed.MissingClusters, want)
		})
	}
	check("edge-7")
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-7"}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull}}
	f.Create(t, cluster)
	check()
	if err := f.Client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	check("edge-7")
}

// update has a ClusterPropagationPolicy name one cluster.
func (f *fixture) update(t *testing.T, name, cluster string) {
	t.Helper()
	var p policyv1alpha1.ClusterPropagationPolicy
	if err := f.Client.Get(t.Context(), client.ObjectKey{Name: name}, &p); err != nil {
		t.Fatal(err)
	}
	p.Spec.Placement.ClusterAffinity.ClusterNames = []string{cluster}
	if err := f.Client.Update(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) get(t *testing.T, query string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest("GET", "https://hub.test/api/v1/policies?"+query, nil)
	request.Header.Set("X-Role", "viewer")
	response := httptest.NewRecorder()
	f.api.ServeHTTP(response, request)
	return response
}

func (f *fixture) names(t *testing.T, query string) string {
	t.Helper()
	return strings.Join(rowNames(answer[httpapi.Page[policy.Row]](t, f.get(t, query)).Items), " ")
}

// rowNames names rows; those called b by their kind as well.
func rowNames(rows []policy.Row) []string {
	var names []string
	for _, row := range rows {
		name := row.Name
		if row.Namespace != "" {
			name = row.Namespace + "/" + name
		}
		if row.Name == "b" {
			name = row.Resource + " " + name
		}
		names = append(names, name)
	}
	return names
}
