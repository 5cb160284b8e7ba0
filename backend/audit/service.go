package audit

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/live"
)

// Topic is the live topic of the entries, keyed by id.
const Topic = "audit"

// Codes of outcomes that no problem and no status tells.
const (
	codeStopped     = "hub-stopped"
	codePanic       = "panic"
	codeNotRecorded = "not-recorded"
)

// Publisher brings changed rows to browsers.
type Publisher interface {
	Publish(topic string, event live.Event)
	Seq(topic string) (epoch string, seq uint64)
}

// Service keeps and shows the record.
type Service struct {
	db      *database.DB
	store   store
	journal *journal
	live    Publisher
	now     func() time.Time
}

// NewService returns the audit that is kept in db.
func NewService(db *database.DB, publisher Publisher) *Service {
	kept := store{db}
	return &Service{db: db, store: kept, journal: newJournal(kept.add), live: publisher, now: time.Now}
}

// record is one action under way.
type record struct {
	mu    sync.Mutex
	entry Entry
}

type recordKey struct{}

// SetName tells the name of what the action of ctx made or found, for actions
// that began without knowing it. Outside of Do it does nothing.
func SetName(ctx context.Context, name string) {
	if r, ok := ctx.Value(recordKey{}).(*record); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.entry.Name = name
	}
}

// SetDetail adds a detail to the entry of the action of ctx. Outside of Do it
// does nothing.
func SetDetail(ctx context.Context, key, value string) {
	if r, ok := ctx.Value(recordKey{}).(*record); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.entry.Detail[key] = value
	}
}

// Do records action around do: an intent before it, the outcome after it. If
// the intent cannot be stored, do is not run and the error is
// fault.Unavailable; any other error is do's own, or fault.Forbidden if the
// actor of ctx lacks the role that the action needs. It must not be called
// within a database transaction.
func (s *Service) Do(ctx context.Context, action Action, do func(ctx context.Context) error) error {
	if s.db.InTx(ctx) {
		return errors.New("audit: an action begins within a transaction, whose end its intent would wait for")
	}
	r := &record{entry: s.intent(ctx, action)}
	if action.Needs != "" {
		if err := access.Require(ctx, action.Needs); err != nil {
			s.refuse(ctx, r.entry, err)
			return err
		}
	}
	if err := s.open(ctx, r.entry); err != nil {
		return err
	}
	return s.run(context.WithValue(ctx, recordKey{}, r), r, do)
}

// Access records an action of package access, which this package imports and
// which therefore cannot know it.
func (s *Service) Access(ctx context.Context, deed access.Deed, do func(ctx context.Context) error) error {
	return s.Do(ctx, Action{Verb: deed.Verb, Kind: deed.Kind, Name: deed.Name, Detail: deed.Detail, Needs: deed.Needs}, do)
}

func (s *Service) intent(ctx context.Context, action Action) Entry {
	actor, ok := access.ActorFrom(ctx)
	if !ok {
		actor = access.Actor{Name: "unknown", Via: access.ViaREST}
	}
	now := s.now()
	entry := Entry{
		ID: newKey(now), At: now.UTC(), Actor: actor.Name, Via: actor.Via, Source: actor.Source, RequestID: actor.RequestID,
		Verb: action.Verb, Kind: action.Kind, Namespace: action.Namespace, Name: action.Name,
		Outcome: Pending, Detail: map[string]string{},
	}
	maps.Copy(entry.Detail, action.Detail)
	return entry
}

// open stores an intent. If that takes too long it may still be stored later,
// for an action that is not done: the outcome says so.
func (s *Service) open(ctx context.Context, entry Entry) error {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	intent := entry.row(phaseIntent)
	err := s.journal.keep(intent).wait(ctx)
	if err == nil {
		s.publish(intent)
		return nil
	}
	if ctx.Err() != nil {
		s.journal.keepLater(nil, s.closed(entry, Failed, codeNotRecorded).row(phaseOutcome))
	}
	return fault.Unavailable("this was not done: the hub could not record it").WithCode("audit-unavailable").
		WithFix("see that the hub's database is up and its disk not full, and try again").Wrap(err)
}

// run does what was recorded and stores what became of it, even if ctx has
// ended or do panics.
func (s *Service) run(ctx context.Context, r *record, do func(ctx context.Context) error) (err error) {
	returned := false
	defer func() {
		outcome, code := judge(err)
		if !returned {
			outcome, code = Unknown, codePanic
		}
		r.mu.Lock()
		closing := s.closed(r.entry, outcome, code).row(phaseOutcome)
		r.mu.Unlock()
		s.finish(ctx, closing)
	}()
	err = do(ctx)
	returned = true
	return err
}

// finish stores an outcome, waiting for it as long as that is reasonable.
func (s *Service) finish(ctx context.Context, closing row) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	stored := func() { s.publish(closing) }
	if err := s.journal.keepLater(stored, closing).wait(ctx); err != nil {
		slog.Warn("audit outcome is not stored yet", "request", closing.RequestID, "error", err)
	}
}

// refuse records an attempt that was not made.
func (s *Service) refuse(ctx context.Context, entry Entry, why error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	outcome, code := judge(why)
	closing := s.closed(entry, outcome, code).row(phaseOutcome)
	if err := s.journal.keep(entry.row(phaseIntent), closing).wait(ctx); err != nil {
		slog.Warn("denied attempt is not recorded", "request", entry.RequestID, "error", err)
		return
	}
	s.publish(closing)
}

// closed is entry with its end.
func (s *Service) closed(entry Entry, outcome Outcome, code string) Entry {
	took := max(s.now().Sub(entry.At).Milliseconds(), 0)
	entry.Outcome, entry.Code, entry.DurationMillis = outcome, code, &took
	return entry
}

// MarkOpenUnknown closes what the hub left open when it stopped, as unknown, and
// returns how many. It belongs before the first action of a start.
func (s *Service) MarkOpenUnknown(ctx context.Context) (int64, error) {
	return s.store.closeOpen(ctx, "")
}

// staleAfter is when an open intent is of a hub that is gone: an action takes
// minutes at most, and so does trying to store its outcome.
const staleAfter = 15 * time.Minute

// MarkStaleUnknown is MarkOpenUnknown where several hubs share a database: what
// is open may be under way in another one, unless it has been so for long.
func (s *Service) MarkStaleUnknown(ctx context.Context) (int64, error) {
	return s.store.closeOpen(ctx, keyFloor(s.now().Add(-staleAfter)))
}

// Drain waits until every outcome is stored; ctx bounds it. It belongs after
// the last action of a stop.
func (s *Service) Drain(ctx context.Context) error { return s.journal.drain(ctx) }

// List returns up to limit entries that fit filter, newest first, before the
// entry with the id before (empty: from the newest on), and how many fit in
// all, counted up to 10,000. Everybody who is signed in may read them.
func (s *Service) List(ctx context.Context, filter Filter, before string, limit int) ([]Entry, int, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return nil, 0, err
	}
	return s.store.list(ctx, filter, before, limit)
}

// publish sends what is stored to those who watch.
func (s *Service) publish(stored row) {
	entry, err := stored.entry()
	if err != nil {
		slog.Error("audit entry is not published", "request", stored.RequestID, "error", err)
		return
	}
	s.live.Publish(Topic, live.Event{Op: live.OpUpsert, Key: entry.ID, Row: entry})
}
