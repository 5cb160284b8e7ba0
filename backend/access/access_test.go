package access_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/live"
)

const goodPassword = "correct horse battery"

// recorder is an Auditor that keeps what it is told in memory.
type recorder struct {
	mu    sync.Mutex
	lines []string // "verb kind name by actor: outcome"
	full  bool     // nothing can be kept any more
}

func (r *recorder) Access(ctx context.Context, deed access.Deed, do func(context.Context) error) error {
	r.mu.Lock()
	full := r.full
	r.mu.Unlock()
	if full {
		return fault.Unavailable("the record is full")
	}
	var err error
	if deed.Needs != "" {
		err = access.Require(ctx, deed.Needs)
	}
	if err == nil {
		err = do(ctx)
	}
	actor, _ := access.ActorFrom(ctx)
	outcome := "ok"
	if known, is := fault.As(err); is {
		outcome = string(known.Kind)
	} else if err != nil {
		outcome = "error"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf("%s %s %s by %s: %s", deed.Verb, deed.Kind, deed.Name, actor.Name, outcome))
	return err
}

func (r *recorder) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines[len(r.lines)-1]
}

// clock is a time that only the test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

type fixture struct {
	service *access.Service
	audit   *recorder
	clock   *clock
	hub     *live.Hub
	admin   string // its one-time password
}

func start(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{audit: &recorder{}, clock: newClock(), hub: live.NewHub()}
	f.service = access.NewService(access.Options{DB: databasetest.Open(t), Audit: f.audit, Live: f.hub, Now: f.clock.now})
	var created bool
	var err error
	if f.admin, created, err = f.service.EnsureFirstAdmin(t.Context()); err != nil || !created {
		t.Fatalf("first administrator: created %v, %v", created, err)
	}
	return f
}

// as returns a ctx in which the user with a role acts.
func as(ctx context.Context, name string, role access.Role) context.Context {
	return access.WithActor(ctx, access.Actor{Name: name, Role: role, Via: access.ViaREST})
}

// signIn signs a user in and returns its token and a ctx of that session.
func (f *fixture) signIn(t *testing.T, name, password string) (string, context.Context) {
	t.Helper()
	signedIn, err := f.service.Login(t.Context(), name, password, access.Client{Address: "192.0.2.1", Agent: "test"})
	if err != nil {
		t.Fatalf("sign in as %s: %v", name, err)
	}
	return signedIn.Token, f.enter(t, signedIn.Token)
}

func (f *fixture) enter(t *testing.T, token string) context.Context {
	t.Helper()
	current, err := f.service.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return access.WithSession(as(t.Context(), current.User.Name, current.User.Role), current)
}

func (f *fixture) create(t *testing.T, name string, role access.Role) {
	t.Helper()
	if _, err := f.service.CreateUser(as(t.Context(), "admin", access.RoleAdmin), name, role, goodPassword); err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("got %v, want a fault of kind %s", err, kind)
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	roles := []access.Role{access.RoleViewer, access.RoleOperator, access.RoleAdmin}
	for i, has := range roles {
		for j, needs := range roles {
			err := access.Actor{Name: "ann", Role: has}.Require(needs)
			if (err == nil) != (i >= j) {
				t.Errorf("%s for %s: %v", has, needs, err)
			}
		}
	}
	for _, role := range []access.Role{"", "root", "Admin"} {
		if role.Valid() || role.Includes(access.RoleViewer) || access.RoleAdmin.Includes(role) {
			t.Errorf("%q counts as a role", role)
		}
		if groups := (access.Actor{Role: role}).Groups(); groups != nil {
			t.Errorf("%q has the groups %v", role, groups)
		}
	}
	wantKind(t, access.Require(t.Context(), access.RoleViewer), fault.KindUnauthenticated)
}

// TestFirstAdminIsPreparedAhead: preparing makes nobody, what was prepared is what
// signs in, and where somebody is, nothing is prepared.
func TestFirstAdminIsPreparedAhead(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		service := access.NewService(access.Options{DB: db, Audit: &recorder{}, Live: live.NewHub()})
		if err := service.PrepareFirstAdmin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, total, err := service.Users(as(t.Context(), "ada", access.RoleAdmin), "", 10); err != nil || total != 0 {
			t.Errorf("preparing left %d users (%v)", total, err)
		}
		password, created, err := service.EnsureFirstAdmin(t.Context())
		if err != nil || !created {
			t.Fatalf("created %t, %v", created, err)
		}
		if _, err := service.Login(t.Context(), access.FirstAdmin, password, access.Client{Address: "192.0.2.1", Agent: "test"}); err != nil {
			t.Errorf("sign in: %v", err)
		}
		if err := service.PrepareFirstAdmin(t.Context()); err != nil {
			t.Error(err)
		}
		if again, created, err := service.EnsureFirstAdmin(t.Context()); err != nil || created || again != "" {
			t.Errorf("made again: %t, %v", created, err)
		}
	})
}

func TestFirstAdmin(t *testing.T) {
	t.Parallel()
	f := start(t)
	if again, created, err := f.service.EnsureFirstAdmin(t.Context()); err != nil || created || again != "" {
		t.Errorf("a second first administrator: %v, %v", created, err)
	}
	first, err := f.service.FirstRun(t.Context())
	if err != nil || !first {
		t.Errorf("first run before a login: %v, %v", first, err)
	}
	_, ctx := f.signIn(t, "admin", f.admin)
	if current, _ := access.SessionFrom(ctx); !current.Info().MustChangePassword {
		t.Error("the printed password need not be changed")
	}
	if first, err = f.service.FirstRun(t.Context()); err != nil || first {
		t.Errorf("first run after a login: %v, %v", first, err)
	}
	name, password, err := f.service.RecoverAdmin(t.Context())
	if err != nil || name != "admin" {
		t.Fatalf("recover: %q, %v", name, err)
	}
	if f.service.SessionValid(t.Context(), sessionID(ctx)) {
		t.Error("a session outlived the recovery")
	}
	_, err = f.service.Login(t.Context(), "admin", f.admin, access.Client{})
	wantKind(t, err, fault.KindUnauthenticated)
	f.signIn(t, "admin", password)
}

func sessionID(ctx context.Context) string {
	current, _ := access.SessionFrom(ctx)
	return current.Session.ID
}

func TestLoginAnswersAlike(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.create(t, "gone", access.RoleViewer)
	yes := true
	if _, err := f.service.ChangeUser(as(t.Context(), "admin", access.RoleAdmin), "gone", access.UserChange{Disabled: &yes}); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for name, password := range map[string]string{"admin": "wrong", "nobody": goodPassword, "gone": goodPassword, "": ""} {
		_, err := f.service.Login(t.Context(), name, password, access.Client{Address: "addr-" + name})
		wantKind(t, err, fault.KindUnauthenticated)
		texts = append(texts, err.Error())
	}
	if slices.Sort(texts); texts[0] != texts[len(texts)-1] {
		t.Errorf("answers differ: %q", texts)
	}
	f.audit.mu.Lock()
	defer f.audit.mu.Unlock()
	all := strings.Join(f.audit.lines, "\n")
	if strings.Contains(all, "nobody") || !strings.Contains(all, "login Session admin by admin: unauthenticated") {
		t.Errorf("recorded:\n%s", all)
	}
	f.audit.full = true
}

func TestLoginNeedsTheRecord(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.audit.full = true
	_, err := f.service.Login(t.Context(), "admin", f.admin, access.Client{})
	wantKind(t, err, fault.KindUnavailable)
}

func TestLoginLimits(t *testing.T) {
	t.Parallel()
	f := start(t)
	try := func(name, password, address string) error {
		_, err := f.service.Login(t.Context(), name, password, access.Client{Address: address})
		return err
	}
	for i := range 5 {
		wantKind(t, try("admin", "wrong", fmt.Sprint("address", i)), fault.KindUnauthenticated)
	}
	wantKind(t, try("admin", f.admin, "another"), fault.KindTooMany)
	wantKind(t, try(" ADMIN ", f.admin, "another"), fault.KindTooMany)
	for i := range 5 {
		wantKind(t, try(fmt.Sprint("user", i), "wrong", "one"), fault.KindUnauthenticated)
	}
	wantKind(t, try("user9", "wrong", "one"), fault.KindTooMany)
	f.clock.move(61 * time.Second)
	for range 8 { // what succeeds does not count
		if err := try("admin", f.admin, "one"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		steps []time.Duration // between requests
		ends  bool            // after the last step
	}{
		{"used", []time.Duration{7 * time.Hour, 7 * time.Hour, 7 * time.Hour}, false},
		{"idle", []time.Duration{8 * time.Hour}, true},
		{"absolute", []time.Duration{7 * time.Hour, 7 * time.Hour, 7 * time.Hour, 3 * time.Hour}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			token, ctx := f.signIn(t, "admin", f.admin)
			for i, step := range test.steps {
				f.clock.move(step)
				last := i == len(test.steps)-1
				if got := f.service.SessionValid(t.Context(), sessionID(ctx)); got != (!last || !test.ends) {
					t.Errorf("valid after step %d: %v", i, got)
				}
				_, err := f.service.Authenticate(t.Context(), token)
				if (err != nil) != (last && test.ends) {
					t.Errorf("after step %d: %v", i, err)
				}
			}
		})
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.create(t, "ann", access.RoleViewer)
	_, here := f.signIn(t, "admin", f.admin)
	token, there := f.signIn(t, "admin", f.admin)
	_, ann := f.signIn(t, "ann", goodPassword)
	sessions, err := f.service.Sessions(here)
	if err != nil || len(sessions) != 2 || sessions[0].Current == sessions[1].Current {
		t.Fatalf("sessions %+v, %v", sessions, err)
	}
	wantKind(t, f.service.Revoke(ann, sessionID(there)), fault.KindNotFound)
	ended := f.service.Ended(sessionID(there))
	if err := f.service.Revoke(here, sessionID(there)); err != nil {
		t.Fatal(err)
	}
	<-ended
	_, err = f.service.Authenticate(t.Context(), token)
	wantKind(t, err, fault.KindUnauthenticated)
	if err := f.service.Logout(here); err != nil || f.service.SessionValid(t.Context(), sessionID(here)) {
		t.Errorf("the session outlived its logout: %v", err)
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	f := start(t)
	other, _ := f.signIn(t, "admin", f.admin)
	token, ctx := f.signIn(t, "admin", f.admin)
	for next, field := range map[string]string{"short": "next", strings.Repeat("x", 20): "next", "adminadminadmin1": "next", f.admin: "next"} {
		_, err := f.service.ChangePassword(ctx, f.admin, next, access.Client{})
		if known, ok := fault.As(err); !ok || known.Kind != fault.KindInvalid || len(known.Fields) != 1 || known.Fields[0].Field != field {
			t.Errorf("%q gave %v", next, err)
		}
	}
	_, err := f.service.ChangePassword(ctx, "wrong", goodPassword, access.Client{})
	wantKind(t, err, fault.KindInvalid)
	signedIn, err := f.service.ChangePassword(ctx, f.admin, goodPassword, access.Client{})
	if err != nil || signedIn.Info.MustChangePassword {
		t.Fatalf("changed: %+v, %v", signedIn.Info, err)
	}
	for _, old := range []string{other, token} {
		_, err := f.service.Authenticate(t.Context(), old)
		wantKind(t, err, fault.KindUnauthenticated)
	}
	f.enter(t, signedIn.Token)
	_, err = f.service.Login(t.Context(), "admin", f.admin, access.Client{})
	wantKind(t, err, fault.KindUnauthenticated)
}

func TestPurge(t *testing.T) {
	t.Parallel()
	f := start(t)
	_, ctx := f.signIn(t, "admin", f.admin)
	ended := f.service.Ended(sessionID(ctx))
	f.clock.move(9 * time.Hour)
	running, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.service.Start(running) }()
	<-ended
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
