package waiting

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/live"
)

// RuleTopic carries the live approval rules, by their ids; viewers may read it.
const RuleTopic = "approval-rules"

const (
	kindRule = "ApprovalRule"
	// bootstrapUserPrefix starts the name of whoever signs in with a bootstrap token;
	// the token's id follows.
	bootstrapUserPrefix = "system:bootstrap:"
	// rereadEvery is how often rules are read anew, for those that another replica
	// of the hub made.
	rereadEvery = 15 * time.Second
	// flushEvery is how often uses are stored.
	flushEvery = time.Second
	// countedMost bounds how many consents are remembered as counted.
	countedMost = 10_000
)

// Publisher brings changed rows to browsers.
type Publisher interface {
	Publish(topic string, event live.Event)
	Seq(topic string) (epoch string, seq uint64)
}

// BookOptions are what a Book works with.
type BookOptions struct {
	DB    *database.DB
	Audit consent.Auditor
	Live  Publisher
	// TokenLabels are the labels of the bootstrap token with an id, nil if there is
	// none; may be nil.
	TokenLabels func(ctx context.Context, id string) map[string]string
	// Flags are the rules of the command line; ids, source and time are filled in.
	Flags []Rule
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Book keeps the approval rules. Rules are matched against a snapshot in memory,
// which holds none before Start has read them: whoever asks then waits for a
// person, or for the call of OnChange.
type Book struct {
	BookOptions
	store ruleStore

	mu      sync.Mutex
	rules   []Rule
	loaded  bool
	counted map[string]bool
	unsaved map[string]*use
	changed []func()
}

type use struct {
	times int64
	last  time.Time
}

var _ consent.Rules = (*Book)(nil)

// NewBook returns a Book over the approval rules in a database.
func NewBook(options BookOptions) (*Book, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	now := options.Now().UTC()
	given := make([]Rule, 0, len(options.Flags))
	for _, r := range options.Flags {
		if err := r.Validate(); err != nil {
			return nil, fmt.Errorf("read approval rule %s of the command line: %w", r.String(), err)
		}
		r.ID, r.Source, r.CreatedAt = NewRuleID(), RuleFromFlag, now
		given = append(given, r)
	}
	options.Flags = given
	return &Book{BookOptions: options, store: ruleStore{options.DB}, counted: map[string]bool{}, unsaved: map[string]*use{}}, nil
}

// OnChange has fn called, without holding anything, when there may be rules that
// let somebody in who waits.
func (b *Book) OnChange(fn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed = append(b.changed, fn)
}

// Start keeps the snapshot up to date until ctx ends.
func (b *Book) Start(ctx context.Context) error {
	if err := b.store.declare(ctx, b.Flags); err != nil {
		return err
	}
	if err := b.reread(ctx); err != nil {
		return err
	}
	reread, flush := time.NewTicker(rereadEvery), time.NewTicker(flushEvery)
	defer reread.Stop()
	defer flush.Stop()
	for {
		select {
		case <-reread.C:
			if err := b.reread(ctx); err != nil && ctx.Err() == nil {
				slog.Warn("approval rules could not be read anew", "error", err)
			}
		case <-flush.C:
			b.flush(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushEvery)
			defer cancel()
			b.flush(last)
			return nil
		}
	}
}

// Ready says whether the rules have been read.
func (b *Book) Ready() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.loaded {
		return fault.Unavailable("the approval rules are not known yet")
	}
	return nil
}

// reread replaces the snapshot, and publishes what another replica changed.
func (b *Book) reread(ctx context.Context) error {
	rules, err := b.store.list(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	before, first := b.rules, !b.loaded
	b.rules, b.loaded = rules, true
	b.mu.Unlock()
	same := func(a, b Rule) bool {
		return a.ID == b.ID && a.Approve == b.Approve && a.Accept == b.Accept && a.Uses == b.Uses
	}
	news := first && len(rules) > 0
	for _, r := range rules {
		if i := slices.IndexFunc(before, func(old Rule) bool { return old.ID == r.ID }); i < 0 || !same(before[i], r) {
			news = news || i < 0
			b.Live.Publish(RuleTopic, live.Event{Op: live.OpUpsert, Key: r.ID, Row: r})
		}
	}
	for _, old := range before {
		if !slices.ContainsFunc(rules, func(r Rule) bool { return r.ID == old.ID }) {
			b.Live.Publish(RuleTopic, live.Event{Op: live.OpDelete, Key: old.ID})
		}
	}
	if news {
		b.tell()
	}
	return nil
}

func (b *Book) tell() {
	b.mu.Lock()
	changed := slices.Clone(b.changed)
	b.mu.Unlock()
	for _, fn := range changed {
		fn()
	}
}

// Match implements Rules: which rule gives the certificate of a request. A
// renewal, and what no machine may approve, fits none. labels are those of the
// requester's bootstrap token.
func (b *Book) Match(request consent.Request, labels map[string]string) (rule string, ok bool) {
	if request.Renewal || request.Problem != "" {
		return "", false
	}
	who := candidate{cluster: request.Cluster, identity: request.Requester.Username, token: labels}
	if who.token == nil {
		who.token = b.labelsOf(request.Requester.Username)
	}
	return b.match(who, "approve "+request.Fingerprint, func(r *Rule) bool { return r.Approve })
}

// Accepts implements Rules: which rule accepts a cluster that creator introduced.
func (b *Book) Accepts(cluster *ocmv1.ManagedCluster, creator string) (rule string, ok bool) {
	who := candidate{cluster: cluster.Name, identity: creator, token: b.labelsOf(creator)}
	return b.match(who, "accept "+string(cluster.UID), func(r *Rule) bool { return r.Accept })
}

func (b *Book) labelsOf(user string) map[string]string {
	id, isToken := strings.CutPrefix(user, bootstrapUserPrefix)
	if !isToken || b.TokenLabels == nil {
		return nil
	}
	return b.TokenLabels(context.Background(), id)
}

// match finds the first rule that gives a consent, and counts it once a subject:
// controllers may ask several times before they have acted.
func (b *Book) match(who candidate, subject string, gives func(*Rule) bool) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.rules {
		r := &b.rules[i]
		if !gives(r) || !r.fits(who) {
			continue
		}
		if key := r.ID + " " + subject; !b.counted[key] {
			if len(b.counted) >= countedMost {
				clear(b.counted)
			}
			b.counted[key] = true
			waiting := b.unsaved[r.ID]
			if waiting == nil {
				waiting = &use{}
				b.unsaved[r.ID] = waiting
			}
			waiting.times, waiting.last = waiting.times+1, b.Now().UTC()
		}
		return r.String(), true
	}
	return "", false
}

// flush stores the uses since the last time; what cannot be stored is kept.
func (b *Book) flush(ctx context.Context) {
	b.mu.Lock()
	uses := b.unsaved
	b.unsaved = map[string]*use{}
	b.mu.Unlock()
	if len(uses) == 0 {
		return
	}
	for id, one := range uses {
		if err := b.store.used(ctx, id, one.times, one.last); err != nil {
			slog.Warn("uses of an approval rule are not stored yet", "error", err)
			b.mu.Lock()
			if later := b.unsaved[id]; later != nil {
				later.times += one.times
			} else {
				b.unsaved[id] = one
			}
			b.mu.Unlock()
		}
	}
	if err := b.reread(ctx); err != nil {
		slog.Warn("approval rules could not be read anew", "error", err)
	}
}

// List returns all rules, oldest first. Everybody who is signed in may.
func (b *Book) List(ctx context.Context) ([]Rule, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return nil, err
	}
	return b.store.list(ctx)
}

// Add makes a rule of the dashboard. Administrators may: it lets in whoever fits,
// unseen.
func (b *Book) Add(ctx context.Context, r Rule) (Rule, error) {
	if err := r.Validate(); err != nil {
		return Rule{}, err
	}
	actor, _ := access.ActorFrom(ctx)
	r.ID, r.Source, r.CreatedBy, r.CreatedAt = NewRuleID(), RuleFromDashboard, actor.Name, b.Now().UTC().Truncate(time.Millisecond)
	r.Uses, r.LastUsedAt = 0, nil
	action := audit.Action{Verb: "create", Kind: kindRule, Name: r.ID, Needs: access.RoleAdmin, Detail: ruleDetail(r)}
	err := b.Audit.Do(ctx, action, func(ctx context.Context) error { return b.store.add(ctx, r) })
	if err != nil {
		return Rule{}, err
	}
	return r, b.reread(ctx)
}

// Remove deletes a rule of the dashboard; whom it let in stays. Administrators
// may.
func (b *Book) Remove(ctx context.Context, id string) error {
	action := audit.Action{Verb: "delete", Kind: kindRule, Name: id, Needs: access.RoleAdmin}
	err := b.Audit.Do(ctx, action, func(ctx context.Context) error {
		r, err := b.store.find(ctx, id)
		if err != nil {
			return err
		}
		for key, value := range ruleDetail(r) {
			audit.SetDetail(ctx, key, value)
		}
		if r.Source == RuleFromFlag {
			return fault.Conflict("the rule for %s stands on the hub's command line", r.String()).WithFix("take the flag away and restart the hub")
		}
		return b.store.remove(ctx, id)
	})
	if err != nil {
		return err
	}
	return b.reread(ctx)
}

func ruleDetail(r Rule) map[string]string {
	detail := map[string]string{"rule": r.String(), "note": r.Note}
	for consent, given := range map[string]bool{"approve": r.Approve, "accept": r.Accept} {
		if given {
			detail[consent] = "yes"
		}
	}
	return detail
}
