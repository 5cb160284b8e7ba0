// Package scheduling chooses the clusters of a binding and how many replicas
// each of them runs (contract section 9).
//
// Decide is a pure function over an immutable Snapshot of the clusters. The
// reconciler writes what it says to bindings; the preview shows what it says to
// people; both run the very same code:
//
//	Input ──► filters ──► score, sort ──► spread ──► assign replicas ──► Decision
//	          9.2         9.3             9.4        9.5
//
// once for each term of clusterAffinities until one succeeds (9.6). Needed says
// whether a binding has to be decided again (9.1).
//
// The reconciler looks at a binding when it is created, when its spec changes,
// and when a Cluster changes that its placement means or that it is on: labels,
// spec, removal, and, beyond what the contract asks, the served APIs for bindings
// that no cluster fitted. The snapshot follows the Cluster cache.
//
// Invariants: spec.clusters and the annotation applied-placement of the bindings
// that are ours have no other writer, except that a cluster's removal takes the
// cluster out (package cluster) and evictions do. We write the condition
// Scheduled and the scheduler's fields of the status, at most once for each look,
// and nothing where nothing changed. A cluster that is being removed is never a
// target; where the rest has no room, the binding stays as it is and its removal
// does the evacuation.
//
// With the gate WorkloadAffinity the snapshot also says where the workloads of each
// group are. Bindings with groups are decided one after the other, and each reckons
// with the decisions before it, whether their writes have come back or not. One that
// is nowhere is looked at again when another of its groups moves or goes. Components (gate
// MultiplePodTemplatesScheduling) are placed like a template without replicas, except
// where the placement spreads over exactly one cluster: then they are a set, of which
// clusters have room for a number of wholes, and the result tells the replicas of each.
// How much room a cluster has is what its status says, or what its own estimator says
// where that is less and estimators are asked (Deps.Estimator), before a decision.
// With the gate SchedulingOvercommitProtection both are told of what was given to the
// cluster and is not known to run there yet (assumptions), and bindings for which room
// counts are decided one after the other.
package scheduling
