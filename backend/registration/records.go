package registration

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/live"
)

// Topic carries the live rows of all registrations, and below it,
// with a slash and the id, those of one with its log. Viewers may read them.
const Topic = "registrations"

const (
	// eventQueue bounds the stage events that wait to be stored. The callers are
	// request handlers and controllers; they never wait.
	eventQueue = 4096
	// expiryPeriod is how often tokens that have ended are looked for.
	expiryPeriod = 2 * time.Second
	// prunePeriod and keepRegistrations bound the table.
	prunePeriod       = time.Hour
	keepRegistrations = 30 * 24 * time.Hour
	// freshCluster is how young a cluster must be for a record to be made of it
	// when it appears without one.
	freshCluster = time.Minute
	// maxOpen bounds the records that appear by themselves.
	maxOpen = 10_000
)

// Publisher brings a changed row to browsers.
type Publisher interface {
	Publish(topic string, event live.Event)
	Seq(topic string) (epoch string, seq uint64)
	Wanted(topic string) bool
}

// Options are what Registrations works with.
type Options struct {
	DB   *database.DB
	Live Publisher
	// Tokens tells the owner and end of a token that is seen without a record.
	Tokens TokenReader
	// Appeared, which may be nil, is called once for each registration whose
	// Cluster has appeared and that has labels to put on it. It reports success.
	Appeared func(ctx context.Context, cluster string, labels map[string]string) error
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Records keeps the staged record of each cluster's joining in SQL, so
// that it survives reload and restart. Open ones are held in memory as well:
// most events are about none of them and cost no query.
type Records struct {
	store    registrationStore
	live     Publisher
	tokens   TokenReader
	appeared func(ctx context.Context, cluster string, labels map[string]string) error
	now      func() time.Time
	events   chan func(ctx context.Context)
	loaded   chan struct{}  // closed when Start has loaded what is stored
	resumed  []Registration // push joins that were at work when the hub stopped

	mu   sync.Mutex // held while a record changes, so that changes have an order
	open map[string]*Registration
}

// NewRecords returns an empty Registrations; Start loads what is stored.
func NewRecords(options Options) *Records {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Records{
		store: registrationStore{options.DB}, live: options.Live, tokens: options.Tokens, appeared: options.Appeared, now: options.Now,
		events: make(chan func(context.Context), eventQueue), loaded: make(chan struct{}), open: map[string]*Registration{},
	}
}

// Start loads the open registrations, then applies events until ctx ends.
func (r *Records) Start(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	close(r.loaded)
	expiry, pruning := time.NewTicker(expiryPeriod), time.NewTicker(prunePeriod)
	defer expiry.Stop()
	defer pruning.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case apply := <-r.events:
			apply(ctx)
		case <-expiry.C:
			r.expire(ctx)
		case <-pruning.C:
			if err := r.store.prune(ctx, r.now().Add(-keepRegistrations)); err != nil && ctx.Err() == nil {
				slog.Warn("old registrations could not be deleted", "error", err)
			}
		}
	}
}

// OnAppeared sets Options.Appeared, for one who is made after this; it belongs
// before Start.
func (r *Records) OnAppeared(appeared func(ctx context.Context, cluster string, labels map[string]string) error) {
	r.appeared = appeared
}

// Loaded is closed when Start has loaded what is stored.
func (r *Records) Loaded() <-chan struct{} { return r.loaded }

// Interrupted are the push joins that were at work when the hub stopped; they
// are known once Loaded is closed.
func (r *Records) Interrupted() []Registration { return r.resumed }

func (r *Records) load(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	open, err := r.store.open(ctx)
	if err != nil {
		return err
	}
	for _, registration := range open {
		r.open[registration.ID] = registration
		if registration.Flavour == FlavourPush && registration.State != StateFailed && !registration.Arrived() {
			r.resumed = append(r.resumed, registration.detail())
		}
	}
	return nil
}

// enqueue hands an event to Start. If the hub is that far behind, the event is
// lost; what comes later in the same registration implies it.
func (r *Records) enqueue(apply func(ctx context.Context)) {
	select {
	case r.events <- apply:
	default:
		slog.Warn("registration event dropped: too many are waiting")
	}
}

// Advance notes that a stage was passed. It does not block.
func (r *Records) Advance(_ context.Context, m Match, stage string, e StageEvent) {
	r.enqueue(func(ctx context.Context) {
		r.mu.Lock()
		defer r.mu.Unlock()
		registration := r.match(ctx, m, stage)
		if registration == nil || !registration.Advance(stage, e, r.now()) {
			return
		}
		r.absorb(ctx, registration)
		r.keep(ctx, registration)
	})
}

// Fail notes that a stage was not passed, and why. It does not block.
func (r *Records) Fail(_ context.Context, m Match, stage string, f Failure) {
	r.enqueue(func(ctx context.Context) {
		r.mu.Lock()
		defer r.mu.Unlock()
		registration := r.match(ctx, m, stage)
		if registration == nil {
			return
		}
		before := len(registration.Log)
		if registration.Fail(stage, f, r.now()) || len(registration.Log) > before {
			r.keep(ctx, registration)
		}
	})
}

// FailCurrent notes that the stage a registration is at was not passed. It does
// not block.
func (r *Records) FailCurrent(_ context.Context, id string, f Failure) {
	r.enqueue(func(ctx context.Context) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if registration := r.open[id]; registration != nil {
			registration.Fail(registration.Current(), f, r.now())
			r.keep(ctx, registration)
		}
	})
}

// Note adds a line to a registration's log. It does not block.
func (r *Records) Note(id, line string) {
	at := r.now()
	r.enqueue(func(ctx context.Context) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if registration := r.open[id]; registration != nil {
			registration.note(line, at)
			r.keep(ctx, registration)
		}
	})
}

// match finds the open registration an event is about, and makes one if a
// conversation begins that has none. Nil: there is nothing to note. r.mu is held.
func (r *Records) match(ctx context.Context, m Match, stage string) *Registration {
	if m.ID != "" {
		return r.open[m.ID]
	}
	if m.TokenID == "" {
		return r.newest(func(c *Registration) bool { return m.Cluster != "" && c.ClusterName == m.Cluster })
	}
	ofToken := func(c *Registration) bool { return c.TokenID == m.TokenID }
	if m.Cluster == "" {
		if found := r.newest(ofToken); found != nil {
			return found
		}
		return r.begin(ctx, m, stage)
	}
	if found := r.newest(func(c *Registration) bool { return ofToken(c) && c.ClusterName == m.Cluster }); found != nil {
		return found
	}
	if found := r.newest(func(c *Registration) bool { return ofToken(c) && c.ClusterName == "" }); found != nil {
		found.ClusterName = m.Cluster
		return found
	}
	return r.begin(ctx, m, stage)
}

func (r *Records) newest(fits func(*Registration) bool) *Registration {
	var found *Registration
	for _, candidate := range r.open {
		if fits(candidate) && (found == nil || candidate.CreatedAt.After(found.CreatedAt)) {
			found = candidate
		}
	}
	return found
}

// begin makes the record of a registration with a token that was not made for
// one, such as one of the command line's. Only the first stages begin one, and
// only tokens that exist: strangers cannot fill the table.
func (r *Records) begin(ctx context.Context, m Match, stage string) *Registration {
	if stage != StageContact && stage != StageToken && stage != StageApproved || len(r.open) >= maxOpen || r.tokens == nil {
		return nil
	}
	known, err := r.tokens.Get(ctx, m.TokenID)
	if err != nil {
		return nil
	}
	made := New(NewID(), FlavourPull, r.now())
	made.TokenID, made.ClusterName, made.ExpiresAt, made.CreatedBy = m.TokenID, m.Cluster, known.ExpiresAt, known.CreatedBy
	if made.ClusterName == "" {
		made.ClusterName = known.ClusterName
	}
	made.Advance(StageCommand, StageEvent{}, known.CreatedAt)
	r.open[made.ID] = made
	return made
}

// NewID is an id that no other registration has.
func NewID() string { return strings.ToLower(rand.Text()[:16]) }

// absorb drops the nameless record that a client's first contact began, once
// its name leads to a record that was there before.
func (r *Records) absorb(ctx context.Context, registration *Registration) {
	for id, other := range r.open {
		if other == registration || other.TokenID == "" || other.TokenID != registration.TokenID || other.ClusterName != "" || other.Passed(StageToken) || other.CreatedBy != "" {
			continue
		}
		if err := r.store.remove(ctx, id); err != nil {
			slog.Warn("registration could not be deleted", "error", err)
			return
		}
		delete(r.open, id)
		r.live.Publish(Topic, live.Event{Op: live.OpDelete, Key: id})
	}
}

// keep stores and publishes a registration. A failure to store is logged; the
// next event stores all of it again. r.mu is held.
func (r *Records) keep(ctx context.Context, registration *Registration) {
	labelled := r.stamp(ctx, registration)
	if err := r.store.save(ctx, registration); err != nil && ctx.Err() == nil {
		slog.Error("registration could not be stored", "cluster", registration.ClusterName, "error", err)
	}
	r.publish(registration)
	if registration.Final() && labelled {
		delete(r.open, registration.ID)
	}
}

func (r *Records) publish(registration *Registration) {
	r.live.Publish(Topic, live.Event{Op: live.OpUpsert, Key: registration.ID, Row: registration.row()})
	r.live.Publish(Topic+"/"+registration.ID, live.Event{Op: live.OpUpsert, Key: registration.ID, Row: registration.detail()})
}

func (r *Records) expire(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, registration := range r.open {
		if registration.expire(r.now()) {
			r.keep(ctx, registration)
		}
	}
}

// TokenRevoked notes that a token is gone. A registration that still needs it
// fails, or expires if the token had come to its end.
func (r *Records) TokenRevoked(_ context.Context, id string) {
	r.enqueue(func(ctx context.Context) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, registration := range r.open {
			if registration.TokenID != id || registration.ending || registration.Passed(StageIdentity) {
				continue
			}
			stage := StageToken
			if registration.Passed(StageToken) {
				stage = registration.Current()
			}
			failure := Failure{Code: CodeTokenUnknown, Cause: "The token was revoked before the cluster had joined."}
			if registration.expire(r.now()) || registration.Fail(stage, failure, r.now()) {
				r.keep(ctx, registration)
			}
		}
	})
}

// Add stores a registration that a user begins.
func (r *Records) Add(ctx context.Context, registration *Registration) (Registration, error) {
	select {
	case <-r.loaded:
	default:
		return Registration{}, fault.Unavailable("the hub is starting").WithFix("try again in a moment")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.store.save(ctx, registration); err != nil {
		return Registration{}, err
	}
	r.open[registration.ID] = registration
	r.publish(registration)
	return registration.detail(), nil
}

// Change changes an open registration and stores it. It fails with fault.NotFound
// or, if the registration is final, with fault.Conflict.
func (r *Records) Change(ctx context.Context, id string, fn func(*Registration)) (Registration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	registration := r.open[id]
	if registration == nil {
		stored, err := r.store.find(ctx, id)
		if err != nil {
			return Registration{}, err
		}
		return Registration{}, fault.Conflict("this registration is %s already", stored.State)
	}
	fn(registration)
	r.keep(ctx, registration)
	return registration.detail(), nil
}

// Ending notes whether an open registration is being cancelled.
func (r *Records) Ending(id string, is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if registration := r.open[id]; registration != nil {
		registration.ending = is
	}
}

// Get returns one registration with its log.
func (r *Records) Get(ctx context.Context, id string) (Registration, error) {
	r.mu.Lock()
	if registration := r.open[id]; registration != nil {
		defer r.mu.Unlock()
		return registration.detail(), nil
	}
	r.mu.Unlock()
	registration, err := r.store.find(ctx, id)
	if err != nil {
		return Registration{}, err
	}
	return registration.detail(), nil
}

// Page is one page of registrations.
type Page struct {
	Rows  []Registration
	Next  *Cursor
	Total int
}

// List returns registrations in these states (none: all), newest first.
func (r *Records) List(ctx context.Context, states []string, after Cursor, limit int) (Page, error) {
	all := []State{StateWaiting, StateRunning, StateReady, StateFailed, StateCancelled, StateExpired}
	for _, state := range states {
		if !slices.Contains(all, State(state)) {
			return Page{}, fault.Invalid("there is no state %q", state).WithField("state", "use waiting, running, ready, failed, cancelled or expired")
		}
	}
	found, total, err := r.store.list(ctx, states, after, limit+1)
	if err != nil {
		return Page{}, err
	}
	page := Page{Rows: make([]Registration, 0, len(found)), Total: total}
	for _, registration := range found[:min(limit, len(found))] {
		page.Rows = append(page.Rows, registration.row())
	}
	if len(found) > limit {
		last := found[limit-1]
		page.Next = &Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	return page, nil
}

// ClusterChanged notes what the appearance and the status of a Cluster say about
// its registration. It is called for each event of an informer and does not block.
// The mirror of a member in the other dialect has none: that one came by its two
// consents.
func (r *Records) ClusterChanged(cluster *clusterv1alpha1.Cluster) {
	if Mirrored(cluster) {
		return
	}
	seen := observe(cluster)
	r.enqueue(func(ctx context.Context) {
		r.mu.Lock()
		defer r.mu.Unlock()
		registration := r.open[seen.registration]
		if registration == nil {
			registration = r.newest(func(c *Registration) bool { return c.ClusterName == seen.name })
		}
		changed := false
		if registration == nil {
			registration, changed = r.beginSeen(ctx, seen), true
		}
		if registration == nil {
			return
		}
		changed = registration.observed(seen, r.now()) || changed
		if changed || !registration.Stamped && len(registration.Labels) > 0 {
			r.keep(ctx, registration)
		}
	})
}

// beginSeen makes the record of a cluster that appeared without one: joined from
// a command line, by either client.
func (r *Records) beginSeen(ctx context.Context, seen sighting) *Registration {
	now := r.now()
	if seen.ready || now.Sub(seen.createdAt) > freshCluster || len(r.open) >= maxOpen {
		return nil
	}
	known, err := r.store.known(ctx, seen.name, seen.createdAt.Add(-time.Minute))
	if err != nil || known {
		return nil
	}
	made := New(NewID(), seen.flavour(), now)
	made.ClusterName = seen.name
	r.open[made.ID] = made
	made.Advance(StageCluster, StageEvent{Detail: "joined from a command line"}, seen.createdAt)
	return made
}

// stamp puts the wizard's labels on the Cluster, once it is there. It reports
// whether there is nothing left to do; if not, the next event tries again.
func (r *Records) stamp(ctx context.Context, registration *Registration) bool {
	if registration.Stamped || len(registration.Labels) == 0 || r.appeared == nil || !registration.Arrived() {
		return true
	}
	if err := r.appeared(ctx, registration.ClusterName, registration.Labels); err != nil {
		slog.Warn("labels of a registration could not be put on its cluster", "cluster", registration.ClusterName, "error", err)
		return false
	}
	registration.Stamped = true
	return true
}
