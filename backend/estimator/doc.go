// Package estimator asks the scheduler estimators of members how many more replicas
// they can run (contract section 9.5): a program beside each member that knows its
// nodes and quotas, of which the hub has the sums only. It is off by default.
//
//	          ┌─────────────────────────────┐ fails ┌─────────┐
//	first ──► │ well: asked in line, within │ ────► │ resting │ asked by nobody who schedules
//	          │ the deadline                │ ◄──── │         │ tried in the background, 1 s to 1 min apart
//	          └─────────────────────────────┘answers└─────────┘
//
// Where the address of an estimator comes from: the Service of type ExternalName
// on the hub, the template of addresses, the name of the Service in the cluster's
// DNS; the first that there is.
//
// Invariants: one connection for each cluster, used by all questions. An estimator
// that does not answer means that the number is unknown, never 0 and no failure, and
// costs those who schedule the deadline once. An Event on the Cluster tells when its
// estimator stops answering and when it answers again, once each.
//
// The wire format is that of the field's estimators: gRPC with the messages in
// message.go. We ask for replicas and for whole sets of components, and tell of the
// workloads that we are told are assumed. How many replicas cannot be scheduled is
// not asked.
package estimator
