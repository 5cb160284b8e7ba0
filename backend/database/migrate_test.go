package database_test

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/migrations"
)

const (
	first  = "CREATE TABLE first (at TIMESTAMPTZ);\n-- +sqlite\nCREATE TABLE only_sqlite (x TEXT);\n-- +end\n-- +postgres\nCREATE TABLE only_postgres (x TEXT);\n-- +end\n"
	second = "CREATE TABLE second (x TEXT); INSERT INTO second VALUES ('a');"
)

func script(files map[string]string) fstest.MapFS {
	made := fstest.MapFS{}
	for name, text := range files {
		made[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return made
}

func TestMigrate(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { testMigrate(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db")) })
	t.Run("postgres", func(t *testing.T) { testMigrate(t, databasetest.StartPostgres(t)) })
}

func testMigrate(t *testing.T, dsn string) {
	db := databasetest.OpenEmpty(t, dsn)
	one := map[string]string{"0001_first_create.sql": first}
	two := maps.Clone(one)
	two["0002_second_create.sql"] = second
	broken := maps.Clone(two)
	broken["0003_third_create.sql"] = "CREATE TABLE third (x TEXT); CREATE TABLE second (x TEXT);"

	for range 2 { // again: nothing to do
		if err := db.Migrate(t.Context(), script(one)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Migrate(t.Context(), script(broken)); err == nil {
		t.Fatal("a broken migration passed")
	}
	if hasTable(t, db, "second") || hasTable(t, db, "third") {
		t.Error("a broken migration left tables")
	}
	if err := db.Migrate(t.Context(), script(two)); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]bool{"first": true, "second": true, "only_sqlite": db.Dialect() == database.SQLite, "only_postgres": db.Dialect() == database.Postgres} {
		if hasTable(t, db, table) != want {
			t.Errorf("table %s: there is %v, want %v", table, !want, want)
		}
	}
	if err := db.Migrate(t.Context(), script(one)); !fault.Is(err, fault.KindConflict) || !strings.Contains(err.Error(), "newer") {
		t.Errorf("an older hub got %v, want a refusal", err)
	}
	edited := maps.Clone(two)
	edited["0001_first_create.sql"] += "\n-- edited"
	if err := db.Migrate(t.Context(), script(edited)); !fault.Is(err, fault.KindConflict) {
		t.Errorf("an edited migration got %v, want a refusal", err)
	}
}

func TestMigrationsAreWellFormed(t *testing.T) {
	db := databasetest.OpenEmpty(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db"))
	for name, files := range map[string]map[string]string{
		"gap":          {"0002_first_create.sql": second},
		"name":         {"0001-first.sql": second},
		"no change":    {"0001_first.sql": second},
		"open block":   {"0001_first_create.sql": "-- +sqlite\nSELECT 1;"},
		"nested block": {"0001_first_create.sql": "-- +sqlite\n-- +postgres\n-- +end\n"},
		"stray end":    {"0001_first_create.sql": "-- +end\n"},
		"unknown mark": {"0001_first_create.sql": "-- +mysql\n-- +end\n"},
	} {
		if err := db.Migrate(t.Context(), script(files)); err == nil {
			t.Errorf("%s: was accepted", name)
		}
	}
}

// TestMigrationsAgree migrates an empty database of each kind: the columns must
// be the same.
func TestMigrationsAgree(t *testing.T) {
	lite, post := databasetest.Open(t), databasetest.OpenPostgres(t)
	tables, err := post.For(t.Context()).Migrator().GetTables()
	if err != nil {
		t.Fatal(err)
	}
	if len(tables) < 8 {
		t.Fatalf("only %v were made", tables)
	}
	for _, table := range tables {
		want, got := columns(t, post, table), columns(t, lite, table)
		if len(want) == 0 || !maps.Equal(want, got) {
			t.Errorf("table %s: PostgreSQL has %v, SQLite %v", table, want, got)
		}
	}
	files, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
}

func hasTable(t *testing.T, db *database.DB, name string) bool {
	t.Helper()
	return db.For(t.Context()).Migrator().HasTable(name)
}

// columns returns the names of the columns.
func columns(t *testing.T, db *database.DB, table string) map[string]bool {
	t.Helper()
	rows, err := db.For(t.Context()).Raw(fmt.Sprintf("SELECT * FROM %s WHERE 1 = 0", table)).Rows()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range names {
		found[name] = true
	}
	return found
}
