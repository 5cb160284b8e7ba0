// Package databasetest opens databases for tests: a migrated SQLite file, and a
// real PostgreSQL server.
package databasetest

import (
	"path/filepath"
	"testing"

	"muster.dev/muster/backend/database"
	"muster.dev/muster/migrations"
)

// Open returns a migrated SQLite database in a directory of the test.
func Open(t testing.TB) *database.DB {
	t.Helper()
	return open(t, "sqlite:"+filepath.Join(t.TempDir(), "muster.db"), true)
}

// Each runs test on a migrated database of every kind that Muster runs on. With
// Main as the package's TestMain it is quicker.
func Each(t *testing.T, test func(t *testing.T, db *database.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, Open(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, OpenPostgres(t)) })
}

// OpenPostgres returns a migrated PostgreSQL database of the test's own.
func OpenPostgres(t testing.TB) *database.DB {
	t.Helper()
	return open(t, StartPostgres(t), true)
}

// OpenEmpty returns a database without tables, by its DSN.
func OpenEmpty(t testing.TB, dsn string) *database.DB {
	t.Helper()
	return open(t, dsn, false)
}

func open(t testing.TB, dsn string, migrate bool) *database.DB {
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
	if migrate {
		if err := db.Migrate(t.Context(), migrations.FS); err != nil {
			t.Fatal(err)
		}
	}
	return db
}
