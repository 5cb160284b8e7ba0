package placement

import (
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Deps are what the controllers work with.
type Deps struct {
	// Clock is the real one unless a test says otherwise.
	Clock clock.PassiveClock
}

// SetupWithManager starts all controllers of the package with a manager, whose
// client reads from its cache.
func SetupWithManager(m ctrl.Manager, d Deps) error {
	if d.Clock == nil {
		d.Clock = clock.RealClock{}
	}
	for _, reconciler := range []interface{ SetupWithManager(m ctrl.Manager) error }{
		&SetReconciler{hub: m.GetClient()},
		&BindingReconciler{hub: m.GetClient()},
		&Reconciler{hub: m.GetClient(), clock: d.Clock},
	} {
		if err := reconciler.SetupWithManager(m); err != nil {
			return fmt.Errorf("start %T: %w", reconciler, err)
		}
	}
	return nil
}
