package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"time"
)

// How long a session lasts.
const (
	idleLimit     = 8 * time.Hour
	absoluteLimit = 24 * time.Hour
	// seenStep is how exactly the last request is remembered: a write a request
	// would cost more than it tells.
	seenStep = time.Minute
)

// Session is one place where a user is signed in.
type Session struct {
	ID         string    `json:"id"`
	CreatedAt  time.Time `json:"createdAt"`
	LastSeenAt time.Time `json:"lastSeenAt"`
	// Address is where it was opened from.
	Address string `json:"address"`
	// Agent is the browser's User-Agent, as it said itself.
	Agent string `json:"agent"`
	// Current marks the session that asks.
	Current bool `json:"current"`
}

// SessionInfo is what a browser knows of its session.
type SessionInfo struct {
	User User `json:"user"`
	// CSRF goes into the header X-CSRF-Token of every request that is not a GET.
	CSRF string `json:"csrf"`
	// ExpiresAt is when the session ends if nothing more is asked.
	ExpiresAt          time.Time `json:"expiresAt"`
	MustChangePassword bool      `json:"mustChangePassword"`
}

// SignedIn is a new session; Token goes into the cookie and is kept nowhere.
type SignedIn struct {
	Token string
	Info  SessionInfo
}

// Client is where a login comes from.
type Client struct{ Address, Agent string }

// Current is the session behind a request.
type Current struct {
	Session Session
	User    User
	// CSRF is what the request's header must hold.
	CSRF string
}

// Info is what the browser may know.
func (c Current) Info() SessionInfo {
	return SessionInfo{User: c.User, CSRF: c.CSRF, ExpiresAt: c.Session.expiresAt(), MustChangePassword: c.User.MustChangePassword}
}

// WithSession returns a ctx that belongs to a session.
func WithSession(ctx context.Context, current Current) context.Context {
	return context.WithValue(ctx, keySession, current)
}

// SessionFrom returns the session that ctx belongs to.
func SessionFrom(ctx context.Context) (Current, bool) {
	current, ok := ctx.Value(keySession).(Current)
	return current, ok
}

func (s Session) expiresAt() time.Time {
	idle, absolute := s.LastSeenAt.Add(idleLimit), s.CreatedAt.Add(absoluteLimit)
	if idle.Before(absolute) {
		return idle
	}
	return absolute
}

func (s Session) expired(now time.Time) bool { return !now.Before(s.expiresAt()) }

// newToken makes the secret of a session: 256 random bits.
func newToken() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(secret)
}

// hashToken is what is kept of a token. It is random, so one pass is enough.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte("session:" + token))
	return hex.EncodeToString(sum[:])
}

// csrfOf derives the header's value from the token, which scripts cannot read;
// the token cannot be derived from it.
func csrfOf(token string) string {
	sum := sha256.Sum256([]byte("csrf:" + token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
