package loadtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gorilla/websocket"
)

// Dashboard is where browsers go, and what they trust and show.
type Dashboard struct {
	URL string
	// CA is the authority, in PEM, that its certificate chains to.
	CA []byte
	// Ticket is a fresh one: it lets one reader in.
	Ticket string
}

// liveMessage is what the hub says to a browser, as far as it matters here.
type liveMessage struct {
	Type   string          `json:"type"`
	Row    json.RawMessage `json:"row"`
	Detail string          `json:"detail"`
}

// FollowRows reads a live topic as a browser does, from now on until ctx ends, and
// calls see, from one goroutine, with each changed row. It returns once the hub has
// accepted the subscription.
func FollowRows(ctx context.Context, d Dashboard, topic string, see func(row json.RawMessage)) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(d.CA) {
		return errors.New("the dashboard's authority is no certificate")
	}
	dialer := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	address := "wss://" + strings.TrimPrefix(d.URL, "https://") + "/api/v1/live"
	socket, response, err := dialer.DialContext(ctx, address, http.Header{"Origin": {d.URL}})
	if err != nil {
		return fmt.Errorf("dial %s: %w", address, err)
	}
	_ = response.Body.Close()
	context.AfterFunc(ctx, func() { _ = socket.Close() })
	for _, said := range []map[string]string{{"type": "auth", "ticket": d.Ticket}, {"type": "subscribe", "topic": topic}} {
		if err := socket.WriteJSON(said); err != nil {
			return fmt.Errorf("subscribe to %s: %w", topic, err)
		}
	}
	for {
		var m liveMessage
		if err := socket.ReadJSON(&m); err != nil {
			return fmt.Errorf("subscribe to %s: %w", topic, err)
		}
		if m.Type == "denied" {
			return fmt.Errorf("subscribe to %s: %s", topic, m.Detail)
		}
		if m.Type == "subscribed" {
			break
		}
	}
	go func() {
		defer socket.Close()
		for {
			var m liveMessage
			if err := socket.ReadJSON(&m); err != nil {
				return // ctx ended, or the hub
			}
			if m.Type == "event" && len(m.Row) > 0 {
				see(m.Row)
			}
		}
	}()
	return nil
}
