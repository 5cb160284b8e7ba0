package klusterlet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/operator/operatortest"
)

// changed is a bootstrap kubeconfig after a change to its cluster.
func changed(t *testing.T, change func(config *clientcmdapi.Config, entry *clientcmdapi.Cluster)) []byte {
	t.Helper()
	config, err := clientcmd.Load(hubConfig(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	change(config, config.Clusters[config.Contexts[config.CurrentContext].Cluster])
	text, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// registrationPods are the pods that introduce a Klusterlet's cluster, without those that are about to end.
func registrationPods(ctx context.Context, p *operatortest.Plane, namespace string) (names []string, err error) {
	list := &corev1.PodList{}
	if err := p.API.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app": "klusterlet-registration-agent"}); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, nil
}

// onePod waits until one pod introduces the cluster, and it is another than before.
func onePod(t *testing.T, p *operatortest.Plane, namespace, before string) (name string) {
	t.Helper()
	operatortest.Eventually(t, "one pod, another than "+before, func(ctx context.Context) error {
		names, err := registrationPods(ctx, p, namespace)
		if err != nil {
			return err
		}
		if len(names) != 1 || names[0] == before {
			return fmt.Errorf("pods: %v", names)
		}
		name = names[0]
		return nil
	})
	return name
}

// A hub that is reached at another address, by another proxy, with another CA or under another name is another hub: each replaces the pod
// that introduces the cluster, and the new way is asked whether it is good for that. Another token is the same hub's.
func TestBootstrapChangesReplaceTheAgent(t *testing.T) {
	p := planes.member
	operate(t, p)
	k := newKlusterlet("rebooter", "Default", "open-cluster-management-rebooter")
	p.Kubelet(t, k.Spec.Namespace)
	if err := p.API.Create(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "applied", conditions(p, k.Name, "Applied=True"))
	create(t, p, k.Spec.Namespace, "bootstrap-hub-kubeconfig", map[string][]byte{"kubeconfig": hubConfig(t, "")})
	functional := conditions(p, k.Name, "HubConnectionDegraded=True/BootstrapSecretFunctional,HubKubeConfigSecretMissing")
	operatortest.Eventually(t, "the hub is reached", functional)
	hub := identity(t, p, k.Spec.Namespace, "")
	pod := onePod(t, p, k.Spec.Namespace, "")

	other, err := controlplanetest.NewAuthority("another-ca")
	if err != nil {
		t.Fatal(err)
	}
	proxy := controlplanetest.StartForwardProxy(t)
	for _, c := range []struct {
		name   string
		change func(*clientcmdapi.Config, *clientcmdapi.Cluster)
	}{
		{"another address", func(_ *clientcmdapi.Config, entry *clientcmdapi.Cluster) {
			entry.Server = strings.Replace(entry.Server, "https://127.0.0.1:", "https://localhost:", 1)
		}},
		{"a proxy", func(_ *clientcmdapi.Config, entry *clientcmdapi.Cluster) { entry.ProxyURL = proxy.URL }},
		{"another proxy", func(_ *clientcmdapi.Config, entry *clientcmdapi.Cluster) {
			entry.ProxyURL = strings.Replace(proxy.URL, "127.0.0.1", "localhost", 1)
		}},
		{"one more CA", func(_ *clientcmdapi.Config, entry *clientcmdapi.Cluster) {
			entry.CertificateAuthorityData = append(slices.Clone(entry.CertificateAuthorityData), other.CertPEM...)
		}},
		{"another name", func(config *clientcmdapi.Config, entry *clientcmdapi.Cluster) {
			current := config.Contexts[config.CurrentContext]
			delete(config.Clusters, current.Cluster)
			config.Clusters["other"], current.Cluster = entry, "other"
		}},
	} {
		asked := proxy.Asked(strings.TrimPrefix(planes.hub.Server, "https://"))
		setBootstrap(t, p, k.Spec.Namespace, changed(t, c.change))
		hub = identity(t, p, k.Spec.Namespace, hub)
		pod = onePod(t, p, k.Spec.Namespace, pod)
		operatortest.Eventually(t, c.name, functional)
		if strings.Contains(c.name, "proxy") && proxy.Asked(strings.TrimPrefix(planes.hub.Server, "https://")) == asked {
			t.Errorf("%s: the hub was asked past the proxy", c.name)
		}
	}

	// The same way to the hub, for somebody who may do nothing there: that the operator has looked is told by the condition.
	setBootstrap(t, p, k.Spec.Namespace, changed(t, func(config *clientcmdapi.Config, entry *clientcmdapi.Cluster) {
		current := config.Contexts[config.CurrentContext]
		delete(config.Clusters, current.Cluster)
		config.Clusters["other"], current.Cluster = entry, "other"
		stranger, err := clientcmd.Load(hubConfig(t, "stranger"))
		if err != nil {
			t.Fatal(err)
		}
		config.AuthInfos[current.AuthInfo] = stranger.AuthInfos[stranger.Contexts[stranger.CurrentContext].AuthInfo]
	}))
	operatortest.Eventually(t, "another user", conditions(p, k.Name, "HubConnectionDegraded=True/BootstrapSecretUnauthorized,HubKubeConfigSecretMissing"))
	if now := identity(t, p, k.Spec.Namespace, ""); now != hub {
		t.Errorf("another user is taken for another hub: %s, then %s", hub, now)
	}
	if now := onePod(t, p, k.Spec.Namespace, ""); now != pod {
		t.Errorf("another user has replaced pod %s by %s", pod, now)
	}
	removeKlusterlet(t, p, k)
}

func setBootstrap(t *testing.T, p *operatortest.Plane, namespace string, kubeconfig []byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bootstrap-hub-kubeconfig"}}
	if err := p.API.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"stringData":{"kubeconfig":%q}}`, kubeconfig))); err != nil {
		t.Fatal(err)
	}
}

// identity waits until the pods that introduce the cluster are to be replaced for another hub than before, and returns which.
func identity(t *testing.T, p *operatortest.Plane, namespace, before string) (now string) {
	t.Helper()
	operatortest.Eventually(t, "another hub than "+before, func(ctx context.Context) error {
		d, err := deployment(ctx, p, namespace, "rebooter-registration-agent")
		if err != nil {
			return err
		}
		if now = d.Spec.Template.Annotations["operator.muster.dev/hub"]; now == "" || now == before {
			return errors.New("the Deployment is for the hub " + now)
		}
		return nil
	})
	return now
}
