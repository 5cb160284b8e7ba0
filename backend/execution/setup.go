package execution

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/kube"
)

// Deps are what executing Works needs.
type Deps struct {
	// Members reaches push members.
	Members *kube.Members
	// Interpreter knows the kinds.
	Interpreter *interpret.Interpreter
}

// SetupWithManager adds the controller of push members' Works to the manager.
func SetupWithManager(m ctrl.Manager, d Deps) error {
	if err := NewWorkReconciler(m.GetClient(), d.Members, d.Interpreter, m.GetEventRecorder("execution-controller")).SetupWithManager(m); err != nil {
		return fmt.Errorf("set up controller work: %w", err)
	}
	if err := m.Add(&announcer{cache: m.GetCache(), events: kube.NewAnnouncer(m.GetEventRecorder("execution-controller"))}); err != nil {
		return fmt.Errorf("add announcer of works: %w", err)
	}
	return nil
}
