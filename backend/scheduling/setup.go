package scheduling

import (
	ctrl "sigs.k8s.io/controller-runtime"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Deps are what the scheduler works with.
type Deps struct {
	// SchedulerName is the scheduler name of the bindings that are ours; default-scheduler if empty.
	SchedulerName string
}

// Scheduler places bindings.
type Scheduler struct {
}

// SetupWithManager adds the scheduler to the manager.
func SetupWithManager(m ctrl.Manager, d Deps) (*Scheduler, error) { panic("being written") }

// Snapshot is the clusters as the hub's cache has them now.
func (s *Scheduler) Snapshot() *Snapshot { panic("being written") }

// Place fills in the clusters of a binding that is about to be created, so that
// creating and scheduling it are one write. It does nothing where the binding is
// not ours, is suspended or cannot be placed: the reconciler sees to that.
func (s *Scheduler) Place(b workv1alpha2.Binding) { panic("being written") }
