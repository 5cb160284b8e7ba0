package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/fault"
)

// leasePoll is how often the leader's Lease is read; its holder renews it every
// two seconds.
const leasePoll = time.Second

// guardDatabase refuses a second replica that would keep users, sessions and
// audit apart from the first: SQLite is one process's own. A leader that was
// killed leaves its Lease behind, which nobody renews. identity is this replica's.
func (a *App) guardDatabase(ctx context.Context, hub client.Client, identity string) error {
	if a.shared() {
		return nil
	}
	ticker := time.NewTicker(leasePoll)
	defer ticker.Stop()
	var first *coordinationv1.Lease
	for {
		lease := new(coordinationv1.Lease)
		err := hub.Get(ctx, client.ObjectKey{Namespace: a.external.Namespace(), Name: LeaderLease}, lease)
		switch {
		case ctx.Err() != nil, apierrors.IsNotFound(err), err == nil && (!held(lease) || *lease.Spec.HolderIdentity == identity):
			return nil
		case apierrors.IsForbidden(err):
			return fmt.Errorf("read lease %s: %w", LeaderLease, err)
		case err != nil:
			slog.Debug("lease of the acting replica not read", "name", LeaderLease, "error", err) // the API is slow or away; it is asked again
		case first == nil:
			first = lease
		case *lease.Spec.HolderIdentity != *first.Spec.HolderIdentity:
			first = lease // whose it is now, is seen by the next look
		case !lease.Spec.RenewTime.Equal(first.Spec.RenewTime):
			return fault.Conflict("another replica of this hub runs (%s), and this one keeps users, sessions and audit in SQLite, which replicas cannot share", *lease.Spec.HolderIdentity).
				WithFix("give all replicas one PostgreSQL with --database, run one replica, or start this one with --webhooks-only")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func held(lease *coordinationv1.Lease) bool {
	return lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" && lease.Spec.RenewTime != nil
}
