package handshake_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"muster.dev/muster/agent/handshake"
	ocmaddonv1beta1 "muster.dev/muster/backend/apis/ocm/addon/v1beta1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

func subject(t *testing.T, request []byte) (cn string, groups []string) {
	t.Helper()
	block, _ := pem.Decode(request)
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	groups = parsed.Subject.Organization
	slices.Sort(groups)
	return parsed.Subject.CommonName, groups
}

// rename lets a kubeconfig call its cluster something else.
func rename(config *clientcmdapi.Config, name string) {
	current := config.Contexts[config.CurrentContext]
	entry := config.Clusters[current.Cluster]
	delete(config.Clusters, current.Cluster)
	config.Clusters[name], current.Cluster = entry, name
}

func TestConsentsInEitherOrder(t *testing.T) {
	t.Parallel()
	for name, acceptFirst := range map[string]bool{"certificate first": false, "acceptance first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.options.CertificateSeconds = 86400
			f.run()
			f.eventually("a certificate request", func() bool { return len(f.requests()) == 1 })
			request := f.requests()[0]
			cn, groups := subject(t, request.Spec.Request)
			if !strings.HasPrefix(cn, "system:open-cluster-management:"+f.cluster+":") ||
				!cmp.Equal(groups, []string{"system:open-cluster-management:" + f.cluster, "system:open-cluster-management:managed-clusters"}) {
				t.Errorf("subject %s %v", cn, groups)
			}
			if request.GenerateName != f.cluster+"-" || request.Spec.SignerName != "kubernetes.io/kube-apiserver-client" || *request.Spec.ExpirationSeconds != 86400 {
				t.Errorf("request %+v", request.ObjectMeta)
			}
			if acceptFirst {
				f.accept()
				f.approve(certificatesv1.CertificateApproved)
			} else {
				f.approve(certificatesv1.CertificateApproved)
				f.eventually("the identity is kept", func() bool { i, _ := f.store.Load(t.Context()); return i != nil })
				f.accept()
			}
			f.condition(ocmv1.ConditionJoined, metav1.ConditionTrue)
			f.condition(ocmv1.ConditionAvailable, metav1.ConditionTrue)
			cluster := f.managed()
			if cluster.Status.Version.Kubernetes == "" || cluster.Status.Capacity.Cpu().String() != "8" {
				t.Errorf("status %+v", cluster.Status)
			}
			if diff := cmp.Diff(map[string]string{"agent.open-cluster-management.io/a": "b"}, cluster.Annotations); diff != "" {
				t.Error(diff)
			}
			if len(cluster.Spec.ManagedClusterClientConfigs) != 1 || cluster.Spec.ManagedClusterClientConfigs[0].URL != "https://"+f.cluster+".example" ||
				string(cluster.Spec.ManagedClusterClientConfigs[0].CABundle) != string(plane.CA()) {
				t.Errorf("client configs %+v", cluster.Spec.ManagedClusterClientConfigs)
			}
			f.eventually("the lease is renewed", func() bool {
				lease, err := plane.Client.CoordinationV1().Leases(f.cluster).Get(t.Context(), ocmv1.LeaseName, metav1.GetOptions{})
				return err == nil && time.Since(lease.Spec.RenewTime.Time) < time.Hour
			})
			f.eventually("an event tells of it", func() bool {
				list, err := plane.Client.EventsV1().Events(f.cluster).List(t.Context(), metav1.ListOptions{})
				return err == nil && len(list.Items) == 1 && list.Items[0].Reason == "Available"
			})
		})
	}
}

// The five keys of the contract's section 2.3 c, in a Secret made at once; a second
// agent with that Secret needs no bootstrap.
func TestIdentitySecretAndRestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := &handshake.SecretStore{Client: plane.Client, Namespace: "agent-of-" + f.cluster, Name: handshake.IdentitySecret, MakeNamespace: true}
	f.options.Store = store
	stop := f.join()
	secret, err := plane.Client.CoreV1().Secrets(store.Namespace).Get(t.Context(), store.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for key := range secret.Data {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if diff := cmp.Diff([]string{"agent-name", "cluster-name", "kubeconfig", "tls.crt", "tls.key"}, keys); diff != "" {
		t.Error(diff)
	}
	config, err := clientcmd.Load(secret.Data["kubeconfig"])
	if err != nil {
		t.Fatal(err)
	}
	user, entry := config.AuthInfos["default-auth"], config.Contexts["default-context"]
	if user == nil || user.ClientCertificate != "tls.crt" || user.ClientKey != "tls.key" || entry == nil || entry.Namespace != "configuration" ||
		config.Clusters["hub"] == nil || config.Clusters["hub"].Server != plane.Server {
		t.Errorf("kubeconfig %s", secret.Data["kubeconfig"])
	}
	stop()

	f.options.Bootstraps = []handshake.Source{handshake.SecretKey{Client: plane.Client, Namespace: store.Namespace, Name: "missing"}}
	f.options.Cluster, f.options.Agent = "", ""
	f.patch(`{"status": {"conditions": null}}`, "status")
	f.setAccepted(metav1.ConditionTrue)
	f.run()
	f.condition(ocmv1.ConditionAvailable, metav1.ConditionTrue)
	if n := len(f.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestDeniedRequestIsWaitedForAndAskedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	agent, _ := f.run()
	f.approve(certificatesv1.CertificateDenied)
	f.eventually("the denial is told", func() bool { _, problem := agent.State(); return strings.Contains(problem, "denied") })
	first := f.requests()
	if len(first) != 1 {
		t.Fatalf("%d requests", len(first))
	}
	if err := plane.Client.CertificatesV1().CertificateSigningRequests().Delete(t.Context(), first[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.approve(certificatesv1.CertificateApproved)
	f.accept()
	f.condition(ocmv1.ConditionAvailable, metav1.ConditionTrue)
}

func TestTenWaitingRequestsAreEnough(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for n := range 10 {
		_, stop := f.run()
		f.eventually("one more request", func() bool { return len(f.requests()) > n })
		stop()
	}
	agent, _ := f.run()
	f.eventually("the halt is told", func() bool { _, problem := agent.State(); return strings.Contains(problem, "ten certificate requests") })
	if n := len(f.requests()); n != 10 {
		t.Errorf("%d requests", n)
	}
	if err := plane.Client.CertificatesV1().CertificateSigningRequests().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: ocmv1.ClusterNameLabel + "=" + f.cluster}); err != nil {
		t.Fatal(err)
	}
	f.approve(certificatesv1.CertificateApproved)
	f.accept()
	f.condition(ocmv1.ConditionAvailable, metav1.ConditionTrue)
}

// Denied after acceptance, and accepted again: no new certificate is needed.
func TestDenialAfterAcceptance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	begun, ended := f.beside()
	f.join()
	f.eventually("works are served", func() bool { return begun.Load() == 1 })
	f.setCondition(metav1.Condition{Type: ocmv1.ConditionHubAccepted, Status: metav1.ConditionFalse, Reason: ocmv1.ReasonDenied})
	if ended.Load() > 0 {
		t.Error("works are given up before anybody has denied the cluster")
	}
	f.patch(`{"spec": {"hubAcceptsClient": false}}`, "")
	denied := time.Now()
	f.eventually("the streams of works are dropped", func() bool { return ended.Load() == 1 })
	t.Logf("streams dropped %.2f s after the denial", time.Since(denied).Seconds())
	f.eventually("the hub says unknown, and the agent keeps silent", func() bool {
		cluster := f.managed()
		meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: ocmv1.ConditionAvailable, Status: metav1.ConditionUnknown, Reason: "ManagedClusterLeaseUpdateStopped"})
		fields := map[string]any{}
		fields["apiVersion"], fields["kind"] = ocmv1.GroupVersion.String(), "ManagedCluster"
		fields["metadata"] = map[string]any{"name": f.cluster, "resourceVersion": cluster.ResourceVersion}
		var conditions []any
		for _, c := range cluster.Status.Conditions {
			conditions = append(conditions, map[string]any{"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message, "lastTransitionTime": c.LastTransitionTime.UTC().Format(time.RFC3339)})
		}
		fields["status"] = map[string]any{"conditions": conditions}
		_, err := f.client.Resource(clustersResource).UpdateStatus(t.Context(), &unstructured.Unstructured{Object: fields}, metav1.UpdateOptions{})
		return err == nil
	})
	if begun.Load() != 1 {
		t.Error("a denied agent serves works")
	}
	f.patch(`{"spec": {"hubAcceptsClient": true}}`, "")
	f.setAccepted(metav1.ConditionTrue)
	f.condition(ocmv1.ConditionAvailable, metav1.ConditionTrue)
	f.eventually("works are served again", func() bool { return begun.Load() == 2 })
	if n := len(f.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// Each of these makes the identity worthless while the agent runs: it introduces
// itself again, in process, and is from then on at the hub as the kubeconfig says.
func TestBootstrapChanges(t *testing.T) {
	t.Parallel()
	other, err := controlplanetest.NewAuthority("another-ca")
	if err != nil {
		t.Fatal(err)
	}
	type changed func(t *testing.T, config *clientcmdapi.Config, entry *clientcmdapi.Cluster) (check func(handshake.Stanza))
	for name, change := range map[string]changed{
		"another name in the kubeconfig": func(t *testing.T, config *clientcmdapi.Config, _ *clientcmdapi.Cluster) func(handshake.Stanza) {
			rename(config, "other")
			return func(hub handshake.Stanza) {
				if hub.Name != "other" {
					t.Errorf("the agent calls the hub %q", hub.Name)
				}
			}
		},
		"another address": func(t *testing.T, _ *clientcmdapi.Config, entry *clientcmdapi.Cluster) func(handshake.Stanza) {
			entry.Server = strings.Replace(entry.Server, "https://127.0.0.1:", "https://localhost:", 1)
			return func(hub handshake.Stanza) {
				if !strings.HasPrefix(hub.Server, "https://localhost:") {
					t.Errorf("the agent is at %s", hub.Server)
				}
			}
		},
		// The certificate authorities of a hub that is about to get a new one.
		"another CA": func(t *testing.T, _ *clientcmdapi.Config, entry *clientcmdapi.Cluster) func(handshake.Stanza) {
			both := append(slices.Clone(entry.CertificateAuthorityData), other.CertPEM...)
			entry.CertificateAuthorityData = both
			return func(hub handshake.Stanza) {
				if string(hub.CA) != string(both) {
					t.Errorf("the agent trusts %s", hub.CA)
				}
			}
		},
		"another proxy": func(t *testing.T, _ *clientcmdapi.Config, entry *clientcmdapi.Cluster) func(handshake.Stanza) {
			proxy := controlplanetest.StartForwardProxy(t)
			entry.ProxyURL = proxy.URL
			return func(hub handshake.Stanza) {
				if hub.Proxy != proxy.URL {
					t.Errorf("the agent goes by the proxy %q", hub.Proxy)
				}
				if proxy.Asked(strings.TrimPrefix(entry.Server, "https://")) == 0 {
					t.Error("nobody asked the proxy for the hub")
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			own := f.ownBootstrap()
			f.join()
			before, err := f.store.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			config, err := clientcmd.LoadFromFile(own)
			if err != nil {
				t.Fatal(err)
			}
			check := change(t, config, config.Clusters[config.Contexts[config.CurrentContext].Cluster])
			f.replace(own, config)
			f.eventually("another request", func() bool { return len(f.requests()) == 2 })
			f.approve(certificatesv1.CertificateApproved)
			var now *handshake.Identity
			f.eventually("another identity", func() bool {
				now, err = f.store.Load(t.Context())
				return err == nil && now != nil && string(now.CertPEM) != string(before.CertPEM) && now.Agent == before.Agent
			})
			f.awaitHeard()
			// Whoever reads a directory may find the new certificate beside the old kubeconfig,
			// which is written last. An agent that serves has written all of it.
			if now, err = f.store.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			check(now.Hub)
		})
	}
}

// ownBootstrap gives the agent a copy of its bootstrap kubeconfig, which the test may
// replace.
func (f *fixture) ownBootstrap() string {
	f.Helper()
	kubeconfig, err := plane.KubeconfigFor("bootstrap-of-"+f.cluster, "bootstrappers")
	f.must(err)
	content, err := os.ReadFile(kubeconfig)
	f.must(err)
	own := filepath.Join(f.TempDir(), "bootstrap")
	f.must(os.WriteFile(own, content, 0o600))
	f.options.Bootstraps = []handshake.Source{handshake.File(own)}
	return own
}

// replace puts another kubeconfig in the place of one, at once.
func (f *fixture) replace(file string, config *clientcmdapi.Config) {
	f.Helper()
	changed, err := clientcmd.Write(*config)
	f.must(err)
	content, err := os.ReadFile(file)
	f.must(err)
	if string(changed) == string(content) {
		f.Fatal("nothing is changed")
	}
	f.must(os.WriteFile(file+".new", changed, 0o600))
	f.must(os.Rename(file+".new", file))
}

// awaitHeard waits until the agent tells of its cluster: it takes the hub's word for
// unknown back.
func (f *fixture) awaitHeard() {
	f.Helper()
	f.setCondition(metav1.Condition{Type: ocmv1.ConditionAvailable, Status: metav1.ConditionUnknown, Reason: "ManagedClusterLeaseUpdateStopped"})
	f.condition(ocmv1.ConditionAvailable, metav1.ConditionTrue)
}

func TestClaims(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	api := f.client.Resource(ocmv1alpha1.GroupVersion.WithResource("clusterclaims"))
	claim := func(name, value string, labels map[string]any) {
		t.Helper()
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": ocmv1alpha1.GroupVersion.String(), "kind": "ClusterClaim",
			"metadata": map[string]any{"name": name, "labels": labels}, "spec": map[string]any{"value": value}}}
		if _, err := api.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	claim("region.example.io", "eu-1", nil)
	claim("secret.example.io", "x", map[string]any{"open-cluster-management.io/spoke-only": ""})
	f.join()
	claim("id.k8s.io", "one", nil)
	f.eventually("the claims", func() bool {
		return cmp.Equal(f.managed().Status.ClusterClaims, []ocmv1.ManagedClusterClaim{{Name: "id.k8s.io", Value: "one"}, {Name: "region.example.io", Value: "eu-1"}})
	})
	if err := api.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	f.eventually("no claims", func() bool { return len(f.managed().Status.ClusterClaims) == 0 })
}

func TestManagedNamespacesAndAddons(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.join()
	name := "team-of-" + f.cluster
	f.patch(`{"status": {"managedNamespaces": [{"name": "`+name+`", "clusterSet": "default"}]}}`, "status")
	f.eventually("the namespace is told available", func() bool {
		entries := f.managed().Status.ManagedNamespaces
		return len(entries) == 1 && meta.IsStatusConditionTrue(entries[0].Conditions, ocmv1.ConditionNamespaceAvailable)
	})
	label := "clusterset.open-cluster-management.io/" + handshake.HubHash(plane.Server)[:63]
	namespace, err := plane.Client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || namespace.Labels[label] != "true" {
		t.Errorf("namespace %+v: %v", namespace, err)
	}

	addons := f.client.Resource(ocmaddonv1beta1.GroupVersion.WithResource("managedclusteraddons")).Namespace(f.cluster)
	now := metav1.NowMicro()
	if _, err := plane.Client.CoordinationV1().Leases(name).Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "mesh", Namespace: name},
		Spec: coordinationv1.LeaseSpec{RenewTime: &now}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, addon := range []string{"mesh", "lost"} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": ocmaddonv1beta1.GroupVersion.String(), "kind": "ManagedClusterAddOn",
			"metadata": map[string]any{"name": addon, "annotations": map[string]any{"addon.open-cluster-management.io/v1alpha1-install-namespace": name}}}}
		if _, err := addons.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	status := func(addon string) string {
		o, err := addons.Get(t.Context(), addon, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		if len(conditions) != 1 {
			return ""
		}
		return conditions[0].(map[string]any)["status"].(string)
	}
	f.eventually("the add-ons are judged", func() bool { return status("mesh") == "True" && status("lost") == "Unknown" })
}

// Turned down by one hub, the agent goes to the next.
func TestNextHub(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	second, err := plane.KubeconfigFor("second-of-"+f.cluster, "bootstrappers")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(second)
	if err != nil {
		t.Fatal(err)
	}
	rename(config, "second")
	other := filepath.Join(t.TempDir(), "second")
	if err := clientcmd.WriteToFile(*config, other); err != nil {
		t.Fatal(err)
	}
	f.options.Bootstraps = append(f.options.Bootstraps, handshake.File(other))
	f.options.HubTimeout = 10 * time.Minute
	f.join()
	f.setAccepted(metav1.ConditionFalse)
	f.patch(`{"spec": {"hubAcceptsClient": false}}`, "")
	f.eventually("a request at the next hub", func() bool {
		return slices.ContainsFunc(f.requests(), func(r certificatesv1.CertificateSigningRequest) bool {
			return r.Spec.Username == "second-of-"+f.cluster
		})
	})
}

// What serves beside the registration is told of the hub, ends with it and is
// begun anew with the next identity.
func TestBeside(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	hubs := make(chan handshake.Hub, 8)
	f.options.Beside = func(ctx context.Context, hub handshake.Hub) error {
		hubs <- hub
		<-ctx.Done()
		return nil
	}
	_, stop := f.run()
	f.approve(certificatesv1.CertificateApproved)
	hub := <-hubs
	if hub.Cluster != f.cluster || hub.Server != plane.Server || hub.Agent == "" {
		t.Errorf("hub %+v", hub)
	}
	f.accept()
	select {
	case <-hub.Accepted:
	case <-time.After(limit):
		t.Error("the acceptance is not told")
	}
	stop()
}
