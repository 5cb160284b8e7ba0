package reach

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/registration"
	"muster.dev/muster/backend/token"
)

// Access is one server and one credential, all that is taken from a kubeconfig.
type Access struct {
	// Server is the https URL of the member's API server.
	Server string
	// CA is the PEM text that verifies the server; nil for the system's roots.
	CA []byte
	// Insecure says that the server is not verified.
	Insecure bool
	// ProxyURL is the forward proxy to the server, nil for none.
	ProxyURL *url.URL
	user     kubeUser
}

// Select takes one server and one credential from the named context. It fails
// with a fault of code MU-201 or, for fields that name files or programs, MU-202.
func (k *Kubeconfig) Select(name string) (*Access, error) {
	at := slices.IndexFunc(k.contexts, func(c kubeContext) bool { return c.name == name })
	if at < 0 {
		return nil, badKubeconfig("it has no context %q", name)
	}
	context := k.contexts[at]
	cluster, ok := k.clusters[context.cluster]
	if !ok {
		return nil, badKubeconfig("context %q names cluster %q, which is missing", name, context.cluster)
	}
	user, ok := k.users[context.user]
	if !ok {
		return nil, badKubeconfig("context %q names user %q, which is missing", name, context.user)
	}
	if refused := slices.Concat(cluster.refused, user.refused); len(refused) > 0 {
		return nil, fault.Invalid("the field %s is not taken", refused[0].field).WithCode(refused[0].code).WithFix(refused[0].fix).
			WithField("kubeconfig", refused[0].field+" is not taken")
	}
	return newAccess(cluster, user)
}

func newAccess(cluster kubeCluster, user kubeUser) (*Access, error) {
	server, err := parseServer(cluster.server)
	if err != nil {
		return nil, err
	}
	access := &Access{Server: server, CA: cluster.ca, Insecure: cluster.insecure, user: user}
	if cluster.proxyURL != "" {
		if access.ProxyURL, err = parseProxy(cluster.proxyURL); err != nil {
			return nil, err
		}
	}
	if len(cluster.ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(cluster.ca) {
		return nil, badKubeconfig("certificate-authority-data holds no certificate")
	}
	if len(cluster.ca) > 0 && cluster.insecure {
		return nil, badKubeconfig("it has both certificate-authority-data and insecure-skip-tls-verify")
	}
	switch {
	case user.hasCertificate != user.hasClientKeyField:
		return nil, badKubeconfig("client-certificate-data and client-key-data go together")
	case user.hasCertificate:
		if _, err := tls.X509KeyPair(user.certificate, user.key); err != nil {
			return nil, badKubeconfig("client-certificate-data and client-key-data are not a certificate and its key")
		}
	case user.token == "":
		return nil, badKubeconfig("its user has neither a token nor a client certificate")
	case strings.ContainsFunc(user.token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, badKubeconfig("its token holds characters that no token has")
	}
	return access, nil
}

// parseServer checks the address of a member's API server (contract 1.2) and
// returns it without a trailing slash.
func parseServer(text string) (string, error) {
	if strings.HasPrefix(text, "unix:") || strings.HasPrefix(text, "/") {
		return "", fault.Invalid("the server is a unix socket").WithCode(registration.CodeRefusedField).WithFix("use the https address of the API server").
			WithField("kubeconfig", "server is not taken")
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Hostname() == "":
		return "", badKubeconfig("its server is not a URL")
	case parsed.Scheme != "https":
		return "", badKubeconfig("its server is not an https URL")
	case parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.ForceQuery:
		return "", badKubeconfig("its server URL has a user, a query or a fragment")
	}
	if port := parsed.Port(); port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return "", badKubeconfig("its server URL has an impossible port")
		}
	}
	return strings.TrimRight(parsed.String(), "/"), nil
}

func parseProxy(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5"}, parsed.Scheme) {
		return nil, badKubeconfig("its proxy-url is not an http, https or socks5 URL")
	}
	if parsed.User != nil {
		return nil, fault.Invalid("the proxy-url holds a password, which would be stored readably in the Cluster").WithCode(registration.CodeKubeconfig).
			WithFix("use a proxy that needs none, or join from the command line and set spec.proxyHeader")
	}
	return parsed, nil
}

// RedactURL is a URL without its user part, fit to be shown.
func RedactURL(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return ""
	}
	parsed.User = nil
	return parsed.String()
}

// Credential names the kind of credential: "token" or "client certificate".
func (a *Access) Credential() string {
	if a.user.hasCertificate {
		return "client certificate"
	}
	return "token"
}

// Config is how client-go reaches the member: inline values only, and a locked
// door for plugins should one ever get in.
func (a *Access) Config() *rest.Config {
	config := &rest.Config{
		Host:        a.Server,
		BearerToken: a.user.token,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: a.CA, Insecure: a.Insecure, CertData: a.user.certificate, KeyData: a.user.key,
		},
		Impersonate: rest.ImpersonationConfig{UserName: a.user.as, UID: a.user.asUID, Groups: a.user.asGroups, Extra: a.user.asExtra},
	}
	if a.user.hasCertificate {
		config.BearerToken = ""
	}
	return config
}

// certificatePin is the pin of the first CA certificate, for display.
func certificatePin(caPEM []byte) string {
	pins, err := token.CAPins(caPEM)
	if err != nil {
		return ""
	}
	return pins[0]
}
