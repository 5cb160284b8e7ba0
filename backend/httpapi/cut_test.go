package httpapi_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
)

type fruit struct {
	name  string
	count int64
}

var fruits = httpapi.Order[fruit]{
	Key: func(f *fruit) string { return f.name }, Usual: "name",
	By: map[string]func(*fruit) httpapi.Position{
		"name": func(*fruit) httpapi.Position { return httpapi.Position{} }, "count": func(f *fruit) httpapi.Position { return httpapi.Position{Number: f.count} },
	},
}

// TestCut reads a list page by page, in each order and with pages of each size:
// every row comes once, in order.
func TestCut(t *testing.T) {
	rows := []fruit{{"pear", 2}, {"fig", 2}, {"apple", 9}, {"kiwi", 1}, {"date", 2}}
	for sort, want := range map[string][]string{
		"":       {"apple", "date", "fig", "kiwi", "pear"},
		"-name":  {"pear", "kiwi", "fig", "date", "apple"},
		"count":  {"kiwi", "date", "fig", "pear", "apple"},
		"-count": {"apple", "pear", "fig", "date", "kiwi"},
	} {
		for limit := 1; limit <= len(rows)+1; limit++ {
			t.Run(fmt.Sprint(sort, limit), func(t *testing.T) {
				var got []string
				for cursor := ""; ; {
					page, next, err := fruits.Cut(slices.Clone(rows), sort, cursor, limit)
					if err != nil {
						t.Fatal(err)
					}
					for _, row := range page {
						got = append(got, row.name)
					}
					if cursor = next; cursor == "" {
						break
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("rows (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestCutRefuses(t *testing.T) {
	rows := []fruit{{"pear", 2}, {"fig", 2}}
	_, next, err := fruits.Cut(rows, "name", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, with := range map[string][2]string{"an unknown order": {"colour", ""}, "a cursor of another order": {"count", next}, "no cursor of ours": {"name", "%"}} {
		if _, _, err := fruits.Cut(rows, with[0], with[1], 1); !fault.Is(err, fault.KindInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
