package eviction

import (
	"fmt"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"muster.dev/muster/backend/policy"
)

// DefaultRate is how many targets are evicted a second (contract section 7.7).
const DefaultRate = 0.5

// Deps are what the controllers of this package work with.
type Deps struct {
	Gates policy.Gates
	// Taints lets NoExecute taints evict; it needs the gate Failover, too
	// (--enable-no-execute-taint-eviction).
	Taints bool
	// Timeout is for tasks without a grace period; 0 is DefaultTimeout.
	Timeout time.Duration
	// Rate is how many targets are evicted a second; 0 is DefaultRate.
	Rate float64
	// Clock tells the time; nil is the real one.
	Clock clock.PassiveClock
}

func (d *Deps) complete() {
	if d.Timeout == 0 {
		d.Timeout = DefaultTimeout
	}
	if d.Rate == 0 {
		d.Rate = DefaultRate
	}
	if d.Clock == nil {
		d.Clock = clock.RealClock{}
	}
}

func (d *Deps) evictsByTaint() bool { return d.Gates.Failover && d.Taints }

// SetupWithManager adds the controllers of this package to the manager.
func SetupWithManager(m ctrl.Manager, d Deps) error {
	d.complete()
	if err := NewBindingReconciler(m.GetClient(), m.GetEventRecorder("eviction-controller"), d).SetupWithManager(m); err != nil {
		return fmt.Errorf("set up controller eviction: %w", err)
	}
	if err := NewRemedyReconciler(m.GetClient()).SetupWithManager(m); err != nil {
		return fmt.Errorf("set up controller remedy: %w", err)
	}
	if !d.Gates.Failover {
		return nil
	}
	if err := NewTaintReconciler(m.GetClient(), d.Clock).SetupWithManager(m); err != nil {
		return fmt.Errorf("set up controller cluster taint policy: %w", err)
	}
	return nil
}
