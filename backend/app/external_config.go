package app

import (
	"net"
	"net/url"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"muster.dev/muster/backend/fault"
)

// Defaults of a hub on an existing Kubernetes API.
const (
	// DefaultWebhookListen is loopback unless told otherwise, like all listeners.
	DefaultWebhookListen = "127.0.0.1:9443"
	// DefaultHubNamespace holds the hub's own objects outside of a cluster; in
	// one, that is the namespace of its pod.
	DefaultHubNamespace = "open-cluster-management-hub"
	// LeaderLease is the Lease by which replicas agree who acts.
	LeaderLease = "muster-hub-leader"
	// AuditPath is where the webhooks' listener takes audit events.
	AuditPath = "/audit"

	podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// External says which existing Kubernetes API a hub runs on, and how that API
// reaches it.
type External struct {
	// Kubeconfig is the file with the hub's own credentials; empty: those of the
	// pod that it runs in.
	Kubeconfig string
	// Namespace holds the hub's own objects.
	Namespace string
	// InstallCRDs is false where an operator installs them.
	InstallCRDs bool
	// WebhookListen is the host:port that the API's questions come in at.
	WebhookListen string
	// WebhookURL is https://host:port of WebhookListen as the API reaches it.
	WebhookURL string
	// WebhookService is the Service that leads to WebhookListen, instead of a URL.
	WebhookService string
	// WebhookServicePort is that Service's port.
	WebhookServicePort int32
	// WebhookCert, WebhookKey and WebhookCA are PEM files to serve webhooks with;
	// empty: made by the hub.
	WebhookCert, WebhookKey, WebhookCA string
	// WebhookConfigurations is false where an operator writes them.
	WebhookConfigurations bool
	// WebhooksOnly makes a process that answers webhooks and does nothing else: it
	// needs no database.
	WebhooksOnly bool
	// SignCSRs makes the hub sign agents' certificates with SigningCert and
	// SigningKey, where the cluster's own signer is off.
	SignCSRs                bool
	SigningCert, SigningKey string
	// AuditWebhook takes the API's audit events at AuditPath of WebhookListen. The
	// API shows the token in AuditTokenFile or a certificate of AuditClientCA.
	AuditWebhook                  bool
	AuditTokenFile, AuditClientCA string

	config *rest.Config
}

// complete fills what was left open and checks the rest.
func (e *External) complete() error {
	var err error
	if e.config, err = e.load(); err != nil {
		return err
	}
	if e.Namespace == "" {
		e.Namespace = podNamespace()
	}
	if _, _, err := net.SplitHostPort(e.WebhookListen); err != nil {
		return fault.Invalid("webhook address %q is not host:port", e.WebhookListen).WithFix("write it like " + DefaultWebhookListen)
	}
	if err := e.completeURL(); err != nil {
		return err
	}
	switch {
	case !e.AuditWebhook && (e.AuditTokenFile != "" || e.AuditClientCA != ""):
		return fault.Invalid("audit events are told how to sign in, but are not taken").WithFix("add --audit-webhook")
	case e.AuditWebhook && e.AuditTokenFile == "" && e.AuditClientCA == "":
		return fault.Invalid("audit events would be taken from anybody").WithFix("pass --audit-webhook-token-file or --audit-webhook-client-ca")
	case e.AuditWebhook && e.WebhooksOnly:
		return fault.Invalid("a process that only answers webhooks records nothing").WithFix("pass --audit-webhook to the hub itself")
	case e.SignCSRs && e.WebhooksOnly:
		return fault.Invalid("a process that only answers webhooks signs nothing").WithFix("pass --sign-csrs to the hub itself")
	}
	return nil
}

func (e *External) load() (*rest.Config, error) {
	if e.Kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", e.Kubeconfig)
		if err != nil {
			return nil, fault.Invalid("the kubeconfig of the existing Kubernetes API cannot be used: %s", err.Error()).WithFix("check --kubeconfig")
		}
		return config, nil
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fault.Invalid("this is no pod, and no kubeconfig is given").WithFix("pass --kubeconfig FILE for the existing Kubernetes API")
	}
	return config, nil
}

// completeURL makes the URL of the webhooks from where they listen, for an API
// that runs beside the hub.
func (e *External) completeURL() error {
	if e.WebhookURL != "" {
		parsed, err := url.Parse(e.WebhookURL)
		if err != nil || parsed.Scheme != "https" || parsed.Host == "" || strings.Trim(parsed.Path, "/") != "" {
			return fault.Invalid("%q is not the https URL of a host", e.WebhookURL).WithFix("write it like https://hub.example:9443")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(e.WebhookListen)
	if err != nil || e.WebhookService != "" || !e.WebhookConfigurations {
		return nil
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, err = outwardAddress(); err != nil {
			return fault.Invalid("the API is not told where the webhooks are").WithFix("pass --webhook-url or --webhook-service")
		}
	}
	e.WebhookURL = "https://" + net.JoinHostPort(host, port)
	return nil
}

func podNamespace() string {
	if data, err := os.ReadFile(podNamespaceFile); err == nil && len(strings.TrimSpace(string(data))) > 0 {
		return strings.TrimSpace(string(data))
	}
	return DefaultHubNamespace
}
