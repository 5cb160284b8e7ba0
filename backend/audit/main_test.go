package audit_test

import (
	"testing"

	"muster.dev/muster/backend/database/databasetest"
)

func TestMain(m *testing.M) { databasetest.Main(m) }
