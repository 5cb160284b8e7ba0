// Package cluster owns member clusters: how they join, what is known of them,
// who may act for them and how they leave.
//
// # Homes of facts
//
// A member is a Cluster object; what the hub keeps in it are Works; nothing of
// either is mirrored in SQL. SQL holds what has no object: registrations, the
// staged records of joining, which survive reload and restart of the hub. Whether
// an agent is connected is held in memory (package liveness).
//
// # Ways to join
//
//	push   Join: hub dials member      kubeconfig ─► account of our own ─► Cluster
//	pull   agent dials hub             token ─► certificate ─► link ─► Cluster
//	       unmodified agent            token ─► certificate ─► Cluster
//
// Each is a Registration with its own subset of stages. A push join takes back
// exactly what it made if it fails, is cancelled, or the hub stops in its midst.
//
// # Invariants
//
// No two Clusters have one spec.id (the UID of the member's kube-system). A
// kubeconfig that comes in by REST can name neither a file nor a program, is used
// once, and is never stored, logged or audited. What REST makes the hub dial goes
// through AddressPolicy, is resolved once, and follows no redirect. Leaving
// removes from a member only what joining put there. Texts from members and
// terminals are shown as plain text.
//
// Who writes which condition is said in conditions.go.
package cluster
