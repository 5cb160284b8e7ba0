package database

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"muster.dev/muster/backend/fault"
)

// migrationLock is PostgreSQL's advisory lock while tables change: two hubs
// started at once on one database migrate one after the other.
const migrationLock = 0x6d757374 // "must"

var migrationName = regexp.MustCompile(`^(\d{4})_([a-z]+(?:_[a-z]+)*)\.sql$`)

// migration is one file of forward-only SQL.
type migration struct {
	version int
	name    string
	sql     string
}

// migrationRow is an applied migration.
type migrationRow struct {
	Version   int `gorm:"primaryKey"`
	Name      string
	AppliedAt time.Time
}

// TableName implements gorm's Tabler.
func (migrationRow) TableName() string { return "schema_migrations" }

// Migrate applies the files NNNN_noun_change.sql at the root of files that the
// database does not have yet, in order, each in its own transaction. A database
// that a newer binary wrote is refused with a fault.
//
// Where dialects differ, a file has blocks that start with a line "-- +sqlite",
// "-- +postgres" or, for both again, "-- +all".
func (d *DB) Migrate(ctx context.Context, files fs.FS) error {
	known, err := readMigrations(files, d.dialect)
	if err != nil {
		return err
	}
	const table = "CREATE TABLE IF NOT EXISTS schema_migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamp NOT NULL)"
	if err := d.Tx(ctx, func(ctx context.Context) error {
		if err := d.lockMigrations(ctx); err != nil {
			return err
		}
		return d.For(ctx).Exec(table).Error
	}); err != nil {
		return fmt.Errorf("create table schema_migrations: %w", err)
	}
	if err := d.refuseNewer(ctx, known); err != nil {
		return err
	}
	for _, step := range known {
		if err := d.apply(ctx, step); err != nil {
			return fmt.Errorf("apply migration %04d_%s: %w", step.version, step.name, err)
		}
	}
	return nil
}

func (d *DB) lockMigrations(ctx context.Context) error {
	if d.dialect != dialectPostgres {
		return nil // BEGIN IMMEDIATE holds the file
	}
	return d.For(ctx).Exec("SELECT pg_advisory_xact_lock(?)", migrationLock).Error
}

func (d *DB) refuseNewer(ctx context.Context, known []migration) error {
	var has int
	if err := d.For(ctx).Model(&migrationRow{}).Select("coalesce(max(version), 0)").Scan(&has).Error; err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	newest := 0
	if len(known) > 0 {
		newest = known[len(known)-1].version
	}
	if has > newest {
		return fault.Conflict("the database was written by a newer Muster: it has schema %d, this binary knows %d", has, newest).
			WithFix("start the newer version, or restore the backup taken before the upgrade")
	}
	return nil
}

func (d *DB) apply(ctx context.Context, step migration) error {
	return d.Tx(ctx, func(ctx context.Context) error {
		if err := d.lockMigrations(ctx); err != nil {
			return err
		}
		var applied int64
		if err := d.For(ctx).Model(&migrationRow{}).Where("version = ?", step.version).Count(&applied).Error; err != nil {
			return err
		}
		if applied > 0 {
			return nil
		}
		// Straight to the connection: the text may hold what gorm takes for a variable.
		if _, err := d.For(ctx).Statement.ConnPool.ExecContext(ctx, step.sql); err != nil {
			return err
		}
		return d.For(ctx).Create(&migrationRow{Version: step.version, Name: step.name, AppliedAt: time.Now()}).Error
	})
}

func readMigrations(files fs.FS, dialect string) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	slices.Sort(names)
	var out []migration
	for _, name := range names {
		parts := migrationName.FindStringSubmatch(name)
		if parts == nil {
			return nil, fmt.Errorf("migration %s is not named NNNN_noun_change.sql", name)
		}
		version, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, fmt.Errorf("read number of migration %s: %w", name, err)
		}
		if len(out) > 0 && out[len(out)-1].version == version {
			return nil, fmt.Errorf("two migrations have the number %04d", version)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		statements, err := forDialect(string(text), dialect)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		out = append(out, migration{version: version, name: parts[2], sql: statements})
	}
	return out, nil
}

// forDialect keeps the blocks that are for dialect.
func forDialect(text, dialect string) (string, error) {
	var out strings.Builder
	wanted := true
	for line := range strings.Lines(text) {
		block, isBlock := strings.CutPrefix(strings.TrimSpace(line), "-- +")
		switch {
		case !isBlock:
			if wanted {
				out.WriteString(line)
			}
		case block == dialectSQLite || block == dialectPostgres:
			wanted = block == dialect
		case block == "all":
			wanted = true
		default:
			return "", fmt.Errorf("there is no block %q", block)
		}
	}
	return out.String(), nil
}
