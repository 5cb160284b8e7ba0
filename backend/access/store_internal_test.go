package access

import (
	"testing"

	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
)

func TestRowsFitTheirTables(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		databasetest.CheckRow(t, db, &userRow{})
		databasetest.CheckRow(t, db, &sessionRow{})
	})
}

func TestPasswordHashes(t *testing.T) {
	t.Parallel()
	h := newHasher()
	hash, err := h.hash(t.Context(), "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.hash(t.Context(), "correct horse battery")
	if err != nil || again == hash {
		t.Errorf("two hashes of one password are the same: %v", err)
	}
	for password, want := range map[string]bool{"correct horse battery": true, "correct horse batterY": false, "": false} {
		if got, err := h.matches(t.Context(), hash, password); err != nil || got != want {
			t.Errorf("%q matches: %v, %v", password, got, err)
		}
	}
	for _, broken := range []string{"", "plain", "$argon2i$v=19$m=8,t=1,p=1$c2FsdA$a2V5", "$argon2id$v=19$m=x$c2FsdA$a2V5", "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$a2V5"} {
		if got, err := h.matches(t.Context(), broken, ""); err == nil || got {
			t.Errorf("the hash %q was accepted", broken)
		}
	}
}

func BenchmarkPasswordHash(b *testing.B) {
	h := newHasher()
	for b.Loop() {
		if _, err := h.hash(b.Context(), "correct horse battery"); err != nil {
			b.Fatal(err)
		}
	}
}
