package controlplanetest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// REST is a signed-in client of the hub's REST API.
type REST struct {
	base   string
	client *http.Client
	cookie string
	csrf   string
}

// Answer is what the REST API said.
type Answer struct {
	Status int
	Body   []byte
}

// Into decodes the body.
func (a Answer) Into(value any) error {
	if err := json.Unmarshal(a.Body, value); err != nil {
		return fmt.Errorf("decode answer %s: %w", a.Body, err)
	}
	return nil
}

// Anonymous is a REST client without a session that trusts only the hub's own
// certificate authority.
func (h *Hub) Anonymous() (*REST, error) {
	config, err := h.Config()
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(config.CAData) {
		return nil, errors.New("the hub's kubeconfig holds no certificate authority")
	}
	return &REST{base: h.DashboardURL, client: &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
	}}, nil
}

// SignIn opens a session. A password that must be changed is changed to
// password+"-changed", which later calls may pass.
func (h *Hub) SignIn(ctx context.Context, name, password string) (*REST, error) {
	r, err := h.Anonymous()
	if err != nil {
		return nil, err
	}
	session, err := r.openSession(ctx, name, password)
	if err != nil || !session.MustChangePassword {
		return r, err
	}
	next := password + "-changed"
	answer, err := r.Do(ctx, http.MethodPost, "/api/v1/session/password", map[string]string{"current": password, "next": next})
	if err != nil {
		return nil, err
	}
	if answer.Status >= http.StatusBadRequest {
		return nil, fmt.Errorf("change password: %d %s", answer.Status, answer.Body)
	}
	_, err = r.openSession(ctx, name, next)
	return r, err
}

type session struct {
	CSRF               string `json:"csrf"`
	MustChangePassword bool   `json:"mustChangePassword"`
}

func (r *REST) openSession(ctx context.Context, name, password string) (session, error) {
	var s session
	answer, err := r.Do(ctx, http.MethodPost, "/api/v1/session", map[string]string{"username": name, "password": password})
	if err != nil {
		return s, err
	}
	if answer.Status >= http.StatusBadRequest {
		return s, fmt.Errorf("sign in as %s: %d %s", name, answer.Status, answer.Body)
	}
	err = answer.Into(&s)
	r.csrf = s.CSRF
	return s, err
}

// Do sends one request to a path below the dashboard's URL. body is sent as
// JSON unless nil. Status codes are the caller's to judge.
func (r *REST) Do(ctx context.Context, method, path string, body any) (Answer, error) {
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return Answer{}, fmt.Errorf("encode request: %w", err)
		}
		in = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, in)
	if err != nil {
		return Answer{}, fmt.Errorf("make request: %w", err)
	}
	if method != http.MethodGet { // also without a body: a form of another site cannot send it
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Origin", r.base)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	if r.cookie != "" {
		request.Header.Set("Cookie", r.cookie)
	}
	if r.csrf != "" {
		request.Header.Set("X-CSRF-Token", r.csrf)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer response.Body.Close()
	for _, cookie := range response.Cookies() {
		r.cookie = cookie.Name + "=" + cookie.Value
	}
	data, err := io.ReadAll(response.Body)
	return Answer{Status: response.StatusCode, Body: data}, err
}
