// Package database opens the hub's SQL database: SQLite in the data directory,
// or PostgreSQL by URL. It knows no table; domains keep theirs in store.go.
//
// The transaction rides in ctx: For(ctx) is the transaction of ctx if there is
// one, so a store cannot step outside by mistake.
//
// SQLite has one writer. Its journal is a WAL with synchronous=FULL: with
// NORMAL a commit survives a crash of the process but not of the machine, and
// the audit's promise (no change without a stored intent) would not hold after
// a power cut. Reads go to connections of their own, which cannot write, so
// that a page never waits for a commit.
package database
