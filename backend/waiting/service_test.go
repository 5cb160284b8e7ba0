package waiting_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/httpapi/apitest"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/token"
	"muster.dev/muster/backend/waiting"
	"muster.dev/muster/deploy"
)

// shown keeps the newest live row of each cluster.
type shown struct {
	*live.Hub
	mu   sync.Mutex
	rows map[string]waiting.Row
}

func (s *shown) Publish(topic string, event live.Event) {
	s.mu.Lock()
	if topic == waiting.Topic {
		delete(s.rows, event.Key)
		if row, ok := event.Row.(waiting.Row); ok {
			s.rows[event.Key] = row
		}
	}
	s.mu.Unlock()
	s.Hub.Publish(topic, event)
}

func (s *shown) row(cluster string) (waiting.Row, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, ok := s.rows[cluster]
	return row, ok
}

// room is the waiting room over a real API server, whose own roles judge what
// each user of it may do.
type room struct {
	*kubetest.Hub
	api   http.Handler
	audit *audit.Service
	shown *shown
	// meanwhile, if set, does what another does between reading a request and deciding on it.
	meanwhile func(ctx context.Context, request client.Object)
}

// raced is a client whose decisions another is ahead of.
type raced struct {
	client.Client
	room *room
}

func (c raced) SubResource(name string) client.SubResourceClient {
	return racedDecision{c.Client.SubResource(name), c.room}
}

type racedDecision struct {
	client.SubResourceClient
	room *room
}

func (d racedDecision) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	if d.room.meanwhile != nil {
		d.room.meanwhile(ctx, object)
	}
	return d.SubResourceClient.Update(ctx, object, options...)
}

func newRoom(t *testing.T) *room {
	t.Helper()
	r := &room{Hub: kubetest.StartHub(t), shown: &shown{Hub: live.NewHub(), rows: map[string]waiting.Row{}}}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	data, err := fs.ReadFile(deploy.HubCRDs(), "cluster.open-cluster-management.io_managedclusters.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, definition); err != nil {
		t.Fatal(err)
	}
	r.Create(t, definition)
	r.Await(t, "managed clusters are served", func(ctx context.Context) bool { return r.Client.List(ctx, &ocmv1.ManagedClusterList{}) == nil })
	r.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: consent.BootstrapNamespace}})
	r.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: consent.BootstrapAccount, Namespace: consent.BootstrapNamespace}})
	for range 2 { // a hub starts more than once
		if err := consent.EnsureRoles(t.Context(), r.Client); err != nil {
			t.Fatal(err)
		}
	}
	manager, err := kube.NewManager(r.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	db := databasetest.Open(t)
	r.audit = audit.NewService(db, r.shown)
	users := kube.NewImpersonator(r.Config(), kube.ImpersonatorOptions{})
	service := waiting.NewService(waiting.ServiceOptions{
		Cache: manager.GetCache(), Clients: func(actor access.Actor) (client.Client, error) {
			hub, err := users.As(actor)
			return raced{hub, r}, err
		},
		Audit: r.audit, Live: r.shown, Hub: token.Hub{Address: "hub.test:6443", CA: r.CA()},
	})
	book, err := waiting.NewBook(waiting.BookOptions{DB: db, Audit: r.audit, Live: r.shown})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []interface{ Start(context.Context) error }{service, book} {
		if err := manager.Add(part); err != nil {
			t.Fatal(err)
		}
	}
	r.api, err = httpapi.NewEngine(httpapi.Options{
		SPA: fstest.MapFS{"index.html": &fstest.MapFile{Data: []byte("<html></html>")}},
		Authenticate: func(c *gin.Context) {
			if role := access.Role(c.GetHeader("X-Role")); role != "" {
				c.Request = c.Request.WithContext(access.WithActor(c.Request.Context(), access.Actor{Name: "ada", Role: role}))
			}
		},
		Private: waiting.NewHandler(service, book).Routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Run(t, manager)
	return r
}

// introduce does what an agent does: a ManagedCluster and a request. It returns
// the name of the request and the fingerprint that the agent prints.
func (r *room) introduce(t *testing.T, cluster, agent string) (request, fingerprint string) {
	t.Helper()
	r.Create(t, &ocmv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: cluster},
		Spec:       ocmv1.ManagedClusterSpec{ManagedClusterClientConfigs: []ocmv1.ClientConfig{{URL: "https://" + cluster + ":6443"}}},
	})
	return r.ask(t, r.Client, cluster, agent, nil)
}

func (r *room) ask(t *testing.T, as client.Client, cluster, agent string, more []string) (request, fingerprint string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	group := consent.AgentPrefix + cluster
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: group + ":" + agent, Organization: []string{group, consent.AgentPrefix + "managed-clusters"}},
		DNSNames: more,
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(public)
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: cluster + "-", Labels: map[string]string{ocmv1.ClusterNameLabel: cluster},
			Annotations: map[string]string{consent.AnnotationAddress: "203.0.113.9", consent.AnnotationUserAgent: "registration/v1.0"},
		},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
		},
	}
	if err := as.Create(t.Context(), csr); err != nil {
		t.Fatal(err)
	}
	return csr.Name, "SHA256:" + hex.EncodeToString(sum[:])
}

func (r *room) awaitRow(t *testing.T, cluster, what string, holds func(waiting.Row) bool) waiting.Row {
	t.Helper()
	var last waiting.Row
	r.Await(t, cluster+" "+what, func(context.Context) bool {
		row, ok := r.shown.row(cluster)
		last = row
		return ok && holds(row)
	})
	return last
}

// recorded are the audit's entries of a kind and name, oldest first, as "verb
// outcome".
func (r *room) recorded(t *testing.T, kind, name string) (verbs []string, details []map[string]string) {
	t.Helper()
	ctx := access.WithActor(t.Context(), access.Actor{Name: "test", Role: access.RoleViewer})
	entries, _, err := r.audit.List(ctx, audit.Filter{Kind: kind, Name: name}, "", 50)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(entries)
	for _, entry := range entries {
		verbs, details = append(verbs, entry.Verb+" "+string(entry.Outcome)), append(details, entry.Detail)
	}
	return verbs, details
}

var (
	asViewer   = map[string]string{"X-Role": "viewer"}
	asOperator = map[string]string{"X-Role": "operator"}
	asAdmin    = map[string]string{"X-Role": "admin"}
)

func decoded[T any](t *testing.T, response *httptest.ResponseRecorder) T {
	t.Helper()
	var into T
	if err := json.Unmarshal(response.Body.Bytes(), &into); err != nil {
		t.Fatalf("%v: %s", err, response.Body)
	}
	return into
}

func post(name, path, body string, header map[string]string, status int, code string) apitest.Scenario {
	return apitest.Scenario{Name: name, Method: "POST", Path: "/api/v1" + path, Body: body, Header: header, Status: status, Code: code}
}

// TestService uses one API server for all that follows.
func TestService(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	t.Run("consents", r.testConsents)
	t.Run("denial", r.testDenial)
	t.Run("bulk", r.testBulk)
	t.Run("onboarding", r.testOnboarding)
	t.Run("rules", r.testRules)
}

// testConsents goes through the two consents of one cluster.
func (r *room) testConsents(t *testing.T) {
	apitest.Run(t, r.api, []apitest.Scenario{
		{Name: "stranger", Method: "GET", Path: "/api/v1/waiting", Status: 401},
		{Name: "nobody yet", Method: "GET", Path: "/api/v1/waiting", Header: asViewer, Status: 200, Contains: []string{`"items":[]`, `"total":0`}},
		{Name: "one that is expected", Method: "GET", Path: "/api/v1/waiting/edge-1", Header: asViewer, Status: 200, Contains: []string{`"exists":false`, `"next":"agent"`, `"requests":[]`}},
		post("nobody asks", "/waiting/edge-1/approve", "{}", asOperator, 404, "not-found"),
	})
	request, fingerprint := r.introduce(t, "edge-1", "a1b2c")
	row := r.awaitRow(t, "edge-1", "waits for both", func(row waiting.Row) bool { return row.Next == waiting.NextBoth })
	want := waiting.Request{
		Name: request, Cluster: "edge-1", Agent: "a1b2c", State: waiting.CertificatePending, Requester: row.Requests[0].Requester, Groups: row.Requests[0].Groups,
		Fingerprint: fingerprint, Address: "203.0.113.9", UserAgent: "registration/v1.0", CreatedAt: row.Requests[0].CreatedAt,
	}
	if diff := cmp.Diff([]waiting.Request{want}, row.Requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"https://edge-1:6443"}, row.URLs); diff != "" || !row.Waits || !row.Exists || row.Accepted {
		t.Errorf("got %+v", row)
	}
	one := `{"requests":["` + request + `"]}`
	apitest.Run(t, r.api, []apitest.Scenario{
		{Name: "found by fingerprint", Method: "GET", Path: "/api/v1/waiting?state=waiting&q=" + strings.ToLower(fingerprint[7:20]), Header: asViewer, Status: 200, Contains: []string{`"total":1`, fingerprint}},
		{Name: "not among the decided", Method: "GET", Path: "/api/v1/waiting?state=decided", Header: asViewer, Status: 200, Contains: []string{`"total":0`}},
		{Name: "no such state", Method: "GET", Path: "/api/v1/waiting?state=odd", Header: asViewer, Status: 400},
		post("a viewer approves", "/waiting/edge-1/approve", one, asViewer, 403, "forbidden"),
		post("a viewer accepts", "/waiting/edge-1/accept", "{}", asViewer, 403, "forbidden"),
		post("a request of another cluster", "/waiting/edge-9/approve", one, asOperator, 404, "not-found"),
		post("approve", "/waiting/edge-1/approve", one, asOperator, 204, ""),
		post("approve again", "/waiting/edge-1/approve", one, asOperator, 204, ""),
	})
	row = r.awaitRow(t, "edge-1", "has its certificate", func(row waiting.Row) bool {
		return row.Next == waiting.NextAcceptance && row.Certificate == waiting.CertificateIssued
	})
	if row.Requests[0].DecidedBy != "ada" || row.Requests[0].DecidedAt == nil {
		t.Errorf("decided by %q at %v", row.Requests[0].DecidedBy, row.Requests[0].DecidedAt)
	}
	apitest.Run(t, r.api, []apitest.Scenario{post("accept", "/waiting/edge-1/accept", "{}", asOperator, 204, "")})
	row = r.awaitRow(t, "edge-1", "is accepted", func(row waiting.Row) bool { return row.Accepted })
	if row.Waits || row.Next != waiting.NextJoin || row.AcceptedBy != "ada" {
		t.Errorf("got %+v", row)
	}
	verbs, details := r.recorded(t, "CertificateSigningRequest", request)
	if diff := cmp.Diff([]string{"approve denied", "approve failed", "approve ok", "approve ok"}, verbs); diff != "" {
		t.Errorf("records of the request (-want +got):\n%s", diff)
	}
	if last := details[len(details)-1]; last["fingerprint"] != fingerprint || last["requester"] != want.Requester || last["cluster"] != "edge-1" {
		t.Errorf("recorded %v", last)
	}
	verbs, details = r.recorded(t, "ManagedCluster", "edge-1")
	if diff := cmp.Diff([]string{"approve failed", "accept denied", "accept ok"}, verbs); diff != "" {
		t.Errorf("records of the cluster (-want +got):\n%s", diff)
	}
	if last := details[len(details)-1]; last["fingerprint"] != fingerprint || last["request"] != request {
		t.Errorf("recorded %v", last)
	}
}

// testDenial refuses clusters that were accepted, and that never were.
func (r *room) testDenial(t *testing.T) {
	request, _ := r.introduce(t, "edge-2", "a1b2c")
	r.awaitRow(t, "edge-2", "waits", func(row waiting.Row) bool { return row.Next == waiting.NextBoth })
	// The hub notes on the request why no rule approves it, just then.
	var noted sync.Once
	r.meanwhile = func(ctx context.Context, request client.Object) {
		noted.Do(func() {
			note := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"noted":"yes"}}}`))
			if err := r.Client.Patch(ctx, &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: request.GetName()}}, note); err != nil {
				t.Error(err)
			}
		})
	}
	defer func() { r.meanwhile = nil }()
	apitest.Run(t, r.api, []apitest.Scenario{
		post("a viewer denies", "/waiting/edge-2/deny", "{}", asViewer, 403, "forbidden"),
		post("two lines", "/waiting/edge-2/deny", `{"reason":"a\nb"}`, asOperator, 400, "invalid"),
		post("deny", "/waiting/edge-2/deny", `{"reason":"not ours"}`, asOperator, 204, ""),
	})
	row := r.awaitRow(t, "edge-2", "is denied", func(row waiting.Row) bool { return row.Denied && row.Certificate == waiting.CertificateDenied })
	if row.Waits || row.DeniedBy != "ada" || row.DeniedReason != "not ours" || row.Next != waiting.NextNone {
		t.Errorf("got %+v", row)
	}
	apitest.Run(t, r.api, []apitest.Scenario{
		post("a denied request stays so", "/waiting/edge-2/approve", `{"requests":["`+request+`"]}`, asOperator, 409, "conflict"),
		post("none waits", "/waiting/edge-2/approve", `{}`, asOperator, 409, waiting.CodeNoRequest),
		post("accept after all", "/waiting/edge-2/accept", "{}", asOperator, 204, ""),
	})
	row = r.awaitRow(t, "edge-2", "is accepted", func(row waiting.Row) bool { return row.Accepted })
	if row.Denied || row.DeniedReason != "" {
		t.Errorf("got %+v", row)
	}
	apitest.Run(t, r.api, []apitest.Scenario{post("deny what was accepted", "/waiting/edge-2/deny", "{}", asOperator, 204, "")})
	r.awaitRow(t, "edge-2", "is denied again", func(row waiting.Row) bool { return row.Denied && !row.Accepted && row.AcceptedBy == "" })

	alone, _ := r.ask(t, r.Client, "edge-3", "a1b2c", []string{"evil.test"})
	r.awaitRow(t, "edge-3", "has an improper request", func(row waiting.Row) bool { return len(row.Requests) == 1 && row.Requests[0].Problem != "" })
	apitest.Run(t, r.api, []apitest.Scenario{
		post("improper", "/waiting/edge-3/approve", `{"requests":["`+alone+`"]}`, asOperator, 409, waiting.CodeImproper),
		post("not introduced", "/waiting/edge-3/accept", "{}", asOperator, 404, waiting.CodeNotIntroduced),
		post("deny an improper one", "/waiting/edge-3/deny", "{}", asOperator, 204, ""),
	})
	r.awaitRow(t, "edge-3", "is denied", func(row waiting.Row) bool { return row.Requests[0].State == waiting.CertificateDenied })
	if err := r.Client.Delete(t.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: alone}}); err != nil {
		t.Fatal(err)
	}
	r.Await(t, "edge-3 leaves with its request", func(context.Context) bool { _, ok := r.shown.row("edge-3"); return !ok })
}

// testBulk decides on several clusters; what is refused for one does not hold up
// the others.
func (r *room) testBulk(t *testing.T) {
	var clusters []string
	for _, name := range []string{"bulk-1", "bulk-2", "bulk-3"} {
		r.introduce(t, name, "a1b2c")
		clusters = append(clusters, `"`+name+`"`)
	}
	r.introduce(t, "bulk-4", "a1b2c")
	mallory := &access.Actor{Name: "mallory", Role: access.RoleAdmin}
	another, err := kube.NewImpersonator(r.Config(), kube.ImpersonatorOptions{}).As(impersonated{mallory})
	if err != nil {
		t.Fatal(err)
	}
	r.ask(t, another, "bulk-4", "zzzzz", nil)
	r.awaitRow(t, "bulk-4", "has two requests", func(row waiting.Row) bool { return len(row.Requests) == 2 && row.Exists })
	for _, name := range []string{"bulk-1", "bulk-2", "bulk-3"} {
		r.awaitRow(t, name, "waits", func(row waiting.Row) bool { return row.Next == waiting.NextBoth })
	}
	all := strings.Join(append(clusters, `"bulk-4"`, `"bulk-5"`), ",")
	apitest.Run(t, r.api, []apitest.Scenario{
		post("a viewer", "/waiting/bulk", `{"action":"accept","clusters":[`+all+`]}`, asViewer, 403, "forbidden"),
		post("no action", "/waiting/bulk", `{"action":"x","clusters":[`+all+`]}`, asOperator, 400, "invalid"),
		post("nobody", "/waiting/bulk", `{"action":"accept","clusters":[]}`, asOperator, 400, "invalid"),
		{
			Name: "both", Method: "POST", Path: "/api/v1/waiting/bulk", Header: asOperator, Status: 200, Body: `{"action":"approve-and-accept","clusters":[` + all + `]}`,
			Check: func(t *testing.T, response *httptest.ResponseRecorder) {
				got := map[string]string{}
				for _, outcome := range decoded[[]waiting.BulkOutcome](t, response) {
					got[outcome.Cluster] = "ok"
					if !outcome.OK {
						got[outcome.Cluster] = outcome.Problem.Code
					}
				}
				want := map[string]string{"bulk-1": "ok", "bulk-2": "ok", "bulk-3": "ok", "bulk-4": waiting.CodeSeveralRequesters, "bulk-5": "not-found"}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
			},
		},
	})
	for _, name := range []string{"bulk-1", "bulk-2", "bulk-3"} {
		r.awaitRow(t, name, "has both", func(row waiting.Row) bool {
			return row.Accepted && row.Certificate == waiting.CertificateIssued && !row.Waits
		})
	}
	apitest.Run(t, r.api, []apitest.Scenario{
		post("deny", "/waiting/bulk", `{"action":"deny","clusters":["bulk-4"]}`, asOperator, 200, ""),
		{Name: "pages", Method: "GET", Path: "/api/v1/waiting?limit=2&sort=cluster", Header: asViewer, Status: 200, Contains: []string{`"next":`, `"cluster":"bulk-1"`}},
	})
	r.awaitRow(t, "bulk-4", "is denied, all of it", func(row waiting.Row) bool {
		return row.Denied && !slices.ContainsFunc(row.Requests, func(q waiting.Request) bool { return q.State != waiting.CertificateDenied })
	})
}

// impersonated is somebody with all rights.
type impersonated struct{ *access.Actor }

// Groups implements kube.User.
func (impersonated) Groups() []string { return []string{"system:masters"} }

// testOnboarding makes tokens, which are in the answer and nowhere else.
func (r *room) testOnboarding(t *testing.T) {
	secrets := []string{}
	made := func(check func(*testing.T, waiting.Onboarded)) func(*testing.T, *httptest.ResponseRecorder) {
		return func(t *testing.T, response *httptest.ResponseRecorder) {
			got := decoded[waiting.Onboarded](t, response)
			secrets = append(secrets, got.Secret)
			if got.WaitFor != "lab-1" || got.AcceptCommand != "clusteradm accept --clusters lab-1" || got.ExpiresAt.IsZero() {
				t.Errorf("got %+v", got)
			}
			for _, text := range []string{got.Command, got.AgentCommand, got.Manifest} {
				if !strings.Contains(text, got.Secret) || !strings.Contains(text, "https://hub.test:6443") || !strings.Contains(text, "lab-1") {
					t.Errorf("token, hub or name are missing in %s", text)
				}
			}
			check(t, got)
		}
	}
	onboard := func(name, body string, check func(*testing.T, waiting.Onboarded)) apitest.Scenario {
		s := post(name, "/onboarding/ocm", body, asOperator, 201, "")
		s.Check = made(check)
		return s
	}
	apitest.Run(t, r.api, []apitest.Scenario{
		post("viewer", "/onboarding/ocm", `{"clusterName":"lab-1"}`, asViewer, 403, "forbidden"),
		post("no name", "/onboarding/ocm", `{}`, asOperator, 400, "invalid"),
		post("a name that is reserved", "/onboarding/ocm", `{"clusterName":"kube-system"}`, asOperator, 400, "invalid"),
		post("too long", "/onboarding/ocm", `{"clusterName":"lab-1","ttlSeconds":90000}`, asOperator, 400, "invalid"),
		post("labels of an account", "/onboarding/ocm", `{"clusterName":"lab-1","tokenLabels":{"a":"b"}}`, asOperator, 400, "invalid"),
		post("no https", "/onboarding/ocm", `{"clusterName":"lab-1","serverUrl":"http://x"}`, asOperator, 400, "invalid"),
		onboard("account", `{"clusterName":"lab-1"}`, func(t *testing.T, got waiting.Onboarded) {
			if !strings.Contains(got.Command, "--ca-file") || got.TokenID != "" || got.ManifestSteps != "" {
				t.Errorf("got %+v", got)
			}
			r.signsIn(t, got, consent.BootstrapUser)
		}),
		onboard("bootstrap token, one Deployment", `{"clusterName":"lab-1","token":"bootstrap","mode":"singleton","ttlSeconds":600,"tokenLabels":{"env":"lab"}}`, func(t *testing.T, got waiting.Onboarded) {
			secret := &corev1.Secret{}
			if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "bootstrap-token-" + got.TokenID}, secret); err != nil {
				t.Fatal(err)
			}
			if groups := string(secret.Data["auth-extra-groups"]); groups != consent.BootstrapGroup || secret.Labels["env"] != "lab" || secret.Data["usage-bootstrap-signing"] != nil {
				t.Errorf("groups %q, labels %v", groups, secret.Labels)
			}
			if !strings.HasSuffix(got.Command, "--singleton") || !strings.Contains(got.Manifest, "mode: Singleton") {
				t.Errorf("got %+v", got)
			}
		}),
		onboard("hosted", `{"clusterName":"lab-1","mode":"hosted","serverUrl":"https://lab:6443"}`, func(t *testing.T, got waiting.Onboarded) {
			for text, parts := range map[string][]string{
				got.Command:       {"--mode hosted", "--managed-cluster-kubeconfig managed.kubeconfig"},
				got.Manifest:      {"mode: Hosted", "name: klusterlet-lab-1", "namespace: klusterlet-lab-1", "url: https://lab:6443"},
				got.ManifestSteps: {"--namespace klusterlet-lab-1", "external-managed-kubeconfig", "kubeconfig=managed.kubeconfig"},
			} {
				for _, part := range parts {
					if !strings.Contains(text, part) {
						t.Errorf("%q is missing in %s", part, text)
					}
				}
			}
		}),
	})
	ctx := access.WithActor(t.Context(), access.Actor{Name: "test", Role: access.RoleViewer})
	entries, total, err := r.audit.List(ctx, audit.Filter{Verb: "onboard"}, "", 50)
	if err != nil || total != 4 { // one of them was denied
		t.Errorf("%d entries, %v", total, err)
	}
	told, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets {
		if strings.Contains(string(told), secret) || strings.Contains(string(told), secret[len(secret)-16:]) {
			t.Error("the audit holds a token")
		}
	}
}

// signsIn uses the token in the manifest's kubeconfig, against the address of the
// test.
func (r *room) signsIn(t *testing.T, made waiting.Onboarded, want string) {
	t.Helper()
	for _, part := range strings.Split(made.Manifest, "---\n") {
		secret := &corev1.Secret{}
		if err := yaml.Unmarshal([]byte(part), secret); err != nil || secret.Kind != "Secret" {
			continue
		}
		config, err := clientcmd.RESTConfigFromKubeConfig([]byte(secret.StringData["kubeconfig"]))
		if err != nil {
			t.Fatal(err)
		}
		config.Host = r.Server
		own, err := client.New(config, client.Options{Scheme: kube.Scheme()})
		if err != nil {
			t.Fatal(err)
		}
		err = own.List(t.Context(), &corev1.NodeList{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("signed in otherwise than as %s: %v", want, err)
		}
		return
	}
	t.Error("the manifest holds no Secret")
}

func (r *room) testRules(t *testing.T) {
	var made waiting.Rule
	rule := `{"kind":"cluster-name","value":"lab-*","approve":true,"note":"the lab"}`
	apitest.Run(t, r.api, []apitest.Scenario{
		{Name: "none at first", Method: "GET", Path: "/api/v1/approval-rules", Header: asViewer, Status: 200, Contains: []string{`"items":[]`}},
		post("an operator", "/approval-rules", rule, asOperator, 403, "forbidden"),
		post("nothing given", "/approval-rules", `{"kind":"identity","value":"x"}`, asAdmin, 400, "invalid"),
		{Name: "make", Method: "POST", Path: "/api/v1/approval-rules", Header: asAdmin, Body: rule, Status: 201, Check: func(t *testing.T, response *httptest.ResponseRecorder) {
			made = decoded[waiting.Rule](t, response)
		}},
		post("again", "/approval-rules", rule, asAdmin, 409, "conflict"),
		{Name: "one", Method: "GET", Path: "/api/v1/approval-rules", Header: asViewer, Status: 200, Contains: []string{`"total":1`, `"source":"dashboard"`, `"createdBy":"ada"`, `"uses":0`}},
	})
	apitest.Run(t, r.api, []apitest.Scenario{
		{Name: "an operator removes", Method: "DELETE", Path: "/api/v1/approval-rules/" + made.ID, Body: "{}", Header: asOperator, Status: 403},
		{Name: "remove", Method: "DELETE", Path: "/api/v1/approval-rules/" + made.ID, Body: "{}", Header: asAdmin, Status: 204},
		{Name: "gone", Method: "DELETE", Path: "/api/v1/approval-rules/" + made.ID, Body: "{}", Header: asAdmin, Status: 404},
	})
	verbs, details := r.recorded(t, "ApprovalRule", made.ID)
	if diff := cmp.Diff([]string{"create ok", "delete denied", "delete ok", "delete failed"}, verbs); diff != "" || details[0]["rule"] != "cluster-name lab-*" || details[2]["approve"] != "yes" {
		t.Errorf("recorded %v %v:\n%s", verbs, details, diff)
	}
}
