package controlplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// ServingSecret holds the authority that signs what the hub serves with on an
// existing API: the webhooks' certificates and the dashboard's. Replicas share it.
const ServingSecret = "muster-serving-ca"

const (
	servingCert = "ca.crt"
	servingKey  = "ca.key"
	// servingCheck is how often the Secret is read again: it may have been
	// replaced, or deleted to have a new one made.
	servingCheck = time.Minute
)

var errNoAuthority = errors.New("the authority of the hub's serving certificates is not loaded yet")

// servingAuthority signs the hub's own serving certificates. Its key lies in a
// Secret; the certificates live in memory and are made anew long before they end.
type servingAuthority struct {
	client    kubernetes.Interface
	namespace string

	mu     sync.Mutex
	pem    []byte
	ca     *x509.Certificate
	signer *ecdsa.PrivateKey
	leaves map[string]*tls.Certificate // by their hosts
}

func newServingAuthority(client kubernetes.Interface, namespace string) *servingAuthority {
	return &servingAuthority{client: client, namespace: namespace, leaves: map[string]*tls.Certificate{}}
}

// bundle is the authority in PEM; empty until it is loaded.
func (s *servingAuthority) bundle() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pem
}

// keep reads the Secret again from time to time until ctx ends.
func (s *servingAuthority) keep(ctx context.Context) error {
	ticker := time.NewTicker(servingCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := s.load(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("authority of serving certificates could not be read again", "error", err)
		}
	}
}

// load takes the authority from its Secret, which it makes if there is none or
// if it is about to end. Of several replicas that make it, the first wins.
func (s *servingAuthority) load(ctx context.Context) error {
	secrets := s.client.CoreV1().Secrets(s.namespace)
	current, err := secrets.Get(ctx, ServingSecret, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		if current, err = newServingSecret(s.namespace); err != nil {
			return err
		}
		current, err = secrets.Create(ctx, current, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			current, err = secrets.Get(ctx, ServingSecret, metav1.GetOptions{})
		}
	case err == nil && servingEnds(current):
		fresh, failed := newServingSecret(s.namespace)
		if failed != nil {
			return failed
		}
		fresh.ResourceVersion = current.ResourceVersion
		current, err = secrets.Update(ctx, fresh, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			current, err = secrets.Get(ctx, ServingSecret, metav1.GetOptions{})
		}
	}
	if err != nil {
		return fmt.Errorf("read secret %s/%s: %w", s.namespace, ServingSecret, err)
	}
	return s.take(current)
}

func servingEnds(secret *corev1.Secret) bool {
	certs, err := cert.ParseCertsPEM(secret.Data[servingCert])
	return err == nil && time.Until(certs[0].NotAfter) < leafLifetime
}

func newServingSecret(namespace string) (*corev1.Secret, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate serving authority's key: %w", err)
	}
	template, err := newAuthorityTemplate("muster-serving-ca")
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign serving authority: %w", err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("encode serving authority's key: %w", err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ServingSecret}, Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{servingCert: encodeCert(der), servingKey: keyPEM},
	}, nil
}

func (s *servingAuthority) take(secret *corev1.Secret) error {
	certs, err := cert.ParseCertsPEM(secret.Data[servingCert])
	if err != nil {
		return fmt.Errorf("read %s of secret %s/%s: %w", servingCert, s.namespace, ServingSecret, err)
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(secret.Data[servingKey])
	if err != nil {
		return fmt.Errorf("read %s of secret %s/%s: it holds no private key", servingKey, s.namespace, ServingSecret)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(certs[0].PublicKey) {
		return fmt.Errorf("secret %s/%s: certificate and key do not belong together", s.namespace, ServingSecret)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(s.pem) == string(secret.Data[servingCert]) {
		return nil
	}
	s.pem, s.ca, s.signer = secret.Data[servingCert], certs[0], key
	clear(s.leaves)
	return nil
}

// certificate is a certificate for hosts. It is made when it is first asked for
// and again before it ends.
func (s *servingAuthority) certificate(hosts []string) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signer == nil {
		return nil, errNoAuthority
	}
	name := strings.Join(hosts, ",")
	if leaf := s.leaves[name]; leaf != nil && time.Until(leaf.Leaf.NotAfter) > leafRenewBefore {
		return leaf, nil
	}
	template, err := newTemplate(pkix.Name{CommonName: "muster-hub"}, leafLifetime)
	if err != nil {
		return nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate serving key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, s.ca, key.Public(), s.signer)
	if err != nil {
		return nil, fmt.Errorf("sign serving certificate: %w", err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read serving certificate: %w", err)
	}
	leaf := &tls.Certificate{Certificate: [][]byte{der, s.ca.Raw}, PrivateKey: key, Leaf: parsed}
	s.leaves[name] = leaf
	return leaf, nil
}
