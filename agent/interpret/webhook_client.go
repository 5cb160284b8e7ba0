package interpret

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

const (
	// defaultWebhookTimeout is that of a webhook which says none, in seconds.
	defaultWebhookTimeout = 10
	// maxResponse bounds an answer, in bytes.
	maxResponse = 8 << 20
	// parallelQuestions bounds the questions that one webhook is asked at once;
	// others wait for turnWait and then fail, to be asked again later.
	parallelQuestions = 4
	turnWait          = time.Second
)

// silentError says that a webhook did not answer at all. Its text is the same
// each time.
type silentError struct {
	why  string
	busy bool // it was not even asked
}

func (e *silentError) Error() string { return e.why }

// webhookClient reaches one webhook.
type webhookClient struct {
	address string
	timeout time.Duration
	client  *http.Client
	turns   chan struct{}
	broken  error // the configuration makes no sense
}

func newWebhookClient(spec *configv1alpha1.ResourceInterpreterWebhook) *webhookClient {
	c := &webhookClient{timeout: time.Duration(ptr.Deref(spec.TimeoutSeconds, defaultWebhookTimeout)) * time.Second,
		turns: make(chan struct{}, parallelQuestions)}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	c.address, c.broken = addressOf(&spec.ClientConfig)
	if bundle := spec.ClientConfig.CABundle; len(bundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(bundle) && c.broken == nil {
			c.broken = errors.New("caBundle holds no certificate")
		}
	}
	c.client = &http.Client{
		Timeout:       c.timeout,
		Transport:     &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: parallelQuestions, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// addressOf returns the URL of a webhook. A service is reached by its name in the
// cluster that we run in.
func addressOf(c *admissionregistrationv1.WebhookClientConfig) (string, error) {
	switch {
	case c.URL != nil:
		parsed, err := url.Parse(*c.URL)
		if err != nil || parsed.Host == "" || parsed.Scheme != "https" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
			return "", errors.New("its url is not of the form https://HOST:PORT/PATH")
		}
		return parsed.String(), nil
	case c.Service != nil:
		host := net.JoinHostPort(c.Service.Name+"."+c.Service.Namespace+".svc", strconv.Itoa(int(ptr.Deref(c.Service.Port, 443))))
		return "https://" + host + "/" + strings.TrimPrefix(ptr.Deref(c.Service.Path, ""), "/"), nil
	}
	return "", errors.New("its clientConfig has neither url nor service")
}

// ask sends a question and returns the answer to it.
func (c *webhookClient) ask(ctx context.Context, q *configv1alpha1.ResourceInterpreterRequest) (*configv1alpha1.ResourceInterpreterResponse, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	body, err := json.Marshal(&configv1alpha1.ResourceInterpreterContext{Request: q,
		TypeMeta: metav1.TypeMeta{APIVersion: configv1alpha1.GroupName + "/" + contextVersion, Kind: "ResourceInterpreterContext"}})
	if err != nil {
		return nil, fmt.Errorf("encode the question: %w", err)
	}
	turn := time.NewTimer(turnWait)
	defer turn.Stop()
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-turn.C:
		return nil, &silentError{why: "it is busy with other questions", busy: true}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	answer, err := c.post(ctx, body)
	if err != nil {
		return nil, err
	}
	review := &configv1alpha1.ResourceInterpreterContext{}
	if err := json.Unmarshal(answer, review); err != nil {
		return nil, errors.New("its answer is no ResourceInterpreterContext")
	}
	switch {
	case review.Response == nil:
		return nil, errors.New("its answer has no response")
	case review.Response.UID != q.UID:
		return nil, errors.New("its answer is to another question: the uid differs")
	}
	return review.Response, nil
}

func (c *webhookClient) post(ctx context.Context, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask it: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	response, err := c.client.Do(r)
	if err != nil {
		return nil, &silentError{why: c.reason(err)}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, &silentError{why: c.reason(err)}
	case len(answer) > maxResponse:
		return nil, fmt.Errorf("its answer is larger than %d MiB", maxResponse>>20)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers with HTTP status %d", response.StatusCode)
	}
	return answer, nil
}

// reason words why there was no answer, without what differs from try to try.
func (c *webhookClient) reason(err error) string {
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	var lookup *net.DNSError
	var operation *net.OpError
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("it did not answer within %v", c.timeout)
	case errors.As(err, &certificate):
		return "its certificate is not trusted: " + certificate.Err.Error()
	case errors.As(err, &lookup):
		return "its host " + lookup.Name + " is not known"
	case errors.As(err, &operation):
		return "it cannot be reached: " + operation.Err.Error()
	}
	return "the connection to it broke off"
}
