package joining

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
)

// certificateWarning is how long before its end a certificate is worth a word.
const certificateWarning = 30 * 24 * time.Hour

// checkTLS makes a request without the credential, so that nothing is sent to a
// server that has not been verified. It looks at the certificate the way the hub
// will from then on: with the host of the address and the CA of the kubeconfig.
func (p *preflight) checkTLS(ctx context.Context) outcome {
	var leaf *x509.Certificate
	var verdict error
	transport := &http.Transport{
		DialContext:       p.Dialer.DialContext,
		Proxy:             func(*http.Request) (*url.URL, error) { return p.Access.ProxyURL, nil },
		DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, // verified below, where the reason can be told
			VerifyConnection: func(state tls.ConnectionState) error {
				leaf = state.PeerCertificates[0]
				verdict = p.verify(state.PeerCertificates)
				return verdict
			},
		},
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			if answer.StatusCode == http.StatusOK {
				return nil
			}
			return fault.Unavailable("the proxy answered %d to the request for a connection", answer.StatusCode).WithCode(registration.CodeProxy).WithFix(registration.Advise(registration.CodeProxy).Fix)
		},
	}
	if p.Access.ProxyURL != nil && p.Access.ProxyURL.Scheme == "https" {
		// The proxy's own certificate goes by the system's roots, not by the
		// member's: leave both to the default verification.
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.roots(), InsecureSkipVerify: p.Access.Insecure}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Access.Server+"/version", nil)
	if err != nil {
		return failed(fault.Invalid("the server is not a URL").WithCode(registration.CodeKubeconfig))
	}
	answer, err := (&http.Client{Transport: transport, CheckRedirect: reach.Stay}).Do(request)
	if err != nil {
		return failed(p.tlsFault(err, verdict))
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10)
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		p.date, p.received = date, p.Now()
	}
	if leaf == nil && answer.TLS != nil {
		leaf = answer.TLS.PeerCertificates[0]
	}
	return p.describe(leaf)
}

func (p *preflight) roots() *x509.CertPool {
	if len(p.Access.CA) == 0 {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(p.Access.CA)
	return pool
}

func (p *preflight) verify(chain []*x509.Certificate) error {
	if p.Access.Insecure {
		return nil
	}
	intermediates := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		DNSName: p.server.Hostname(), Roots: p.roots(), Intermediates: intermediates, CurrentTime: p.Now(),
	})
	return err
}

func (p *preflight) tlsFault(err, verdict error) error {
	var known *fault.Error
	var record tls.RecordHeaderError
	var wrong *tls.CertificateVerificationError
	switch {
	case errors.As(err, &known):
		return known
	case verdict != nil:
		return fault.Invalid("the server cannot be verified: %s", reach.TLSReason(verdict, p.Now())).WithCode(registration.CodeTLS).WithFix(registration.Advise(registration.CodeTLS).Fix).Wrap(err)
	case errors.As(err, &wrong):
		return fault.Invalid("the server cannot be verified: %s", reach.TLSReason(wrong.Err, p.Now())).WithCode(registration.CodeTLS).WithFix(registration.Advise(registration.CodeTLS).Fix).Wrap(err)
	case errors.As(err, &record):
		return fault.Invalid("the port does not speak TLS").WithCode(registration.CodeTLS).WithFix("use the https address of the Kubernetes API server").Wrap(err)
	case p.Access.ProxyURL != nil:
		return fault.Unavailable("the proxy did not make the connection: %s", reach.DialReason(err)).WithCode(registration.CodeProxy).WithFix(registration.Advise(registration.CodeProxy).Fix).Wrap(err)
	}
	return fault.Unavailable("the TLS handshake failed: %s", reach.DialReason(err)).WithCode(registration.CodeTLS).WithFix("use the https address of the Kubernetes API server").Wrap(err)
}

func (p *preflight) describe(leaf *x509.Certificate) outcome {
	if leaf == nil {
		return fine("connected")
	}
	until := leaf.NotAfter.UTC().Format(time.DateOnly)
	switch {
	case p.Access.Insecure:
		return doubtful("the server is not verified, because insecure-skip-tls-verify is set; its certificate is for %s", reach.CertificateNames(leaf))
	case leaf.NotAfter.Sub(p.Now()) < certificateWarning:
		return doubtful("the certificate ends soon, on %s; it is for %s", until, reach.CertificateNames(leaf))
	}
	return fine("valid until %s, for %s", until, reach.CertificateNames(leaf))
}
