package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"muster.dev/muster/backend/fault"
)

// Dialect is the kind of database.
type Dialect string

// The databases Muster runs on.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// DB is an open database.
type DB struct {
	dialect Dialect
	gorm    *gorm.DB
	writer  *sql.DB
	pools   []*sql.DB
}

// Open opens the database that dsn names and asks it for a sign of life:
// "sqlite:/path/file.db" makes the file if there is none, "postgres://…" is a
// PostgreSQL connection URL. No error holds dsn, which may have a password.
func Open(ctx context.Context, dsn string) (*DB, error) {
	var db *DB
	var err error
	switch path, isSQLite := strings.CutPrefix(dsn, "sqlite:"); {
	case isSQLite && path != "":
		db, err = openSQLite(path)
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		db, err = openPostgres(dsn)
	default:
		return nil, fault.Invalid("the database is neither sqlite:FILE nor postgres://…").WithFix("give a PostgreSQL URL, or leave it out for SQLite in the data directory")
	}
	if err != nil {
		return nil, fmt.Errorf("open %s database: %w", strings.SplitN(dsn, ":", 2)[0], err)
	}
	if err := db.writer.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reach the database: %w", err), db.Close())
	}
	return db, nil
}

func settings() *gorm.Config {
	return &gorm.Config{
		Logger: quietLogger{},
		// A store sees gorm.ErrDuplicatedKey and its kin, whatever the database.
		TranslateError: true,
		PrepareStmt:    true,
		// One statement is atomic by itself; several ask for Tx.
		SkipDefaultTransaction: true,
		NowFunc:                func() time.Time { return time.Now().UTC() },
	}
}

// Dialect tells what kind of database this is.
func (d *DB) Dialect() Dialect { return d.dialect }

// Close waits for running statements and closes all connections.
func (d *DB) Close() error {
	var failures []error
	for _, pool := range d.pools {
		failures = append(failures, pool.Close())
	}
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

// Ready returns nil if the database answers.
func (d *DB) Ready(ctx context.Context) error {
	if err := d.writer.PingContext(ctx); err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	return nil
}
