// Package enrolment owns the ways in which people bring clusters through the
// dashboard and REST: it makes what a join needs and follows it in its record.
//
//	pull   Register: a token and commands ─► the agent calls; the record waits
//	push   Preflight, then Register: kubeconfig ─► a join in the background
//
// The record is package registration's, what a push join makes package joining's.
// We decide who may begin, cancel and read them, and how many at once.
//
// # Invariants
//
// A push join takes back exactly what it made if it fails, is cancelled, or the
// hub stops in its midst; after a crash it is finished or taken back at the next
// start. What cannot be audited is not begun. A kubeconfig lives in the memory of
// its task and ends with it. Each user's dials are paced.
package enrolment
