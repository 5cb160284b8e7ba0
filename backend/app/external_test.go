package app_test

import (
	"bytes"
	"context"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/app"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/controlplane"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/deploy"
)

const externalLimit = 3 * time.Minute

// journal is what hubs log; several write to it.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(data []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(data)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) count(text string) int { return strings.Count(j.String(), text) }

// existing is an API server that hubs run on, with the rights of the hub's manifest.
type existing struct {
	*controlplanetest.Member
	client client.Client
	logs   *journal
	// kubeconfig holds the hub's own credentials.
	kubeconfig string
}

func newExisting(t *testing.T, options controlplanetest.MemberOptions) *existing {
	t.Helper()
	e := &existing{Member: controlplanetest.StartMember(t, options), logs: &journal{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(e.logs.String())
		}
	})
	var err error
	if e.client, err = client.New(e.Config(), client.Options{Scheme: kube.Scheme()}); err != nil {
		t.Fatal(err)
	}
	e.apply(t, deploy.ExternalRBAC())
	seconds := int64(3600)
	request, err := e.Client.CoreV1().ServiceAccounts("open-cluster-management-hub").CreateToken(t.Context(), "muster-hub",
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.kubeconfig = writeKubeconfig(t, e.Server, e.CA(), &clientcmdapi.AuthInfo{Token: request.Status.Token})
	return e
}

func writeKubeconfig(t *testing.T, server string, ca []byte, user *clientcmdapi.AuthInfo) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos["hub"], config.Contexts["hub"], config.CurrentContext = user, &clientcmdapi.Context{Cluster: "hub", AuthInfo: "hub"}, "hub"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func (e *existing) apply(t *testing.T, manifest []byte) {
	t.Helper()
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); err != nil {
			break // the end
		}
		if object.GetKind() == "" {
			continue
		}
		if err := e.client.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// config is a hub's on this API; change varies it.
func (e *existing) config(t *testing.T, change func(*app.Config)) app.Config {
	t.Helper()
	var addresses [2]string
	for i := range addresses {
		var err error
		if addresses[i], err = controlplanetest.FreeAddress(); err != nil {
			t.Fatal(err)
		}
	}
	config := app.Config{
		DataDir: t.TempDir(), Listen: app.DefaultListen, DashboardListen: addresses[0], LogLevel: slog.LevelInfo, Version: "test",
		External: &app.External{
			Kubeconfig: e.kubeconfig, Namespace: "open-cluster-management-hub", InstallCRDs: true, WebhookListen: addresses[1], WebhookConfigurations: true,
		},
	}
	if change != nil {
		change(&config)
	}
	if err := config.Complete(); err != nil {
		t.Fatal(err)
	}
	return config
}

// serve runs a hub until the returned function or the test ends it.
func (e *existing) serve(t *testing.T, config app.Config) (*app.App, func()) {
	t.Helper()
	hub, err := app.New(config, e.logs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- hub.Start(ctx) }()
	end := sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	select {
	case <-hub.Serving():
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(externalLimit):
		t.Fatal("the hub does not serve")
	}
	return hub, end
}

func awaitHolds(t *testing.T, what string, holds func(ctx context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, externalLimit, true, func(ctx context.Context) (bool, error) { return holds(ctx), nil })
	if err != nil {
		t.Fatalf("wait for %s: %v", what, err)
	}
}

func (e *existing) awaitWebhooks(t *testing.T) {
	t.Helper()
	awaitHolds(t, "webhook configurations", func(ctx context.Context) bool {
		_, first := e.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, "managedclustermutators.admission.cluster.open-cluster-management.io", metav1.GetOptions{})
		_, last := e.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "manifestworkvalidators.admission.work.open-cluster-management.io", metav1.GetOptions{})
		return first == nil && last == nil
	})
}

// accept introduces a cluster and lets it in, and waits for its rights.
func (e *existing) accept(t *testing.T, name string) {
	t.Helper()
	cluster := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := e.client.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if set := cluster.Labels[ocmv1.ClusterSetLabel]; set != ocmv1.DefaultClusterSet {
		t.Errorf("the set is %q: the webhook was not asked", set)
	}
	if err := e.client.Patch(t.Context(), cluster, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"hubAcceptsClient":true}}`))); err != nil {
		t.Fatal(err)
	}
	awaitHolds(t, name+" to be let in", func(ctx context.Context) bool {
		return e.client.Get(ctx, client.ObjectKey{Namespace: name, Name: "open-cluster-management:managedcluster:" + name + ":work"}, &rbacv1.RoleBinding{}) == nil
	})
}

// rest is an anonymous client of a hub's REST API, which trusts the hub's own authority.
func (e *existing) rest(t *testing.T, config app.Config) *controlplanetest.Hub {
	t.Helper()
	secret, err := e.Client.CoreV1().Secrets("open-cluster-management-hub").Get(t.Context(), controlplane.ServingSecret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &controlplanetest.Hub{
		DashboardURL: "https://" + config.DashboardListen, Kubeconfig: writeKubeconfig(t, e.Server, secret.Data["ca.crt"], &clientcmdapi.AuthInfo{}),
	}
}

func passwordIn(welcome string) string {
	_, after, found := strings.Cut(welcome, "Password")
	if !found {
		return ""
	}
	return strings.Fields(after)[0]
}

// TestExternalHub runs a hub with no more rights than its manifest gives it.
func TestExternalHub(t *testing.T) {
	e := newExisting(t, controlplanetest.MemberOptions{Name: "existing"})
	config := e.config(t, nil)
	hub, stop := e.serve(t, config)
	e.awaitWebhooks(t)
	e.accept(t, "c1")

	bad := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: ocmv1.ManagedClusterSpec{ManagedClusterClientConfigs: []ocmv1.ClientConfig{{URL: "http://c2.example"}}}}
	if err := e.client.Create(t.Context(), bad); !apierrors.IsBadRequest(err) {
		t.Errorf("a cluster of a bad address: %v", err)
	}

	e.refusesThroughWebhooks(t)
	for _, group := range []string{consent.BootstrapGroup, "system:serviceaccounts"} {
		introducer := e.as(t, consent.BootstrapUser, group)
		for namespace, refused := range map[string]bool{"kube-public": false, "kube-system": true, "c1": true} {
			err := introducer.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "kube-root-ca.crt"}, new(corev1.ConfigMap))
			if apierrors.IsForbidden(err) != refused {
				t.Errorf("who introduces clusters reads a ConfigMap of %s: %v", namespace, err)
			}
		}
	}

	door := e.rest(t, config)
	user, err := door.SignIn(t.Context(), "admin", passwordIn(hub.Welcome()))
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Dialects   []string
		HubAddress string
	}
	answer, err := user.Do(t.Context(), http.MethodGet, "/api/v1/info", nil)
	if err := errors.Join(err, answer.Into(&info)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ocm", strings.TrimPrefix(e.Server, "https://")}, append(info.Dialects, info.HubAddress)); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
	for _, path := range []string{"/api/v1/clusters", "/api/v1/clusters/c1/works", "/api/v1/policies", "/api/v1/workloads"} {
		var problem struct{ Code string }
		answer, err := user.Do(t.Context(), http.MethodGet, path, nil)
		if err := errors.Join(err, answer.Into(&problem)); err != nil {
			t.Fatal(err)
		}
		if answer.Status != http.StatusNotFound || problem.Code != "dialect-not-carried" {
			t.Errorf("%s: answered %d %s", path, answer.Status, answer.Body)
		}
	}
	// Users act with rights of their own, which the hub gave their groups.
	asked := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c4"}}
	if err := e.client.Create(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct{ method, path string }{
		{http.MethodGet, "/api/v1/managed-clusters"}, {http.MethodGet, "/api/v1/waiting"}, {http.MethodGet, "/api/v1/placements"}, {http.MethodGet, "/api/v1/operators"},
		{http.MethodPost, "/api/v1/waiting/c4/accept"},
	} {
		awaitHolds(t, one.path, func(ctx context.Context) bool {
			answer, err = user.Do(ctx, one.method, one.path, nil)
			return err == nil && answer.Status < http.StatusBadRequest
		})
	}
	if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(asked), asked); err != nil || !asked.Spec.HubAcceptsClient {
		t.Errorf("c4 was not let in: %v", err)
	}
	if text := e.logs.String(); strings.Contains(text, "forbidden") || strings.Contains(text, "cannot ") {
		t.Error("the manifest's rights do not suffice")
	}

	// After a restart everything is as it was.
	stop()
	again, _ := e.serve(t, config)
	if strings.Contains(again.Welcome(), "Password") {
		t.Error("a second start makes a second first administrator")
	}
	e.accept(t, "c3")
}

// TestExternalReplicas has two of one database: one acts, both answer, and when
// the first stops the other takes over.
func TestExternalReplicas(t *testing.T) {
	const leads = "this replica acts for all"
	e := newExisting(t, controlplanetest.MemberOptions{Name: "existing"})
	dsn := databasetest.StartPostgres(t)
	configs := []app.Config{
		e.config(t, func(c *app.Config) { c.Database = dsn }),
		e.config(t, func(c *app.Config) { c.Database, c.External.WebhookConfigurations = dsn, false }),
	}
	first, stopFirst := e.serve(t, configs[0])
	e.awaitWebhooks(t)
	second, _ := e.serve(t, configs[1])
	e.accept(t, "c1")
	if got := e.logs.count(leads); got != 1 {
		t.Errorf("%d replicas act, want 1", got)
	}
	password := passwordIn(first.Welcome())
	if password == "" || passwordIn(second.Welcome()) != "" {
		t.Error("not exactly one replica made the first administrator")
	}
	for i, config := range configs {
		if i == 1 {
			password += "-changed"
		}
		if _, err := e.rest(t, config).SignIn(t.Context(), "admin", password); err != nil {
			t.Errorf("replica %d: %v", i, err)
		}
	}
	stopFirst()
	awaitHolds(t, "the other replica to act", func(context.Context) bool { return e.logs.count(leads) == 2 })
}

// TestExternalReplicasNeedOneDatabase refuses a second replica with a database of its own.
func TestExternalReplicasNeedOneDatabase(t *testing.T) {
	e := newExisting(t, controlplanetest.MemberOptions{Name: "existing"})
	e.serve(t, e.config(t, nil))
	awaitHolds(t, "the first to act", func(context.Context) bool { return e.logs.count("acts for all") == 1 })
	other, err := app.New(e.config(t, nil), e.logs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), externalLimit)
	defer cancel()
	known, ok := fault.As(other.Start(ctx))
	if !ok || known.Kind != fault.KindConflict || !strings.Contains(known.Fix, "PostgreSQL") {
		t.Errorf("got %v, want a conflict that says what to do", known)
	}
}

// TestExternalLostLease takes the Lease away from the acting replica, as an API
// does that was away for too long. It stops acting, and comes back by itself.
func TestExternalLostLease(t *testing.T) {
	const leads = "this replica acts for all"
	e := newExisting(t, controlplanetest.MemberOptions{Name: "existing"})
	config := e.config(t, nil)
	ctx, stop := context.WithCancel(context.Background())
	welcomes := make(chan string, 2)
	ended := make(chan error, 1)
	go func() { ended <- app.Serve(ctx, config, e.logs, func(a *app.App) { welcomes <- a.Welcome() }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	e.awaitWebhooks(t)
	awaitHolds(t, "the replica to act", func(context.Context) bool { return e.logs.count(leads) == 1 })

	hold := func(ctx context.Context, holder string) bool {
		leases := e.Client.CoordinationV1().Leases("open-cluster-management-hub")
		lease, err := leases.Get(ctx, app.LeaderLease, metav1.GetOptions{})
		if err != nil {
			return false
		}
		lease.Spec.HolderIdentity, lease.Spec.RenewTime = &holder, &metav1.MicroTime{Time: time.Now()}
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err == nil
	}
	awaitHolds(t, "somebody else to take the lease", func(ctx context.Context) bool { return hold(ctx, "thief") })
	awaitHolds(t, "the hub to start anew", func(context.Context) bool { return e.logs.count("the hub starts anew") == 1 })
	awaitHolds(t, "the lease to be given up", func(ctx context.Context) bool { return hold(ctx, "") })
	awaitHolds(t, "the replica to act again", func(context.Context) bool { return e.logs.count(leads) == 2 })
	e.accept(t, "c1")
	if len(welcomes) != 1 {
		t.Errorf("the hub welcomed %d times, want once", len(welcomes))
	}
}

// TestWebhooksOnly answers what a whole hub would, without any state.
func TestWebhooksOnly(t *testing.T) {
	e := newExisting(t, controlplanetest.MemberOptions{Name: "existing"})
	_, stop := e.serve(t, e.config(t, nil))
	e.awaitWebhooks(t)
	stop() // its configurations stay, and lead nowhere
	configuration, err := e.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "managedclustervalidators.admission.cluster.open-cluster-management.io", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(*configuration.Webhooks[0].ClientConfig.URL, "https://"), "/")
	config := e.config(t, func(c *app.Config) { c.External.WebhookListen, c.External.WebhooksOnly = address, true })
	webhooks, err := app.NewWebhooks(config, e.logs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- webhooks.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-webhooks.Serving():
	case <-time.After(externalLimit):
		t.Fatal("webhooks are not served")
	}
	cluster := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1"}}
	if err := e.client.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if cluster.Labels[ocmv1.ClusterSetLabel] != ocmv1.DefaultClusterSet {
		t.Errorf("labels %v", cluster.Labels)
	}
	if entries, err := os.ReadDir(config.DataDir); err != nil || len(entries) > 0 {
		t.Errorf("it keeps state: %v %v", entries, err)
	}
}

// TestExternalAudit has the API tell the hub what others do to it.
func TestExternalAudit(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	authority, err := controlplanetest.NewAuthority("webhooks")
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.Issue(pkix.Name{CommonName: "hub"}, []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	address, err := controlplanetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	const secret = "0123456789abcdef0123456789abcdef"
	e := newExisting(t, controlplanetest.MemberOptions{Name: "existing", APIFlags: []string{
		"--audit-policy-file=" + file("policy.json", []byte(`{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}`)),
		"--audit-webhook-config-file=" + writeKubeconfig(t, "https://"+address+app.AuditPath, authority.CertPEM, &clientcmdapi.AuthInfo{Token: secret}),
		"--audit-webhook-batch-max-wait=1s",
	}})
	config := e.config(t, func(c *app.Config) {
		c.External.WebhookListen, c.External.WebhookURL = address, ""
		c.External.WebhookCert, c.External.WebhookKey, c.External.WebhookCA = file("tls.crt", cert), file("tls.key", key), file("ca.crt", authority.CertPEM)
		c.External.AuditWebhook, c.External.AuditTokenFile = true, file("token", []byte(secret))
	})
	hub, _ := e.serve(t, config)
	e.awaitWebhooks(t)
	e.accept(t, "c1")
	user, err := e.rest(t, config).SignIn(t.Context(), "admin", passwordIn(hub.Welcome()))
	if err != nil {
		t.Fatal(err)
	}
	entries := func(ctx context.Context) (rows []struct{ Actor, Verb, Name, Outcome string }) {
		var page struct {
			Items []struct{ Actor, Verb, Name, Outcome string }
		}
		answer, err := user.Do(ctx, http.MethodGet, "/api/v1/audit?via=hub-api&name=c1", nil)
		if err == nil && answer.Into(&page) == nil {
			rows = page.Items
		}
		return rows
	}
	seen := map[string]int{}
	awaitHolds(t, "what was done to c1", func(ctx context.Context) bool {
		clear(seen)
		for _, row := range entries(ctx) {
			seen[row.Actor+" "+row.Verb+" "+row.Outcome]++
		}
		return seen["existing-admin create ok"] == 1 && seen["existing-admin patch ok"] == 1
	})
	for what := range seen {
		if !strings.HasPrefix(what, "existing-admin ") && !strings.HasPrefix(what, "hub ") {
			t.Errorf("recorded besides: %s", what)
		}
	}
}
