// Package propagation carries objects from the hub into member clusters.
//
// So far it makes the Works that every member gets, the rights of the account
// through which the cluster proxy acts for users, and executes the Works of push
// members. A pull member's agent executes its own.
//
// Invariants: a Work is applied only while its Cluster is Ready; its finalizer
// goes when its objects have left the member, or when the Cluster's removal has
// found that nobody can reach them (package cluster). We write the conditions
// Applied and Dispatching of push members' Works and nothing else of them. A Work
// that somebody deleted is not made again until what it says changes: clients of
// the field delete Works to leave (contract section 6.7).
package propagation
