// Package execution executes the Works of push members, with the code that an
// agent executes its own with (contract section 11.4).
//
// A Work is applied on every change of it and of its objects in the member, and
// once the member becomes Ready. Every member has a queue and a few workers of
// its own, so that one that does not answer delays no other:
//
//	Work, Cluster, member's object changed ──► lanes ──► worker of the member
//	   worker: apply ──► one status write: Applied, Dispatching, manifestStatuses
//
// Invariants: a Work is applied only while its Cluster is Ready; its finalizer
// goes when its objects have left the member, or when the Cluster's removal has
// found that nobody can reach them (package cluster). We write the conditions
// Applied and Dispatching and the manifestStatuses of push members' Works and
// nothing else of them. Events tell of transitions only: success is silent until
// there was a failure.
package execution
