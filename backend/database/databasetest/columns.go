package databasetest

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm/schema"

	"muster.dev/muster/backend/database"
)

// CheckRow fails unless the columns of row's table are the fields of row, which
// is a pointer to the struct a store reads and writes.
func CheckRow(t testing.TB, db *database.DB, row any) {
	t.Helper()
	parsed, err := schema.Parse(row, &sync.Map{}, db.For(t.Context()).NamingStrategy)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.For(t.Context()).Table(parsed.Table).Where("1 = 0").Rows()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // nothing was read
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	fields := slices.Clone(parsed.DBNames)
	slices.Sort(columns)
	slices.Sort(fields)
	if diff := cmp.Diff(columns, fields); diff != "" {
		t.Errorf("table %s and %T differ (-columns +fields):\n%s", parsed.Table, row, diff)
	}
}
