package component

import (
	"context"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// tokenLifetime is what is asked for; a server may grant less.
	tokenLifetime = 8640 * time.Hour
	// tokenRenewal is the part of a lifetime that is left when a new token is asked for.
	tokenRenewal = 5
)

// Keys of a Secret with a credential.
const (
	KubeconfigKey = "kubeconfig"
	tokenKey      = "token"
	expirationKey = "expiration"
)

// Credential is a kubeconfig, kept in a Secret where a component runs, by which it reaches another cluster as a ServiceAccount of that.
type Credential struct {
	// Account is the ServiceAccount on the other cluster.
	Account client.ObjectKey
	// Secret is where the kubeconfig is kept, and Path the directory that it is mounted at.
	Secret client.ObjectKey
	Path   string
	Labels map[string]string
}

// Ensure makes the Secret at keeper (the cluster that the component runs on), with a token asked of the cluster that remote describes, and
// renews it in its last fifth. It returns when to look again.
func (c Credential) Ensure(ctx context.Context, keeper, other client.Client, remote *rest.Config, now time.Time) (time.Time, error) {
	wanted, err := c.kubeconfig(remote)
	if err != nil {
		return time.Time{}, err
	}
	stored := &corev1.Secret{}
	err = keeper.Get(ctx, c.Secret, stored)
	if err != nil && !IsGone(err) {
		return time.Time{}, fmt.Errorf("read credential %s: %w", c.Secret, err)
	}
	if renew := renewal(stored); err == nil && now.Before(renew) && string(stored.Data[KubeconfigKey]) == string(wanted) {
		return renew, nil
	}
	seconds := int64(tokenLifetime / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: c.Account.Name, Namespace: c.Account.Namespace}}
	if err := other.SubResource("token").Create(ctx, account, request); err != nil {
		return time.Time{}, fmt.Errorf("request a token of %s: %w", c.Account, err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: c.Secret.Name, Namespace: c.Secret.Namespace},
		Type:       corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			KubeconfigKey: wanted, tokenKey: []byte(request.Status.Token),
			expirationKey:              []byte(request.Status.ExpirationTimestamp.UTC().Format(time.RFC3339)),
			"issued":                   []byte(now.UTC().Format(time.RFC3339)),
			"serviceaccount_name":      []byte(c.Account.Name),
			"serviceaccount_namespace": []byte(c.Account.Namespace),
		},
	}
	if err := NewApplier(keeper, c.Labels).Apply(ctx, secret); err != nil {
		return time.Time{}, err
	}
	return renewal(secret), nil
}

// renewal is when the token of a stored credential enters its last fifth; the zero time if that cannot be told.
func renewal(secret *corev1.Secret) time.Time {
	expires, err := time.Parse(time.RFC3339, string(secret.Data[expirationKey]))
	if err != nil || len(secret.Data[tokenKey]) == 0 {
		return time.Time{}
	}
	issued, err := time.Parse(time.RFC3339, string(secret.Data["issued"]))
	if err != nil {
		issued = expires.Add(-tokenLifetime) // made by an operator that ran here before
	}
	return expires.Add(-expires.Sub(issued) / tokenRenewal)
}

// kubeconfig describes the other cluster; the token stays in a file of its own, which clients read again when it is renewed.
func (c Credential) kubeconfig(remote *rest.Config) ([]byte, error) {
	cluster := &clientcmdapi.Cluster{
		Server: remote.Host, CertificateAuthorityData: remote.CAData, TLSServerName: remote.ServerName, InsecureSkipTLSVerify: remote.Insecure,
	}
	proxy, err := proxyOf(remote)
	if err != nil {
		return nil, err
	}
	cluster.ProxyURL = proxy
	if len(cluster.CertificateAuthorityData) == 0 && remote.CAFile != "" {
		copied := rest.CopyConfig(remote)
		if err := rest.LoadTLSFiles(copied); err != nil {
			return nil, fmt.Errorf("read the cluster's certificate authority: %w", err)
		}
		cluster.CertificateAuthorityData = copied.CAData
	}
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"cluster": cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"user": {TokenFile: c.Path + "/" + tokenKey}},
		Contexts:       map[string]*clientcmdapi.Context{"context": {Cluster: "cluster", AuthInfo: "user"}},
		CurrentContext: "context",
	})
}

// proxyOf is the proxy that a cluster is reached by, as a kubeconfig names it; "" if there is none. One that only this process's environment
// names is none of the cluster's.
func proxyOf(remote *rest.Config) (string, error) {
	if remote.Proxy == nil {
		return "", nil
	}
	server, _, err := rest.DefaultServerUrlFor(remote)
	if err != nil {
		return "", fmt.Errorf("read the cluster's address: %w", err)
	}
	proxy, err := remote.Proxy(&http.Request{URL: server})
	if err != nil || proxy == nil {
		return "", err
	}
	return proxy.String(), nil
}
