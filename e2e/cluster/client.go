package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// request sends one request to the API server as admin.
func (c *Cluster) request(ctx context.Context, method, path, body string) (*http.Response, error) {
	pair, err := tls.X509KeyPair(c.creds.cert, c.creds.key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.creds.authority)
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
	}}
	url := "https://" + c.door.listener.Addr().String() + path
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return resp, nil
}

// awaitNode watches until the node is Ready.
func (c *Cluster) awaitNode(ctx context.Context) error {
	for {
		resp, err := c.request(ctx, "GET", "/api/v1/nodes?watch=true&fieldSelector=metadata.name="+c.Name, "")
		if err == nil {
			ready := nodeReady(resp.Body)
			resp.Body.Close()
			if ready {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the node to be Ready: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// nodeReady reads a watch until it shows a Ready node; false if it ends before.
func nodeReady(watch io.Reader) bool {
	for in := json.NewDecoder(watch); ; {
		var event struct {
			Object struct {
				Status struct {
					Conditions []struct{ Type, Status string }
				}
			}
		}
		if in.Decode(&event) != nil {
			return false
		}
		for _, cond := range event.Object.Status.Conditions {
			if cond.Type == "Ready" && cond.Status == "True" {
				return true
			}
		}
	}
}
