// Package propagation carries objects from the hub into member clusters: it makes
// Works, and tells on bindings and templates what came of them.
//
//	binding, template, override policies ──► Renderer ──► Work per target
//	Namespace ─────────────────────────────────────────► Work in every cluster
//	roles of the hub ──────────────────────────────────► rights of the cluster proxy
//	FederatedResourceQuota ────────────────────────────► ResourceQuota per cluster
//	Works' status ──► binding: aggregatedStatus, FullyApplied ──► template's status
//
// Works of push members are executed by package execution, those of a pull member
// by its agent.
//
// Invariants: what several clusters get alike is rendered once; a Work that says
// already what it should is not written, and the comparison is exact, because we
// write the marks that admission would. A binding is carried out once it, its
// template and its schedule belong together, so that one change is one write per
// Work. A burst of reports is one write on the binding. We write the condition
// FullyApplied and aggregatedStatus of bindings, the status of templates whose
// kinds add up, and the status of quotas; Scheduled belongs to the scheduler.
//
// A Work that somebody deleted is not made again until its binding changes:
// clients of the field delete Works to leave (contract section 6.7). Events tell
// of turns only; success is silent until something failed.
package propagation
