package manifestwork

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	ocmworkv1alpha1 "muster.dev/muster/backend/apis/ocm/work/v1alpha1"
)

// Deps are what the controllers work with.
type Deps struct {
	// WithoutReplicaSets and WithoutCleanUp switch a controller off; in the field
	// these are the gates ManifestWorkReplicaSet and CleanUpCompletedManifestWork.
	WithoutReplicaSets, WithoutCleanUp bool
	// Clock is the real one unless a test says otherwise.
	Clock clock.PassiveClock
}

// indexReplicaSet finds the works of a replica set in the cache.
const indexReplicaSet = "replicaset"

// SetupWithManager starts the controllers of the package with a manager, whose
// client reads from its cache.
func SetupWithManager(m ctrl.Manager, d Deps) error {
	if d.Clock == nil {
		d.Clock = clock.RealClock{}
	}
	if !d.WithoutReplicaSets {
		err := m.GetFieldIndexer().IndexField(context.Background(), &ocmworkv1.ManifestWork{}, indexReplicaSet, func(work client.Object) []string {
			if owner := work.GetLabels()[ocmworkv1alpha1.ReplicaSetLabel]; owner != "" {
				return []string{owner}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("index works by replica set: %w", err)
		}
		if err := (&ReplicaSetReconciler{hub: m.GetClient(), clock: d.Clock}).SetupWithManager(m); err != nil {
			return fmt.Errorf("start replica set controller: %w", err)
		}
	}
	if !d.WithoutCleanUp {
		if err := (&CleanUpReconciler{hub: m.GetClient(), clock: d.Clock}).SetupWithManager(m); err != nil {
			return fmt.Errorf("start clean-up controller: %w", err)
		}
	}
	return nil
}
