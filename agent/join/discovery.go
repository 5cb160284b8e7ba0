package join

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"muster.dev/muster/backend/agentapi"
)

const (
	clusterInfoPath = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
	// maxClusterInfo bounds what is read from a server we do not trust yet.
	maxClusterInfo = 1 << 20
	// maxSkew is how far the clocks may be apart. Certificates are issued with
	// five minutes of tolerance.
	maxSkew = 5 * time.Minute
	// signerPatience is how long a new token may take until its signature is in
	// cluster-info.
	signerPatience = 5 * time.Second
	requestTimeout = 10 * time.Second
)

// Token is a bootstrap token, in two halves. Only Whole is a secret.
type Token struct{ ID, secret string }

var tokenPattern = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`)

// ParseToken reads a token as "token create" prints it.
func ParseToken(text string) (Token, error) {
	halves := tokenPattern.FindStringSubmatch(strings.TrimSpace(text))
	if halves == nil {
		return Token{}, errors.New("the token must look like abcdef.0123456789abcdef")
	}
	return Token{ID: halves[1], secret: halves[2]}, nil
}

// Whole returns the token as a bearer token.
func (t Token) Whole() string { return t.ID + "." + t.secret }

// String keeps the secret half out of logs.
func (t Token) String() string { return t.ID + ".…" }

var pinPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Hub is a hub whose CA has matched a pin.
type Hub struct {
	// Server is the URL agents use, https://HOST:PORT.
	Server string
	// CA holds the hub's CA certificates in PEM.
	CA []byte
	// Pin is the pin that matched.
	Pin string
}

// Pin returns the pin of a certificate: sha256: and the hash of its public key.
func Pin(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Pins returns the pins of all certificates in PEM.
func Pins(caPEM []byte) ([]string, error) {
	certificates, err := parseCertificates(caPEM)
	if err != nil {
		return nil, err
	}
	pins := make([]string, 0, len(certificates))
	for _, c := range certificates {
		pins = append(pins, Pin(c))
	}
	return pins, nil
}

func parseCertificates(data []byte) ([]*x509.Certificate, error) {
	var certificates []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read a CA certificate: %w", err)
		}
		certificates = append(certificates, c)
	}
	if len(certificates) == 0 {
		return nil, errors.New("there is no CA certificate")
	}
	return certificates, nil
}

// Discover finds the hub's CA (contract 5.3) and trusts it only if it matches a
// pin. The first read is anonymous and unverified; the second, verified by the
// CA found, is the first thing that carries the token's public half. Errors are
// *Failure.
func Discover(ctx context.Context, address string, token Token, pins []string) (*Hub, error) {
	for _, pin := range pins {
		if !pinPattern.MatchString(pin) {
			return nil, fmt.Errorf("the hash %q must be sha256: and 64 hexadecimal digits", pin)
		}
	}
	if len(pins) == 0 {
		return nil, errors.New("at least one --discovery-token-ca-cert-hash is required")
	}
	server := "https://" + address
	found, err := getClusterInfo(ctx, server, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}, "") //nolint:gosec // judged by the pin
	if err != nil {
		return nil, discoveryFailure(address, err)
	}
	ca, pin, err := pinnedCA(found.kubeconfig, pins)
	if err != nil {
		return nil, err
	}
	hub := &Hub{Server: server, CA: ca, Pin: pin}
	if err := verifyAgain(ctx, address, hub, token, found.kubeconfig); err != nil {
		return nil, err
	}
	return hub, nil
}

// verifyAgain reads cluster-info once more, by the CA that matched, until the
// token's signature is there. A token that is not, or wrongly, signed is shown
// to the hub, which says by its answer whether it knows it.
func verifyAgain(ctx context.Context, address string, hub *Hub, token Token, kubeconfig string) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(hub.CA)
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	patience := time.Now().Add(signerPatience)
	for {
		info, err := getClusterInfo(ctx, hub.Server, config, token.ID)
		if err != nil {
			return discoveryFailure(address, err)
		}
		if info.kubeconfig != kubeconfig {
			return &Failure{Code: CodePin, Message: "two answers of the hub differ", Cause: "somebody between this cluster and the hub changes its answers, or the hub's CA is being replaced just now",
				Fix: "register again; if that fails, compare the hash in the command with the one the dashboard shows"}
		}
		if skew := time.Until(info.date).Abs(); !info.date.IsZero() && skew > maxSkew {
			return &Failure{Code: CodeClock, Message: fmt.Sprintf("the clocks of this machine and the hub are %s apart", skew.Round(time.Second)),
				Cause: "certificates would not be valid yet, or no longer", Fix: "set both clocks (NTP), then register again"}
		}
		state := info.signature(token)
		if state == signed {
			return nil
		}
		if err := tokenKnown(ctx, hub, token, state); err != nil {
			return err
		}
		if state == forged || time.Now().After(patience) {
			return &Failure{Code: CodeTokenSecret, Message: "the hub's signature by the token " + token.ID + " is not right",
				Cause: "the hub accepts the token but has not signed its cluster-info with it", Fix: "make a new token and register with that"}
		}
		if !sleep(ctx, 100*time.Millisecond) {
			return discoveryFailure(address, ctx.Err())
		}
	}
}

// discoveryFailure words an error of reading cluster-info.
func discoveryFailure(address string, err error) error {
	var status *statusError
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var validity x509.CertificateInvalidError
	switch {
	case errors.As(err, &status):
		return &Failure{Code: CodeHubUnreachable, Message: fmt.Sprintf("%s answers cluster-info with HTTP %d", address, status.code),
			Cause: "what answers there is no hub, or something in front of it", Fix: "check the address of the register command: it is the hub API's, not the dashboard's"}
	case errors.As(err, &unknown):
		return &Failure{Code: CodePin, Message: "the certificate that " + address + " serves does not chain to the CA it names", Err: plain(err),
			Cause: "something between this cluster and the hub answers in the hub's place, such as a proxy that opens TLS",
			Fix:   "let the agent reach the hub without it"}
	case errors.As(err, &hostname):
		return &Failure{Code: CodePin, Message: "the hub's certificate is not for " + address, Err: plain(err),
			Cause: "the hub was not told that members reach it under this address", Fix: "start the hub with --advertise " + address + ", or register with an address its certificate names"}
	case errors.As(err, &validity) && validity.Reason == x509.Expired:
		return &Failure{Code: CodeClock, Message: "the hub's certificate is not valid now", Err: plain(err),
			Cause: "the clock of this machine or of the hub is wrong, or the certificate has expired", Fix: "set both clocks (NTP), then register again"}
	}
	return unreachable(address, err)
}

// pinnedCA returns the CA of a cluster-info if one of its certificates matches a
// pin, alone: what came with it is not trusted.
func pinnedCA(kubeconfig string, pins []string) (ca []byte, pin string, err error) {
	config, err := clientcmd.Load([]byte(kubeconfig))
	if err != nil || len(config.Clusters) != 1 {
		return nil, "", &Failure{Code: CodePin, Message: "the hub's cluster-info is not a kubeconfig with one cluster", Fix: "check the address of the register command"}
	}
	for _, cluster := range config.Clusters {
		certificates, err := parseCertificates(cluster.CertificateAuthorityData)
		if err != nil {
			return nil, "", &Failure{Code: CodePin, Message: "the hub's cluster-info has no usable CA", Err: err, Fix: "check the address of the register command"}
		}
		var seen []string
		for _, c := range certificates {
			pin := Pin(c)
			if slices.Contains(pins, pin) {
				return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), pin, nil
			}
			seen = append(seen, pin)
		}
		return nil, "", &Failure{Code: CodePin,
			Message: "the hub's CA does not match the pin: expected " + strings.Join(pins, " or ") + ", seen " + strings.Join(seen, ", "),
			Cause:   "the command is for another hub, or something between this cluster and the hub answers in the hub's place; the token was not sent",
			Fix:     "copy the register command again; compare its hash with the one the dashboard shows"}
	}
	return nil, "", errors.New("unreachable")
}

// clusterInfo is what the hub publishes for those who join.
type clusterInfo struct {
	kubeconfig string
	signatures map[string]string
	date       time.Time // of the hub's clock; zero if not told
}

type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d", e.code) }

// getClusterInfo reads cluster-info without credentials. A token id, if given, is
// named to the hub.
func getClusterInfo(ctx context.Context, server string, config *tls.Config, tokenID string) (*clusterInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+clusterInfoPath, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if tokenID != "" {
		request.Header.Set(agentapi.TokenIDHeader, tokenID)
	}
	client := oneShot(config)
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, &statusError{response.StatusCode}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxClusterInfo))
	if err != nil {
		return nil, err
	}
	var object corev1.ConfigMap
	if err := json.Unmarshal(body, &object); err != nil || object.Data["kubeconfig"] == "" {
		return nil, &statusError{response.StatusCode}
	}
	info := &clusterInfo{kubeconfig: object.Data["kubeconfig"], signatures: object.Data}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		info.date = date
	}
	return info, nil
}

// oneShot is a client that follows no redirects: a hub does not redirect.
func oneShot(config *tls.Config) *http.Client {
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: requestTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type signatureState int

const (
	signed signatureState = iota
	unsigned
	forged
)

// signature checks the hub's signature by a token: a JWS without payload, whose
// header names the token (contract 5.3).
func (i *clusterInfo) signature(t Token) signatureState {
	given, ok := i.signatures["jws-kubeconfig-"+t.ID]
	if !ok {
		return unsigned
	}
	encode := base64.RawURLEncoding.EncodeToString
	header := encode([]byte(`{"alg":"HS256","kid":"` + t.ID + `"}`))
	mac := hmac.New(sha256.New, []byte(t.secret))
	mac.Write([]byte(header + "." + encode([]byte(i.kubeconfig))))
	if hmac.Equal([]byte(given), []byte(header+".."+encode(mac.Sum(nil)))) {
		return signed
	}
	return forged
}

// tokenKnown presents the token to the hub, whose CA has matched. Only a refusal
// is a failure: then the token has expired, as the hub says to who shows it
// whole, or it is unknown, or, if it has signed, its secret half is wrong.
func tokenKnown(ctx context.Context, hub *Hub, token Token, state signatureState) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(hub.CA)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, hub.Server+"/version", bytes.NewReader(nil))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token.Whole())
	client := oneShot(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots})
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return discoveryFailure(strings.TrimPrefix(hub.Server, "https://"), err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		return nil
	}
	if expired, err := time.Parse(time.RFC3339, response.Header.Get(agentapi.TokenExpiredHeader)); err == nil {
		return &Failure{Code: CodeTokenExpired, Message: "the token " + token.ID + " has expired", Cause: "it expired at " + expired.UTC().Format(time.RFC3339), Fix: newToken}
	}
	return tokenFailure(token, state)
}

// newToken is what to do about a token that will not be accepted any more.
const newToken = "make a new one: muster token create --print-register-command, or Join tokens in the dashboard"

func tokenFailure(token Token, state signatureState) *Failure {
	if state == forged {
		return &Failure{Code: CodeTokenSecret, Message: "the hub does not accept the token " + token.ID,
			Cause: "a token of this id exists, but its second half is another one", Fix: "copy the whole register command again, or make a new token"}
	}
	return &Failure{Code: CodeTokenUnknown, Message: "the hub does not know the token " + token.ID,
		Cause: "it was never made here, was mistyped, was revoked, or expired long ago", Fix: newToken}
}

// sleep waits; it is false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
