// Package migrations carries the forward-only SQL of the hub's database. A file
// is never edited once released; database.Migrate says how they are written.
package migrations

import "embed"

// FS holds the files NNNN_noun_change.sql.
//
//go:embed *.sql
var FS embed.FS
