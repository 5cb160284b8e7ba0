package policy

import (
	"cmp"
	"slices"
	"strings"

	"muster.dev/muster/backend/fault"
)

// Query says which policies to list and in which order. Empty fields fit all; a
// field with several values fits any of them.
type Query struct {
	// Kinds are resources, such as overridepolicies.
	Kinds []string
	// Namespaces are exact; "-" stands for cluster-scoped policies.
	Namespaces []string
	// Text is looked for in name, namespace, selectors and clusters.
	Text string
	// Sort is a key of sortKeys, after "-" for descending; empty is by name.
	Sort  string
	After Position
	Limit int
}

// Position is where a page ends: the row's value of the sort key, and its key.
type Position struct {
	Sort   string `json:"s"`
	Number int64  `json:"n,omitempty"`
	Text   string `json:"t,omitempty"`
	Key    string `json:"k"`
}

// Listing is one page of policies.
type Listing struct {
	Rows  []Row
	Next  *Position
	Total int
}

// sortKeys give a row's value to sort by; ties go by name, then by key.
var sortKeys = map[string]func(*Row) Position{
	"name":      func(*Row) Position { return Position{} },
	"namespace": func(r *Row) Position { return Position{Text: r.Namespace} },
	"kind":      func(r *Row) Position { return Position{Text: r.Kind} },
	"priority":  func(r *Row) Position { return Position{Number: r.order()} },
	"age":       func(r *Row) Position { return Position{Number: -r.CreatedAt.Unix()} },
}

// order puts override policies, which have no priority, below all others.
func (r *Row) order() int64 {
	if r.Priority == nil {
		return -1 << 32
	}
	return int64(*r.Priority)
}

// prepare checks the query.
func (q *Query) prepare() error {
	for _, kind := range q.Kinds {
		if _, err := KindOf(kind); err != nil {
			return fault.Invalid("%v", err).WithField("kind", "is no kind of policy")
		}
	}
	if q.Sort == "" {
		q.Sort = "name"
	}
	if sortKeys[strings.TrimPrefix(q.Sort, "-")] == nil {
		return fault.Invalid("policies cannot be sorted by %q", q.Sort).WithField("sort", "use name, namespace, kind, priority or age")
	}
	if q.After.Key != "" && q.After.Sort != q.Sort {
		return fault.Invalid("the cursor is of another order").WithField("cursor", "does not fit sort").WithFix("start again without a cursor")
	}
	q.Text = strings.ToLower(strings.TrimSpace(q.Text))
	return nil
}

// wants says whether a kind can have rows that fit.
func (q *Query) wants(kind *Kind) bool {
	return len(q.Kinds) == 0 || slices.Contains(q.Kinds, kind.Resource)
}

func (q *Query) fits(row *Row) bool {
	namespace := row.Namespace
	if namespace == "" {
		namespace = noNamespace
	}
	if len(q.Namespaces) > 0 && !slices.Contains(q.Namespaces, namespace) {
		return false
	}
	if q.Text == "" {
		return true
	}
	found := func(text string) bool { return strings.Contains(strings.ToLower(text), q.Text) }
	return found(row.Name) || found(row.Namespace) || slices.ContainsFunc(row.Clusters, found) ||
		slices.ContainsFunc(row.Selectors, func(s Selector) bool { return found(s.Kind) || found(s.Name) })
}

// apply filters, sorts and cuts rows.
func (q *Query) apply(rows []Row) Listing {
	type placed struct {
		row *Row
		at  Position
	}
	var fitting []placed
	for i := range rows {
		if q.fits(&rows[i]) {
			fitting = append(fitting, placed{&rows[i], q.position(&rows[i])})
		}
	}
	listing := Listing{Total: len(fitting)}
	slices.SortFunc(fitting, func(a, b placed) int { return q.compare(a.at, b.at) })
	if q.After.Key != "" {
		from, _ := slices.BinarySearchFunc(fitting, q.After, func(p placed, after Position) int {
			return cmp.Or(q.compare(p.at, after), -1) // behind the row itself
		})
		fitting = fitting[from:]
	}
	shown := fitting[:min(q.Limit, len(fitting))]
	listing.Rows = make([]Row, 0, len(shown))
	for _, p := range shown {
		listing.Rows = append(listing.Rows, *p.row)
	}
	if len(fitting) > len(shown) && len(shown) > 0 {
		listing.Next = &shown[len(shown)-1].at
	}
	return listing
}

func (q *Query) position(row *Row) Position {
	position := sortKeys[strings.TrimPrefix(q.Sort, "-")](row)
	position.Sort, position.Key = q.Sort, row.Name+"/"+row.Key()
	return position
}

func (q *Query) compare(a, b Position) int {
	order := cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.Text, b.Text), strings.Compare(a.Key, b.Key))
	if strings.HasPrefix(q.Sort, "-") {
		return -order
	}
	return order
}
