// Package managedcluster owns members of Open Cluster Management once the hub knows
// them: whether their agents are heard, what follows from that, how they leave,
// and how they are shown.
//
// # Who writes what
//
//	HeartbeatReconciler  the Lease (made, not renewed), conditions
//	                     ManagedClusterConditionClockSynced, and
//	                     ManagedClusterConditionAvailable when it becomes Unknown
//	TaintReconciler      the taints unavailable and unreachable
//	AddonReconciler      Available=Unknown of add-ons, feature labels of clusters
//	NamespaceReconciler  which managed namespaces there are to be; their conditions
//	                     are the agent's
//	CleanupReconciler    the finalizer resource-cleanup, the condition Deleting
//	FleetReconciler      the mirrors of members in the other dialect (fleet.go)
//	Service              what users change, as those users
//
// All other conditions are the agent's, or package consent's. The hub never says
// that a cluster is available.
//
// # Invariants
//
// An agent is judged by when the hub saw it renew, not by the times that it
// writes. A cluster that goes takes its add-ons and its works with it, in the
// order of their priority, and says what holds it up.
package managedcluster
