package policy

import (
	"slices"
	"strings"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
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
	// Sort is a key of order, after "-" for descending; empty is by name.
	Sort  string
	After httpapi.Position
	Limit int
}

// Listing is one page of policies.
type Listing struct {
	Rows  []Row
	Next  *httpapi.Position
	Total int
}

// order is how policies can be sorted; ties go by name, then by key.
var order = httpapi.Order[Row]{
	Key: func(r *Row) string { return r.Name + "\x00" + r.Key() }, Usual: "name",
	By: map[string]func(*Row) httpapi.Position{
		"name":      func(*Row) httpapi.Position { return httpapi.Position{} },
		"namespace": func(r *Row) httpapi.Position { return httpapi.Position{Text: r.Namespace} },
		"kind":      func(r *Row) httpapi.Position { return httpapi.Position{Text: r.Kind} },
		"priority":  func(r *Row) httpapi.Position { return httpapi.Position{Number: r.order()} },
		"age":       func(r *Row) httpapi.Position { return httpapi.Position{Number: -r.CreatedAt.Unix()} },
	},
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
	sort, err := order.Check(q.Sort, q.After)
	if err != nil {
		return err
	}
	q.Sort = sort
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
	fitting := make([]*Row, 0, len(rows))
	for i := range rows {
		if q.fits(&rows[i]) {
			fitting = append(fitting, &rows[i])
		}
	}
	listing := Listing{Total: len(fitting)}
	listing.Rows, listing.Next = order.Page(fitting, q.Sort, q.After, q.Limit)
	return listing
}
