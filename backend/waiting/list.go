package waiting

import (
	"context"
	"slices"
	"strings"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/fault"
)

// Query says which rows to list. Empty fields fit all.
type Query struct {
	// State is waiting (a person is asked) or decided.
	State string
	// Text is looked for in names, requesters, addresses and fingerprints.
	Text string
}

func (q *Query) fits(row *Row) bool {
	if q.State == "waiting" && !row.Waits || q.State == "decided" && row.Waits {
		return false
	}
	if q.Text == "" {
		return true
	}
	found := func(text string) bool { return strings.Contains(strings.ToLower(text), q.Text) }
	return found(row.Cluster) || slices.ContainsFunc(row.URLs, found) || slices.ContainsFunc(row.Requests, func(r Request) bool {
		return found(r.Fingerprint) || found(r.Requester) || found(r.Address) || found(r.Name)
	})
}

// List returns the rows that fit, in no order. Everybody who is signed in may.
func (s *Service) List(ctx context.Context, query Query) ([]Row, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return nil, err
	}
	if query.State != "" && query.State != "waiting" && query.State != "decided" {
		return nil, fault.Invalid("there is no state %q", query.State).WithField("state", "use waiting or decided")
	}
	query.Text = strings.ToLower(strings.TrimSpace(query.Text))
	var fitting []Row
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, made := range s.rows {
		if query.fits(&made.row) {
			fitting = append(fitting, made.row)
		}
	}
	return fitting, nil
}

// Get returns the row of a cluster, also of one that has left the room, or is
// expected and has not introduced itself. Everybody who is signed in may.
func (s *Service) Get(ctx context.Context, cluster string) (Row, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return Row{}, err
	}
	row, err := s.find(cluster)
	if fault.Is(err, fault.KindNotFound) {
		return compose(cluster, nil, nil).row, nil
	}
	return row, err
}

func (s *Service) find(cluster string) (Row, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if made, shown := s.rows[cluster]; shown {
		return made.row, nil
	}
	known, requests := s.clusters[cluster], s.requests[cluster]
	if known == nil && len(requests) == 0 {
		return Row{}, fault.NotFound("no cluster %s has introduced itself", cluster)
	}
	rows := make([]Request, 0, len(requests))
	for _, row := range requests {
		rows = append(rows, row)
	}
	return compose(cluster, known, rows).row, nil
}
