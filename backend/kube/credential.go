package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// credential is one Secret of a member. Readers wait while it is being read, so
// that a hundred requests cause one read.
type credential struct {
	name    types.NamespacedName
	secrets client.Reader
	clock   clock.PassiveClock

	mu     sync.Mutex
	bearer string
	ca     []byte
	until  time.Time // read again from here on
}

func (m *Members) credential(ref *clusterv1alpha1.LocalSecretReference) *credential {
	name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.credentials[name]
	if known == nil {
		known = &credential{name: name, secrets: m.secrets, clock: m.clock}
		m.credentials[name] = known
	}
	return known
}

// token returns the bearer token. If the hub cannot be asked but knew a token,
// that one still serves.
func (c *credential) token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if c.bearer != "" && now.Before(c.until) {
		return c.bearer, nil
	}
	var secret corev1.Secret
	if err := c.secrets.Get(ctx, c.name, &secret); err != nil {
		if c.bearer != "" && client.IgnoreNotFound(err) != nil {
			return c.bearer, nil
		}
		c.bearer, c.ca = "", nil
		return "", fmt.Errorf("read secret %s: %w", c.name, err)
	}
	token := string(bytes.TrimSpace(secret.Data[clusterv1alpha1.SecretTokenKey]))
	if token == "" {
		c.bearer, c.ca = "", nil
		return "", fmt.Errorf("read secret %s: %w", c.name, errors.New("it holds no token"))
	}
	c.bearer, c.ca, c.until = token, secret.Data[clusterv1alpha1.SecretCABundleKey], now.Add(credentialLife)
	return c.bearer, nil
}

func (c *credential) caBundle() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ca
}

func (c *credential) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
}

// unversioned fills what a client needs that speaks no API group.
func unversioned(config *rest.Config) *rest.Config {
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return config
}
