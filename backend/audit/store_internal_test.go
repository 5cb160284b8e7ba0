package audit

import (
	"testing"

	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
)

func TestColumns(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		databasetest.CheckRow(t, db, &row{})
		databasetest.CheckRow(t, db, &openRow{})
		t.Run("append only", func(t *testing.T) { testAppendOnly(t, db) })
	})
}

// testAppendOnly tries what somebody with the hub's own database rights could.
func testAppendOnly(t *testing.T, db *database.DB) {
	entry := Entry{ID: newKey(noon), At: noon, Actor: "ann", Verb: "create", Kind: "User", Outcome: Pending}
	kept := store{db}
	if err := kept.add(t.Context(), []row{entry.row(phaseIntent)}); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"UPDATE audit SET actor = 'bob'", "DELETE FROM audit"} {
		if err := db.For(t.Context()).Exec(statement).Error; err == nil {
			t.Errorf("%s was accepted", statement)
		}
	}
	again := entry
	again.Actor = "bob"
	if err := kept.add(t.Context(), []row{again.row(phaseIntent)}); err != nil {
		t.Errorf("storing again: %v", err)
	}
	entries, total, err := kept.list(t.Context(), Filter{}, "", 10)
	if err != nil || total != 1 || len(entries) != 1 || entries[0].Actor != "ann" {
		t.Errorf("got %+v, %d, %v; want the entry as it was first written", entries, total, err)
	}
}
