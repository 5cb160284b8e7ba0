package waiting

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/backend/access"
	"muster.dev/muster/backend/fault"
)

// What Bulk does to every cluster.
const (
	BulkApproveAndAccept = "approve-and-accept"
	BulkApprove          = "approve"
	BulkAccept           = "accept"
	BulkDeny             = "deny"
)

const (
	// maxBulk bounds the clusters of one request, bulkWorkers how many are decided
	// on at a time.
	maxBulk     = 500
	bulkWorkers = 8
)

// Outcome is what became of one cluster of many.
type Outcome struct {
	Cluster string
	Err     error
}

// Bulk decides on several clusters, each by itself and each in the audit by
// itself: what is refused for one does not hold up the others. Operators may.
func (s *Service) Bulk(ctx context.Context, action string, clusters []string) ([]Outcome, error) {
	decide := map[string]func(context.Context, string) error{
		BulkApproveAndAccept: s.approveAndAccept,
		BulkApprove:          func(ctx context.Context, cluster string) error { return s.Approve(ctx, cluster, nil) },
		BulkAccept:           s.Accept,
		BulkDeny:             func(ctx context.Context, cluster string) error { return s.Deny(ctx, cluster, "") },
	}[action]
	if decide == nil {
		return nil, fault.Invalid("there is no action %q", action).WithField("action", "use approve-and-accept, approve, accept or deny")
	}
	if len(clusters) == 0 || len(clusters) > maxBulk {
		return nil, fault.Invalid("decide on 1 to %d clusters at a time", maxBulk).WithField("clusters", "none, or too many")
	}
	if err := access.Require(ctx, access.RoleOperator); err != nil {
		return nil, s.refused(ctx, action, "", err)
	}
	clusters = slices.Compact(slices.Sorted(slices.Values(clusters)))
	outcomes := make([]Outcome, len(clusters))
	var group errgroup.Group
	group.SetLimit(bulkWorkers)
	for i, cluster := range clusters {
		group.Go(func() error {
			outcomes[i] = Outcome{Cluster: cluster, Err: decide(ctx, cluster)}
			return nil
		})
	}
	return outcomes, group.Wait()
}

// approveAndAccept gives whichever consent is missing.
func (s *Service) approveAndAccept(ctx context.Context, cluster string) error {
	row, err := s.find(cluster)
	if err != nil {
		return s.refused(ctx, BulkApproveAndAccept, cluster, err)
	}
	if row.Certificate == CertificatePending {
		if err := s.Approve(ctx, cluster, nil); err != nil {
			return err
		}
	}
	if row.Accepted {
		return nil
	}
	return s.Accept(ctx, cluster)
}
