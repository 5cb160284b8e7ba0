package cluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/registration"
)

// Query says which clusters to list and in which order. Empty fields fit all;
// a field with several values fits any of them.
type Query struct {
	// Text is looked for in name, region, provider, zones and version.
	Text     string
	States   []string
	Mode     string
	Dialect  string
	Region   []string
	Provider []string
	// Label is a label selector.
	Label string
	// Sort is a key of order, after "-" for descending; empty is by name.
	Sort   string
	After  httpapi.Position
	Limit  int
	chosen labels.Selector
}

// Counts counts clusters by state.
type Counts struct {
	Ready    int `json:"ready"`
	Joining  int `json:"joining"`
	Degraded int `json:"degraded"`
	Unknown  int `json:"unknown"`
	Failed   int `json:"failed"`
	Removing int `json:"removing"`
}

func (c *Counts) add(state State) {
	switch state {
	case StateReady:
		c.Ready++
	case StateJoining:
		c.Joining++
	case StateDegraded:
		c.Degraded++
	case StateUnknown:
		c.Unknown++
	case StateFailed:
		c.Failed++
	case StateRemoving:
		c.Removing++
	}
}

// order is how clusters can be sorted; ties go by name.
var order = httpapi.Order[Cluster]{
	Key: func(c *Cluster) string { return c.Name }, Usual: "name",
	By: map[string]func(*Cluster) httpapi.Position{
		"name": func(*Cluster) httpapi.Position { return httpapi.Position{} },
		"age":  func(c *Cluster) httpapi.Position { return httpapi.Position{Number: -c.CreatedAt.Unix()} },
		"state": func(c *Cluster) httpapi.Position {
			return httpapi.Position{Number: int64(slices.Index(severity, c.State))}
		},
		"mode":     func(c *Cluster) httpapi.Position { return httpapi.Position{Text: c.Mode} },
		"dialect":  func(c *Cluster) httpapi.Position { return httpapi.Position{Text: c.Dialect} },
		"region":   func(c *Cluster) httpapi.Position { return httpapi.Position{Text: c.Region} },
		"provider": func(c *Cluster) httpapi.Position { return httpapi.Position{Text: c.Provider} },
		"version":  func(c *Cluster) httpapi.Position { return httpapi.Position{Text: versionKey(c.Version)} },
		"nodes":    func(c *Cluster) httpapi.Position { return httpapi.Position{Number: c.Nodes.count()} },
		"cpu":      func(c *Cluster) httpapi.Position { return httpapi.Position{Number: c.CPU.share()} },
		"memory":   func(c *Cluster) httpapi.Position { return httpapi.Position{Number: c.Memory.share()} },
	},
}

// severity orders states by how much they ask for attention.
var severity = []State{StateFailed, StateUnknown, StateDegraded, StateRemoving, StateJoining, StateReady}

func (n *Nodes) count() int64 {
	if n == nil {
		return -1
	}
	return int64(n.Total)
}

// share is how much of a resource is asked for, in millionths; unknown is less
// than nothing.
func (u *Usage) share() int64 {
	if u == nil || u.Allocatable <= 0 {
		return -1
	}
	return int64(float64(u.Allocated) / float64(u.Allocatable) * 1e6)
}

// versionKey pads the numbers of a version so that texts compare as versions do.
func versionKey(version string) string {
	var key strings.Builder
	for part := range strings.FieldsFuncSeq(version, func(r rune) bool { return r < '0' || r > '9' }) {
		key.WriteString(strings.Repeat("0", max(0, 6-len(part))) + part + ".")
	}
	return key.String()
}

// prepare checks the query.
func (q *Query) prepare() error {
	for _, state := range q.States {
		if !slices.Contains(States, State(state)) {
			return fault.Invalid("there is no state %q", state).WithField("state", "use ready, joining, degraded, unknown, failed or removing")
		}
	}
	if q.Mode != "" && q.Mode != "Push" && q.Mode != "Pull" {
		return fault.Invalid("there is no mode %q", q.Mode).WithField("mode", "use Push or Pull")
	}
	if q.Dialect != "" && q.Dialect != registration.OriginKarmada && q.Dialect != registration.OriginOCM {
		return fault.Invalid("there is no dialect %q", q.Dialect).WithField("dialect", "use karmada or ocm")
	}
	sort, err := order.Check(q.Sort, q.After)
	if err != nil {
		return err
	}
	q.Sort = sort
	selector, err := labels.Parse(q.Label)
	if err != nil {
		return fault.Invalid("%q is not a label selector", q.Label).WithField("label", "write it like tier=edge,region in (eu,us)")
	}
	q.Text, q.chosen = strings.ToLower(strings.TrimSpace(q.Text)), selector
	return nil
}

// fits judges a row by everything but its state.
func (q *Query) fits(row *Cluster) bool {
	if q.Mode != "" && row.Mode != q.Mode || q.Dialect != "" && row.Dialect != q.Dialect || !q.chosen.Matches(labels.Set(row.Labels)) {
		return false
	}
	if len(q.Region) > 0 && !slices.Contains(q.Region, row.Region) || len(q.Provider) > 0 && !slices.Contains(q.Provider, row.Provider) {
		return false
	}
	if q.Text == "" {
		return true
	}
	for _, text := range append([]string{row.Name, row.Region, row.Provider, row.Version}, row.Zones...) {
		if strings.Contains(strings.ToLower(text), q.Text) {
			return true
		}
	}
	return false
}

// Listing is one page of clusters.
type Listing struct {
	Rows   []Cluster
	Next   *httpapi.Position
	Total  int
	Counts Counts
}

// apply filters, sorts and cuts rows. Counts are of all rows that fit but for
// their state, so that each state can be chosen from what is shown.
func (q *Query) apply(rows []*Cluster) Listing {
	var listing Listing
	fitting := make([]*Cluster, 0, len(rows))
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
