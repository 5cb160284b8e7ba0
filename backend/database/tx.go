package database

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"
)

type transactionKey struct{}

// For returns the handle that ctx's work runs on: its transaction if it is in
// one, else the database. Stores use nothing else, so the outer handle cannot
// leak into a transaction (with SQLite it would wait for itself).
func (d *DB) For(ctx context.Context) *gorm.DB {
	if tx, ok := ctx.Value(transactionKey{}).(*gorm.DB); ok {
		return tx.WithContext(ctx)
	}
	return d.gorm.WithContext(ctx)
}

// Tx runs fn in a transaction that rides in its ctx. An error or a panic undoes
// all of it; a Tx within a Tx joins the outer one.
func (d *DB) Tx(ctx context.Context, fn func(ctx context.Context) error) error {
	if InTx(ctx) {
		return fn(ctx)
	}
	return d.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		return fn(context.WithValue(ctx, transactionKey{}, tx))
	})
}

// InTx tells whether ctx is inside a Tx: what must outlive a rollback, as the
// audit trail must, may not be written there.
func InTx(ctx context.Context) bool {
	return ctx.Value(transactionKey{}) != nil
}

// utcPool turns every time into UTC and microseconds on its way into a query.
// SQLite compares times as text, which is right only within one zone;
// PostgreSQL keeps no finer parts, and both shall give back what was stored.
type utcPool struct{ pool gorm.ConnPool }

func (p *utcPool) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return p.pool.PrepareContext(ctx, query)
}

func (p *utcPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.pool.ExecContext(ctx, query, inUTC(args)...)
}

func (p *utcPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.pool.QueryContext(ctx, query, inUTC(args)...)
}

func (p *utcPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return p.pool.QueryRowContext(ctx, query, inUTC(args)...)
}

// BeginTx implements gorm.ConnPoolBeginner.
func (p *utcPool) BeginTx(ctx context.Context, options *sql.TxOptions) (gorm.ConnPool, error) {
	beginner, ok := p.pool.(gorm.TxBeginner)
	if !ok {
		return nil, gorm.ErrInvalidTransaction
	}
	tx, err := beginner.BeginTx(ctx, options)
	if err != nil {
		return nil, err
	}
	return &utcTx{utcPool{pool: tx}, tx}, nil
}

// GetDBConn implements gorm.GetDBConnector.
func (p *utcPool) GetDBConn() (*sql.DB, error) {
	if pool, ok := p.pool.(*sql.DB); ok {
		return pool, nil
	}
	return nil, errors.New("a transaction has no pool")
}

// utcTx is a utcPool that can be ended; gorm takes what has these methods for a
// running transaction.
type utcTx struct {
	utcPool
	tx *sql.Tx
}

// Commit implements gorm.TxCommitter.
func (t *utcTx) Commit() error { return t.tx.Commit() }

// Rollback implements gorm.TxCommitter.
func (t *utcTx) Rollback() error { return t.tx.Rollback() }

func inUTC(args []any) []any {
	out := args
	for i, arg := range args {
		moved, ok := moveToUTC(arg)
		if !ok {
			continue
		}
		if &out[0] == &args[0] { // the caller's slice stays as it is
			out = append([]any(nil), args...)
		}
		out[i] = moved
	}
	return out
}

func moveToUTC(arg any) (any, bool) {
	switch value := arg.(type) {
	case time.Time:
		return value.UTC().Truncate(time.Microsecond), true
	case *time.Time:
		if value == nil {
			return nil, true
		}
		return value.UTC().Truncate(time.Microsecond), true
	case sql.NullTime:
		if !value.Valid {
			return nil, true
		}
		return value.Time.UTC().Truncate(time.Microsecond), true
	}
	return nil, false
}
