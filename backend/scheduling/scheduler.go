package scheduling

import (
	"maps"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
)

// Scheduler places bindings on the clusters of the hub. Its methods may be
// called from everywhere.
type Scheduler struct {
	name      string
	gates     policy.Gates
	keepEmpty bool
	estimator Estimator    // may be nil
	assumed   *assumptions // nil with the gate off
	mu        sync.Mutex   // for who replaces the snapshot, and for the roster
	snapshot  atomic.Pointer[Snapshot]
	roster    roster
	filled    atomic.Bool // the snapshot holds all clusters
	clock     clock.PassiveClock
	placed    sync.Map // names of bindings that were placed before they were created and not looked at since
	revisits  sync.Map // UIDs of bindings whose next look is to show in their status
}

func newScheduler(d Deps) *Scheduler {
	s := &Scheduler{name: d.SchedulerName, gates: d.Gates, keepEmpty: d.KeepEmpty, estimator: d.Estimator, clock: d.Clock, roster: roster{}}
	if s.name == "" {
		s.name = policyv1alpha1.DefaultSchedulerName
	}
	if d.Gates.SchedulingOvercommitProtection {
		s.assumed = newAssumptions(d.Clock)
	}
	s.snapshot.Store(NewSnapshot(nil))
	return s
}

// Snapshot is the clusters as the hub's cache has them now, and the groups.
func (s *Scheduler) Snapshot() *Snapshot { return s.snapshot.Load() }

// Place fills in the clusters of a binding that is about to be created, and the
// status that says so, so that creating and scheduling it are one write; an API
// that wipes the status costs a second. It does nothing where the binding is not
// ours, is suspended or cannot be placed: the reconciler sees to that.
func (s *Scheduler) Place(b workv1alpha2.Binding) {
	// A quota refuses the placement, not the binding. What is decided about a group,
	// or assumed, must not be forgotten where the binding is not created in the end.
	// Estimators take their time, which is not that of who creates bindings.
	spec := b.BindingSpec()
	if !s.filled.Load() || !s.owns(b) || s.gates.FederatedQuotaEnforcement || s.grouped(b) || s.assumed != nil && consumes(spec) || s.estimator != nil && reckons(spec) {
		return
	}
	decision := decide(Input{Spec: spec, Status: b.BindingStatus(), KeepEmpty: s.keepEmpty}, s.Snapshot(), false, nil)
	if decision.Failure != nil {
		return
	}
	spec.Clusters = decision.Clusters
	s.markApplied(b)
	b.SetGeneration(1) // as the API will
	placed := outcome{affinity: decision.AffinityName, renewed: true}
	placed.report(b, s.clock.Now())
	s.placed.Store(types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}, nil)
}

// owns says whether the binding is this scheduler's to place (contract section
// 9.1). One without a placement follows another binding.
func (s *Scheduler) owns(b workv1alpha2.Binding) bool {
	spec := b.BindingSpec()
	if spec.Placement == nil || spec.Suspension != nil && spec.Suspension.Scheduling != nil && *spec.Suspension.Scheduling {
		return false
	}
	if spec.SchedulerName != s.name && (spec.SchedulerName != "" || s.name != policyv1alpha1.DefaultSchedulerName) {
		return false
	}
	for _, key := range []string{
		policyv1alpha1.PropagationPolicyPermanentIDLabel, policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel, workv1alpha2.BindingManagedByLabel,
	} {
		if _, ok := b.GetLabels()[key]; ok {
			return true
		}
	}
	return false
}

// priority is the binding's place in the queue; the higher goes first.
func (s *Scheduler) priority(b workv1alpha2.Binding) int {
	if spec := b.BindingSpec(); s.gates.PriorityBasedScheduling && spec.SchedulePriority != nil {
		return int(spec.SchedulePriority.Priority)
	}
	return 0
}

// markApplied records the placement that the binding's clusters were chosen by.
func (s *Scheduler) markApplied(b workv1alpha2.Binding) {
	annotations := maps.Clone(b.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[policyv1alpha1.AppliedPlacementAnnotation] = AppliedPlacement(b.BindingSpec().Placement)
	b.SetAnnotations(annotations)
}
