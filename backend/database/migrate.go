package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"muster.dev/muster/backend/fault"
)

// migrationLock is the PostgreSQL advisory lock that one migrating process holds.
const migrationLock = 0x6d757374 // "must"

var migrationName = regexp.MustCompile(`^([0-9]{4})_[a-z0-9]+(_[a-z0-9]+)+\.sql$`)

type migration struct {
	version  int
	name     string
	checksum string // of the file as it is, for all databases
	sql      string // for this database
}

// Migrate brings the database to the newest of the migrations in files:
// NNNN_<noun>_<change>.sql, counted from 0001 without gaps. All missing ones
// run in one transaction: a crash leaves the old state. It refuses a database
// that a newer hub has migrated, and one whose migrations differ from files.
//
// Migrations are SQL that both databases read. Where they differ, lines between
// "-- +sqlite" or "-- +postgres" and "-- +end" are for one of them. TIMESTAMPTZ
// is written for moments in time; SQLite gets TIMESTAMP.
func (d *DB) Migrate(ctx context.Context, files fs.FS) error {
	known, err := d.readMigrations(files)
	if err != nil {
		return err
	}
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin migration: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	applied, err := d.appliedMigrations(ctx, tx)
	if err != nil {
		return err
	}
	if err := compareMigrations(applied, known); err != nil {
		return err
	}
	for _, m := range known[len(applied):] {
		if err := d.apply(ctx, tx, m); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit migration: %w", err)
	}
	if len(applied) < len(known) {
		slog.Info("database migrated", "from", len(applied), "to", len(known))
	}
	return nil
}

func (d *DB) readMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	slices.Sort(names)
	migrations := make([]migration, 0, len(names))
	for i, name := range names {
		match := migrationName.FindStringSubmatch(name)
		if match == nil {
			return nil, fmt.Errorf("migration %s is not named NNNN_<noun>_<change>.sql", name)
		}
		if version, _ := strconv.Atoi(match[1]); version != i+1 {
			return nil, fmt.Errorf("migration %s should have the number %04d", name, i+1)
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		text, err := d.dialect.translate(string(data))
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		sum := sha256.Sum256(data)
		migrations = append(migrations, migration{version: i + 1, name: name, checksum: hex.EncodeToString(sum[:]), sql: text})
	}
	return migrations, nil
}

// translate keeps what is for all databases and for this one.
func (d Dialect) translate(text string) (string, error) {
	var kept []string
	block := ""
	for line := range strings.Lines(text) {
		mark, isMark := strings.CutPrefix(strings.TrimSpace(line), "-- +")
		switch {
		case !isMark && (block == "" || block == string(d)):
			kept = append(kept, line)
		case !isMark:
		case mark == "end" && block != "":
			block = ""
		case block == "" && (mark == string(SQLite) || mark == string(Postgres)):
			block = mark
		default:
			return "", fmt.Errorf("the line %q does not fit", strings.TrimSpace(line))
		}
	}
	if block != "" {
		return "", errors.New("a block is not ended")
	}
	result := strings.Join(kept, "")
	if d == SQLite {
		result = strings.ReplaceAll(result, "TIMESTAMPTZ", "TIMESTAMP")
	}
	return result, nil
}

// appliedMigrations takes the lock and reads what the database has.
func (d *DB) appliedMigrations(ctx context.Context, tx *sql.Tx) ([]migration, error) {
	if d.dialect == Postgres { // SQLite's transaction holds the write lock already
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
			return nil, fmt.Errorf("wait for other migrations: %w", err)
		}
	}
	const table = `CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at TEXT NOT NULL)`
	if _, err := tx.ExecContext(ctx, table); err != nil {
		return nil, fmt.Errorf("create schema_migrations: %w", err)
	}
	rows, err := tx.QueryContext(ctx, "SELECT version, name, checksum FROM schema_migrations ORDER BY version")
	if err != nil {
		return nil, fmt.Errorf("read schema_migrations: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var applied []migration
	for rows.Next() {
		var m migration
		if err := rows.Scan(&m.version, &m.name, &m.checksum); err != nil {
			return nil, fmt.Errorf("read schema_migrations: %w", err)
		}
		applied = append(applied, m)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read schema_migrations: %w", err)
	}
	return applied, nil
}

func compareMigrations(applied, known []migration) error {
	if len(applied) > len(known) {
		return fault.Conflict("the database is at version %d, this hub knows %d: a newer hub has migrated it", len(applied), len(known)).
			WithFix("start the newer hub, or restore a backup from before the upgrade")
	}
	for i, m := range applied {
		if m.version != known[i].version || m.checksum != known[i].checksum {
			return fault.Conflict("the database was made by another build: its migration %s differs from this hub's %s", m.name, known[i].name).
				WithFix("start the hub that made it, or a release that follows it")
		}
	}
	return nil
}

func (d *DB) apply(ctx context.Context, tx *sql.Tx, m migration) error {
	if _, err := tx.ExecContext(ctx, m.sql); err != nil {
		return fmt.Errorf("migrate %s: %w", m.name, err)
	}
	insert := "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)"
	if d.dialect == Postgres {
		insert = "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)"
	}
	if _, err := tx.ExecContext(ctx, insert, m.version, m.name, m.checksum, time.Now().UTC().Format(time.RFC3339)); err != nil {
		return fmt.Errorf("note migration %s: %w", m.name, err)
	}
	return nil
}
