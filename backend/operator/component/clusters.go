package component

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// remoteTimeout bounds one request to a cluster that may not answer.
const remoteTimeout = 10 * time.Second

// ErrNoKubeconfig says that a Secret is there but holds no usable kubeconfig.
var ErrNoKubeconfig = errors.New("the secret holds no usable kubeconfig")

// Remote is a cluster that is reached by a kubeconfig from a Secret.
type Remote struct {
	Client client.Client
	Config *rest.Config
}

// Clusters hands out clients of clusters whose kubeconfigs are in Secrets, and keeps them while the kubeconfig stays the same.
type Clusters struct {
	scheme *runtime.Scheme
	mu     sync.Mutex
	known  map[client.ObjectKey]known
}

type known struct {
	sum    [sha256.Size]byte
	remote *Remote
}

// NewClusters returns an empty set whose clients know the kinds of scheme.
func NewClusters(scheme *runtime.Scheme) *Clusters {
	return &Clusters{scheme: scheme, known: map[client.ObjectKey]known{}}
}

// From returns the cluster of the kubeconfig in secret. It does not dial.
func (c *Clusters) From(secret *corev1.Secret) (*Remote, error) {
	config, err := ConfigFrom(secret)
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	for _, key := range []string{KubeconfigKey, tokenKey, "tls.crt", "tls.key"} {
		fmt.Fprintf(hash, "%s %d\n", key, len(secret.Data[key]))
		hash.Write(secret.Data[key])
	}
	sum := [sha256.Size]byte(hash.Sum(nil))
	key := client.ObjectKeyFromObject(secret)
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.known[key]; ok && found.sum == sum {
		return found.remote, nil
	}
	built, err := client.New(config, client.Options{Scheme: c.scheme})
	if err != nil {
		return nil, fmt.Errorf("build client: %w", err)
	}
	remote := &Remote{Client: built, Config: config}
	c.known[key] = known{sum: sum, remote: remote}
	return remote, nil
}

// Forget drops the client made of the Secret called key.
func (c *Clusters) Forget(key client.ObjectKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, key)
}

// ConfigFrom reads the kubeconfig of a Secret. Files that it names are looked up among the Secret's own keys, never on disk: a kubeconfig
// is somebody else's text, and would otherwise read our files and send them away.
func ConfigFrom(secret *corev1.Secret) (*rest.Config, error) {
	raw, err := kubeconfigFrom(secret)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: it does not describe a cluster and a user", ErrNoKubeconfig)
	}
	config.QPS, config.Burst, config.Timeout = -1, 0, remoteTimeout
	config.UserAgent = FieldOwner
	return config, nil
}

func kubeconfigFrom(secret *corev1.Secret) (*clientcmdapi.Config, error) {
	text := secret.Data[KubeconfigKey]
	if len(text) == 0 {
		return nil, fmt.Errorf("%w: it has no key %q", ErrNoKubeconfig, KubeconfigKey)
	}
	raw, err := clientcmd.Load(text)
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be parsed", ErrNoKubeconfig)
	}
	inline := func(file *string, data *[]byte) {
		if *file != "" {
			*data, *file = secret.Data[filepath.Base(*file)], ""
		}
	}
	for _, cluster := range raw.Clusters {
		inline(&cluster.CertificateAuthority, &cluster.CertificateAuthorityData)
	}
	for _, user := range raw.AuthInfos {
		inline(&user.ClientCertificate, &user.ClientCertificateData)
		inline(&user.ClientKey, &user.ClientKeyData)
		var token []byte
		inline(&user.TokenFile, &token)
		if len(token) > 0 {
			user.Token = string(token)
		}
		if user.Exec != nil || user.AuthProvider != nil {
			return nil, fmt.Errorf("%w: it asks to run a program", ErrNoKubeconfig)
		}
	}
	return raw, nil
}

// HubIdentity digests what makes one hub another to an agent: server, proxy, certificate authority and the name of the cluster's entry.
func HubIdentity(secret *corev1.Secret) string {
	raw, err := kubeconfigFrom(secret)
	if err != nil || raw.Contexts[raw.CurrentContext] == nil {
		return ""
	}
	name := raw.Contexts[raw.CurrentContext].Cluster
	cluster := raw.Clusters[name]
	if cluster == nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", name, cluster.Server, cluster.ProxyURL, cluster.CertificateAuthorityData))
	return fmt.Sprintf("%x", sum[:8])
}

// IsUnreachable says that a cluster did not answer, as opposed to refusing what was asked.
func IsUnreachable(err error) bool {
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return false
	}
	var network net.Error
	var dial *net.OpError
	var address *url.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) ||
		errors.As(err, &dial) || errors.As(err, &network) || errors.As(err, &address)
}

// GetSecret reads a Secret; nil: there is none.
func GetSecret(ctx context.Context, c client.Reader, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); IsGone(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read secret %s/%s: %w", namespace, name, err)
	}
	return secret, nil
}

// CopySecret copies the Secret called name, if there is one, from one namespace to another.
func CopySecret(ctx context.Context, from client.Reader, source string, to *Applier, target, name string) error {
	secret, err := GetSecret(ctx, from, source, name)
	if err != nil || secret == nil || source == target {
		return err
	}
	copied := &corev1.Secret{Type: secret.Type, Data: secret.Data}
	copied.Name, copied.Namespace = name, target
	return to.Apply(ctx, copied)
}
