package database

import (
	"context"

	"gorm.io/gorm"
)

// txKey finds the transaction of one database in a ctx.
type txKey struct{ db *DB }

// For returns the transaction of ctx, or the database itself outside of one.
// With SQLite, what reads outside of a transaction cannot write: use Exec,
// Create, Save, Updates and Delete for changes, not a Raw statement that returns.
func (d *DB) For(ctx context.Context) *gorm.DB {
	if tx, ok := ctx.Value(txKey{d}).(*gorm.DB); ok {
		return tx.WithContext(ctx)
	}
	return d.gorm.WithContext(ctx)
}

// InTx tells whether ctx carries a transaction of this database.
func (d *DB) InTx(ctx context.Context) bool {
	_, ok := ctx.Value(txKey{d}).(*gorm.DB)
	return ok
}

// Tx runs do in a transaction, which commits if do returns nil. Within another
// transaction of the same database, do joins it. Everything do does on the
// database has to use the ctx it is given: SQLite has one writer, and who waits
// for it while holding it waits for ever.
func (d *DB) Tx(ctx context.Context, do func(ctx context.Context) error) error {
	if d.InTx(ctx) {
		return do(ctx)
	}
	return d.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		return do(context.WithValue(ctx, txKey{d}, tx))
	})
}
