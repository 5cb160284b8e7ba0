// Package cluster owns member clusters: what is shown of them, what the hub keeps
// for each, how they are changed and how they leave.
//
// # Homes of facts
//
// A member is a Cluster object; what the hub keeps in it are Works; nothing of
// either is mirrored in SQL.
//
// # What the packages to the left own
//
//	registration   the staged record of one join      enrolment   joining by the dashboard
//	identity       who may act for a member           liveness    how a member is right now
//	reach          the way to a member's API          joining     what a join makes, and takes away
//
// SetupWithManager starts the controllers of all of them together with ours, the
// Reconciler: finalizer, execution namespace, roles and taints of every Cluster.
//
// # Invariants
//
// A removal takes away what a Cluster has on the hub in order, and goes on after
// a restart. Leaving removes from a member only what joining put there. Texts
// from members are shown as plain text.
//
// Who writes which condition is said in conditions.go.
package cluster
