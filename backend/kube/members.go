package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Limits of contract section 7.5.
const (
	memberQPS     = 40
	memberBurst   = 60
	memberTimeout = 32 * time.Second
	// credentialLife is how long a token is used before its Secret is read again.
	credentialLife = 5 * time.Minute
)

const protobufThenJSON = "application/vnd.kubernetes.protobuf,application/json"

// Members reaches the clusters the hub dials, with the credentials that their
// Secrets hold. Each member has one transport, which lives until its address,
// proxy or CA changes; tokens are read again every five minutes, when their
// Secret is said to have changed, and when the member refuses them.
type Members struct {
	secrets client.Reader
	clock   clock.PassiveClock

	mu          sync.Mutex
	members     map[string]*member // by cluster name
	credentials map[types.NamespacedName]*credential
}

// member is what is kept of one cluster.
type member struct {
	made      origin
	url       *url.URL
	transport *http.Transport
	config    *rest.Config // nil without a secretRef
	secrets   map[types.NamespacedName]bool
}

// Endpoint is a member as the cluster proxy needs it: where it is, how to
// connect, and the token of the account that may impersonate users there.
type Endpoint struct {
	URL *url.URL
	// Transport carries no credential.
	Transport *http.Transport
	// ImpersonatorToken goes into the Authorization header.
	ImpersonatorToken string
}

// NewMembers returns a Members that reads Secrets from the hub through secrets,
// which should not be a cache.
func NewMembers(secrets client.Reader, clock clock.PassiveClock) *Members {
	return &Members{secrets: secrets, clock: clock, members: map[string]*member{}, credentials: map[types.NamespacedName]*credential{}}
}

// Config returns how to reach a member as the hub. Two configurations of a
// cluster have the same Transport as long as address, proxy, CA and Secret names
// stay; the token behind it may change. It fails if the cluster names no
// credential or its Secret is missing or empty.
func (m *Members) Config(ctx context.Context, cluster *clusterv1alpha1.Cluster) (*rest.Config, error) {
	if cluster.Spec.SecretRef == nil {
		return nil, fmt.Errorf("reach cluster %s: it names no secretRef", cluster.Name)
	}
	known, err := m.member(ctx, cluster)
	if err != nil {
		return nil, fmt.Errorf("reach cluster %s: %w", cluster.Name, err)
	}
	return rest.CopyConfig(known.config), nil
}

// Endpoint returns how the cluster proxy reaches a member. It fails if the
// cluster has no address or names no impersonator.
func (m *Members) Endpoint(ctx context.Context, cluster *clusterv1alpha1.Cluster) (Endpoint, error) {
	if cluster.Spec.ImpersonatorSecretRef == nil {
		return Endpoint{}, fmt.Errorf("reach cluster %s: it names no impersonatorSecretRef", cluster.Name)
	}
	known, err := m.member(ctx, cluster)
	if err != nil {
		return Endpoint{}, fmt.Errorf("reach cluster %s: %w", cluster.Name, err)
	}
	impersonator := m.credential(cluster.Spec.ImpersonatorSecretRef)
	m.mu.Lock()
	known.secrets[impersonator.name] = true
	m.mu.Unlock()
	token, err := impersonator.token(ctx)
	if err != nil {
		return Endpoint{}, fmt.Errorf("reach cluster %s: %w", cluster.Name, err)
	}
	return Endpoint{URL: known.url, Transport: known.transport, ImpersonatorToken: token}, nil
}

// SecretChanged makes the next use of a Secret read it again. Calling it for a
// Secret no member uses does nothing.
func (m *Members) SecretChanged(name types.NamespacedName) {
	m.mu.Lock()
	known := m.credentials[name]
	m.mu.Unlock()
	if known != nil {
		known.expire()
	}
}

// Forget drops what is kept of a cluster that has left.
func (m *Members) Forget(cluster string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.members[cluster]
	if known == nil {
		return
	}
	delete(m.members, cluster)
	for name := range known.secrets {
		delete(m.credentials, name)
	}
	known.transport.CloseIdleConnections()
}

// member returns the kept member, or makes it anew if the cluster changed.
func (m *Members) member(ctx context.Context, cluster *clusterv1alpha1.Cluster) (*member, error) {
	var own *credential
	var ca []byte
	if ref := cluster.Spec.SecretRef; ref != nil {
		own = m.credential(ref)
		if _, err := own.token(ctx); err != nil {
			return nil, err
		}
		ca = own.caBundle()
	}
	from := originOf(cluster, ca)
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.members[cluster.Name]; known != nil {
		if known.made.same(from) {
			return known, nil
		}
		known.transport.CloseIdleConnections()
	}
	made, err := newMember(cluster, own, ca)
	if err != nil {
		delete(m.members, cluster.Name)
		return nil, err
	}
	made.made = from
	m.members[cluster.Name] = made
	return made, nil
}

func newMember(cluster *clusterv1alpha1.Cluster, own *credential, ca []byte) (*member, error) {
	if cluster.Spec.APIEndpoint == "" {
		return nil, errors.New("it has no apiEndpoint")
	}
	endpoint, err := url.Parse(cluster.Spec.APIEndpoint)
	if err != nil || endpoint.Host == "" {
		return nil, errors.New("its apiEndpoint is not a URL")
	}
	transport, err := newTransport(endpoint, cluster.Spec, ca)
	if err != nil {
		return nil, err
	}
	made := &member{url: endpoint, transport: transport, secrets: map[types.NamespacedName]bool{}}
	if own != nil {
		made.secrets[own.name] = true
		made.config = &rest.Config{
			Host:          endpoint.String(),
			ContentConfig: rest.ContentConfig{AcceptContentTypes: protobufThenJSON, ContentType: "application/vnd.kubernetes.protobuf"},
			UserAgent:     "muster",
			Transport:     &bearer{base: transport, origin: endpoint, credential: own},
			QPS:           memberQPS,
			Burst:         memberBurst,
			Timeout:       memberTimeout,
		}
	}
	return made, nil
}

// origin is everything that a transport is made from.
type origin struct {
	uid         types.UID
	endpoint    string
	secret      *clusterv1alpha1.LocalSecretReference
	insecure    bool
	proxy       string
	proxyHeader map[string]string
	ca          []byte
}

// originOf is that of a cluster, which may not be changed afterwards.
func originOf(cluster *clusterv1alpha1.Cluster, ca []byte) origin {
	spec := &cluster.Spec
	return origin{cluster.UID, spec.APIEndpoint, spec.SecretRef, spec.InsecureSkipTLSVerification, spec.ProxyURL, spec.ProxyHeader, ca}
}

func (o *origin) same(other origin) bool {
	return o.uid == other.uid && o.endpoint == other.endpoint && ptr.Equal(o.secret, other.secret) && o.insecure == other.insecure && o.proxy == other.proxy &&
		maps.Equal(o.proxyHeader, other.proxyHeader) && bytes.Equal(o.ca, other.ca)
}

// bearer adds the hub's token to requests that stay on the member. client-go
// follows redirects; a member must not be able to send the token elsewhere.
type bearer struct {
	base       *http.Transport
	origin     *url.URL
	credential *credential
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != b.origin.Host || r.URL.Scheme != b.origin.Scheme {
		return nil, errors.New("the member redirected the hub to another server, which is not followed")
	}
	token, err := b.credential.token(r.Context())
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := b.base.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		b.credential.expire()
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (b *bearer) WrappedRoundTripper() http.RoundTripper { return b.base }

// Probe asks a member whether it is ready: /readyz, or /healthz where that does
// not exist (contract section 7.4). It returns the HTTP status, or an error if
// the member did not answer.
func Probe(ctx context.Context, config *rest.Config) (int, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	made, err := rest.UnversionedRESTClientFor(unversioned(config))
	if err != nil {
		return 0, fmt.Errorf("build probe client: %w", err)
	}
	code, err := probe(ctx, made, "/readyz")
	if code == http.StatusNotFound {
		code, err = probe(ctx, made, "/healthz")
	}
	return code, err
}

func probe(ctx context.Context, c rest.Interface, path string) (int, error) {
	code := 0
	result := c.Get().AbsPath(path).MaxRetries(0).Do(ctx).StatusCode(&code)
	if err := result.Error(); err != nil && code == 0 {
		var answered apierrors.APIStatus
		if errors.As(err, &answered) && answered.Status().Code != 0 {
			return int(answered.Status().Code), nil
		}
		return 0, err
	}
	return code, nil
}
