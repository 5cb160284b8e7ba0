package join

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/retry"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
)

const (
	// kubeconfigKey is the key of the identity Secret that holds a kubeconfig for
	// the hub (contract 6.2 step 7).
	kubeconfigKey = "kubeconfig"
	// clusterUIDAnnotation holds the UID of the Cluster the agent was last
	// welcomed as.
	clusterUIDAnnotation = "muster.dev/cluster-uid"
	// removedAnnotation says since when the hub no longer has the cluster.
	removedAnnotation = "muster.dev/removed"
	// refusalAnnotation holds the hub's last refusal of the link, as JSON; a
	// welcome clears it.
	refusalAnnotation = "muster.dev/refusal"

	hubClusterName = "karmada-apiserver"
)

// Identity is what an agent is to its hub. Its only home is a Secret in the
// member.
type Identity struct {
	// Cluster is the name the hub knows the member by.
	Cluster string
	// Server is the hub's URL and CA the certificates it must chain to.
	Server string
	CA     []byte
	// Certificate is the agent's, with its leaf parsed.
	Certificate tls.Certificate
	certPEM     []byte
	keyPEM      []byte

	// ClusterUID is that of the Cluster the agent was last welcomed as.
	ClusterUID types.UID
	// Removed says that the hub no longer has the cluster.
	Removed bool
	// Refusal is the hub's last refusal, nil after a welcome.
	Refusal *agentapi.Refused
}

// newIdentity checks that key and certificate fit and name an agent.
func newIdentity(server string, ca, certPEM, keyPEM []byte) (*Identity, error) {
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("read the agent's certificate: %w", err)
	}
	if certificate.Leaf == nil {
		if certificate.Leaf, err = x509.ParseCertificate(certificate.Certificate[0]); err != nil {
			return nil, fmt.Errorf("read the agent's certificate: %w", err)
		}
	}
	cluster, ok := agentapi.ClusterOfUser(certificate.Leaf.Subject.CommonName)
	if !ok || !slices.Equal(certificate.Leaf.Subject.Organization, []string{apis.AgentGroup}) {
		return nil, errors.New("the certificate is not that of an agent")
	}
	return &Identity{Cluster: cluster, Server: server, CA: ca, Certificate: certificate, certPEM: certPEM, keyPEM: keyPEM}, nil
}

// Valid says whether the certificate can be used at a time.
func (i *Identity) Valid(now time.Time) bool {
	leaf := i.Certificate.Leaf
	return now.After(leaf.NotBefore) && now.Before(leaf.NotAfter)
}

// fingerprint tells one certificate from another in a few characters.
func (i *Identity) fingerprint() string {
	sum := sha256.Sum256(i.certPEM)
	return hex.EncodeToString(sum[:8])
}

// renewAt is when a fifth of the certificate's life is left (contract 6.6).
func (i *Identity) renewAt() time.Time {
	leaf := i.Certificate.Leaf
	return leaf.NotAfter.Add(-i.lifetime() / 5)
}

func (i *Identity) lifetime() time.Duration {
	return i.Certificate.Leaf.NotAfter.Sub(i.Certificate.Leaf.NotBefore)
}

// Config returns how to reach the hub's API as the agent.
func (i *Identity) Config() *rest.Config {
	return &rest.Config{Host: i.Server, Timeout: requestTimeout, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: i.CA, CertData: i.certPEM, KeyData: i.keyPEM}}
}

// kubeconfig writes the identity as a kubeconfig, of the form that clients of the
// wire contract write.
func (i *Identity) kubeconfig() ([]byte, error) {
	context := i.Cluster + "@" + hubClusterName
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{hubClusterName: {Server: i.Server, CertificateAuthorityData: i.CA}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{i.Cluster: {ClientCertificateData: i.certPEM, ClientKeyData: i.keyPEM}},
		Contexts:       map[string]*clientcmdapi.Context{context: {Cluster: hubClusterName, AuthInfo: i.Cluster}},
		CurrentContext: context,
	})
}

func parseIdentity(secret *corev1.Secret) (*Identity, error) {
	config, err := clientcmd.Load(secret.Data[kubeconfigKey])
	if err != nil {
		return nil, fmt.Errorf("read the identity in secret %s: %w", secret.Name, err)
	}
	context, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return nil, fmt.Errorf("read the identity in secret %s: there is no current context", secret.Name)
	}
	cluster, user := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil {
		return nil, fmt.Errorf("read the identity in secret %s: the context is incomplete", secret.Name)
	}
	i, err := newIdentity(cluster.Server, cluster.CertificateAuthorityData, user.ClientCertificateData, user.ClientKeyData)
	if err != nil {
		return nil, fmt.Errorf("read the identity in secret %s: %w", secret.Name, err)
	}
	i.ClusterUID = types.UID(secret.Annotations[clusterUIDAnnotation])
	i.Removed = secret.Annotations[removedAnnotation] != ""
	if text := secret.Annotations[refusalAnnotation]; text != "" {
		refusal := new(agentapi.Refused)
		if json.Unmarshal([]byte(text), refusal) == nil {
			i.Refusal = refusal
		}
	}
	return i, nil
}

// newKey makes the key of an agent: ECDSA P-256, which costs the hub least to
// verify.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// Store keeps an identity in a Secret of the member. It is safe for use side by
// side.
type Store struct {
	client    kubernetes.Interface
	namespace string

	mu      sync.Mutex
	current *Identity
}

// ErrNoIdentity says that the member has not been registered, or not to its end.
var ErrNoIdentity = errors.New("this cluster is not registered")

// NewStore returns the store in a namespace of the member.
func NewStore(client kubernetes.Interface, namespace string) *Store {
	return &Store{client: client, namespace: namespace}
}

// Load reads the identity. It returns ErrNoIdentity if there is none.
func (s *Store) Load(ctx context.Context) (*Identity, error) {
	secret, err := s.client.CoreV1().Secrets(s.namespace).Get(ctx, agentapi.AgentName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && len(secret.Data[kubeconfigKey]) == 0 {
		return nil, ErrNoIdentity
	}
	if err != nil {
		return nil, fmt.Errorf("read secret %s/%s: %w", s.namespace, agentapi.AgentName, err)
	}
	i, err := parseIdentity(secret)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = i
	return i, nil
}

// Current returns the identity last loaded or saved, nil before.
func (s *Store) Current() *Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// Certificate returns the current client certificate, for a new connection.
func (s *Store) Certificate() (*tls.Certificate, error) {
	i := s.Current()
	if i == nil {
		return nil, ErrNoIdentity
	}
	return &i.Certificate, nil
}

// Save writes an identity. What was noted of the former one is kept only if the
// new one is its renewal: the same cluster at the same hub.
func (s *Store) Save(ctx context.Context, i *Identity, renewal bool) error {
	data, err := i.kubeconfig()
	if err != nil {
		return fmt.Errorf("write the identity: %w", err)
	}
	err = s.change(ctx, func(secret *corev1.Secret) {
		secret.Data = map[string][]byte{kubeconfigKey: data}
		if !renewal {
			for _, key := range []string{clusterUIDAnnotation, removedAnnotation, refusalAnnotation} {
				delete(secret.Annotations, key)
			}
		}
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.current; renewal && old != nil {
		i.ClusterUID, i.Removed, i.Refusal = old.ClusterUID, old.Removed, old.Refusal
	}
	s.current = i
	return nil
}

// Note records what the hub said of the identity: as which Cluster it welcomed
// the agent, that the cluster was removed, or why it was refused.
func (s *Store) Note(ctx context.Context, uid types.UID, removed bool, refusal *agentapi.Refused) error {
	text := ""
	if refusal != nil {
		data, err := json.Marshal(refusal)
		if err != nil {
			return fmt.Errorf("note the refusal: %w", err)
		}
		text = string(data)
	}
	since := ""
	if removed {
		since = time.Now().UTC().Format(time.RFC3339)
	}
	s.mu.Lock()
	if s.current != nil {
		noted := *s.current
		noted.ClusterUID, noted.Removed, noted.Refusal = uid, removed, refusal
		s.current = &noted
	}
	s.mu.Unlock()
	return s.change(ctx, func(secret *corev1.Secret) {
		for key, value := range map[string]string{clusterUIDAnnotation: string(uid), removedAnnotation: since, refusalAnnotation: text} {
			if value == "" {
				delete(secret.Annotations, key)
				continue
			}
			metav1.SetMetaDataAnnotation(&secret.ObjectMeta, key, value)
		}
	})
}

// change creates or updates the Secret, unless nothing changes.
func (s *Store) change(ctx context.Context, apply func(*corev1.Secret)) error {
	secrets := s.client.CoreV1().Secrets(s.namespace)
	err := retry.OnError(retry.DefaultRetry, func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }, func() error {
		secret, err := secrets.Get(ctx, agentapi.AgentName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: agentapi.AgentName, Namespace: s.namespace, Labels: ourLabels()}, Type: corev1.SecretTypeOpaque}
			apply(secret)
			_, err = secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: agentapi.AgentName})
			return err
		}
		if err != nil {
			return err
		}
		before := secret.DeepCopy()
		apply(secret)
		if bytes.Equal(before.Data[kubeconfigKey], secret.Data[kubeconfigKey]) && mapsEqual(before.Annotations, secret.Annotations) {
			return nil
		}
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: agentapi.AgentName})
		return err
	})
	if err != nil {
		return fmt.Errorf("write secret %s/%s: %w", s.namespace, agentapi.AgentName, err)
	}
	return nil
}

func mapsEqual(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if other, ok := b[key]; !ok || other != value {
			return false
		}
	}
	return true
}
