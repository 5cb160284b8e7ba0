// Package apply brings the objects of Works into a member cluster, keeps them
// there and reports what became of them (contract 11.4 and 11.5). The agent uses
// it for its own member, the hub for the members it reaches itself.
//
// An object is ours if and only if it carries the label karmada.io/managed=true.
// Whatever else is in the member is neither changed nor deleted, unless a Work
// says "overwrite"; a namespace or CRD of ours that meanwhile holds objects of
// others is kept when its Work goes.
//
// What is done to an object is decided by a pure function, decide; what of it
// belongs to the member, which status is reported and whether it is healthy says
// package interpret; what is pruned before a comparison is in package
// apis/work/manifest. Applier carries the decisions out.
//
//	Apply(work) ──► for each manifest: observed = watch cache or GET
//	                  absent ──► create
//	                  not ours ──► conflict, or take over if the Work says so
//	                  being deleted ──► wait until it is gone
//	                  same as wanted ──► nothing
//	                  else ──► retain what belongs to the member, update
//	            ──► WorkStatus: Dispatching, Applied, one entry a manifest
//
// For every kind that a Work uses, one watch restricted to our label tells of
// drift and of status changes through the function given to Watch; the caller
// answers by calling Apply again.
//
// Worker is the agent's side of delivery: what the hub has sent, the queue in
// front of the applier, and the acks that the hub has not confirmed.
package apply
