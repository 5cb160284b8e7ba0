package httpapi

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"muster.dev/muster/backend/fault"
)

// Position is where a page of a list in memory ends: the row's value of the sort
// key, and the row's own key.
type Position struct {
	Sort   string `json:"s"`
	Number int64  `json:"n,omitempty"`
	Text   string `json:"t,omitempty"`
	Key    string `json:"k"`
}

// Order is how the rows of a list in memory can be sorted.
type Order[T any] struct {
	// Key tells rows apart; rows that are equal otherwise go by it.
	Key func(*T) string
	// By gives a row's value of each sort key; Sort and Key are filled in.
	By map[string]func(*T) Position
	// Usual is the sort key of a request that names none.
	Usual string
}

// Cut sorts rows and returns the page behind a cursor, and the cursor of the page
// behind that. A sort key with "-" in front is descending.
func (o Order[T]) Cut(rows []T, sort, cursor string, limit int) (page []T, next string, err error) {
	var after Position
	if err := DecodeCursor(cursor, &after); err != nil {
		return nil, "", err
	}
	if sort, err = o.Check(sort, after); err != nil {
		return nil, "", err
	}
	all := make([]*T, len(rows))
	for i := range rows {
		all[i] = &rows[i]
	}
	page, behind := o.Page(all, sort, after, limit)
	if behind != nil {
		next = EncodeCursor(behind)
	}
	return page, next, nil
}

// Check returns the sort key of a request, the usual one if it names none, or why
// rows cannot be sorted by it or not go on behind a position.
func (o Order[T]) Check(sort string, after Position) (string, error) {
	if sort == "" {
		sort = o.Usual
	}
	if o.By[strings.TrimPrefix(sort, "-")] == nil {
		keys := strings.Join(slices.Sorted(maps.Keys(o.By)), ", ")
		return "", fault.Invalid("the list cannot be sorted by %q", sort).WithField("sort", "use one of "+keys)
	}
	if after.Key != "" && after.Sort != sort {
		return "", fault.Invalid("the cursor is of another order").WithField("cursor", "does not fit sort").WithFix("start again without a cursor")
	}
	return sort, nil
}

// Page sorts rows by a key that Check returned and copies those behind a position,
// the zero Position being before all. next is where the page ends, nil on the last.
func (o Order[T]) Page(rows []*T, sort string, after Position, limit int) (page []T, next *Position) {
	type placed struct {
		row *T
		at  Position
	}
	value := o.By[strings.TrimPrefix(sort, "-")]
	all := make([]placed, 0, len(rows))
	for _, row := range rows {
		at := value(row)
		at.Sort, at.Key = sort, o.Key(row)
		all = append(all, placed{row, at})
	}
	compare := func(a, b Position) int {
		order := cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.Text, b.Text), strings.Compare(a.Key, b.Key))
		if strings.HasPrefix(sort, "-") {
			return -order
		}
		return order
	}
	slices.SortFunc(all, func(a, b placed) int { return compare(a.at, b.at) })
	if after.Key != "" {
		from, _ := slices.BinarySearchFunc(all, after, func(p placed, after Position) int {
			return cmp.Or(compare(p.at, after), -1) // behind the row itself
		})
		all = all[from:]
	}
	page = make([]T, 0, min(limit, len(all)))
	for _, p := range all[:min(limit, len(all))] {
		page = append(page, *p.row)
	}
	if len(all) > len(page) && len(page) > 0 {
		next = &all[len(page)-1].at
	}
	return page, next
}
