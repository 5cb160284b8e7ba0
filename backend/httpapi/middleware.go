package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"
)

type contextKey int

const (
	keyRequestID contextKey = iota
	keyNonce
)

const requestIDHeader = "X-Request-Id"

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(keyRequestID).(string)
	return id
}

// nonce returns the CSP nonce of the request.
func nonce(ctx context.Context) string {
	value, _ := ctx.Value(keyNonce).(string)
	return value
}

func random(bytes int) string {
	buffer := make([]byte, bytes)
	_, _ = rand.Read(buffer) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(buffer)
}

// identify gives each request an id of ours; a client's is not taken over.
func identify(c *gin.Context) {
	id := random(9)
	c.Header(requestIDHeader, id)
	c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), keyRequestID, id))
	c.Next()
}

// recoverPanic answers 500 and logs where it broke.
func recoverPanic(c *gin.Context) {
	defer func() {
		if broken := recover(); broken != nil {
			if broken == http.ErrAbortHandler { //nolint:errorlint // a sentinel by contract of net/http
				panic(broken)
			}
			slog.Error("request panicked", "request", RequestID(c.Request.Context()), "route", c.FullPath(), "error", fmt.Sprint(broken), "stack", string(debug.Stack()))
			Abort(c, fmt.Errorf("panic"))
		}
	}()
	c.Next()
}

// protect sets the headers of SECURITY.md. Styles need a nonce because Mantine
// renders a style element; nothing inline runs without it.
func protect(c *gin.Context) {
	value := random(16)
	c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), keyNonce, value))
	header := c.Writer.Header()
	header.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; script-src 'self' 'nonce-%[1]s'; style-src 'self' 'nonce-%[1]s'; "+
		"img-src 'self' data:; font-src 'self'; connect-src 'self' wss://%[2]s; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'", value, hostOnly(c.Request.Host)))
	header.Set("Strict-Transport-Security", "max-age=31536000")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY") // for what does not know frame-ancestors
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	c.Next()
}

// hostOnly keeps a Host header from smuggling anything into the policy.
func hostOnly(host string) string {
	for _, char := range host {
		if (char < 'a' || char > 'z') && (char < 'A' || char > 'Z') && (char < '0' || char > '9') && char != '.' && char != '-' && char != ':' && char != '[' && char != ']' {
			return "invalid"
		}
	}
	return host
}

func logAccess(c *gin.Context) {
	start := time.Now()
	c.Next()
	slog.Debug("request", "request", RequestID(c.Request.Context()), "method", c.Request.Method, "route", c.FullPath(), "status", c.Writer.Status(), "duration", time.Since(start).Round(time.Microsecond))
}

// ClientAddress is the address the request came from; headers of proxies are
// not believed.
func ClientAddress(c *gin.Context) string {
	host, _, err := net.SplitHostPort(c.Request.RemoteAddr)
	if err != nil {
		return c.Request.RemoteAddr
	}
	return host
}

// limitBody bounds every request's body, read by Bind or not.
func limitBody(c *gin.Context) {
	if c.Request.Body != nil {
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, BodyLimit)
	}
	c.Next()
}
