// Package identity owns who may act for a member cluster: which agent, join token
// or registration helper somebody is, what it may do on the hub API, and how an
// agent comes by its certificate and loses it.
//
// # What it hangs into the hub API
//
//	NoteIssue      before authentication: when a client certificate was issued
//	Authorizer     agents, tokens and helpers: what the contract gives them, no more
//	Admission      what an agent writes is its own; a name and an id are taken once
//	CSRReconciler  approves certificate requests, and prepares what they are for
//
// Authorizer and Admission are made before the hub API runs and see its objects
// once SetupWithManager has attached them; until then they refuse.
//
// # Homes of facts
//
// Roles of agents are objects on the hub; removed clusters are ConfigMaps in
// karmada-system (Revocations); what helpers were granted is found again from
// their certificate requests. AnnotationWaiting on a request says why it was not
// approved.
//
// # Invariants
//
// One agent never reads or writes what is of another cluster. A token gives out
// the identity of a name that is free, or of the one it is bound to. The
// certificate of a removed cluster's agent opens nothing of the next cluster of
// that name. Whatever cannot be looked up is refused.
package identity
