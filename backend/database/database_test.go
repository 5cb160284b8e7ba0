package database_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"gorm.io/gorm"

	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/migrations"
)

// dialects runs a test on both real databases.
func dialects(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "a b?c#d.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, databasetest.StartPostgres(t)) })
}

func open(t *testing.T, dsn string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func script(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

type noteRow struct {
	ID  int `gorm:"primaryKey"`
	At  time.Time
	End *time.Time
}

func (noteRow) TableName() string { return "notes" }

func TestMigrate(t *testing.T) {
	t.Parallel()
	dialects(t, func(t *testing.T, dsn string) {
		db := open(t, dsn)
		files := fstest.MapFS{
			"0001_note_create.sql": script("CREATE TABLE notes (id integer PRIMARY KEY, at timestamp NOT NULL);\n-- +sqlite\nCREATE TABLE lite (id integer);\n-- +postgres\nCREATE TABLE post (id integer);\n-- +all\nCREATE TABLE both_ (id integer);\n"),
			"README.md":            script("not a migration"),
		}
		for range 2 { // again changes nothing
			if err := db.Migrate(t.Context(), files); err != nil {
				t.Fatal(err)
			}
		}
		own, other := "lite", "post"
		if strings.HasPrefix(dsn, "postgres") {
			own, other = other, own
		}
		for table, want := range map[string]bool{"notes": true, "both_": true, own: true, other: false} {
			if got := db.For(t.Context()).Migrator().HasTable(table); got != want {
				t.Errorf("table %s exists: %v, want %v", table, got, want)
			}
		}
		files["0002_note_end.sql"] = script("ALTER TABLE notes ADD COLUMN \"end\" timestamp; ALTER TABLE nowhere ADD COLUMN x integer;")
		if err := db.Migrate(t.Context(), files); err == nil || !strings.Contains(err.Error(), "0002_note_end") {
			t.Fatalf("a broken migration gave %v", err)
		}
		if db.For(t.Context()).Migrator().HasColumn(&noteRow{}, "end") {
			t.Error("half of a broken migration stayed")
		}
		files["0002_note_end.sql"] = script("ALTER TABLE notes ADD COLUMN \"end\" timestamp;")
		if err := db.Migrate(t.Context(), files); err != nil {
			t.Fatal(err)
		}
		delete(files, "0002_note_end.sql")
		if err := db.Migrate(t.Context(), files); !fault.Is(err, fault.KindConflict) {
			t.Errorf("an older binary on a newer database got %v", err)
		}
	})
}

func TestMigrateRefusesFiles(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fstest.MapFS{
		"name":   {"1_note.sql": script("")},
		"twice":  {"0001_note_create.sql": script(""), "0001_note_other.sql": script("")},
		"block":  {"0001_note_create.sql": script("-- +mysql\n")},
		"syntax": {"0001_note_create.sql": script("CREATE NOTHING")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := open(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db")).Migrate(t.Context(), files); err == nil {
				t.Error("the files were accepted")
			}
		})
	}
}

func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	dialects(t, func(t *testing.T, dsn string) {
		var group sync.WaitGroup
		for range 3 {
			db := open(t, dsn)
			group.Go(func() {
				if err := db.Migrate(t.Context(), migrations.FS); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
}

func TestTx(t *testing.T) {
	t.Parallel()
	dialects(t, func(t *testing.T, dsn string) {
		db := open(t, dsn)
		if err := db.For(t.Context()).Exec("CREATE TABLE notes (id integer PRIMARY KEY, at timestamp NOT NULL, \"end\" timestamp)").Error; err != nil {
			t.Fatal(err)
		}
		add := func(ctx context.Context, id int) error {
			return db.For(ctx).Create(&noteRow{ID: id, At: time.Now()}).Error
		}
		broken := errors.New("broken")
		err := db.Tx(t.Context(), func(ctx context.Context) error {
			if !database.InTx(ctx) {
				t.Error("the transaction does not ride in ctx")
			}
			return errors.Join(add(ctx, 1), db.Tx(ctx, func(ctx context.Context) error { return add(ctx, 2) }), broken)
		})
		if !errors.Is(err, broken) {
			t.Fatalf("the error was lost: %v", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = db.Tx(t.Context(), func(ctx context.Context) error {
				if err := add(ctx, 3); err != nil {
					t.Error(err)
				}
				panic("broken")
			})
		}()
		if got := count(t, db); got != 0 {
			t.Errorf("%d rows outlived their transaction", got)
		}
		if err := db.Tx(t.Context(), func(ctx context.Context) error { return add(ctx, 4) }); err != nil {
			t.Fatal(err)
		}
		if err := add(t.Context(), 4); !errors.Is(err, gorm.ErrDuplicatedKey) {
			t.Errorf("a second row of one key gave %v", err)
		}
		if got := count(t, db); got != 1 {
			t.Errorf("%d rows, want 1", got)
		}
	})
}

func count(t *testing.T, db *database.DB) int64 {
	t.Helper()
	var rows int64
	if err := db.For(t.Context()).Model(&noteRow{}).Count(&rows).Error; err != nil {
		t.Fatal(err)
	}
	return rows
}

// Times of any zone must come back as the same instant and compare as instants.
func TestTimes(t *testing.T) {
	t.Parallel()
	dialects(t, func(t *testing.T, dsn string) {
		db := open(t, dsn)
		if err := db.For(t.Context()).Exec("CREATE TABLE notes (id integer PRIMARY KEY, at timestamp NOT NULL, \"end\" timestamp)").Error; err != nil {
			t.Fatal(err)
		}
		base := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		zones := []*time.Location{time.UTC, time.FixedZone("east", 9*3600), time.FixedZone("west", -7*3600)}
		for i := range 6 { // gorm takes id 0 for "not set"
			at := base.Add(time.Duration(i) * 500 * time.Millisecond).In(zones[i%3])
			if err := db.For(t.Context()).Create(&noteRow{ID: i + 1, At: at, End: &at}).Error; err != nil {
				t.Fatal(err)
			}
		}
		var rows []noteRow
		if err := db.For(t.Context()).Where("at >= ?", base.Add(time.Second).In(zones[1])).Where(`"end" <= ?`, base.Add(2*time.Second).In(zones[2])).Order("at DESC").Find(&rows).Error; err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			if row.End == nil || !row.End.Equal(row.At) {
				t.Errorf("row %d: end %v, at %v", row.ID, row.End, row.At)
			}
			got = append(got, fmt.Sprint(row.ID, row.At.Sub(base)))
		}
		if want := "5 2s,4 1.5s,3 1s"; strings.Join(got, ",") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"", "sqlite:", "mysql://user:hunter2@host/db", "postgres://user:hunter2@127.0.0.1:1/db", "sqlite:/nowhere/at/all.db"} {
		_, err := database.Open(t.Context(), dsn)
		if err == nil {
			t.Errorf("%q was opened", dsn)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}
