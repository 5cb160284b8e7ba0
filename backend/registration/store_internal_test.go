package registration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/fault"
)

func TestRegistrationStore(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		ctx, store := t.Context(), registrationStore{db}
		ends := began.Add(time.Hour)
		r := New("r1", FlavourPull, began)
		r.TokenID, r.ExpiresAt, r.Labels = "abcdef", &ends, map[string]string{"tier": "edge"}
		r.Placement, r.Target = Placement{Region: "eu", Zones: []string{"a"}}, Target{Server: "https://a.example"}
		r.Advance(StageContact, StageEvent{Source: "203.0.113.9"}, began)
		r.Fail(StageToken, Failure{Code: CodeTokenSecret}, began)
		save(t, ctx, store, r)
		r.become(FlavourKarmadaAgent) // fewer stages than before
		r.Advance(StageCluster, StageEvent{}, began.Add(time.Minute))
		r.note("second line", began)
		save(t, ctx, store, r)
		save(t, ctx, store, r) // and nothing new

		found, err := store.find(ctx, "r1")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, found, cmpopts.EquateEmpty(), cmp.AllowUnexported(Registration{})); diff != "" {
			t.Errorf("(-kept +found):\n%s", diff)
		}
		if _, err := store.find(ctx, "r2"); !fault.Is(err, fault.KindNotFound) {
			t.Errorf("an unknown one: %v", err)
		}
	})
}

func save(t *testing.T, ctx context.Context, store registrationStore, r *Registration) {
	t.Helper()
	if err := store.save(ctx, r); err != nil {
		t.Fatal(err)
	}
}

func TestRegistrationStoreLists(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		ctx, store := t.Context(), registrationStore{db}
		for i := range 25 {
			r := New(fmt.Sprintf("r%02d", i), FlavourPush, began.Add(time.Duration(i/2)*time.Second))
			r.ClusterName = fmt.Sprintf("c%d", i)
			if i%5 == 0 {
				r.End(StateCancelled, r.CreatedAt)
			}
			save(t, ctx, store, r)
		}
		var seen []string
		var after Cursor
		for {
			page, total, err := store.list(ctx, nil, after, 7)
			if err != nil || total != 25 {
				t.Fatalf("total %d, %v", total, err)
			}
			for _, r := range page {
				seen = append(seen, r.ID)
				after = Cursor{CreatedAt: r.CreatedAt, ID: r.ID}
			}
			if len(page) < 7 {
				break
			}
		}
		if len(seen) != 25 || seen[0] != "r24" || seen[24] != "r00" {
			t.Errorf("pages show %v", seen)
		}
		cancelled, total, err := store.list(ctx, []string{"cancelled"}, Cursor{}, 50)
		if err != nil || total != 5 || len(cancelled) != 5 {
			t.Errorf("%d of %d cancelled, %v", len(cancelled), total, err)
		}
		open, err := store.open(ctx)
		if err != nil || len(open) != 20 {
			t.Errorf("%d open, %v", len(open), err)
		}
		for cluster, want := range map[string]bool{"c24": true, "c0": false, "nosuch": false} {
			if known, err := store.known(ctx, cluster, began.Add(5*time.Second)); err != nil || known != want {
				t.Errorf("%s is known: %v, %v", cluster, known, err)
			}
		}
		if err := store.prune(ctx, began.Add(5*time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, total, err = store.list(ctx, nil, Cursor{}, 1); err != nil || total != 23 {
			t.Errorf("%d after pruning, %v", total, err) // r00 and r05 were at rest
		}
		if err := store.remove(ctx, "r24"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRowsAreTheColumns(t *testing.T) {
	db := databasetest.Open(t)
	for _, row := range []any{&registrationRow{}, &stageRow{}, &logRow{}} {
		columns, err := db.For(t.Context()).Migrator().ColumnTypes(row)
		if err != nil {
			t.Fatal(err)
		}
		statement := db.For(t.Context()).Model(row).Statement
		if err := statement.Parse(row); err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, column := range columns {
			have = append(have, column.Name())
		}
		if diff := cmp.Diff(statement.Schema.DBNames, have, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
			t.Errorf("%T (-row +table):\n%s", row, diff)
		}
	}
}

func TestLogIsBounded(t *testing.T) {
	ctx, store := t.Context(), registrationStore{databasetest.Open(t)}
	r := New("r1", FlavourPush, began)
	for i := range 3 * maxLog {
		r.note(fmt.Sprint("line ", i), began)
		if i%50 == 0 {
			save(t, ctx, store, r)
		}
	}
	save(t, ctx, store, r)
	found, err := store.find(ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	last := found.Log[len(found.Log)-1].Line
	if len(found.Log) > maxLog || last != fmt.Sprint("line ", 3*maxLog-1) {
		t.Errorf("%d lines are stored, the last is %q", len(found.Log), last)
	}
}
