package klusterlet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/operator/operatortest"
)

// servingHub is a hub of ours that serves, and its administrator.
type servingHub struct {
	*controlplanetest.Hub
	api    client.Client
	config *rest.Config
}

// startFirst is the hub that tests share.
func startFirst(t *testing.T) *servingHub {
	t.Helper()
	if served.Hub == nil {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		hub, err := controlplanetest.NewHub(ctx, controlplanetest.HubOptions{DataDir: served.dir})
		if err != nil {
			t.Fatal(err)
		}
		served.Hub = hub
	}
	return administer(t, served.Hub)
}

// startSecond is a hub of the test's own.
func startSecond(t *testing.T) *servingHub {
	t.Helper()
	return administer(t, controlplanetest.StartHub(t, controlplanetest.HubOptions{}))
}

func administer(t *testing.T, hub *controlplanetest.Hub) *servingHub {
	t.Helper()
	h := &servingHub{Hub: hub}
	var err error
	if h.config, err = h.Config(); err == nil {
		h.api, err = client.New(h.config, client.Options{Scheme: kube.Scheme()})
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// accountKubeconfig is a kubeconfig of a ServiceAccount.
func accountKubeconfig(t *testing.T, api client.Client, config *rest.Config, namespace, name string) []byte {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := api.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"cluster": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"account": {Token: request.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"context": {Cluster: "cluster", AuthInfo: "account"}},
		CurrentContext: "context",
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// bootstrap is the kubeconfig with which agents introduce their clusters.
func (h *servingHub) bootstrap(t *testing.T) map[string][]byte {
	t.Helper()
	return map[string][]byte{"kubeconfig": accountKubeconfig(t, h.api, h.config, "open-cluster-management", "agent-registration-bootstrap")}
}

func (h *servingHub) accept(ctx context.Context, cluster string, accepted bool) error {
	patch := fmt.Appendf(nil, `{"spec":{"hubAcceptsClient":%t}}`, accepted)
	return h.api.Patch(ctx, &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}, client.RawPatch("application/merge-patch+json", patch))
}

// approve approves whatever waits for a certificate of a cluster.
func (h *servingHub) approve(ctx context.Context, cluster string) error {
	list := &certificatesv1.CertificateSigningRequestList{}
	if err := h.api.List(ctx, list, client.MatchingLabels{ocmv1.ClusterNameLabel: cluster}); err != nil {
		return err
	}
	for i := range list.Items {
		request := &list.Items[i]
		if len(request.Status.Conditions) > 0 {
			continue
		}
		request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "ByTest"}}
		if err := h.api.SubResource("approval").Update(ctx, request); err != nil {
			return err
		}
	}
	return nil
}

// letIn gives a cluster both consents until it is available.
func (h *servingHub) letIn(t *testing.T, cluster string) {
	t.Helper()
	operatortest.Eventually(t, cluster+" is let in", func(ctx context.Context) error {
		stored := &ocmv1.ManagedCluster{}
		if err := errors.Join(h.approve(ctx, cluster), h.accept(ctx, cluster, true), h.api.Get(ctx, client.ObjectKey{Name: cluster}, stored)); err != nil {
			return err
		}
		return operatortest.Condition(stored.Status.Conditions, ocmv1.ConditionAvailable, metav1.ConditionTrue, ocmv1.ReasonAvailable)
	})
}

// turnDown takes the hub's consent back.
func (h *servingHub) turnDown(t *testing.T, cluster string) {
	t.Helper()
	if err := h.accept(t.Context(), cluster, false); err != nil {
		t.Fatal(err)
	}
}

// give has a ManifestWork put a ConfigMap of its name into a cluster.
func (h *servingHub) give(t *testing.T, cluster, name string) *ocmworkv1.ManifestWork {
	t.Helper()
	work := &ocmworkv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name}}
	work.Spec.Workload.Manifests = []ocmworkv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default"}}`, name),
	}}}
	if err := h.api.Create(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	return work
}

// applied waits until a work is in a cluster, and the hub was told. Meanwhile its agent may need a certificate.
func (h *servingHub) applied(t *testing.T, work *ocmworkv1.ManifestWork, p *operatortest.Plane) {
	t.Helper()
	operatortest.Eventually(t, work.Name+" is applied", func(ctx context.Context) error {
		if err := errors.Join(h.approve(ctx, work.Namespace), h.api.Get(ctx, client.ObjectKeyFromObject(work), work)); err != nil {
			return err
		}
		if err := operatortest.Condition(work.Status.Conditions, ocmworkv1.ConditionApplied, metav1.ConditionTrue, ocmworkv1.ReasonWorkApplied); err != nil {
			return err
		}
		return p.API.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: work.Name}, &corev1.ConfigMap{})
	})
}

// take removes a work; its agent takes the ConfigMap out of the cluster first.
func (h *servingHub) take(t *testing.T, work *ocmworkv1.ManifestWork, p *operatortest.Plane) {
	t.Helper()
	if err := h.api.Delete(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	p.Gone(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: work.Name}})
	operatortest.Eventually(t, work.Name+" is gone", func(ctx context.Context) error {
		err := h.api.Get(ctx, client.ObjectKeyFromObject(work), work)
		if err == nil {
			return fmt.Errorf("it is held by %v", work.Finalizers)
		}
		return client.IgnoreNotFound(err)
	})
}

// knows says whether a cluster was introduced to the hub.
func (h *servingHub) knows(t *testing.T, cluster string) bool {
	t.Helper()
	err := h.api.Get(t.Context(), client.ObjectKey{Name: cluster}, &ocmv1.ManagedCluster{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// connected checks that a Klusterlet says of its agent that it works with the hub.
func (h *servingHub) connected(p *operatortest.Plane, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := conditions(p, name, "HubConnectionDegraded=False/HubConnectionFunctional")(ctx); err != nil {
			return err
		}
		if message, err := connection(ctx, p, name); err != nil || !strings.Contains(message, h.config.Host) {
			return fmt.Errorf("%s is not named: %s %w", h.config.Host, message, err)
		}
		return nil
	}
}
