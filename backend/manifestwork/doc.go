// Package manifestwork owns what is sent to managed clusters as ManifestWorks:
// what may be in one, one template for all clusters of placements, and the end of
// works that are done (contract ocm.md section 1.5).
//
//	ManifestWorkReplicaSet ─► Placement ─► clusters by decision group ─► Advance ─► ManifestWork in each cluster's namespace
//	                                                                       ▲                     │ conditions, by the agent
//	                                                                       └─────────────────────┘
//
// Advance is how a changed template goes over the clusters, as a pure function:
//
//	ToApply ──written──► Progressing ──applied and available──► Succeeded ──minSuccessTime──► makes room for the next
//	                        │ Degraded ─────────► Failed ───┐
//	                        │ progressDeadline ─► TimedOut ─┴─► more than maxFailures of them end the rollout
//
// # Who writes what
//
// Conditions: PlacementVerified, PlacementRolledOut and ManifestworkApplied of
// ManifestWorkReplicaSets. Finalizer: ReplicaSetFinalizer. Objects: the
// ManifestWorks with ReplicaSetLabel. A ManifestWork's status and finalizer are
// its agent's. Admission judges ManifestWorks.
//
// # Invariants
//
// A work that somebody else made is never changed, whatever its name. Works are
// taken from a cluster only when its placement has decided without it; a
// placement that is missing or undecided takes nothing away. A work of a replica
// set is never deleted for being done.
package manifestwork
