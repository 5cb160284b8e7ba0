package scheduling

import (
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
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
}

// Decision is what Decide says.
type Decision struct {
	// Clusters are the chosen ones, best first. Replicas is 0 where the template has none.
	Clusters []workv1alpha2.TargetCluster
	// AffinityName is the term of clusterAffinities that was used.
	AffinityName string
	// Excluded holds every cluster of the snapshot that was not chosen, by name.
	Excluded []Exclusion
	// Available is how many replicas each cluster that passed the filters could run, those it runs now included.
	Available map[string]int32
	// Failure is nil where Clusters is the placement.
	Failure *Failure
}

// Decide chooses the clusters of a binding and divides its replicas over them.
func Decide(in Input, s *Snapshot) Decision {
	panic("being written")
}
