package agentapi

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// LinkURL returns the WebSocket URL of the link on a hub, given the server of a
// hub kubeconfig such as https://hub.example:6443.
func LinkURL(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("hub address %q: %w", server, err)
	}
	if u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("hub address %q is not an https URL", server)
	}
	u.Scheme = "wss"
	u.Path = strings.TrimSuffix(u.Path, "/") + LinkPath
	u.RawQuery, u.Fragment, u.User = "", "", nil
	return u.String(), nil
}

// LinkTLS returns the TLS settings of an agent's side of the link: the hub must
// chain to the given CAs, the system's are never asked, and the certificate is
// fetched for every handshake, so that a rotated one is used from the next dial
// on. Only HTTP/1.1 is offered, since a WebSocket cannot be opened on HTTP/2.
func LinkTLS(caPEM []byte, certificate func() (*tls.Certificate, error)) (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(caPEM) {
		return nil, errors.New("the hub's CA holds no certificate")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    roots,
		NextProtos: []string{"http/1.1"},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return certificate()
		},
	}, nil
}
