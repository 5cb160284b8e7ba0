package cluster

import (
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/liveness"
	"muster.dev/muster/backend/registration"
)

// ControllerDeps are what the controllers of this package work with.
type ControllerDeps struct {
	// Members reaches push members. NewMembers over the manager's API reader.
	Members *kube.Members
	// Purger finishes execution namespaces.
	Purger Purger
	// Stages keeps the record of registrations.
	Stages registration.StageRecorder
	// Audit records the Clusters that agents bring.
	Audit Auditor
	// Authorizer and Admission are those given to the hub API; they see the hub's
	// objects once the manager's cache is filled.
	Authorizer *identity.Authorizer
	Admission  *identity.Admission
	// Changed is told of clusters whose link changed; it must not block. May be nil.
	Changed func(cluster string)
	// Clock is the real one unless a test says otherwise.
	Clock clock.WithTicker
}

// SetupWithManager adds all controllers of clusters to the manager and returns
// the liveness.Agents that links report to.
func SetupWithManager(m ctrl.Manager, d ControllerDeps) (*liveness.Agents, error) {
	if d.Clock == nil {
		d.Clock = clock.RealClock{}
	}
	hub, live := m.GetClient(), m.GetAPIReader()
	revocations, err := identity.SetupWithManager(m, identity.Deps{Stages: d.Stages, Authorizer: d.Authorizer, Admission: d.Admission})
	if err != nil {
		return nil, err
	}
	var reconciler *Reconciler
	agents := liveness.NewAgents(hub, liveness.AgentsDeps{Live: live, Stages: d.Stages, Audit: d.Audit, Clock: d.Clock, Barred: revocations.Barred, Changed: func(cluster string) {
		reconciler.Poke(cluster)
		if d.Changed != nil {
			d.Changed(cluster)
		}
	}})
	reconciler = NewReconciler(hub, m.GetEventRecorder("cluster-controller"), ReconcilerDeps{
		Live: live, Purger: d.Purger, Presence: liveness.NewPresence(live, d.Members, agents, d.Clock), Revocations: revocations, Clock: d.Clock,
	})
	for name, setup := range map[string]func(ctrl.Manager) error{
		"cluster":  reconciler.SetupWithManager,
		"status":   liveness.NewStatusReconciler(hub, live, d.Members, d.Clock).SetupWithManager,
		"lease":    liveness.NewLeaseReconciler(hub, d.Clock).SetupWithManager,
		"liveness": agents.SetupWithManager,
	} {
		if err := setup(m); err != nil {
			return nil, fmt.Errorf("set up controller %s: %w", name, err)
		}
	}
	return agents, nil
}
