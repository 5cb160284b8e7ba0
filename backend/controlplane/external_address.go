package controlplane

import (
	"context"
	"fmt"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"muster.dev/muster/backend/controlplane/webhook"
)

// rootCAMap is the ConfigMap that Kubernetes puts into every namespace.
const rootCAMap = "kube-root-ca.crt"

// clusterInfo is the cluster entry of the API's public cluster-info, or nil if
// it has none that can be read.
func (e *External) clusterInfo(ctx context.Context) (*clientcmdapi.Cluster, error) {
	info, err := e.client.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, bootstrapapi.ConfigMapClusterInfo, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read cluster-info: %w", err)
	}
	config, err := clientcmd.Load([]byte(info.Data[bootstrapapi.KubeConfigKey]))
	if err != nil {
		return nil, nil // somebody else's: nothing we could mend
	}
	for _, cluster := range config.Clusters {
		return cluster, nil // there is one
	}
	return nil, nil
}

// findCA looks where Kubernetes publishes its CA: the hub's own credentials,
// cluster-info, and the ConfigMap of every namespace. An API with a certificate
// of a public authority has none.
func (e *External) findCA(ctx context.Context, published *clientcmdapi.Cluster) ([]byte, error) {
	config := rest.CopyConfig(e.options.API)
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("read certificate authority: %w", err)
	}
	if len(config.CAData) > 0 {
		return config.CAData, nil
	}
	if published != nil && len(published.CertificateAuthorityData) > 0 {
		return published.CertificateAuthorityData, nil
	}
	root, err := e.client.CoreV1().ConfigMaps(e.options.Namespace).Get(ctx, rootCAMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read certificate authority: %w", err)
	}
	return []byte(root.Data["ca.crt"]), nil
}

// findAddress is what members are told. In a cluster, the host of the hub's own
// credentials is good inside of it only, so that cluster-info comes first.
func (e *External) findAddress(published *clientcmdapi.Cluster) string {
	if e.options.Advertise != "" {
		return e.options.Advertise
	}
	if published != nil && published.Server != "" {
		return hostPort(published.Server)
	}
	return hostPort(e.options.API.Host)
}

// hostPort is the host:port of a server's URL, which may leave out the scheme
// and the port.
func hostPort(server string) string {
	parsed, err := url.Parse(server)
	if err != nil || parsed.Host == "" {
		return server
	}
	if parsed.Port() == "" {
		port := "443"
		if parsed.Scheme == "http" {
			port = "80"
		}
		return net.JoinHostPort(parsed.Hostname(), port)
	}
	return parsed.Host
}

// webhookHosts are what the webhooks' certificate has to cover.
func webhookHosts(o webhook.Options, namespace string) ([]string, error) {
	addresses := []string{o.Listen}
	if o.URL != "" {
		addresses = append(addresses, hostPort(o.URL))
	}
	hosts, err := servingHosts(addresses...)
	if err != nil {
		return nil, err
	}
	if o.ServiceName != "" {
		within := o.ServiceName + "." + namespace
		hosts = append(hosts, o.ServiceName, within, within+".svc", within+".svc.cluster.local")
	}
	return hosts, nil
}
