package reach

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/registration"
)

// NewClient is a client that follows no redirects: a member that sends the
// hub elsewhere is not believed.
func NewClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if config.Timeout == 0 {
		config.Timeout = 20 * time.Second
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fault.Invalid("the access to the member cannot be used").WithCode(registration.CodeKubeconfig).Wrap(err)
	}
	clientset, err := kubernetes.NewForConfigAndClient(config, &http.Client{Transport: transport, Timeout: config.Timeout, CheckRedirect: Stay})
	if err != nil {
		return nil, fault.Invalid("the access to the member cannot be used").WithCode(registration.CodeKubeconfig).Wrap(err)
	}
	return clientset, nil
}

// Stay refuses every redirect.
func Stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// ID is the identity of the physical cluster: the UID of its kube-system.
func ID(ctx context.Context, client kubernetes.Interface) (string, error) {
	namespace, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", Fault("read namespace kube-system", err)
	}
	return string(namespace.UID), nil
}

// ensureNamespace makes the namespace of the accounts. One that an earlier
// removal left to be deleted is waited for: what is put into it would vanish.

// SecretConfig reaches a member with the credential that the hub keeps.
func SecretConfig(secret *corev1.Secret, target registration.Target) (*rest.Config, error) {
	proxy := func(*http.Request) (*url.URL, error) { return nil, nil }
	if target.ProxyURL != "" {
		parsed, err := url.Parse(target.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("parse proxy of a member: %w", err)
		}
		proxy = http.ProxyURL(parsed)
	}
	config := &rest.Config{Host: target.Server, BearerToken: string(secret.Data[clusterv1alpha1.SecretTokenKey]), Proxy: proxy, Timeout: 10 * time.Second}
	config.TLSClientConfig = rest.TLSClientConfig{Insecure: target.Insecure}
	if !target.Insecure {
		config.CAData = secret.Data[clusterv1alpha1.SecretCABundleKey]
	}
	return config, nil
}

// Fault words an error of the member's API for people. The texts of
// Kubernetes name objects and verbs, never credentials.
func Fault(doing string, err error) error {
	if known, ok := fault.As(err); ok {
		return known
	}
	switch {
	case apierrors.IsUnauthorized(err):
		return fault.Invalid("%s: the member does not accept the credential", doing).WithCode(registration.CodeUnauthenticated).WithFix(registration.Advise(registration.CodeUnauthenticated).Fix).Wrap(err)
	case apierrors.IsForbidden(err):
		return fault.Invalid("%s: %s", doing, registration.PlainText(strings.TrimSpace(err.Error()))).WithCode(registration.CodePermissions).WithFix(registration.Advise(registration.CodePermissions).Fix).Wrap(err)
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		return fault.Unavailable("%s: the member answered: %s", doing, registration.PlainText(err.Error())).Wrap(err)
	}
	if reason, code := TransportReason(err); code != "" {
		return fault.Unavailable("%s: %s", doing, reason).WithCode(code).WithFix(registration.Advise(code).Fix).Wrap(err)
	}
	return fmt.Errorf("%s in the member: %w", doing, err)
}
