package cluster

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"muster.dev/muster/backend/fault"
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
	// Sort is a key of sortKeys, after "-" for descending; empty is by name.
	Sort   string
	After  Position
	Limit  int
	chosen labels.Selector
}

// Position is where a page ends: the row's value of the sort key, and its name.
type Position struct {
	Sort   string `json:"s"`
	Number int64  `json:"n,omitempty"`
	Text   string `json:"t,omitempty"`
	Name   string `json:"k"`
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

// sortKeys give a row's value to sort by; ties go by name.
var sortKeys = map[string]func(*Cluster) Position{
	"name":     func(*Cluster) Position { return Position{} },
	"age":      func(c *Cluster) Position { return Position{Number: -c.CreatedAt.Unix()} },
	"state":    func(c *Cluster) Position { return Position{Number: int64(slices.Index(severity, c.State))} },
	"mode":     func(c *Cluster) Position { return Position{Text: c.Mode} },
	"dialect":  func(c *Cluster) Position { return Position{Text: c.Dialect} },
	"region":   func(c *Cluster) Position { return Position{Text: c.Region} },
	"provider": func(c *Cluster) Position { return Position{Text: c.Provider} },
	"version":  func(c *Cluster) Position { return Position{Text: versionKey(c.Version)} },
	"nodes":    func(c *Cluster) Position { return Position{Number: c.Nodes.count()} },
	"cpu":      func(c *Cluster) Position { return Position{Number: c.CPU.share()} },
	"memory":   func(c *Cluster) Position { return Position{Number: c.Memory.share()} },
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
	if q.Sort == "" {
		q.Sort = "name"
	}
	if sortKeys[strings.TrimPrefix(q.Sort, "-")] == nil {
		return fault.Invalid("clusters cannot be sorted by %q", q.Sort).WithField("sort", "not known")
	}
	if q.After.Name != "" && q.After.Sort != q.Sort {
		return fault.Invalid("the cursor is of another order").WithField("cursor", "does not fit sort").WithFix("start again without a cursor")
	}
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
	Next   *Position
	Total  int
	Counts Counts
}

// placed is a row with its sort key, which is made once.
type placed struct {
	row *Cluster
	at  Position
}

// apply filters, sorts and cuts rows. Counts are of all rows that fit but for
// their state, so that each state can be chosen from what is shown.
func (q *Query) apply(rows []*Cluster) Listing {
	var listing Listing
	fitting := make([]placed, 0, len(rows))
	for _, row := range rows {
		if !q.fits(row) {
			continue
		}
		listing.Counts.add(row.State)
		if len(q.States) == 0 || slices.Contains(q.States, string(row.State)) {
			fitting = append(fitting, placed{row, q.position(row)})
		}
	}
	listing.Total = len(fitting)
	slices.SortFunc(fitting, func(a, b placed) int { return q.compare(a.at, b.at) })
	if q.After.Name != "" {
		from, _ := slices.BinarySearchFunc(fitting, q.After, func(p placed, after Position) int {
			return cmp.Or(q.compare(p.at, after), -1) // behind the row itself
		})
		fitting = fitting[from:]
	}
	shown := fitting[:min(q.Limit, len(fitting))]
	listing.Rows = make([]Cluster, 0, len(shown))
	for _, p := range shown {
		listing.Rows = append(listing.Rows, *p.row)
	}
	if len(fitting) > len(shown) && len(shown) > 0 {
		next := shown[len(shown)-1].at
		listing.Next = &next
	}
	return listing
}

func (q *Query) position(row *Cluster) Position {
	position := sortKeys[strings.TrimPrefix(q.Sort, "-")](row)
	position.Sort, position.Name = q.Sort, row.Name
	return position
}

func (q *Query) compare(a, b Position) int {
	order := cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.Text, b.Text), strings.Compare(a.Name, b.Name))
	if strings.HasPrefix(q.Sort, "-") {
		return -order
	}
	return order
}
