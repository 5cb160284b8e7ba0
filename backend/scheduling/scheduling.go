package scheduling

import (
	"slices"
	"sync"
	"time"

	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/estimator"
)

// Filters that leave a cluster out, as an Exclusion names them.
const (
	// FilterAPIEnablement: the member does not serve the template's kind.
	FilterAPIEnablement = "APIEnablement"
	// FilterTaintToleration: the cluster has a taint that the placement does not tolerate.
	FilterTaintToleration = "TaintToleration"
	// FilterClusterAffinity: the placement does not mean the cluster.
	FilterClusterAffinity = "ClusterAffinity"
	// FilterSpreadConstraint: the cluster lacks what the placement spreads by.
	FilterSpreadConstraint = "SpreadConstraint"
	// FilterClusterEviction: the workload is being moved away from the cluster.
	FilterClusterEviction = "ClusterEviction"
	// FilterWorkloadAffinity: a workload that it is to be together with is elsewhere.
	FilterWorkloadAffinity = "WorkloadAffinity"
	// FilterWorkloadAntiAffinity: a workload that it is to be apart from is on the cluster.
	FilterWorkloadAntiAffinity = "WorkloadAntiAffinity"
	// FilterTerminating: the cluster is being removed.
	FilterTerminating = "Terminating"
	// FilterSelection: the cluster fits, but spreading needs fewer clusters or others.
	FilterSelection = "Selection"
	// FilterReplicas: the cluster was selected, but no replica fell to it.
	FilterReplicas = "Replicas"
)

// Input is everything about a binding that Decide needs. It is not changed.
type Input struct {
	Spec   *workv1alpha2.ResourceBindingSpec
	Status *workv1alpha2.ResourceBindingStatus
	// Fresh forgets how replicas are divided now.
	Fresh bool
	// KeepEmpty keeps clusters to which no replica falls.
	KeepEmpty bool
	// Estimates are how many more replicas clusters can run, as their own estimators
	// say. Of clusters that are not in it the Cluster alone tells.
	Estimates map[string]int32
	// Assumed are the workloads that clusters were given and that neither they nor
	// their estimators know of yet.
	Assumed map[string][]estimator.Workload
}

// Exclusion says why a cluster was not chosen.
type Exclusion struct {
	Cluster string
	// Filter is one of the Filter constants.
	Filter string
	// Reason is a sentence part for people.
	Reason string
}

// Failure says why there is no placement.
type Failure struct {
	// Reason is that of the condition Scheduled: NoClusterFit, Unschedulable or SchedulerError.
	Reason  string
	Message string
	// Retry is set where time may cure it without an event.
	Retry bool
	// Short is set where the clusters that fit have too little room.
	Short bool
}

// Decision is what Decide says. Every cluster of the snapshot is either in
// Clusters or in Excluded, unless there is a Failure: then a cluster that fits
// is in Available only.
type Decision struct {
	// Clusters are the chosen ones, best first. Replicas is 0 where the template has none.
	Clusters []workv1alpha2.TargetCluster
	// AffinityName is the term of clusterAffinities that was used.
	AffinityName string
	// Excluded holds the clusters that were not chosen, by name.
	Excluded []Exclusion
	// Available is how many replicas each cluster that passed the filters could run, those it runs now included.
	Available map[string]int32
	// Failure is nil where Clusters is the placement.
	Failure *Failure
}

// Decide chooses the clusters of a binding and divides its replicas over them.
// It is deterministic.
func Decide(in Input, s *Snapshot) Decision {
	return decide(in, s, true, nil)
}

// decide is Decide. Without the details it leaves Excluded and Available empty;
// with a stopwatch it tells it how long each step took.
func decide(in Input, s *Snapshot, details bool, watch *stopwatch) Decision {
	var first Decision
	for i, t := range termsFrom(in) {
		decision := try(in, s, t, details, watch)
		if decision.Failure == nil {
			return decision
		}
		if i == 0 {
			first = decision
		}
	}
	return first
}

// row is one cluster in one decision.
type row struct {
	*member
	// at is the cluster's place in the order of names.
	at int
	// filter and reason say why the cluster is out; empty while it is in.
	filter, reason string
	tier           int
	// target is set for clusters of the present result, evicting for those that
	// the workload is being moved away from.
	target, evicting bool
	// assigned is what the cluster runs now, free how many more it can run.
	assigned, free int32
	// replicas is what falls to the cluster.
	replicas int32
}

// available is how many replicas the cluster could run, those it runs included.
func (r *row) available() int64 { return int64(r.free) + int64(r.assigned) }

// localityScore is the score of a cluster that is in the present result.
const localityScore = 100

func (r *row) score() int64 {
	if r.target {
		return localityScore
	}
	return 0
}

// attempt is a decision for one term of affinity.
type attempt struct {
	Input
	term     term
	rows     []row  // one for each cluster of the snapshot, by name
	fit      []*row // those that pass all filters, best first
	selected []*row
	company  company
	watch    *stopwatch
}

// scratch keeps the memory of attempts: a snapshot of 1,000 clusters needs 100 KiB.
var scratch = sync.Pool{New: func() any { return new(attempt) }}

func try(in Input, s *Snapshot, t term, details bool, watch *stopwatch) Decision {
	a, ok := scratch.Get().(*attempt)
	if !ok {
		a = new(attempt)
	}
	defer func() {
		clear(a.rows)
		clear(a.fit[:cap(a.fit)])
		*a = attempt{rows: a.rows[:0], fit: a.fit[:0]}
		scratch.Put(a)
	}()
	a.Input, a.term, a.watch = in, t, watch
	a.enter(s)
	failure := a.run()
	decision := Decision{Failure: failure}
	if failure == nil {
		decision.AffinityName = t.name
		decision.Clusters = a.result()
	}
	if details {
		a.describe(&decision)
	}
	return decision
}

// enter makes a row for every cluster.
func (a *attempt) enter(s *Snapshot) {
	a.company = companyOf(a.Spec, s)
	for at, m := range s.members {
		a.rows = append(a.rows, row{member: m, at: at})
	}
	for _, target := range a.Spec.Clusters {
		if at, found := s.find(target.Name); found {
			a.rows[at].target, a.rows[at].assigned = true, target.Replicas
			if isSet(a.Spec) {
				a.rows[at].assigned = 1 // the room that it takes is its own
			}
		}
	}
	for i := range a.Spec.GracefulEvictionTasks {
		if at, found := s.find(a.Spec.GracefulEvictionTasks[i].FromCluster); found {
			a.rows[at].evicting = true
		}
	}
}

// run goes through the steps: filter, score, select, assign.
func (a *attempt) run() *Failure {
	began := time.Now()
	a.filter()
	began = a.watch.step(stepFilter, began)
	if len(a.fit) == 0 {
		return a.noFit()
	}
	a.estimate()
	order(a.fit)
	began = a.watch.step(stepScore, began)
	failure := a.spread()
	began = a.watch.step(stepSelect, began)
	if failure != nil {
		return failure
	}
	failure = a.assign()
	a.watch.step(stepAssign, began)
	return failure
}

// result are the targets, best first.
func (a *attempt) result() []workv1alpha2.TargetCluster {
	targets := make([]workv1alpha2.TargetCluster, 0, len(a.selected))
	parts := partsOf(a.Spec)
	for _, r := range a.selected {
		if r.filter == "" {
			targets = append(targets, workv1alpha2.TargetCluster{Name: r.cluster.Name, Replicas: r.replicas, Components: slices.Clone(parts)})
		}
	}
	return targets
}

func (a *attempt) describe(decision *Decision) {
	decision.Available = make(map[string]int32, len(a.fit))
	for _, r := range a.fit {
		decision.Available[r.cluster.Name] = int32(min(r.available(), maxReplicas))
	}
	out := 0
	for i := range a.rows {
		if a.rows[i].filter != "" {
			out++
		}
	}
	decision.Excluded = make([]Exclusion, 0, out)
	for i := range a.rows {
		if r := &a.rows[i]; r.filter != "" {
			decision.Excluded = append(decision.Excluded, Exclusion{Cluster: r.cluster.Name, Filter: r.filter, Reason: r.reason})
		}
	}
}

// isWorkload says whether replicas are assigned (contract section 9.5).
func isWorkload(spec *workv1alpha2.ResourceBindingSpec) bool {
	return spec.Replicas > 0 || spec.ReplicaRequirements != nil
}

// isDivided says whether replicas are divided. No replicaScheduling means
// Duplicated, an empty one means Divided (contract section 2.2.1).
func isDivided(p *policyv1alpha1.Placement) bool {
	return p != nil && p.ReplicaScheduling != nil && p.ReplicaScheduling.ReplicaSchedulingType != policyv1alpha1.ReplicaSchedulingTypeDuplicated
}

// isStatic says whether replicas are divided by weights that do not depend on
// capacity.
func isStatic(p *policyv1alpha1.Placement) bool {
	if !isDivided(p) || p.ReplicaScheduling.ReplicaDivisionPreference == policyv1alpha1.ReplicaDivisionPreferenceAggregated {
		return false
	}
	preference := p.ReplicaScheduling.WeightPreference
	return preference == nil || preference.DynamicWeight == ""
}
