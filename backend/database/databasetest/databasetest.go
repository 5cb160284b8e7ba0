// Package databasetest opens migrated databases for tests.
package databasetest

import (
	"path/filepath"
	"testing"

	"muster.dev/muster/backend/database"
	"muster.dev/muster/migrations"
)

// Open returns a migrated SQLite database of its own, closed with the test.
func Open(t testing.TB) *database.DB {
	t.Helper()
	return open(t, "sqlite:"+filepath.Join(t.TempDir(), "muster.db"))
}

// OpenPostgres returns a migrated database in a PostgreSQL server of its own,
// which runs from Debian's package and ends with the test.
func OpenPostgres(t testing.TB) *database.DB {
	t.Helper()
	return open(t, StartPostgres(t))
}

func open(t testing.TB, dsn string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), dsn)
	if err != nil {
		t.Fatalf("open the test's database: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the test's database: %v", err)
		}
	})
	if err := db.Migrate(t.Context(), migrations.FS); err != nil {
		t.Fatalf("migrate the test's database: %v", err)
	}
	return db
}
