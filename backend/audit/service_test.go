package audit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/live"
)

// feed remembers what was published.
type feed struct {
	mu     sync.Mutex
	events []live.Event
}

func (f *feed) Publish(topic string, event live.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, event)
}

func (f *feed) Seq(string) (string, uint64) { return "epoch", 7 }

func (f *feed) outcomes() []audit.Outcome {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []audit.Outcome
	for _, event := range f.events {
		found = append(found, event.Row.(audit.Entry).Outcome)
	}
	return found
}

func as(ctx context.Context, name string, role access.Role) context.Context {
	return access.WithActor(ctx, access.Actor{Name: name, Role: role, Source: "192.0.2.1", Via: access.ViaREST, RequestID: "r-1"})
}

func list(t *testing.T, service *audit.Service, filter audit.Filter) []audit.Entry {
	t.Helper()
	entries, _, err := service.List(as(t.Context(), "ann", access.RoleViewer), filter, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// uncertain are the fields that differ from run to run.
var uncertain = cmpopts.IgnoreFields(audit.Entry{}, "ID", "At", "DurationMillis")

func TestDo(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		published := &feed{}
		service := audit.NewService(db, published)
		ctx := as(t.Context(), "ann", access.RoleOperator)
		stop := errors.New("no such thing")

		err := service.Do(ctx, audit.Action{Verb: "create", Kind: "Token", Detail: map[string]string{"secret": "hunter2", "ttl": "24h"}}, func(ctx context.Context) error {
			open := list(t, service, audit.Filter{Outcome: audit.Pending})
			if len(open) != 1 || open[0].Kind != "Token" || open[0].DurationMillis != nil {
				t.Errorf("while it runs the record shows %+v", open)
			}
			audit.SetName(ctx, "abcdef")
			audit.SetDetail(ctx, "cluster", "edge-7")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := service.Do(ctx, audit.Action{Verb: "delete", Kind: "Cluster", Name: "edge-7"}, func(context.Context) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("got %v, want the action's own error", err)
		}
		taken := fault.Conflict("taken").WithCode("MU-105")
		if err := service.Do(ctx, audit.Action{Verb: "create", Kind: "Cluster", Name: "edge-7"}, func(context.Context) error { return taken }); !errors.Is(err, taken) {
			t.Errorf("got %v, want the action's own fault", err)
		}
		err = service.Do(ctx, audit.Action{Verb: "create", Kind: "User", Name: "bob", Needs: access.RoleAdmin}, func(context.Context) error {
			t.Error("an operator did what needs an administrator")
			return nil
		})
		if !fault.Is(err, fault.KindForbidden) {
			t.Errorf("got %v, want a refusal", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a panic was swallowed")
				}
			}()
			_ = service.Do(ctx, audit.Action{Verb: "update", Kind: "Cluster", Name: "edge-7"}, func(context.Context) error { panic("boom") })
		}()

		base := audit.Entry{Actor: "ann", Via: access.ViaREST, Source: "192.0.2.1", RequestID: "r-1"}
		with := func(change func(*audit.Entry)) audit.Entry {
			entry := base
			change(&entry)
			return entry
		}
		want := []audit.Entry{
			with(func(e *audit.Entry) {
				e.Verb, e.Kind, e.Name, e.Outcome, e.Code = "update", "Cluster", "edge-7", audit.Unknown, "panic"
			}),
			with(func(e *audit.Entry) {
				e.Verb, e.Kind, e.Name, e.Outcome, e.Code = "create", "User", "bob", audit.Denied, "forbidden"
			}),
			with(func(e *audit.Entry) {
				e.Verb, e.Kind, e.Name, e.Outcome, e.Code = "create", "Cluster", "edge-7", audit.Failed, "MU-105"
			}),
			with(func(e *audit.Entry) {
				e.Verb, e.Kind, e.Name, e.Outcome, e.Code = "delete", "Cluster", "edge-7", audit.Failed, "internal"
			}),
			with(func(e *audit.Entry) {
				e.Verb, e.Kind, e.Name, e.Outcome = "create", "Token", "abcdef", audit.OK
				e.Detail = map[string]string{"secret": "(masked)", "ttl": "24h", "cluster": "edge-7"}
			}),
		}
		got := list(t, service, audit.Filter{})
		if diff := cmp.Diff(want, got, uncertain); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
		for _, entry := range got {
			if entry.DurationMillis == nil || time.Since(entry.At) > time.Minute {
				t.Errorf("entry without time: %+v", entry)
			}
		}
		wantLive := []audit.Outcome{audit.Pending, audit.OK, audit.Pending, audit.Failed, audit.Pending, audit.Failed, audit.Denied, audit.Pending, audit.Unknown}
		if diff := cmp.Diff(wantLive, published.outcomes()); diff != "" {
			t.Errorf("published (-want +got):\n%s", diff)
		}
	})
}

func TestNothingHappensUnrecorded(t *testing.T) {
	db := databasetest.Open(t)
	service := audit.NewService(db, &feed{})
	ctx := as(t.Context(), "ann", access.RoleAdmin)
	if err := db.For(ctx).Exec("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'disk full'); END").Error; err != nil {
		t.Fatal(err)
	}
	err := service.Do(ctx, audit.Action{Verb: "delete", Kind: "Cluster", Name: "edge-7"}, func(context.Context) error {
		t.Error("the action ran without a record")
		return nil
	})
	if !fault.Is(err, fault.KindUnavailable) {
		t.Errorf("got %v, want fault.Unavailable", err)
	}
	if err := db.For(ctx).Exec("DROP TRIGGER full").Error; err != nil {
		t.Fatal(err)
	}
	if err := service.Do(ctx, audit.Action{Verb: "delete", Kind: "Cluster", Name: "edge-7"}, func(context.Context) error { return nil }); err != nil {
		t.Errorf("after the disk has space again: %v", err)
	}
}

func TestDoRefusesTransactions(t *testing.T) {
	db := databasetest.Open(t)
	service := audit.NewService(db, &feed{})
	err := db.Tx(as(t.Context(), "ann", access.RoleAdmin), func(ctx context.Context) error {
		return service.Do(ctx, audit.Action{Verb: "create", Kind: "User"}, func(context.Context) error {
			t.Error("the action ran")
			return nil
		})
	})
	if err == nil {
		t.Error("an action began within a transaction")
	}
}

func TestOutcomeOutlivesTheRequest(t *testing.T) {
	db := databasetest.Open(t)
	service := audit.NewService(db, &feed{})
	ctx, cancel := context.WithCancel(as(t.Context(), "ann", access.RoleAdmin))
	err := service.Do(ctx, audit.Action{Verb: "create", Kind: "Cluster", Name: "edge-7"}, func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := list(t, service, audit.Filter{}); len(got) != 1 || got[0].Outcome != audit.Unknown || got[0].Code != "interrupted" {
		t.Errorf("got %+v", got)
	}
}

// TestMarkOpenUnknown starts again on what a killed hub left.
func TestMarkOpenUnknown(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := as(t.Context(), "ann", access.RoleAdmin)
		before := audit.NewService(db, &feed{})
		started, killed := make(chan struct{}), make(chan struct{})
		go func() {
			_ = before.Do(ctx, audit.Action{Verb: "create", Kind: "Cluster", Name: "edge-7", Detail: map[string]string{"mode": "Push"}}, func(context.Context) error {
				close(started)
				<-killed
				return nil
			})
		}()
		<-started
		t.Cleanup(func() { close(killed) })
		after := audit.NewService(db, &feed{})
		for _, want := range []int64{1, 0} {
			closed, err := after.MarkOpenUnknown(t.Context())
			if err != nil || closed != want {
				t.Fatalf("closed %d, %v; want %d", closed, err, want)
			}
		}
		want := []audit.Entry{{
			Actor: "ann", Via: access.ViaREST, Source: "192.0.2.1", RequestID: "r-1", Verb: "create", Kind: "Cluster", Name: "edge-7",
			Outcome: audit.Unknown, Code: "hub-stopped", Detail: map[string]string{"mode": "Push"},
		}}
		got := list(t, after, audit.Filter{})
		if diff := cmp.Diff(want, got, uncertain); diff != "" || got[0].DurationMillis != nil {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})
}
