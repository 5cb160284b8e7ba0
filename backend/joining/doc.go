// Package joining owns what a push join makes in a member and on the hub, and how
// it is taken away again.
//
//	Preflight   look from the outside in whether the hub could call the member
//	Plan        what Join would make; writes nothing
//	Join        member: namespace, accounts, rights, tokens ─► hub: Secrets, Cluster
//	Unjoin      Cluster off the hub, then Cleanup
//	Cleanup     out of the member what joining put there, and nothing else
//
// The command line and the dashboard call the same functions; what differs is the
// client they act through.
//
// # Invariants
//
// No two Clusters have one spec.id (the UID of the member's kube-system). A join
// that fails or is cancelled takes back exactly what this run made. The
// operator's credential is exchanged for an account of the hub's own and is not
// kept. Leaving removes from a member only what joining put there; what belongs
// to others there (Strangers) stays. Repeating any of these is safe.
package joining
