package access

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/live"
)

// topic carries changes of users.
const topic = "users"

// What the audit calls our objects.
const (
	kindUser    = "User"
	kindSession = "Session"
)

const (
	purgePeriod = 10 * time.Minute
	agentLength = 256 // bytes kept of a User-Agent
)

// Publisher brings a changed row to browsers.
type Publisher interface {
	Publish(topic string, event live.Event)
	Seq(topic string) (epoch string, seq uint64)
}

// Options are what a Service works with.
type Options struct {
	DB    *database.DB
	Audit Auditor
	Live  Publisher
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Service signs users in and out and keeps the list of them.
type Service struct {
	db       *database.DB
	store    store
	audit    Auditor
	live     Publisher
	now      func() time.Time
	hasher   *hasher
	attempts *attempts
	first    atomic.Pointer[firstPassword]

	mu    sync.Mutex
	ended map[string]chan struct{} // by session, closed when it is revoked
}

// NewService returns a Service; Start lets it forget expired sessions.
func NewService(options Options) *Service {
	now := options.Now
	if now == nil {
		now = time.Now
	}
	return &Service{
		db: options.DB, store: store{options.DB}, audit: options.Audit, live: options.Live, now: now,
		hasher: newHasher(), attempts: newAttempts(now), ended: map[string]chan struct{}{},
	}
}

// Start deletes expired sessions until ctx ends.
func (s *Service) Start(ctx context.Context) error {
	ticker := time.NewTicker(purgePeriod)
	defer ticker.Stop()
	for {
		if err := s.purge(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("expired sessions could not be deleted", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (s *Service) purge(ctx context.Context) error {
	ids, err := s.store.expired(ctx, s.now())
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.end(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// Login opens a session for a name and password. Unknown names, disabled users
// and wrong passwords get the same answer, fault.Unauthenticated; more than 5
// failures a minute for one user or from one address fault.TooMany.
func (s *Service) Login(ctx context.Context, name, password string, client Client) (SignedIn, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	keys := []string{"user " + name, "address " + networkOf(client.Address)}
	if wait := s.attempts.begin(keys...); wait > 0 {
		return SignedIn{}, fault.TooMany("too many logins failed").WithFix("wait " + (time.Duration(math.Ceil(wait.Seconds())) * time.Second).String())
	}
	user, hash, err := s.store.user(ctx, name)
	known := err == nil
	if err != nil && !fault.Is(err, fault.KindNotFound) {
		return SignedIn{}, err
	}
	actor := Actor{Name: user.Name, Role: user.Role, Source: client.Address, Via: ViaREST}
	if !known { // what was typed may be a password in the wrong field
		actor.Name, hash = "(unknown user)", s.hasher.nobody
	}
	if before, ok := ActorFrom(ctx); ok {
		actor.RequestID = before.RequestID
	}
	var out SignedIn
	err = s.audit.Access(WithActor(ctx, actor), Deed{Verb: "login", Kind: kindSession, Name: user.Name}, func(ctx context.Context) error {
		right, err := s.hasher.matches(ctx, hash, password)
		if err != nil {
			return err
		}
		if !right || !known || user.Disabled {
			return fault.Unauthenticated("user name or password is wrong").WithCode("bad-credentials")
		}
		out, err = s.open(ctx, user, client)
		return err
	})
	if err != nil {
		return SignedIn{}, err
	}
	s.attempts.succeeded(keys...)
	return out, nil
}

// open makes a session of its own id and token.
func (s *Service) open(ctx context.Context, user User, client Client) (SignedIn, error) {
	now := s.now()
	session := Session{ID: rand.Text(), CreatedAt: now, LastSeenAt: now, Address: client.Address, Agent: firstBytes(client.Agent, agentLength)}
	token := newToken()
	err := s.db.Tx(ctx, func(ctx context.Context) error {
		if err := s.store.createSession(ctx, session, user.Name, token); err != nil {
			return err
		}
		return s.store.seen(ctx, session.ID, user.Name, now)
	})
	if err != nil {
		return SignedIn{}, err
	}
	user.LastSeenAt = &now
	s.publish(user)
	return SignedIn{Token: token, Info: Current{Session: session, User: user, CSRF: csrfOf(token)}.Info()}, nil
}

func firstBytes(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	return strings.ToValidUTF8(text, "")
}

// Authenticate returns the session that token opens, or fault.Unauthenticated.
func (s *Service) Authenticate(ctx context.Context, token string) (Current, error) {
	unknown := fault.Unauthenticated("nobody is signed in, or the session has ended").WithFix("sign in")
	if token == "" {
		return Current{}, unknown
	}
	session, name, err := s.store.session(ctx, "token_hash", hashToken(token))
	if fault.Is(err, fault.KindNotFound) {
		return Current{}, unknown
	}
	if err != nil {
		return Current{}, err
	}
	user, _, err := s.store.user(ctx, name)
	if fault.Is(err, fault.KindNotFound) {
		return Current{}, unknown
	}
	if err != nil {
		return Current{}, err
	}
	now := s.now()
	if user.Disabled || session.expired(now) {
		return Current{}, unknown
	}
	if now.Sub(session.LastSeenAt) >= seenStep {
		if err := s.store.seen(ctx, session.ID, user.Name, now); err != nil {
			return Current{}, err
		}
		session.LastSeenAt, user.LastSeenAt = now, &now
		s.publish(user)
	}
	session.Current = true
	return Current{Session: session, User: user, CSRF: csrfOf(token)}, nil
}

// SessionValid tells whether a session still stands; asking does not prolong it.
func (s *Service) SessionValid(ctx context.Context, id string) bool {
	session, name, err := s.store.session(ctx, "id", id)
	if err != nil || session.expired(s.now()) {
		return false
	}
	user, _, err := s.store.user(ctx, name)
	return err == nil && !user.Disabled
}

// Ended is closed when the session is revoked.
func (s *Service) Ended(id string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := s.ended[id]
	if ended == nil {
		ended = make(chan struct{})
		s.ended[id] = ended
	}
	return ended
}

// end deletes a session and tells those who wait for that.
func (s *Service) end(ctx context.Context, id string) error {
	if err := s.store.deleteSession(ctx, id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ended := s.ended[id]; ended != nil {
		close(ended)
		delete(s.ended, id)
	}
	return nil
}

// endAll ends all sessions of a user.
func (s *Service) endAll(ctx context.Context, user string) error {
	sessions, err := s.store.sessions(ctx, user)
	if err != nil {
		return err
	}
	var failures []error
	for _, session := range sessions {
		failures = append(failures, s.end(ctx, session.ID))
	}
	return errors.Join(failures...)
}

func (s *Service) publish(user User) {
	s.live.Publish(topic, live.Event{Op: live.OpUpsert, Key: user.Name, Row: user})
}
