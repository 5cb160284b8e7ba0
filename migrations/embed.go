// Package migrations carries the SQL that makes and changes the hub's database.
//
// Files are named NNNN_<noun>_<change>.sql, run forward only, and are never
// edited after a release; database.DB.Migrate says how they are written. Only
// app imports this package.
package migrations

import "embed"

// FS holds the migrations at its root.
//
//go:embed *.sql
var FS embed.FS
