package propagation

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"muster.dev/muster/backend/kube"
)

// Deps are what the controllers of this package work with.
type Deps struct {
	// Members reaches push members.
	Members *kube.Members
}

// SetupWithManager adds the controllers of this package to the manager.
func SetupWithManager(m ctrl.Manager, d Deps) error {
	hub, live := m.GetClient(), m.GetAPIReader()
	if err := NewImpersonationReconciler(hub, live, m.GetEventRecorder("unified-auth-controller")).SetupWithManager(m); err != nil {
		return fmt.Errorf("set up controller impersonation: %w", err)
	}
	if err := NewWorkReconciler(hub, live, d.Members, m.GetEventRecorder("execution-controller")).SetupWithManager(m); err != nil {
		return fmt.Errorf("set up controller work: %w", err)
	}
	return nil
}
