package database_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/fault"
)

type thing struct {
	Name string `gorm:"primaryKey"`
	At   time.Time
	Seen *time.Time
	On   bool
}

func withThings(t *testing.T, test func(t *testing.T, db *database.DB)) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		table := "CREATE TABLE things (name TEXT PRIMARY KEY, at TIMESTAMPTZ NOT NULL, seen TIMESTAMPTZ, on_ BOOLEAN)"
		if db.Dialect() == database.SQLite {
			table = strings.ReplaceAll(table, "TIMESTAMPTZ", "TIMESTAMP")
		}
		table = strings.ReplaceAll(table, "on_", `"on"`)
		if err := db.For(t.Context()).Exec(table).Error; err != nil {
			t.Fatal(err)
		}
		test(t, db)
	})
}

func names(t *testing.T, ctx context.Context, db *database.DB) []string {
	t.Helper()
	var found []string
	if err := db.For(ctx).Model(&thing{}).Order("name").Pluck("name", &found).Error; err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDatabase(t *testing.T) {
	withThings(t, func(t *testing.T, db *database.DB) {
		t.Run("transaction", func(t *testing.T) { testTransaction(t, db) })
		t.Run("duplicates", func(t *testing.T) { testDuplicates(t, db) })
		t.Run("times", func(t *testing.T) { testTimes(t, db) })
		t.Run("concurrent writers", func(t *testing.T) { testConcurrentWriters(t, db) })
	})
}

func testTransaction(t *testing.T, db *database.DB) {
	ctx, stop := t.Context(), errors.New("stop")
	err := db.Tx(ctx, func(inner context.Context) error {
		if !db.InTx(inner) || db.InTx(ctx) {
			t.Error("a transaction is not told from its surroundings")
		}
		if err := db.For(inner).Create(&thing{Name: "undone", At: time.Now()}).Error; err != nil {
			return err
		}
		if diff := cmp.Diff([]string{"undone"}, names(t, inner, db)); diff != "" {
			t.Errorf("the transaction does not see its own write:\n%s", diff)
		}
		if got := names(t, ctx, db); len(got) != 0 {
			t.Errorf("others see %v before the commit", got)
		}
		return db.Tx(inner, func(context.Context) error { return stop })
	})
	if !errors.Is(err, stop) {
		t.Fatalf("got %v, want the function's own error", err)
	}
	if got := names(t, ctx, db); len(got) != 0 {
		t.Errorf("%v outlived the rollback", got)
	}
	err = db.Tx(ctx, func(inner context.Context) error {
		return db.For(inner).Create(&thing{Name: "kept", At: time.Now()}).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kept"}, names(t, ctx, db)); diff != "" {
		t.Errorf("after the commit (-want +got):\n%s", diff)
	}
}

func testDuplicates(t *testing.T, db *database.DB) {
	if err := db.For(t.Context()).Create(&thing{Name: "kept", At: time.Now()}).Error; !errors.Is(err, gorm.ErrDuplicatedKey) {
		t.Errorf("got %v, want gorm.ErrDuplicatedKey", err)
	}
}

// testTimes writes moments in other zones: they must come back and compare as
// moments.
func testTimes(t *testing.T, db *database.DB) {
	east := time.FixedZone("east", 8*3600)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	for i, at := range []time.Time{noon.Add(-time.Minute).In(east), noon, noon.Add(time.Minute).In(east)} {
		if err := db.For(t.Context()).Create(&thing{Name: fmt.Sprint("time-", i), At: at, Seen: &at, On: true}).Error; err != nil {
			t.Fatal(err)
		}
	}
	var before []thing
	if err := db.For(t.Context()).Where("name LIKE ? AND at <= ?", "time-%", noon.In(east)).Order("at").Find(&before).Error; err != nil {
		t.Fatal(err)
	}
	if len(before) != 2 || !before[1].At.Equal(noon) || before[1].Seen == nil || !before[1].Seen.Equal(noon) || !before[1].On {
		t.Errorf("got %+v, want the two up to noon", before)
	}
}

func testConcurrentWriters(t *testing.T, db *database.DB) {
	const writers, each = 8, 10
	var group sync.WaitGroup
	failures := make(chan error, writers*each)
	for w := range writers {
		group.Go(func() {
			for i := range each {
				failures <- db.Tx(t.Context(), func(ctx context.Context) error {
					var count int64
					if err := db.For(ctx).Model(&thing{}).Count(&count).Error; err != nil {
						return err
					}
					return db.For(ctx).Create(&thing{Name: fmt.Sprintf("w-%d-%d", w, i), At: time.Now()}).Error
				})
			}
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			t.Fatal(err)
		}
	}
	var count int64
	if err := db.For(t.Context()).Model(&thing{}).Where("name LIKE ?", "w-%").Count(&count).Error; err != nil || count != writers*each {
		t.Errorf("got %d rows, %v; want %d", count, err, writers*each)
	}
}

func TestSQLiteReadersCannotWrite(t *testing.T) {
	db := databasetest.Open(t)
	var name string
	err := db.For(t.Context()).Raw("INSERT INTO audit_open (key) VALUES ('x') RETURNING key").Scan(&name).Error
	if err == nil || !strings.Contains(err.Error(), "readonly") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestSQLiteSurvivesCrash(t *testing.T) {
	db := databasetest.Open(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := db.For(t.Context()).Raw("PRAGMA " + pragma).Scan(&got).Error; err != nil || got != want {
			t.Errorf("%s is %q, %v; want %s", pragma, got, err, want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, dsn := range []string{"", "sqlite:", "mysql://secret@host/db", "file.db"} {
		_, err := database.Open(t.Context(), dsn)
		if !fault.Is(err, fault.KindInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want a refusal without the DSN", dsn, err)
		}
	}
	_, err := database.Open(t.Context(), "postgres://muster:secret@/db?host="+filepath.Join(t.TempDir(), "none"))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error without the password", err)
	}
}

func TestMain(m *testing.M) { databasetest.Main(m) }
