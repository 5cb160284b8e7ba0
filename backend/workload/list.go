package workload

import (
	"slices"
	"strings"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/workload/fact"
)

// Query says which workloads to list and in which order. Empty fields fit all; a
// field with several values fits any of them.
type Query struct {
	// Text is looked for in name, namespace, kind, policy and images.
	Text       string
	Namespaces []string
	Kinds      []string
	// Policy is resource/namespace/name as in paths, or a bare name.
	Policy   string
	Clusters []string
	States   []string
	// All adds the workloads that no policy holds.
	All bool
	// Sort is a key of order, after "-" for descending; empty is by name.
	Sort  string
	After httpapi.Position
	Limit int
}

// Counts counts workloads by state.
type Counts struct {
	OK          int `json:"ok"`
	Progressing int `json:"progressing"`
	Failed      int `json:"failed"`
	Pending     int `json:"pending"`
	Unscheduled int `json:"unscheduled"`
	Unmanaged   int `json:"unmanaged"`
}

func (c *Counts) add(state State) {
	switch state {
	case StateOK:
		c.OK++
	case StateProgressing:
		c.Progressing++
	case StateFailed:
		c.Failed++
	case StatePending:
		c.Pending++
	case StateUnscheduled:
		c.Unscheduled++
	case StateUnmanaged:
		c.Unmanaged++
	}
}

// order is how workloads can be sorted; ties go by name, then id.
var order = httpapi.Order[Row]{
	Key: func(r *Row) string { return r.Name + "\x00" + r.ID }, Usual: "name",
	By: map[string]func(*Row) httpapi.Position{
		"name":      func(*Row) httpapi.Position { return httpapi.Position{} },
		"namespace": func(r *Row) httpapi.Position { return httpapi.Position{Text: r.Namespace} },
		"kind":      func(r *Row) httpapi.Position { return httpapi.Position{Text: r.Kind} },
		"age":       func(r *Row) httpapi.Position { return httpapi.Position{Number: -r.CreatedAt.Unix()} },
		"state":     func(r *Row) httpapi.Position { return httpapi.Position{Number: int64(slices.Index(States, r.State))} },
		"clusters":  func(r *Row) httpapi.Position { return httpapi.Position{Number: int64(len(r.Clusters))} },
		"replicas":  func(r *Row) httpapi.Position { return httpapi.Position{Number: r.Replicas.share()} },
		"policy":    func(r *Row) httpapi.Position { return httpapi.Position{Text: policyPath(r)} },
	},
}

// share is how many of the wanted replicas are ready, in millionths; a workload
// without replicas comes first.
func (r *Replicas) share() int64 {
	switch {
	case r == nil:
		return -1
	case r.Wanted == 0:
		return 1e6
	}
	return int64(r.Ready) * 1e6 / int64(r.Wanted)
}

func policyPath(row *Row) string {
	if row.Policy == nil {
		return ""
	}
	return row.Policy.Path()
}

// prepare checks the query.
func (q *Query) prepare() error {
	for _, state := range q.States {
		if !slices.Contains(States, State(state)) {
			return fault.Invalid("there is no state %q", state).WithField("state", "use ok, progressing, failed, pending, unscheduled or unmanaged")
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

// fits judges a row by everything but its state.
func (q *Query) fits(row *Row) bool {
	switch {
	case !q.All && row.State == StateUnmanaged,
		len(q.Namespaces) > 0 && !slices.Contains(q.Namespaces, row.Namespace),
		len(q.Kinds) > 0 && !slices.ContainsFunc(q.Kinds, func(kind string) bool { return strings.EqualFold(kind, row.Kind) }),
		q.Policy != "" && !q.held(row.Policy),
		len(q.Clusters) > 0 && !slices.ContainsFunc(row.Clusters, func(c PlacedCluster) bool { return slices.Contains(q.Clusters, c.Name) }):
		return false
	case q.Text == "":
		return true
	}
	for _, text := range append([]string{row.Name, row.Namespace, row.Kind}, row.Images...) {
		if strings.Contains(strings.ToLower(text), q.Text) {
			return true
		}
	}
	return row.Policy != nil && strings.Contains(strings.ToLower(row.Policy.Name), q.Text)
}

func (q *Query) held(by *fact.PolicyRef) bool {
	return by != nil && (by.Name == q.Policy || by.Path() == q.Policy)
}

// Listing is one page of workloads.
type Listing struct {
	Rows   []Row
	Next   *httpapi.Position
	Total  int
	Counts Counts
}

// apply filters, sorts and cuts rows. Counts are of all rows that fit but for
// their state, so that each state can be chosen from what is shown.
func (q *Query) apply(rows []*Row) Listing {
	var listing Listing
	fitting := make([]*Row, 0, len(rows))
	for _, row := range rows {
		if !q.fits(row) {
			continue
		}
		listing.Counts.add(row.State)
		if len(q.States) == 0 || slices.Contains(q.States, string(row.State)) {
			fitting = append(fitting, row)
		}
	}
	listing.Total = len(fitting)
	listing.Rows, listing.Next = order.Page(fitting, q.Sort, q.After, q.Limit)
	return listing
}
