package managedcluster

import (
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Deps are what managed clusters are looked after with.
type Deps struct {
	// Clock judges heartbeats; nil: the real one.
	Clock clock.PassiveClock
}

// SetupWithManager adds the controllers of managed clusters to a manager of either
// plane, except the one of mirrors; see SetupFleet.
func SetupWithManager(m ctrl.Manager, d Deps) error {
	if d.Clock == nil {
		d.Clock = clock.RealClock{}
	}
	hub, live := m.GetClient(), m.GetAPIReader()
	for name, setUp := range map[string]func(ctrl.Manager) error{
		"heartbeat":          NewHeartbeatReconciler(hub, live, m.GetEventRecorder("registration-controller"), d.Clock).SetupWithManager,
		"managed-taints":     NewTaintReconciler(hub).SetupWithManager,
		"managed-addons":     NewAddonReconciler(hub).SetupWithManager,
		"managed-cleanup":    NewCleanupReconciler(hub, live).SetupWithManager,
		"managed-namespaces": NewNamespaceReconciler(hub).SetupWithManager,
	} {
		if err := setUp(m); err != nil {
			return fmt.Errorf("set up controller %s: %w", name, err)
		}
	}
	return nil
}
