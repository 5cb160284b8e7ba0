package scheduling

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
)

const (
	// workers is how many bindings are scheduled at a time; they wait for writes mostly.
	workers = 8
	// retryFirst and retryLast bound the pause before a binding is tried again
	// that no cluster had room for.
	retryFirst = time.Second
	retryLast  = time.Minute
	// eventsPerSecond and eventBurst bound the Events: a storm leaves some out, conditions tell all.
	eventsPerSecond = 2
	eventBurst      = 40
	// troublesPerSecond and troubleBurst are those of trouble, which many successes must not silence.
	troublesPerSecond = 20
	troubleBurst      = 400
)

// Deps are what the scheduler works with.
type Deps struct {
	// SchedulerName is the scheduler name of the bindings that are ours; default-scheduler if empty.
	SchedulerName string
	// Gates switch features. PriorityBasedScheduling, FederatedQuotaEnforcement,
	// WorkloadAffinity and SchedulingOvercommitProtection matter here.
	Gates policy.Gates
	// KeepEmpty keeps clusters to which no replica falls (--enable-empty-workload-propagation).
	KeepEmpty bool
	// Estimator asks members for their room; nil: what they report is all that counts.
	Estimator Estimator
	// Clock tells the time; the real one if nil.
	Clock clock.PassiveClock
}

// SetupWithManager adds the scheduler to the manager.
func SetupWithManager(m ctrl.Manager, d Deps) (*Scheduler, error) {
	if d.Clock == nil {
		d.Clock = clock.RealClock{}
	}
	s := newScheduler(d)
	r := &BindingReconciler{
		scheduler: s, hub: m.GetClient(), live: m.GetAPIReader(), clock: d.Clock,
		events:  announcer{recorder: m.GetEventRecorder(s.name), limit: rate.NewLimiter(eventsPerSecond, eventBurst), troubles: rate.NewLimiter(troublesPerSecond, troubleBurst)},
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryLast),
		written: newOwnWrites(),
	}
	handler := bindingHandler{scheduler: s, written: r.written}
	err := ctrl.NewControllerManagedBy(m).Named("scheduler").
		Watches(&workv1alpha2.ResourceBinding{}, handler).
		Watches(&workv1alpha2.ClusterResourceBinding{}, handler).
		WatchesRawSource(newClusterFeed(s, m.GetCache())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return nil, fmt.Errorf("set up controller scheduler: %w", err)
	}
	return s, nil
}
