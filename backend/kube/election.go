package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Election lets one of several replicas act.
type Election struct {
	// Namespace and Name are those of the Lease that the leader holds.
	Namespace, Name string
	// Identity tells this replica from all others.
	Identity string
}

// renewDeadline is how long a leader tries to renew its Lease; it lives half as
// long again.
const renewDeadline = 10 * time.Second

// ErrLeaseLost is what a manager ends with that could not renew its Lease in time:
// somebody else may act now.
var ErrLeaseLost = errors.New("the lease of the acting replica could not be renewed")

// lostLease is how controller-runtime words it; it exports no error.
const lostLease = "leader election lost"

// electedManager is a manager that tells a lost Lease from other ends.
type electedManager struct{ manager.Manager }

// Start runs the manager until ctx ends or the Lease is lost.
func (m electedManager) Start(ctx context.Context) error {
	err := m.Manager.Start(ctx)
	if err != nil && ctx.Err() == nil && err.Error() == lostLease {
		return ErrLeaseLost
	}
	return err
}

// NewElectedManager is NewManager for one of several replicas: its caches run on
// each, its controllers on the leader only. The Lease is given up when the
// manager stops; one that is lost ends the manager with ErrLeaseLost.
func NewElectedManager(hub *rest.Config, logger *slog.Logger, election Election) (manager.Manager, error) {
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, election.Namespace, election.Name,
		resourcelock.ResourceLockConfig{Identity: election.Identity}, hub, renewDeadline)
	if err != nil {
		return nil, fmt.Errorf("build lock of replicas: %w", err)
	}
	deadline := renewDeadline
	m, err := newManager(hub, logger, manager.Options{
		LeaderElection: true, LeaderElectionResourceLockInterface: lock, LeaderElectionReleaseOnCancel: true, RenewDeadline: &deadline,
	})
	if err != nil {
		return nil, err
	}
	return electedManager{m}, nil
}
