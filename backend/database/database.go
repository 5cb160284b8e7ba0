// Package database holds the hub's SQL: users, sessions, registrations and the
// audit trail. Clusters and all other Kubernetes objects live in etcd.
//
// SQLite (pure Go) is the default, PostgreSQL the other choice; both run the
// same migrations and the same queries. Times are kept in UTC with microseconds.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// The two dialects, as migrations name them.
const (
	dialectSQLite   = "sqlite"
	dialectPostgres = "postgres"
)

const (
	postgresConnections = 16
	postgresLifetime    = 30 * time.Minute
	openLimit           = 10 * time.Second
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	gorm    *gorm.DB
	pool    *sql.DB
	dialect string
}

// Open opens "sqlite:/path/file.db", which it creates, or "postgres://…", and
// makes sure that it answers. Migrate brings its tables up to date.
func Open(ctx context.Context, dsn string) (*DB, error) {
	dialect, dialector, err := dialectorFor(dsn)
	if err != nil {
		return nil, err
	}
	handle, err := gorm.Open(dialector, &gorm.Config{
		Logger:               queryLogger{},
		TranslateError:       true,
		DisableAutomaticPing: true,
		NowFunc:              func() time.Time { return time.Now().UTC() },
	})
	if err != nil {
		return nil, fmt.Errorf("open %s database: %w", dialect, err)
	}
	pool, err := handle.DB()
	if err != nil {
		return nil, fmt.Errorf("open %s database: %w", dialect, err)
	}
	limit(pool, dialect)
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reach %s database: %w", dialect, err), pool.Close())
	}
	utc := &utcPool{pool: handle.ConnPool}
	handle.ConnPool, handle.Statement.ConnPool = utc, utc
	return &DB{gorm: handle, pool: pool, dialect: dialect}, nil
}

// limit gives SQLite one connection: writers then queue in Go, fairly, instead
// of polling for the file's lock.
func limit(pool *sql.DB, dialect string) {
	if dialect == dialectSQLite {
		pool.SetMaxOpenConns(1)
		return
	}
	pool.SetMaxOpenConns(postgresConnections)
	pool.SetMaxIdleConns(postgresConnections)
	pool.SetConnMaxLifetime(postgresLifetime)
}

func dialectorFor(dsn string) (string, gorm.Dialector, error) {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok && path != "" {
		source, err := sqliteSource(path)
		if err != nil {
			return "", nil, err
		}
		return dialectSQLite, sqlite.Open(source), nil
	}
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		return dialectPostgres, postgres.Open(dsn), nil
	}
	// The text itself may hold a password.
	return "", nil, errors.New(`the database must be given as "sqlite:/path/file.db" or "postgres://user@host/name"`)
}

// sqliteSource is SQLite's URI of a file. What was acknowledged survives a
// power cut: a write-ahead log, synced at each commit.
func sqliteSource(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find database file: %w", err)
	}
	options := url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"},
		"_txlock": {"immediate"},
	}
	file := url.URL{Scheme: "file", Path: absolute, RawQuery: options.Encode()}
	return file.String(), nil
}

// Close ends all connections.
func (d *DB) Close() error {
	if err := d.pool.Close(); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}
